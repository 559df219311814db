r"""How far made rows are from the table in the answers of a workload: the mean misfit and the worst, measured last.

The misfit of a question is the l1 distance of its exact numbers from those of the made rows, scaled to the released
number of rows: whole numbers both.  One unit moves each misfit by at most the reach of the answers, hence their worst,
and their whole mean.  Proof: docs/proofs/synthesis-workload.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.noise import Noise, Reach, noisy
from sfumato.mechanisms.synthetic.workload.rounds import MOST_TOTAL
from sfumato.queries.goals import UNIT
from sfumato.randomness import Rng

__all__ = ["JUDGING", "misfits"]

JUDGING = Fraction(1, 3)  # of what judges rows

Whole = npt.NDArray[np.int64]


def misfits(
    exact: Sequence[Whole], made: Sequence[Whole], rows: int, total: float, noise: Noise, amount: Fraction, rng: Rng
) -> dict[str, float]:
    """The mean and the worst misfit of the questions, in rows, with noise; its scale; the most numbers of one."""
    share = min(max(total, 1.0), MOST_TOTAL) / max(1, rows)
    apart = [
        int(np.abs(held - np.rint(share * own).astype(np.int64)).sum()) for held, own in zip(exact, made, strict=True)
    ]
    both = type(noise)(Reach(noise.reach.l1, both=False))
    scale = max(both.scales(amount, [1, 1]))
    mean, worst = noisy(np.array([sum(apart) // len(apart), max(apart)], dtype=np.int64), both.law(scale), rng)
    most = max(len(held) for held in exact)
    return {"mean": float(mean) / UNIT, "worst": float(worst) / UNIT, "scale": scale / UNIT, "numbers": most}
