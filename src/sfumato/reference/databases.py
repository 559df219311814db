"""Small databases and synthetic points from plain arrays: documents 002 and 004 without a session.

A table over a universe of u points is its histogram; counting queries are a matrix of zeros and ones with one row a
query and one column a point.  For tables with a schema ask a session for `sf.small_database(...)`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.certificate import NoBoundKnown
from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.normals import composed
from sfumato.mechanisms.synthetic.net import CountingMatrix, Net
from sfumato.mechanisms.synthetic.small_database import SmallDatabase
from sfumato.mechanisms.synthetic.smooth.fitted import Fitted
from sfumato.mechanisms.synthetic.smooth.plan import SmoothSynthesis
from sfumato.privacy.guarantees import Guarantee
from sfumato.randomness import Rng
from sfumato.reference.calibrated import Calibrated

__all__ = ["net", "small_database", "smooth"]

Whole: TypeAlias = npt.NDArray[np.int64]
FINE = 1 << 16  # lattice points a column of [-1, 1] has
UNKNOWN = NoBoundKnown("the best error of small databases is not known")
SMOOTH = NoBoundKnown("the best error of synthetic tables for smooth queries is not known")


def small_database(
    queries: npt.ArrayLike, rows: int, target: Guarantee, *, steps: int | None = None
) -> Calibrated[npt.ArrayLike, Whole]:
    """The exponential mechanism over all databases of `rows` rows; `release` takes a histogram and gives one.

    Proof: docs/proofs/synthesis-net.md.

    All databases are enumerated up to a million; beyond, a walk of `steps` steps, whose claim assumes `mixing`.
    """
    asked = CountingMatrix("queries", np.asarray(queries), rows=arguments.whole("rows", rows), steps=steps)
    mechanism = SmallDatabase.calibrate(asked, target)
    return Calibrated("small database", mechanism, mechanism.release, lambda: UNKNOWN)


def net(queries: npt.ArrayLike, candidates: npt.ArrayLike, target: Guarantee) -> Calibrated[npt.ArrayLike, Whole]:
    """The net mechanism: one of the given histograms of equal size, chosen by its worst counting query.

    Proof: docs/proofs/synthesis-net.md.
    """
    asked = CountingMatrix("queries", np.asarray(queries), candidates=np.asarray(candidates))
    mechanism = Net.calibrate(asked, target)
    return Calibrated("net mechanism", mechanism, mechanism.release, lambda: UNKNOWN)


class SmoothPoints:
    """A smooth synthesis with the claim and error of a mechanism."""

    def __init__(self, plan: SmoothSynthesis, target: Guarantee) -> None:
        self.plan, self.target = plan, target

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs; stated for neighbors only."""
        if distance != 1:
            raise ParameterError("smooth synthesis states its claim for neighbors, at distance 1")
        return composed(*self.plan.design.costs, self.target)

    def error(self, beta: float = 0.05) -> float:
        """The worst error that is predicted for kernels of width 4 on a typical table: a prediction, not a bound."""
        return self.plan.predicted(4.0)


def smooth(columns: int, rows: int, target: Guarantee) -> Calibrated[npt.ArrayLike, Fitted]:
    """Synthetic points for smooth queries; `release` takes `rows` points of [-1, 1]^columns, a public number of them.

    Proof: docs/proofs/synthesis-smooth.md.

    The value has `points`, `weights`, and `answers(values)` for queries by their values at the points.
    """
    count = arguments.whole("columns", columns)
    plan = SmoothSynthesis.plan([FINE] * count, arguments.whole("rows", rows), target)

    def draw(points: npt.ArrayLike, rng: Rng) -> Fitted:
        box = np.asarray(points, dtype=np.float64)
        if box.shape != (rows, count):
            raise ParameterError(f"points must have the shape ({rows}, {count}), got {box.shape}")
        return plan.release(box, rng)

    return Calibrated("smooth synthesis", SmoothPoints(plan, target), draw, lambda: SMOOTH)
