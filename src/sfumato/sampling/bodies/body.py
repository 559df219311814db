"""What a symmetric convex body knows, and what all bodies compute alike."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.reals import Reals, gammas

__all__ = ["ORDERS", "Body", "body_noise", "check_dimension", "check_radius", "mean_norm", "rows"]

ORDERS = {"l1": 1.0, "l2": 2.0, "linf": np.inf}
DRAWS = 20_000  # for mean norms: relative error below one percent


class Body(Protocol):
    """A symmetric convex body in R^dimension, or a linear image of one in R^degrees."""

    @property
    def dimension(self) -> int:
        """Of the space that holds the body."""
        ...

    @property
    def degrees(self) -> int:
        """Of the space in which uniform points are drawn; the dimension, but for linear images."""
        ...

    @property
    def extent(self) -> float:
        """The largest coordinate of a point of the body, or somewhat more."""
        ...

    def gauge(self, points: npt.ArrayLike) -> Reals:
        """min{r >= 0 : z in r * body} for each row z; infinite where there is none."""
        ...

    def gauge_bound(self, points: npt.ArrayLike) -> Reals:
        """As `gauge`, never below it, whatever the rounding."""
        ...

    def contains(self, points: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether each row is proven to lie inside."""
        ...

    def volume(self) -> float | None:
        """The volume, None where it is not known exactly."""
        ...

    def uniform(self, count: int, rng: Rng) -> Reals:
        """Independent uniform points, one a row; a linear image maps the uniform points of its body."""
        ...

    def mean_norm(self, norm: str, rng: Rng, order: float = 1.0) -> float:
        """E ||u||^order for a uniform point u, norm one of l1, l2, linf; simulated where no formula is known."""
        ...


def body_noise(body: Body, rate: float, count: int, rng: Rng) -> Reals:
    """Draws with density proportional to exp(-rate * gauge), or their images: gamma times uniform."""
    radius = gammas(body.degrees + 1, (count, 1), rng)
    return radius / rate * body.uniform(count, rng)


def mean_norm(body: Body, norm: str, rng: Rng, order: float = 1.0) -> float:
    """E ||u||^order over simulated uniform points."""
    if norm not in ORDERS:
        raise ParameterError(f"norm must be one of {', '.join(ORDERS)}, got {norm!r}")
    lengths = np.linalg.norm(body.uniform(DRAWS, rng), ord=ORDERS[norm], axis=1)
    return float((lengths**order).mean())


def rows(points: npt.ArrayLike, dimension: int) -> Reals:
    """The points as a (count, dimension) array of doubles; a single point becomes one row."""
    out = np.atleast_2d(np.asarray(points, dtype=np.float64))
    if out.ndim != 2 or out.shape[1] != dimension:
        raise ParameterError(f"points must have {dimension} columns, got shape {out.shape}")
    return out


def check_dimension(dimension: int) -> None:
    """Refuse what is not a positive whole number."""
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise ParameterError(f"dimension must be a whole number of at least 1, got {dimension!r}")


def check_radius(radius: float) -> None:
    """Refuse what is not a positive finite number."""
    if not (isinstance(radius, int | float) and np.isfinite(radius) and radius > 0):
        raise ParameterError(f"radius must be positive and finite, got {radius!r}")
