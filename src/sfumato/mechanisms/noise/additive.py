"""What additive mechanisms share: the shape of a query they can answer, and checks at the door.

Proof: docs/proofs/additive.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.randomness import Rng
from sfumato.sampling.independent import Single

__all__ = ["Additive", "Answerable", "Lattice", "Vector", "checked", "noised"]

Lattice = npt.NDArray[Any]  # whole numbers

NORMS = ("l1", "l2", "linf")


class Answerable(Protocol):
    """A query with an integer vector for an answer, and how far one unit moves it in each norm."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def sensitivity(self, norm: str) -> float: ...


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


class Additive(Answering):
    """What mechanisms share whose output is the answer with noise of one law on each number."""

    __slots__ = ()

    query: Answerable

    @property
    def noise(self) -> Single:
        """The law of each number's noise."""
        raise NotImplementedError

    def answers(self, output: Lattice) -> npt.NDArray[np.float64]:
        """The answers that an output stands for: itself."""
        return np.asarray(output, dtype=np.float64)

    def margins(self, beta: float) -> npt.NDArray[np.float64]:
        """For each number a distance that its error exceeds with probability at most `beta`."""
        return np.full(self.query.dimension, float(self.noise.quantile(beta)))

    @property
    def root_mean_square(self) -> float:
        """The root of the mean square error of one number, in lattice units."""
        return math.sqrt(self.noise.variance)


def checked(answer: Lattice, query: Answerable) -> Lattice:
    """The answer, if its shape fits; its values are never looked at."""
    if answer.shape != (query.dimension,):
        raise ParameterError(
            f"query {query.name!r} has dimension {query.dimension}, got an answer of shape {answer.shape}"
        )
    return answer


def noised(answer: Lattice, query: Answerable, law: Single, rng: Rng) -> Lattice:
    """The answer with an independent draw of `law` on each coordinate."""
    return np.asarray(checked(answer, query) + law.sample(query.dimension, rng))
