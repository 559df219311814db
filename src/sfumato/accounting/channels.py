r"""Exact verification of mechanisms with finitely many inputs and outputs.

A channel is a matrix K(z | x): one row an input, one column an output.  Between two inputs the least delta at
epsilon is sum_z max(0, K(z|x) - e^epsilon K(z|x')), and the least epsilon at delta is ln of the largest
(K(A|x) - delta) / K(A|x') over the sets A of the outputs with the largest ratios.  Entries are rationals, and e^epsilon
is enclosed as closely as a comparison asks, so a claim is decided, not estimated; entries known only up to a
relative error are rounded outward and may leave a claim undecided.  If every record of a table goes through its own
independent channel, the C(k, 2) pairs of values settle the claim for all tables [Jazbec2018, 4.7].
Proof: docs/proofs/accounting-channels.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.exponentials import exponential
from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.privacy.parameters import nonnegative, probability

__all__ = ["Channel", "Verdict"]

Pair = tuple[int, int]
Row = tuple[Fraction, ...]
Cells = list[tuple[Fraction, Fraction, int]]  # two probabilities, and how many outputs have them

FLOAT_ERROR = Fraction(1, 1 << 50)  # relative, granted to every float entry: a few correctly rounded operations
FIRST_BITS, MOST_BITS = 96, 1 << 14  # precision of e^epsilon: doubled until a comparison is decided


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a claim holds; if not, two inputs and an event (a set of outputs) that refute it.

    `holds` is None where entries are known too loosely to decide.
    """

    holds: bool | None
    pair: Pair | None = None
    event: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, init=False)
class Channel:
    """The law of the output for every input, `relative_error` being 0 for rationals and integers.

    >>> flip = Channel([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
    >>> round(flip.epsilon(), 6), flip.profile(0.0)
    (1.098612, 0.5)
    >>> flip.compose(flip).verify(Pure(1.1)).holds
    False
    """

    rows: tuple[Row, ...]
    relative_error: Fraction

    def __init__(self, matrix: Any, relative_error: Fraction | None = None) -> None:
        entries = [list(row) for row in matrix]
        rational = all(isinstance(entry, int | Fraction | np.integer) for row in entries for entry in row)
        error = Fraction(relative_error) if relative_error is not None else Fraction(0) if rational else FLOAT_ERROR
        object.__setattr__(self, "rows", _laws(entries, error))
        object.__setattr__(self, "relative_error", error)

    @property
    def inputs(self) -> int:
        """How many values a record may have."""
        return len(self.rows)

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return len(self.rows[0])

    def profile(self, epsilon: float, pairs: Iterable[Pair] | None = None) -> float:
        """The least delta at `epsilon` over the neighbors, rounded up.  Neighbors: all pairs, or those given."""
        nonnegative("epsilon", epsilon)
        low, _ = exponential(Fraction(epsilon), FIRST_BITS)
        worst = max((self._excess(cells, low, outward=True) for cells in self._kinds(pairs).values()), default=0)
        return min(1.0, ceil_float(Fraction(worst))) if worst > 0 else 0.0

    def epsilon(self, delta: float = 0.0, pairs: Iterable[Pair] | None = None) -> float:
        """The least epsilon at `delta` over the neighbors, rounded up; infinite if no epsilon will do."""
        probability("delta", delta, zero=True)
        worst = Fraction(1)
        for cells in self._kinds(pairs).values():
            ratio = self._ratio(cells, Fraction(delta))
            if ratio is None:
                return math.inf
            worst = max(worst, ratio)
        return 0.0 if worst == 1 else round_up(math.log(ceil_float(worst)), 4)

    def verify(self, claim: Pure | Approximate, pairs: Iterable[Pair] | None = None) -> Verdict:
        """Whether every neighboring pair meets the claim, decided by rational arithmetic."""
        if not isinstance(claim, Pure | Approximate):
            raise ParameterError(f"claim must be pure or approximate, got {type(claim).__name__}; convert it first")
        delta = Fraction(claim.delta) if isinstance(claim, Approximate) else Fraction(0)
        undecided: Pair | None = None
        for pair, cells in self._kinds(pairs).items():
            met = self._meets(cells, Fraction(claim.epsilon), delta)
            if met is False:
                return Verdict(False, pair, self._event(pair, claim.epsilon))
            undecided = pair if met is None else undecided
        return Verdict(True) if undecided is None else Verdict(None, undecided)

    def compose(self, other: Channel) -> Channel:
        """Both channels asked about the same value, with independent coins."""
        if other.inputs != self.inputs:
            raise ParameterError(f"both channels must have the same inputs, got {self.inputs} and {other.inputs}")
        rows = [[p * q for p in a for q in b] for a, b in zip(self.rows, other.rows, strict=True)]
        return Channel(rows, _united(self.relative_error, other.relative_error))

    def product(self, other: Channel) -> Channel:
        """Two records, each through its own channel; input (i, j) is row i * other.inputs + j."""
        rows = [[p * q for p in a for q in b] for a in self.rows for b in other.rows]
        return Channel(rows, _united(self.relative_error, other.relative_error))

    def then(self, other: Channel) -> Channel:
        """The output sent through another channel: post-processing."""
        if other.inputs != self.outputs:
            raise ParameterError(f"the next channel must have {self.outputs} inputs, got {other.inputs}")
        columns = list(zip(*other.rows, strict=True))
        rows = [[sum(map(_times, row, column), Fraction(0)) for column in columns] for row in self.rows]
        return Channel(rows, _united(self.relative_error, other.relative_error))

    def floats(self) -> npt.NDArray[np.float64]:
        """The matrix in floats."""
        return np.array([[float(entry) for entry in row] for row in self.rows])

    def output_law(self, prior: Sequence[float]) -> npt.NDArray[np.float64]:
        """The law of the output when the input is drawn from `prior`."""
        return np.asarray(_prior(prior, self.inputs) @ self.floats())

    def mutual_information(self, prior: Sequence[float]) -> float:
        """What the output tells about an input drawn from `prior`, in nats, rounded up."""
        weights, matrix = _prior(prior, self.inputs), self.floats()
        law = weights @ matrix
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(matrix > 0, matrix * np.log(matrix / law), 0.0)[weights > 0] * weights[weights > 0, None]
        loose = 1e-14 + 4 * float(self.relative_error)
        return max(0.0, math.fsum(terms.ravel())) + loose * (1 + math.fsum(np.abs(terms).ravel()))

    def _kinds(self, pairs: Iterable[Pair] | None) -> dict[Pair, Cells]:
        """The ordered pairs of neighbors, of those with the same law of losses the first, and that law."""
        if pairs is None:
            chosen = [(x, y) for x in range(self.inputs) for y in range(x)]
        else:
            chosen = [(int(x), int(y)) for x, y in pairs]
            if any(not (0 <= x < self.inputs and 0 <= y < self.inputs) for x, y in chosen):
                raise ParameterError(f"pairs must name inputs from 0 to {self.inputs - 1}")
        values = sorted({entry for row in self.rows for entry in row})
        place = {value: i for i, value in enumerate(values)}
        codes = np.array([[place[entry] for entry in row] for row in self.rows], dtype=np.int64)
        found: dict[bytes, Pair] = {}
        for pair in dict.fromkeys(way for x, y in chosen for way in ((x, y), (y, x))):
            found.setdefault(np.sort(codes[pair[0]] * len(values) + codes[pair[1]]).tobytes(), pair)
        kinds: dict[Pair, Cells] = {}
        for key, pair in found.items():
            both, counts = np.unique(np.frombuffer(key, dtype=np.int64), return_counts=True)
            kinds[pair] = [
                (values[code // len(values)], values[code % len(values)], count)
                for code, count in zip(both.tolist(), counts.tolist(), strict=True)
            ]
        return kinds

    def _excess(self, cells: Cells, factor: Fraction, *, outward: bool) -> Fraction:
        """sum max(0, p - factor q), with the entries at the ends of their intervals."""
        up, down = 1 + self.relative_error, 1 - self.relative_error
        if not outward:
            up, down = down, up
        gains = ((up * p - factor * down * q) * count for p, q, count in cells)
        return sum((gain for gain in gains if gain > 0), Fraction(0))

    def _meets(self, cells: Cells, epsilon: Fraction, delta: Fraction) -> bool | None:
        bits = FIRST_BITS
        while bits <= MOST_BITS:
            low, high = exponential(epsilon, bits)
            if self._excess(cells, low, outward=True) <= delta:
                return True
            if self._excess(cells, high, outward=False) > delta:
                return False
            if self.relative_error or low == high:
                return None
            bits *= 2
        return None

    def _ratio(self, cells: Cells, delta: Fraction) -> Fraction | None:
        """The least e^epsilon at `delta` in one direction; None if there is none."""
        up, down = 1 + self.relative_error, 1 - self.relative_error
        above = sum((up * p * count for p, q, count in cells if not q), Fraction(0)) - delta
        if above > 0:
            return None
        worst, below = Fraction(0), Fraction(0)
        moved = [(up * p * count, down * q * count) for p, q, count in cells if q]
        for ratio, p, q in sorted(((p / q, p, q) for p, q in moved), reverse=True):
            if ratio <= worst:
                break
            above, below = above + p, below + q
            worst = max(worst, above / below)
        return worst

    def _event(self, pair: Pair, epsilon: float) -> tuple[int, ...]:
        low, _ = exponential(Fraction(epsilon), FIRST_BITS)
        cells = zip(self.rows[pair[0]], self.rows[pair[1]], strict=True)
        return tuple(z for z, (p, q) in enumerate(cells) if p > low * q)


def _laws(entries: list[list[Any]], error: Fraction) -> tuple[Row, ...]:
    if not entries or not entries[0] or any(len(row) != len(entries[0]) for row in entries):
        raise ParameterError("matrix must have one row an input and one column an output, none missing")
    if not 0 <= error < Fraction(1, 100):
        raise ParameterError("relative_error must lie in [0, 0.01); leave it out for exact entries")
    try:
        rows = tuple(tuple(Fraction(int(e) if isinstance(e, np.integer) else e) for e in row) for row in entries)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError("matrix must hold finite probabilities: rationals, integers or floats") from None
    for row in rows:
        if min(row) < 0 or abs(sum(row, Fraction(-1))) > error:
            raise ParameterError("every row of matrix must hold probabilities that add up to 1, within relative_error")
    return rows


def _united(first: Fraction, second: Fraction) -> Fraction:
    """The relative error of a product, or of a sum of products."""
    return first + second + first * second


def _times(p: Fraction, q: Fraction) -> Fraction:
    return p * q


def _prior(prior: Sequence[float], inputs: int) -> npt.NDArray[np.float64]:
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (inputs,) or np.any(weights < 0) or not math.isclose(float(weights.sum()), 1.0, abs_tol=1e-9):
        raise ParameterError(f"prior must hold {inputs} probabilities that add up to 1, one for each input")
    return weights
