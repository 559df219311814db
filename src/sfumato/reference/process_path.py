r"""The Gaussian process mechanism on functions as such: one secret path of a kernel, shown where it is asked.

Definition.  A query answers with a function f, an element of the reproducing space of a kernel K.  Release f + sigma G,
G one path of the Gaussian process with covariance K, at any finite number of points, in any order, for as long as the
release is open; each value is drawn given all values shown before [HallRinaldoWasserman2013].

Guarantee.   If one unit of distance moves f by at most s in the norm of the reproducing space, k units cost
rho = (k s)^2 / (2 sigma^2) concentrated [BunSteinke2016], or, with `epsilon` given, (epsilon, delta) with the exact
Gaussian profile at k s [BalleWang2018], for all points together.  Proof: docs/proofs/process_path.md.

Accuracy.    The noise at a point is N(0, v), v at most sigma^2 times the path's variance and a nugget of 1e-8 of the
kernel's peak; `error` is its quantile.

Assumes.     Real arithmetic, named in the claim: path and function are floating-point numbers.  The nugget hides their
rounding errors, which differences of close points would show otherwise.  Until it is closed, a release holds the
secret function and its noise: whoever has that object has the data.

Differs.     `Process` needs none of this; prefer it where the function has a finite basis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.normals import normal_claim, normal_sigma
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling.processes.kernels import Kernel, points_of
from sfumato.sampling.processes.path import NUGGET, Path
from sfumato.sampling.processes.paths import path_from, path_of
from sfumato.sampling.reals import normals

__all__ = ["FunctionQuery", "ProcessPath", "ReleasedPath", "density_sensitivity"]

ndtri = function("scipy.special", "ndtri")

Reals = npt.NDArray[np.float64]
Function = Callable[[Reals], npt.ArrayLike]

REAL = frozenset({"real-arithmetic"})


@dataclass(frozen=True, slots=True)
class FunctionQuery:
    """A bare query whose answer is a function in the space of `kernel`; one unit moves it by `norm` in that space."""

    name: str
    kernel: Kernel
    norm: float

    def __post_init__(self) -> None:
        if not (isinstance(self.norm, int | float) and math.isfinite(self.norm) and self.norm > 0):
            raise ParameterError(f"norm must be finite and positive, got {self.norm!r}")


@dataclass(frozen=True, slots=True)
class ProcessPath:
    """sigma times one path of the query's kernel; the claim is concentrated unless `epsilon` is given.

    Proof: docs/proofs/process_path.md.

    >>> from sfumato.sampling.processes.kernels import Gaussian
    >>> ProcessPath(FunctionQuery("curve", Gaussian(1.0), 1.5), sigma=3.0).guarantee()
    Concentrated(rho=0.125, assumptions=['real-arithmetic'])
    """

    query: FunctionQuery
    sigma: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.sigma, int | float) and math.isfinite(self.sigma) and self.sigma > 0):
            raise ParameterError(f"sigma must be finite and positive, got {self.sigma!r}")
        if self.epsilon is not None:
            Pure(self.epsilon)

    @classmethod
    def calibrate(cls, query: FunctionQuery, target: Guarantee) -> ProcessPath:
        """The least noisy path that meets `target`, but for its assumption."""
        return cls(query, *normal_sigma(query.norm, target))

    def guarantee(self, distance: int = 1) -> Concentrated | Approximate:
        """What one release costs between tables `distance` units apart, at all points together."""
        return replace(normal_claim(self.query.norm, self.sigma, self.epsilon, distance), assumptions=REAL)

    def error(self, beta: float = 0.05) -> float:
        """The noise at a point, exceeded with probability at most `beta`."""
        if not 0 < beta < 1:
            raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
        variance = path_of(self.query.kernel).variance + NUGGET * self.query.kernel.peak
        return self.sigma * math.sqrt(variance) * float(-ndtri(beta / 2)) * (1 + 1e-12)

    def release(self, answer: Function, rng: Rng) -> ReleasedPath:
        """A release of which nothing has been shown yet.  `answer` is the exact, secret function."""
        return ReleasedPath(self, answer, path_of(self.query.kernel))


class ReleasedPath:
    """A function with its noise: evaluate, save, reload, evaluate elsewhere; secret inside until it is closed."""

    __slots__ = ("_function", "_path", "_shown", "mechanism")

    def __init__(self, mechanism: ProcessPath, function: Function, path: Path) -> None:
        self.mechanism = mechanism
        self._function: Function | None = function
        self._path = path
        self._shown: dict[bytes, float] = {}

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"ReleasedPath({self.mechanism.query.name!r}, {len(self._shown)} points shown, {state})"

    @property
    def is_open(self) -> bool:
        """Whether new points can be asked."""
        return self._function is not None

    def at(self, points: npt.ArrayLike, rng: Rng) -> Reals:
        """The noisy function at the points, in agreement with all that was shown; once closed, at shown points only."""
        asked = points_of("points", points, self.mechanism.query.kernel.dimension) + 0.0
        keys = [row.tobytes() for row in asked]
        fresh = np.array([row for key, row in zip(keys, asked, strict=True) if key not in self._shown])
        if fresh.size:
            if self._function is None:
                raise ParameterError("points must be among those shown: the release is closed and its noise forgotten")
            rough = math.sqrt(NUGGET * self._path.kernel.peak) * normals((len(fresh),), rng)
            noise = self.mechanism.sigma * (self._path.at(fresh, rng) + rough)
            pairs = zip(fresh, _values(self._function, fresh) + noise, strict=True)
            self._shown |= {row.tobytes(): float(value) for row, value in pairs if row.tobytes() not in self._shown}
        return np.array([self._shown[key] for key in keys])

    def close(self) -> None:
        """Forget function and noise; what was shown remains."""
        self._function = None
        self._path.close()

    def to_record(self) -> dict[str, Any]:
        """All of it; while open this holds the noise, and is as secret as the data."""
        shown = [[np.frombuffer(key).tolist(), value] for key, value in self._shown.items()]
        return {"shown": shown, "noise": self._path.to_record() if self.is_open else None}

    @classmethod
    def from_record(cls, mechanism: ProcessPath, record: dict[str, Any], function: Function | None) -> ReleasedPath:
        """The release that `to_record` wrote; an open one goes on with its function, which is not in the record."""
        noise = record["noise"]
        if (noise is None) != (function is None):
            raise ParameterError("function must be given for an open release, and only then")
        kernel = mechanism.query.kernel
        path = path_of(kernel) if noise is None else path_from(noise)
        if path.kernel != kernel:
            raise ParameterError("record was written with another kernel; rebuild the mechanism it belongs to")
        released = cls(mechanism, function or _nothing, path)
        released._shown = {np.asarray(point, dtype=np.float64).tobytes(): value for point, value in record["shown"]}
        if function is None:
            released.close()
        return released


def _values(function: Function, points: Reals) -> Reals:
    """The secret function at points; what is not finite counts as zero, and its own errors are withheld."""
    try:
        exact = np.asarray(function(points), dtype=np.float64)
    except Exception:
        raise ParameterError("the function failed; its own message is withheld, since it may hold data") from None
    if exact.shape != (len(points),):
        raise ParameterError(f"the function must return one number a point, got shape {exact.shape}")
    return np.nan_to_num(exact, nan=0.0, posinf=0.0, neginf=0.0)


def _nothing(points: Reals) -> Reals:
    return np.zeros(len(points))


def density_sensitivity(bandwidth: float, size: int, dimension: int = 1) -> float:
    """How far replacing one of `size` records moves a Gaussian kernel density, in the reproducing space of the Gaussian
    kernel of that bandwidth: sqrt(2) / (size (2 pi bandwidth^2)^{dimension/2}), rounded up.

    >>> round(density_sensitivity(0.5, 100), 6)
    0.011284
    """
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise ParameterError(f"bandwidth must be finite and positive, got {bandwidth!r}")
    if size < 1 or dimension < 1:
        raise ParameterError(f"size and dimension must be at least 1, got {size!r} and {dimension!r}")
    height = (math.sqrt(2 * math.pi) * bandwidth) ** -dimension
    return round_up(math.sqrt(2) / size * height, 8 + 4 * dimension)
