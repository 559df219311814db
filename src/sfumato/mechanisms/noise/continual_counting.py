r"""Continual counting: running counts measured period by period, each measurement published as its period ends.

Definition.  For counts x in Z^T of periods and a lower triangular matrix A of whole numbers, when period t is over
release (A x)_t + Z_t, the Z_t independent: discrete Laplace noise, or normal noise rounded to whole numbers.  Counts up
to t are the prefix sums of A^{-1} times what was released until then.  A is the identity, each period by itself, or the
square root of the prefix sums with columns of one length [FichtenbergerHenzingerUpadhyay2023;
HenzingerKalininUpadhyay2025], in whole numbers.  By public groups each has its own noise.

Guarantee.   If a row has one period in whatever versions of the table it is, it moves the measurements by at most a
column of A: epsilon = s / b with s the largest l1 norm of a column, or rho = s^2 / (2 sigma^2) with its l2 norm, for
all periods together, however other releases come between them.  Proof: docs/proofs/continual_counting.md.

Accuracy.    Unbiased; a count of weights r on the measurements has variance v ||r||^2 exactly, v that of one Z_t.

Assumes.     `fixed-dates`: a row keeps its period, and changes no other.  The sampler is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering, Mechanism
from sfumato.mechanisms.noise.gauges import LAPLACE
from sfumato.mechanisms.noise.law import NoiseLaw
from sfumato.mechanisms.noise.laws import law_named
from sfumato.mechanisms.noise.normals import NORMAL
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.linear.factors import EACH as EACH_CELL
from sfumato.queries.linear.factors import UPTO
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.linear.measurements import Toeplitz
from sfumato.queries.linear.reading import laplace_margins, normal_margins
from sfumato.queries.running import Running
from sfumato.randomness import Rng

__all__ = ["ContinualCounting", "continuing", "ways"]

Whole = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

EACH, ROOT = "each", "square-root"  # what is measured; a name never changes its meaning
FINE, SCALES = 2**16, 2**10  # steps of the square root and of the scales of its columns


@dataclass(frozen=True, slots=True)
class ContinualCounting(Answering):
    """Noise of one law on what each period measures.

    Proof: docs/proofs/continual_counting.md.
    """

    query: Running
    strategy: str
    law: NoiseLaw
    scale: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.strategy not in (EACH, ROOT):
            raise ParameterError(f"strategy must be {EACH} or {ROOT}, got {self.strategy!r:.40}")
        if self.law not in (LAPLACE, NORMAL):
            raise ParameterError(f"law must be that of Laplace or of normal noise, got {self.law!r:.40}")
        if self.strategy != EACH and self.query.apart:
            raise UnsupportedQuery("the square root measures earlier periods again, whose rows this table lacks")
        self.law.on(self.scale, 1)
        self.guarantee()

    @classmethod
    def calibrate(
        cls, query: Running, target: Guarantee, strategy: str | None = None, law: NoiseLaw | None = None
    ) -> ContinualCounting:
        """The least noisy one that meets `target`, of a strategy and a law, or of all of them."""
        if strategy is None or law is None:
            made = [cls.calibrate(query, target, *one) for one in ways(query, target)]
            return min(made, key=lambda one: one.root_mean_square)
        scale, epsilon = law.calibrate(_moved(strategy, len(query.names), law.norm), target)
        return cls(query, strategy, law, scale, epsilon)

    @property
    def measurement(self) -> Toeplitz:
        """What is measured of the periods, row by row."""
        return measured(self.strategy, len(self.query.names))

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What all periods together cost between tables `distance` rows apart."""
        moved = _moved(self.strategy, len(self.query.names), self.law.norm)
        claim = self.law.claim(moved, self.scale, self.epsilon, distance)
        return replace(claim, assumptions=self.query.assumptions)

    def loss(self, distance: int = 1) -> Law | None:
        """A pair of laws on the line that dominates all periods together."""
        return self.law.loss(_moved(self.strategy, len(self.query.names), self.law.norm), self.scale, distance)

    @property
    def root_mean_square(self) -> float:
        """Of the running counts of all periods."""
        periods = len(self.query.names)
        squares = self.measurement.variances(Linear((periods,), (Block((UPTO,)),)))
        return math.sqrt(self.law.on(self.scale, 1).variance * float(squares.mean()))

    def error(self, beta: float = 0.05) -> float:
        """The largest error of a running count of any period and group, exceeded with probability at most `beta`."""
        counts = len(self.query.names) * self.query.groups.count
        return float(self.margins(beta / counts)[0].max())

    def margins(self, beta: float) -> tuple[Floats, Floats]:
        """For the counts up to each period, and within it, what they miss by at most, each but for `beta`."""
        periods = len(self.query.names)
        both = _margins(self.strategy, periods, self.law.name, self.scale, beta)
        return both[:periods], both[periods:]

    def release(self, answer: Whole, rng: Rng) -> Whole:
        """All measurements up to this period.  `answer` holds the exact, secret counts of its periods by groups."""
        return self.continued(np.zeros(0, dtype=object), answer, rng)

    def continued(self, earlier: Whole, answer: Whole, rng: Rng) -> Whole:
        """What was measured `earlier`, which is public, and the measurements that this period adds."""
        groups = self.query.groups.count
        if answer.shape != (len(self.query.names), groups) or earlier.size % groups:
            raise ParameterError("the counts are those of other periods or groups")
        done, over = earlier.size // groups, self.query.period
        exact = np.stack([self.measurement.apply(answer[:, group]) for group in range(groups)], axis=1)[done:over]
        noise = self.law.on(self.scale, groups).sample(len(exact), rng)
        return np.concatenate([earlier, (exact + noise).reshape(-1)])

    def read(self, output: Whole) -> tuple[Floats, Floats]:
        """The counts up to each period that is over, and within each, of shape (periods, groups): no table is read."""
        held = np.asarray(output, dtype=np.float64).reshape(-1, self.query.groups.count)
        padded = np.zeros((len(self.query.names), held.shape[1]))
        padded[: len(held)] = held
        within = np.stack([self.measurement.solve(column) for column in padded.T], axis=1)[: len(held)]
        return np.cumsum(within, axis=0), within

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        stated = {} if self.epsilon is None else {"epsilon": self.epsilon}
        made = {"type": "continual-counting", "strategy": self.strategy, "law": self.law.name, "scale": self.scale}
        return made | stated

    @classmethod
    def from_record(cls, query: Running, record: Mapping[str, Any]) -> ContinualCounting:
        """What `to_record` wrote."""
        fields = {name: value for name, value in record.items() if name != "type"}
        return cls(query, **{**fields, "law": law_named(fields.get("law"), (LAPLACE, NORMAL))})


def continuing(mechanism: Mechanism) -> ContinualCounting:
    """The mechanism of a series, as what it is."""
    if not isinstance(mechanism, ContinualCounting):
        raise UnsupportedQuery("running counts are measured by continual-counting; leave mechanism out")
    return mechanism


def ways(query: Running, target: Guarantee) -> list[tuple[str, NoiseLaw]]:
    """Strategies and laws that may meet a target: where earlier rows are not at hand, each period by itself.

    In l1 the columns of the square root are too long to be of use.
    """
    known: list[tuple[str, NoiseLaw]] = [(ROOT, NORMAL), (EACH, NORMAL), (EACH, LAPLACE)]
    found = [(strategy, law) for strategy, law in known if law.meets(target) and not (query.apart and strategy == ROOT)]
    if not found:
        raise UnsupportedQuery(f"running counts need epsilon > 0 or rho > 0, not {target!r}")
    return found


@lru_cache(maxsize=64)
def measured(strategy: str, periods: int) -> Toeplitz:
    """The matrix of a strategy, in whole numbers that are the same everywhere."""
    if strategy == EACH:
        return Toeplitz((1, *(0 for _ in range(periods - 1))), (1,) * periods)
    kernel = tuple(FINE * math.comb(2 * k, k) // 4**k for k in range(periods))
    below = [sum(c * c for c in kernel[: periods - place]) for place in range(periods)]  # squared lengths of columns
    scales = tuple(math.isqrt((FINE * SCALES) ** 2 // square) for square in below)
    return Toeplitz(kernel, scales)


@lru_cache(maxsize=64)
def _moved(strategy: str, periods: int, norm: str) -> float:
    """How far one row moves the measurements: the largest column."""
    return measured(strategy, periods).norms(norm)[0]


@dataclass(frozen=True, slots=True)
class _Counts:
    """The counts up to each of so many periods, then those within each."""

    periods: int

    @property
    def linear(self) -> Linear:
        return Linear((self.periods,), (Block((UPTO,)), Block((EACH_CELL,))))


@lru_cache(maxsize=256)
def _margins(strategy: str, periods: int, law: str, scale: float, beta: float) -> Floats:
    """What each of the counts misses by at most, but for beta: those up to a period, then those within."""
    counts, measurement = _Counts(periods), measured(strategy, periods)
    if law == NORMAL.name:
        return normal_margins(counts, measurement, scale, beta)
    return laplace_margins(counts, measurement, scale, LAPLACE.on(scale, 1).variance, beta)
