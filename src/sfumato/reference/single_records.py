"""The best randomizer of one record of a finite metric space, or with any losses, on plain numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.randomizers import least_loss
from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.finite_channel import FiniteChannel
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import Rng
from sfumato.reference.calibrated import Calibrated

__all__ = ["nearest"]

MOST = 64  # values, or answers
AMONG = "randomizers of a record by itself, answers among the given ones"


def nearest(
    losses: Sequence[Sequence[float]], target: Pure | Approximate
) -> Calibrated[Sequence[int], npt.NDArray[np.int64]]:
    """The channel with the least worst mean loss, `losses[x][y]` being that of publishing y for x: a distance, say.

    Proof: docs/proofs/finite_channel.md.

    `release` takes the positions of the records' values and gives those of the answers, each drawn by itself.

    >>> line = [[abs(x - y) / 4 for y in range(5)] for x in range(5)]
    >>> best = nearest(line, Pure(1.0))
    >>> round(best.error(), 4), round(best.certificate.factor, 4)
    (0.3137, 1.0)
    """
    table = _checked(losses)
    mechanism = FiniteChannel.calibrate(table, target)

    def draw(data: Sequence[int], rng: Rng) -> npt.NDArray[np.int64]:
        held = np.asarray(data, dtype=np.int64)
        if held.ndim != 1 or (held.size and not (held.min() >= 0 and held.max() < len(table))):
            raise ParameterError(f"data must be positions from 0 to {len(table) - 1}, one a record")
        return mechanism.release(held, rng)

    def proven() -> Certificate | NoBoundKnown:
        claim = mechanism.guarantee()
        least = least_loss(table, claim.epsilon, target.parts().get("delta", 0.0))
        if not least > 0:
            return NoBoundKnown("the linear program proves no loss above zero")
        measure = "worst mean loss of a record"
        return certified(mechanism.error(), least, measure, "linear program over channels", AMONG, "record")

    return Calibrated("the best channel", mechanism, draw, proven)


def _checked(losses: Sequence[Sequence[float]]) -> tuple[tuple[float, ...], ...]:
    try:
        table = tuple(tuple(float(loss) for loss in row) for row in losses)
    except (TypeError, ValueError):
        raise ParameterError("losses must be rows of numbers, one row a value and one number an answer") from None
    width = len(table[0]) if table else 0
    if not (2 <= len(table) <= MOST and 1 <= width <= MOST and all(len(row) == width for row in table)):
        raise ParameterError(f"losses must have 2 to {MOST} rows of equal length from 1 to {MOST}")
    if not all(math.isfinite(loss) and loss >= 0 for row in table for loss in row):
        raise ParameterError("losses must be finite and not negative")
    return table
