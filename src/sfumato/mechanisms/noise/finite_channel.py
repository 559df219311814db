r"""A channel of whole weights between finitely many values: the optimum of a linear program, made exact.

Definition.  Value x is published as y with probability w(y|x)/2^52, w whole numbers whose rows add up to 2^52; with a
delta, x is first published as it is with probability delta.

Guarantee.   One record replaced costs epsilon = ln max over y, x, x' of w(y|x)/w(y|x'), and delta.
Proof: docs/proofs/finite_channel.md.

Accuracy.    The worst mean loss is a sum over the weights; `calibrate` makes it least among all channels, up to a
millionth, with the certificate of `bounds.randomizers`.

Assumes.     Nothing beyond random bits: weights are whole numbers, a draw compares 52 bits with their sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.exponentials import exponential
from sfumato.bounds.randomizers import LARGEST, Losses, best_channel
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling import bernoulli

__all__ = ["FiniteChannel"]

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]

BITS = 52
ALL = 1 << BITS
INWARD = Fraction(1, 1 << 40)  # of the ratio, so that rounding its logarithm up stays within epsilon
SPARE = 2.0**-20  # of every row, given to one answer: it takes up what rounding leaves


@dataclass(frozen=True, slots=True)
class FiniteChannel:
    """Losses and weights, one row a value and one column an answer; `delta` is the chance that a value is shown.

    Proof: docs/proofs/finite_channel.md.

    >>> flips = FiniteChannel.calibrate(((0.0, 1.0), (1.0, 0.0)), Pure(1.0))
    >>> flips.guarantee().implies(Pure(1.0)), round(flips.error() * (1 + math.e), 4)
    (True, 1.0)
    """

    losses: Losses
    weights: tuple[tuple[int, ...], ...]
    delta: float = 0.0

    def __post_init__(self) -> None:
        Approximate(0.0, self.delta)
        shape, given = ({len(row) for row in rows} for rows in (self.weights, self.losses))
        if len(self.weights) != len(self.losses) or shape != given or len(shape) != 1:
            raise ParameterError("losses and weights must have one row a value and one column an answer, none missing")
        if any(sum(row) != ALL or min(row) < 0 for row in self.weights):
            raise ParameterError(f"weights must be rows of whole numbers from 0, one a value, that add up to 2^{BITS}")
        if any(any(column) and not all(column) for column in zip(*self.weights, strict=True)):
            raise ParameterError("weights must give every answer to all values or to none: else it tells them apart")
        if self.delta and len(self.weights) != len(self.weights[0]):
            raise ParameterError("with a delta the answers must be the values, since a value is then sometimes shown")

    @classmethod
    def calibrate(cls, losses: Losses, target: Guarantee) -> FiniteChannel:
        """The channel with the least worst mean loss that meets `target`; losses are for values x answers."""
        if not isinstance(target, Pure | Approximate):
            raise UnsupportedQuery(f"a channel of single records meets pure or approximate targets, not {target!r}")
        program = best_channel(losses, min(target.epsilon, LARGEST))
        if program is None:
            raise UnsupportedQuery(f"the linear program finds no channel at epsilon = {target.epsilon!r}; take another")
        least = int(np.argmin(np.max(np.array(losses), axis=0)))
        weights = _whole(program.channel, min(target.epsilon, LARGEST), least)
        return cls(losses, weights, target.delta if isinstance(target, Approximate) else 0.0)

    def guarantee(self, distance: int = 1) -> Approximate | Pure:
        """What replacing `distance` records costs."""
        ratio = max(Fraction(max(column), min(column)) for column in zip(*self.weights, strict=True) if any(column))
        epsilon = round_up(math.log(ceil_float(ratio)), 4) if ratio > 1 else 0.0
        return Approximate(epsilon, self.delta).group(distance) if self.delta else Pure(epsilon).group(distance)

    def means(self, losses: npt.ArrayLike) -> Reals:
        """The mean of each value, given losses of values x answers."""
        given = np.asarray(losses, dtype=np.float64)
        found = (np.array(self.weights, dtype=np.float64) / ALL * given).sum(axis=1)
        return np.asarray((1 - self.delta) * found + (self.delta * np.diagonal(given) if self.delta else 0.0))

    def error(self, beta: float = 0.05) -> float:
        """The worst mean loss."""
        return float(self.means(self.losses).max())

    def release(self, answer: Integers, rng: Rng) -> Integers:
        """The published answers' positions.  `answer`: the exact, secret positions of the records' values."""
        words = (rng.bits64(len(answer)) >> np.uint64(64 - BITS)).astype(np.int64)
        drawn = np.zeros(len(answer), dtype=np.int64)
        for place, row in enumerate(self.weights):
            here = answer == place
            drawn[here] = np.searchsorted(np.cumsum(np.array(row, dtype=np.int64)), words[here], side="right")
        if not self.delta:
            return drawn
        shown = np.asarray(bernoulli(Fraction(self.delta), len(answer), rng))
        return np.asarray(np.where(shown, answer, drawn), dtype=np.int64)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "finite-channel", "weights": [[*row] for row in self.weights], "delta": self.delta}

    @classmethod
    def from_record(cls, losses: Losses, record: Mapping[str, Any]) -> FiniteChannel:
        """The channel that `to_record` describes."""
        return cls(losses, tuple(tuple(int(weight) for weight in row) for row in record["weights"]), record["delta"])


def _whole(channel: Reals, epsilon: float, spare_goes_to: int) -> tuple[tuple[int, ...], ...]:
    """Whole weights near a channel of doubles, exactly epsilon-private.

    Each column is held between its floor and e^epsilon times that; what rows then lack goes to one answer, and more is
    spared until the lacks themselves are within e^epsilon of one another.
    """
    ratio = exponential(Fraction(epsilon), 96)[0] * (1 - INWARD) if epsilon else Fraction(1)
    ratio, spare = max(ratio, Fraction(1)), SPARE
    while True:
        scaled = np.rint(np.minimum(channel * (1 - spare), 1.0) * ALL).astype(np.int64)
        floors = np.maximum(scaled.min(axis=0), (scaled.max(axis=0) / math.exp(epsilon)).astype(np.int64))
        columns = [
            [min(max(int(weight), int(floor)), math.floor(ratio * int(floor))) for weight in column]
            for column, floor in zip(scaled.T, floors, strict=True)
        ]
        lacks = [ALL - sum(row) for row in zip(*columns, strict=True)]
        if min(lacks) > 0 and max(lacks) <= ratio * min(lacks):
            break
        spare = min(4 * spare, 1.0)
    columns[spare_goes_to] = [weight + lack for weight, lack in zip(columns[spare_goes_to], lacks, strict=True)]
    return tuple(tuple(row) for row in zip(*columns, strict=True))
