"""What additive mechanisms share: the shape of a query they can answer, and checks at the door."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Approximate

__all__ = [
    "Answerable",
    "Lattice",
    "Law",
    "Vector",
    "approximate",
    "checked",
    "joint_quantile",
    "ratio_up",
    "smallest_scale",
    "times_up",
]

Lattice = npt.NDArray[Any]  # whole numbers

NORMS = ("l1", "l2", "linf")
SMALLEST = 1e-3  # of the scales that the samplers support, in lattice units


class Answerable(Protocol):
    """A query with an integer vector for an answer, and how far one unit moves it in each norm."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def sensitivity(self, norm: str) -> float: ...


class Law(Protocol):
    """A law of noise on the integers."""

    def quantile(self, beta: float) -> int: ...

    @property
    def variance(self) -> float: ...

    @property
    def mean_absolute(self) -> float: ...

    def sample(self, shape: int, rng: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Vector:
    """A bare query, for mechanisms used by themselves: its size and its sensitivities, in lattice units.

    Answers are whole, so in one dimension a sensitivity of 1.5 means 1.
    """

    name: str
    dimension: int
    l1: float
    l2: float
    linf: float

    def __post_init__(self) -> None:
        if not (isinstance(self.dimension, int) and self.dimension >= 0):
            raise ParameterError(f"dimension must be a whole number of at least 0, got {self.dimension!r}")
        for norm in NORMS:
            moved = getattr(self, norm)
            if not (isinstance(moved, int | float) and math.isfinite(moved) and moved >= 0):
                raise ParameterError(f"sensitivity {norm} must be finite and not negative, got {moved!r}")
        if not self.linf <= self.l2 <= self.l1:
            raise ParameterError(f"sensitivities must satisfy linf <= l2 <= l1, got {self.linf}, {self.l2}, {self.l1}")

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the answer."""
        if norm not in NORMS:
            raise ParameterError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}")
        return float(getattr(self, norm))


def checked(answer: Lattice, query: Answerable) -> Lattice:
    """The answer, if its shape fits; its values are never looked at."""
    if answer.shape != (query.dimension,):
        raise ParameterError(
            f"query {query.name!r} has dimension {query.dimension}, got an answer of shape {answer.shape}"
        )
    return answer


def noised(answer: Lattice, query: Answerable, law: Law, rng: Any) -> Lattice:
    """The answer with an independent draw of `law` on each coordinate."""
    return np.asarray(checked(answer, query) + law.sample(query.dimension, rng))


def joint_quantile(law: Law, dimension: int, beta: float) -> int:
    """The least t such that all of `dimension` independent draws stay within t, but for `beta`."""
    return law.quantile(-math.expm1(math.log1p(-beta) / dimension))


def approximate(epsilon: float, delta: float, distance: int) -> Approximate:
    """The claim at a distance; refused where delta has reached 1 and nothing is claimed."""
    if delta >= 1:
        raise ParameterError(f"at distance {distance} delta would reach 1: no guarantee is left")
    return Approximate(epsilon, delta)


def times_up(distance: int, amount: float) -> float:
    """distance * amount, rounded up only if it is not exact."""
    return ceil_float(distance * Fraction(amount))


def ratio_up(numerator: float, denominator: float) -> float:
    """numerator / denominator, rounded up only if it is not exact."""
    return ceil_float(Fraction(numerator) / Fraction(denominator))


def smallest_scale(scale: float) -> float:
    """The scale, or the least that the samplers support."""
    return max(scale, SMALLEST)
