r"""One path of a Gaussian process, shown piece by piece: each new value is drawn given all values already shown.

The values at points x_1, x_2, ... are L z with L the Cholesky factor of K + nugget I, grown by rows, and z independent
standard normal: the joint law is that of one path however the points arrive.  The nugget, NUGGET times the kernel's
peak, is independent noise of every point; it exceeds all rounding errors of the factor, so that the covariance drawn
is never below K, also where K is nearly singular.  Proof: docs/proofs/sampling-processes.md.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.processes.kernels import Kernel, kernel_from, points_of
from sfumato.sampling.processes.kernels.kernel import Reals
from sfumato.sampling.reals import normals

__all__ = ["MOST_POINTS", "NUGGET", "DensePath", "Path", "refuse_closed"]

solve_triangular = function("scipy.linalg", "solve_triangular")

NUGGET = 1e-8  # of the peak; rounding errors of a factor of MOST_POINTS rows stay below 6e-9 of it
MOST_POINTS = 4096


class Path(Protocol):
    """One realization, secret or not; what was shown stays, what is asked next fits to it."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def variance(self) -> float:
        """The largest variance of a value, whatever was added to the kernel included."""
        ...

    def at(self, points: npt.ArrayLike, rng: Rng) -> Reals: ...

    def close(self) -> None: ...

    def to_record(self) -> dict[str, Any]: ...


class DensePath:
    """A path of any kernel at up to MOST_POINTS points, exact given all points shown before.

    >>> from sfumato.randomness import seeded
    >>> from sfumato.sampling.processes.kernels import Gaussian
    >>> path = DensePath(Gaussian(1.0))
    >>> first = path.at([0.0, 1.0], seeded(1))
    >>> bool(path.at([1.0, 2.0], seeded(2))[0] == first[1])
    True
    """

    __slots__ = ("_factor", "_normals", "_open", "_places", "_points", "_values", "kernel")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel: Kernel = kernel
        self._open = True
        self._clear()

    def __repr__(self) -> str:
        return f"DensePath({self.kernel!r}, {len(self._values)} points shown)"

    @property
    def variance(self) -> float:
        """The largest variance of a value."""
        return self.kernel.peak * (1 + NUGGET)

    def at(self, points: npt.ArrayLike, rng: Rng) -> Reals:
        """The values at the points: those already shown again, the others drawn given them."""
        refuse_closed(self._open)
        asked = points_of("points", points, self.kernel.dimension) + 0.0  # minus zero is zero
        keys = [row.tobytes() for row in asked]
        fresh = {key: row for key, row in zip(keys, asked, strict=True) if key not in self._places}
        if len(self._values) + len(fresh) > MOST_POINTS:
            raise ParameterError(
                f"points would be {len(self._values) + len(fresh)} in all; a path of this kernel shows at most "
                f"{MOST_POINTS}; use series_path for more (grid_path draws on a grid, with no guarantee)"
            )
        if fresh:
            self._extend(np.array(list(fresh.values())), list(fresh), rng)
        return self._values[[self._places[key] for key in keys]]

    def close(self) -> None:
        """Forget everything; nothing more can be drawn."""
        self._open = False
        self._clear()

    def to_record(self) -> dict[str, Any]:
        """The whole state, from which the path goes on: as secret as the path is."""
        refuse_closed(self._open)
        return {
            "path": "dense", "kernel": self.kernel.to_record(), "points": self._points.tolist(),
            "values": self._values.tolist(), "normals": self._normals.tolist(),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> DensePath:
        """The path that `to_record` wrote."""
        path = cls(kernel_from(record["kernel"]))
        points = points_of("points", np.reshape(record["points"], (-1, path.kernel.dimension)), path.kernel.dimension)
        path._points, path._values = points, np.asarray(record["values"], dtype=np.float64)
        path._normals = np.asarray(record["normals"], dtype=np.float64)
        if not len(points) == len(path._values) == len(path._normals) <= MOST_POINTS:
            raise ParameterError("record does not hold one value and one normal for each point; save the path again")
        path._factor = _factor_of(path._covariance(points))
        path._places = {row.tobytes(): place for place, row in enumerate(points)}
        return path

    def _clear(self) -> None:
        self._points: Reals = np.zeros((0, self.kernel.dimension))
        self._values: Reals = np.zeros(0)
        self._normals: Reals = np.zeros(0)
        self._factor: Reals = np.zeros((0, 0))
        self._places: dict[bytes, int] = {}

    def _covariance(self, points: Reals) -> Reals:
        gram = self.kernel.gram(points)
        return gram + NUGGET * self.kernel.peak * np.eye(len(points))

    def _extend(self, points: Reals, keys: list[bytes], rng: Rng) -> None:
        """Grow the factor by rows [B^T, C], C C^T = K_new - B^T B, and draw."""
        old, new = len(self._values), len(points)
        across = self.kernel.gram(self._points, points) if old else np.zeros((0, new))
        mixed = solve_triangular(self._factor, across, lower=True) if old else across
        corner = _factor_of(self._covariance(points) - mixed.T @ mixed)
        fresh = normals((new,), rng)
        factor = np.zeros((old + new, old + new))
        factor[:old, :old], factor[old:, :old], factor[old:, old:] = self._factor, mixed.T, corner
        values = mixed.T @ self._normals + corner @ fresh
        self._points, self._factor = np.concatenate([self._points, points]), factor
        self._normals = np.concatenate([self._normals, fresh])
        self._values = np.concatenate([self._values, values])
        self._places |= {key: old + place for place, key in enumerate(keys)}


def _factor_of(covariance: Reals) -> Reals:
    try:
        return np.asarray(np.linalg.cholesky(covariance)) if covariance.size else covariance
    except np.linalg.LinAlgError:
        raise ParameterError(
            "kernel is not positive definite on these points together with those shown before; "
            "choose a covariance function, such as Gaussian or Matern52"
        ) from None


def refuse_closed(is_open: bool) -> None:
    """Refuse to go on with a path that is closed."""
    if not is_open:
        raise ParameterError("path is closed: its noise is forgotten, so no further values can be drawn")
