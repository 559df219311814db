r"""Ranges, cumulative distributions and quantiles of an ordered value: a tree of histograms.

Definition.  k ordered cells are the leaves of a tree of branching B and depth h.  Each owner draws a level l and
reports, through a frequency protocol, which node of that level holds the value.  Level by level the collector has an
unbiased histogram; `trees` reads one histogram from them by weighted least squares, consistent at every level.

Guarantee.   That of one report: the weakest level's.

Accuracy.    A range touches few nodes, so its variance grows with a power of ln k instead of its length
[CormodeKulkarniSrivastava2019, HayRastogiMiklauSuciu2010].  The variance of every range is known exactly
(`moments`), and bounded whatever the truth; Bernstein's inequality turns the bound into an interval whose
coverage is proven.
Proof: docs/proofs/local-questions.md.

Assumes.     Nothing beyond the protocols of the levels; owners are independent draws (see `split`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.linear import shares
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Floats, LocalProtocol, Tally, whole_from
from sfumato.local.questions.limits import bernstein_sum
from sfumato.local.questions.moments import supports
from sfumato.local.questions.oracles import oracle, protocols_from
from sfumato.local.questions.split import Split
from sfumato.local.questions.trees import combined, influences, sums
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Ranges"]

BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 16, 32, 64)  # tried by calibrate, besides a single level


@dataclass(frozen=True, slots=True)
class Ranges(Split):
    """Histograms of every level of a tree over k ordered cells; values outside [0, k) count as the last cell.

    >>> ages = Ranges.calibrate(128, Pure(1.0))
    >>> ages.k, ages.guarantee().implies(Pure(1.0)), ages.branching ** len(ages.levels) >= 128
    (128, True, True)
    """

    name: ClassVar[str] = "ranges"
    goal: ClassVar[str] = "frequencies"

    k: int
    branching: int
    levels: tuple[LocalProtocol, ...]

    def __post_init__(self) -> None:
        if self.branching < 2 or not self.branching ** (len(self.levels) - 1) < self.k <= self.leaves:
            raise ParameterError(
                f"k = {self.k} cells do not fit {len(self.levels)} levels of branching {self.branching}; use calibrate"
            )
        for level, protocol in enumerate(self.levels, 1):
            if supports(protocol).k != self._nodes(level):
                raise ParameterError(f"level {level} needs a protocol of {self._nodes(level)} categories")

    @classmethod
    def calibrate(cls, k: int, target: Pure | Approximate, branching: int | None = None) -> Ranges:
        """The tree with the least mean variance over all prefixes, or the one of a given branching."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 3:
            raise ParameterError(f"k must be a whole number of at least 3 ordered cells, got {k!r}")
        chosen = [branching] if branching is not None else sorted({*(b for b in BRANCHINGS if b < k), k})
        trees = [cls._tree(k, target, b) for b in chosen]
        return trees[0] if len(trees) == 1 else min(trees, key=Ranges._score)

    @classmethod
    def _tree(cls, k: int, target: Pure | Approximate, branching: int) -> Ranges:
        if isinstance(branching, bool) or not isinstance(branching, int) or not 2 <= branching <= k:
            raise ParameterError(f"branching must be a whole number from 2 to k = {k}, got {branching!r}")
        depth = next(d for d in range(1, 64) if branching**d >= k)
        nodes = [math.ceil(k / branching ** (depth - level)) for level in range(1, depth + 1)]
        return cls(k, branching, tuple(oracle(count, target) for count in nodes))

    def _score(self) -> float:
        """The mean variance of a few prefixes under the uniform law, for a million reports."""
        ends = np.unique(np.linspace(1, self.k - 1, 24).astype(int))
        counts = [1e6 / len(self.levels)] * len(self.levels)
        return float(self._variances(self._prefixes(ends), counts, np.full(self.k, 1 / self.k)).mean())

    @property
    def leaves(self) -> int:
        """B^h, of which the first k are cells."""
        return int(self.branching ** len(self.levels))

    @property
    def parts(self) -> tuple[LocalProtocol, ...]:
        """One for each level, top down."""
        return self.levels

    def owned(self, value: object, names: Names) -> int:
        """A label, or a position."""
        return names.position(value, self.k)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Cells."""
        return positions(values, self.k)

    def asked(self, values: npt.NDArray[Any], part: int) -> npt.NDArray[Any]:
        """The node of that level."""
        return np.asarray(values // self.branching ** (len(self.levels) - 1 - part))

    def domain(self) -> npt.NDArray[Any]:
        """The cells."""
        return np.arange(self.k)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased frequencies of the cells, consistent over all levels."""
        counts, levels = [], []
        for (count, piece), protocol in zip(self.pieces(tally), self.levels, strict=True):
            counts.append(count)
            levels.append(protocol.estimate(piece, count) if count else np.zeros(supports(protocol).k))
        return combined(levels, self._weights(counts), self.branching)[: self.k]

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of each cell, when the levels are drawn evenly; without `truth`, a bound for every truth."""
        return self.functional_variance(np.eye(self.k), [n / len(self.levels)] * len(self.levels), truth)

    def functional_variance(self, weights: Floats, counts: list[float], truth: npt.ArrayLike | None = None) -> Floats:
        """The variance of weights . frequencies, row by row, for the numbers of reports at each level."""
        padded = np.zeros((*weights.shape[:-1], self.leaves))
        padded[..., : self.k] = weights
        return self._variances(padded, counts, None if truth is None else shares(truth, self.k))

    def functional_span(self, weights: Floats, counts: list[float]) -> Floats:
        """How far one report can move weights . frequencies, row by row."""
        padded = np.zeros((*weights.shape[:-1], self.leaves))
        padded[..., : self.k] = weights
        moved = self._influences(padded, counts)
        spans = [supports(p).span(g) / max(c, 1) for p, g, c in zip(self.levels, moved, counts, strict=True)]
        return np.asarray(np.max(spans, axis=0), dtype=np.float64)

    def limits(self, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats]:
        """Proven limits for each cell (`limits`)."""
        counts = [float(count) for count, _ in self.pieces(tally)]
        found = self.estimate(tally, n)
        radius = np.empty(self.k)
        for start in range(0, self.k, 128):
            rows = np.eye(min(128, self.k - start), self.k, start)
            radius[start : start + 128] = bernstein_sum(
                self.functional_variance(rows, counts), self.functional_span(rows, counts), beta
            )
        return np.clip(found - radius, 0, 1), np.clip(found + radius, 0, 1)

    def words(self) -> str:
        """What leaves the device."""
        return (
            f"which of {len(self.levels)} grids of growing fineness was drawn (by chance alone), and, randomized, "
            f"the cell of that grid; at the finest: {self.levels[-1].words()}"
        )

    def to_record(self) -> dict[str, object]:
        """The public parameters."""
        levels = [protocol.to_record() for protocol in self.levels]
        return {"type": self.name, "k": self.k, "branching": self.branching, "levels": levels}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Ranges:
        """The question that `to_record` wrote."""
        k, branching = (whole_from(part, record[part]) for part in ("k", "branching"))
        return cls(k, branching, protocols_from(record["levels"]))

    def _nodes(self, level: int) -> int:
        return -(-self.k // int(self.branching ** (len(self.levels) - level)))

    def _prefixes(self, ends: npt.NDArray[np.intp]) -> Floats:
        return np.asarray(np.arange(self.leaves) < ends[:, None], dtype=np.float64)

    def _weights(self, counts: list[float] | list[int]) -> list[float]:
        """Inverse variances at frequency zero."""
        noise = [float(s.other * (1 - s.other) / (s.own - s.other) ** 2) for s in map(supports, self.levels)]
        return [count / variance for count, variance in zip(counts, noise, strict=True)]

    def _influences(self, weights: Floats, counts: list[float]) -> list[Floats]:
        moved = influences(weights, self._weights(counts), self.branching)
        return [g[..., : self._nodes(level)] for level, g in enumerate(moved, 1)]

    def _variances(self, weights: Floats, counts: list[float], truth: Floats | None = None) -> Floats:
        total = np.zeros(weights.shape[:-1])
        cells = np.zeros(self.leaves)
        cells[: self.k] = 1 / self.k if truth is None else truth
        for level, (g, count) in enumerate(zip(self._influences(weights, counts), counts, strict=True), 1):
            held = supports(self.levels[level - 1])
            if truth is None:
                one = held.worst_variance(g)
            else:
                size = self.branching ** (len(self.levels) - level)
                one = held.variance(g, sums(cells, size)[: self._nodes(level)])
            total += one / max(count, 1)
        return total
