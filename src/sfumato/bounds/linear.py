r"""What no mechanism can beat on linear answers: along each move of a unit they are a count.

Let v_1..v_k be changes of a table by one unit such that every x_0 + sum t_i v_i, with t in {0..K}^k, is a table, and
f_i = F v_i the moves of the answers.  Draw the t_i independently from the prior under which no mechanism has a mean
square below V_K on a count of the tables 0..K.  For the error Z of any mechanism then E Z Z^T >= V_K f_i f_i^T for
all i, so on some table
E ||Z||^2 >= V_K gamma^2,  gamma^2 = min{tr B : B >= f_i f_i^T for all i} >= (tr sqrt(sum p_i f_i f_i^T))^2
for all weights p.  A table of n units has room for k moves if k K <= n; V takes the place of V_K where tables are
unbounded.  Proof: docs/proofs/bounds-linear.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.bounds.line import least_on_chain, least_variance, words
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.linear.ellipsoid import least_ellipsoid

__all__ = ["MEASURE", "Family", "Judged", "Least", "among", "best_family", "share_of", "squared_norm"]

MEASURE = "root mean square error"
FINEST = 1e-2  # how near the weights come to the best: any weights give a bound
ASCENTS = ((32, 200), (96, 40), (math.inf, 10))  # up to these dimensions: fewer where each takes long

Floats = npt.NDArray[np.float64]


class Judged(Protocol):
    """What a certificate needs of a mechanism for linear answers: the error of one answer."""

    @property
    def root_mean_square(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Least:
    """The least mean square of all answers together on the worst table, by which theorem, among whom."""

    mean_square: float
    name: str
    among: str

    def certificate(self, variance: float, answers: int = 1, worth: float = 1.0) -> Certificate | NoBoundKnown:
        """The certificate of a mechanism with this mean square of one of the answers; a unit of them is `worth` that
        much in what is shown.
        """
        achieved, least = (worth * math.sqrt(square) for square in (variance, max(self.mean_square, 0.0) / answers))
        return certified(achieved, least, MEASURE, self.name, self.among)


@dataclass(frozen=True, slots=True)
class Family:
    """Moves that one table has room for together: how many, and their gamma^2, exactly or guessed from below."""

    moves: int
    rough: float
    exact: Callable[[], float]


def best_family(families: list[Family], claim: Guarantee, units: int | None) -> float:
    """The largest V_K gamma^2 over families of moves, K the steps for which `units` leave room; unbounded if None."""
    variance = least_variance(claim)
    if units is None:
        return variance * max((family.exact() for family in families), default=0.0)
    fitting = [family for family in families if 0 < family.moves <= units]
    if not fitting or not 0 < variance < math.inf:
        return 0.0
    chosen = max(fitting, key=lambda family: family.rough * share_of(variance, units // family.moves))
    return least_on_chain(claim, units // chosen.moves).mean_square * chosen.exact()


def share_of(variance: float, steps: int) -> float:
    """About V_K / V: a prior on 0..K knows 4 pi^2 / K^2 of the count beforehand (steers a choice, proves nothing)."""
    return 1 / (1 + 4 * math.pi**2 * variance / steps**2)


def squared_norm(points: npt.ArrayLike) -> float:
    """gamma^2 of the columns, from below.

    >>> round(squared_norm(np.diag([1.0, 2.0])), 3)
    5.0
    """
    columns = np.ascontiguousarray(points, dtype=np.float64)
    return _squared_norm(columns.tobytes(), columns.shape) if columns.any() else 0.0


@lru_cache(maxsize=64)
def _squared_norm(content: bytes, shape: tuple[int, int]) -> float:
    steps = next(steps for most, steps in ASCENTS if shape[0] <= most)
    return least_ellipsoid(np.frombuffer(content).reshape(shape), FINEST, steps).lower


def among(claim: Guarantee, units: int | None) -> str:
    """The mechanisms that a bound speaks about, and the tables of which the worst one is meant."""
    tables = "integer tables of unbounded size" if units is None else "tables of the declared size"
    return f"{words(claim)} on {tables}"
