r"""Paths on grids of millions of points: circulant embedding for stationary kernels, Kronecker for tensor products.

Circulant.  The covariance of an equispaced grid is a corner of a circulant one, which the Fourier transform makes
diagonal; where its eigenvalues are nonnegative the draw is exact [DietrichNewsam1997].  Else the torus is enlarged, and
what is still negative is raised to zero: that adds an independent stationary process, whose variance is `extra`.
Kronecker.  On a product grid the factor of a tensor kernel is the product of the axes' factors.
Proof: docs/proofs/sampling-processes.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.deferred import Module
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.processes.kernels import Gaussian, Kernel, Matern, Periodic, Scaled, Sum, Tensor
from sfumato.sampling.processes.kernels.kernel import Reals
from sfumato.sampling.processes.path import MOST_POINTS, NUGGET
from sfumato.sampling.processes.series import series_path
from sfumato.sampling.processes.torus import Torus, waves_on_line
from sfumato.sampling.reals import normals

__all__ = ["GridPath", "grid_path", "is_stationary"]

fft = Module("scipy.fft")

MOST_AXES = 3
LEFT_OUT = 1e-20  # largest coefficient of a periodic kernel's series that is left to white noise
LARGEST_TORUS = 1 << 24  # points; a path takes about 60 bytes for each
ENLARGED = 4  # doublings of the torus
SMALL_EXTRA, MOST_EXTRA = 1e-6, 1e-2  # of the peak: no need to enlarge; refused


@dataclass(frozen=True, slots=True, eq=False)
class GridPath:
    """Values on a product grid; `extra` bounds the variance added to the kernel's, never taken from it."""

    axes: tuple[Reals, ...]
    values: Reals
    extra: float
    method: str


def grid_path(
    kernel: Kernel, low: tuple[float, ...], high: tuple[float, ...], counts: tuple[int, ...], rng: Rng
) -> GridPath:
    """One path on the grid of `counts` equispaced points of each side of a box, ends included."""
    d = kernel.dimension
    if d > MOST_AXES:
        raise ParameterError(
            f"a grid in {d} dimensions is refused: 10 points a side are already 10^{d}; grids serve up to {MOST_AXES} "
            "dimensions, DensePath shows a path at chosen points in any"
        )
    if not len(low) == len(high) == len(counts) == d:
        raise ParameterError(f"low, high and counts must have {d} entries, the kernel's dimension")
    if min(counts) < 2 or not all(
        math.isfinite(a) and math.isfinite(b) and a < b for a, b in zip(low, high, strict=True)
    ):
        raise ParameterError("each side needs finite low < high and at least 2 points")
    if math.prod(counts) > LARGEST_TORUS // 2:
        raise ParameterError(f"counts are too many: a grid has at most {LARGEST_TORUS // 2} points; use series_path")
    axes = tuple(np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True))
    if _by_axes(kernel) is not None and max(counts) <= MOST_POINTS:
        return _kronecker(kernel, axes, rng)
    if isinstance(kernel, Periodic):
        return _periodic(kernel, axes[0], rng)
    if is_stationary(kernel):
        return _circulant(kernel, axes, rng)
    raise ParameterError(
        f"kernel is not a function of x - y: its grids have at most {MOST_POINTS} points a side; use a Matern kernel"
    )


def is_stationary(kernel: Kernel) -> bool:
    """Whether the kernel is an even function of each coordinate of x - y."""
    if isinstance(kernel, Sum | Tensor):
        return all(is_stationary(part) for part in kernel.parts)
    return (
        is_stationary(kernel.part) if isinstance(kernel, Scaled) else isinstance(kernel, Gaussian | Matern | Periodic)
    )


def _by_axes(kernel: Kernel) -> tuple[Kernel, ...] | None:
    """One kernel an axis, if it is their product; one axis counts where there is no stationary form."""
    if isinstance(kernel, Tensor) and all(part.dimension == 1 for part in kernel.parts):
        return kernel.parts if len(kernel.parts) > 1 or not is_stationary(kernel) else None
    if isinstance(kernel, Gaussian) and kernel.dimension > 1:
        return tuple(Gaussian(kernel.length) for _ in range(kernel.dimension))
    return (kernel,) if kernel.dimension == 1 and not is_stationary(kernel) else None


def _kronecker(kernel: Kernel, axes: tuple[Reals, ...], rng: Rng) -> GridPath:
    parts = _by_axes(kernel) or ()
    values = normals(tuple(axis.size for axis in axes), rng)
    for place, (part, axis) in enumerate(zip(parts, axes, strict=True)):
        covariance = part.gram(axis) + NUGGET * part.peak * np.eye(axis.size)
        try:
            factor = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:
            raise ParameterError("kernel is not positive definite on this grid; choose a covariance function") from None
        values = np.moveaxis(np.tensordot(factor, values, axes=(1, place)), 0, place)
    peak = math.prod(part.peak for part in parts)
    return GridPath(axes, values, peak * ((1 + NUGGET) ** len(parts) - 1) * (1 + 1e-6), "kronecker")


def _periodic(kernel: Periodic, axis: Reals, rng: Rng) -> GridPath:
    """The kernel's own series, and white noise for the waves left out: their Gram matrix is below its trace."""
    degree = 1
    while (last := kernel.coefficients(np.array([[degree], [degree + 1]]), (kernel.period,)))[0] > LEFT_OUT:
        degree *= 2
    basis = Torus((0.0,), (kernel.period,), (kernel.period,), (degree,))
    series = series_path(kernel, basis, rng)
    left = 2 * float(last[1]) / (1 - float(last[1] / last[0])) if last[0] > 0 else 0.0  # ratios of neighbors fall
    extra = left * axis.size * (1 + 1e-6)
    turns = (axis - axis[0]) / kernel.period
    values = waves_on_line(np.asarray(series.coefficients), float(turns[-1]) / (axis.size - 1), axis.size)
    return GridPath((axis,), values + math.sqrt(extra) * normals((axis.size,), rng), extra, "series")


def _circulant(kernel: Kernel, axes: tuple[Reals, ...], rng: Rng) -> GridPath:
    counts = tuple(axis.size for axis in axes)
    steps = [float((axis[-1] - axis[0]) / (axis.size - 1)) for axis in axes]
    sizes = [fft.next_fast_len(2 * (n - 1), real=True) for n in counts]
    if math.prod(sizes) > LARGEST_TORUS:
        raise ParameterError(f"counts are too many: their torus has at most {LARGEST_TORUS} points; use series_path")
    for attempt in range(ENLARGED + 1):
        raised, extra = _eigenvalues(kernel, sizes, steps)
        if extra <= SMALL_EXTRA * kernel.peak or 2 ** len(sizes) * math.prod(sizes) > LARGEST_TORUS:
            break
        sizes = [2 * size for size in sizes] if attempt < ENLARGED else sizes
    if extra > MOST_EXTRA * kernel.peak:
        raise ParameterError(
            f"this grid would add {extra / kernel.peak:.2g} of the variance; it is short against the kernel's length: "
            "use series_path, or DensePath"
        )
    drawn = fft.rfftn(normals(tuple(sizes), rng))
    drawn *= np.sqrt(raised)
    values = fft.irfftn(drawn, s=sizes, overwrite_x=True)[tuple(slice(n) for n in counts)]
    return GridPath(axes, np.ascontiguousarray(values), extra, "circulant")


def _eigenvalues(kernel: Kernel, sizes: list[int], steps: list[float]) -> tuple[Reals, float]:
    """Those of the circulant covariance on the torus, raised above zero and all rounding, and the variance that adds.

    Rounding of the transform is below 8 log2(n) units of its norm.  The half spectrum stands for the whole: each column
    but the first, and the last of an even size, counts twice.
    """
    lags = [np.minimum(np.arange(size), size - np.arange(size)) * step for size, step in zip(sizes, steps, strict=True)]
    points = np.stack([part.ravel() for part in np.meshgrid(*lags, indexing="ij")], axis=1)
    row = kernel.gram(points, np.zeros((1, len(sizes))))[:, 0].reshape(sizes)
    slack = 8 * math.log2(max(row.size, 2)) * 2.0**-53 * math.sqrt(row.size) * float(np.linalg.norm(row))
    slack += 64 * 2.0**-53 * row.size * kernel.peak  # the kernel's values are rounded too
    values = np.asarray(fft.rfftn(row).real)
    raised = np.maximum(values, 0.0) + slack
    twice = np.full(values.shape[-1], 2.0)
    twice[0] = 1.0
    if sizes[-1] % 2 == 0:
        twice[-1] = 1.0
    added = float(((raised - values) * twice).sum()) / row.size + slack
    return raised, added * (1 + 1e-9)
