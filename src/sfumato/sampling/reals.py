"""Floating-point draws made of the generator's words: uniform, exponential, normal, gamma.

These are the ordinary approximations of real draws: uniform on multiples of 2**-53 and functions of those.
Whatever is built on them is only as exact as that; the exact laws on the lattice do not use this module.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import Rng

__all__ = ["Reals", "exponentials", "gammas", "normals", "real_matrix", "simplex_points", "uniforms"]

Reals = npt.NDArray[np.float64]

UNIT = 2.0**-53
SHIFT = np.uint64(11)


def uniforms(shape: tuple[int, ...], rng: Rng) -> Reals:
    """Uniform on the middles of the cells of length 2**-53: never 0, never 1."""
    words = rng.bits64(math.prod(shape)) >> SHIFT
    return np.minimum((words.astype(np.float64) + 0.5) * UNIT, 1 - UNIT).reshape(shape)


def exponentials(shape: tuple[int, ...], rng: Rng) -> Reals:
    """Standard exponential."""
    return -np.log(uniforms(shape, rng))


def normals(shape: tuple[int, ...], rng: Rng) -> Reals:
    """Standard normal, two from each pair of words (BoxMuller1958)."""
    count = math.prod(shape)
    radius = np.sqrt(2 * exponentials(((count + 1) // 2,), rng))
    angle = 2 * math.pi * uniforms(radius.shape, rng)
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
    return both[:count].reshape(shape)


def gammas(shape_parameter: float, shape: tuple[int, ...], rng: Rng) -> Reals:
    """Gamma of scale one: a sum of exponentials for integer shapes, inversion otherwise."""
    if shape_parameter == int(shape_parameter):
        total = np.zeros(shape)
        for _ in range(int(shape_parameter)):
            total += exponentials(shape, rng)
        return total
    from scipy.special import gammaincinv

    return np.asarray(gammaincinv(shape_parameter, uniforms(shape, rng)))


def simplex_points(count: int, corners: int, rng: Rng) -> Reals:
    """Uniform on the simplex with that many corners: barycentric coordinates, one point a row."""
    parts = exponentials((count, corners), rng)
    return np.asarray(parts / parts.sum(axis=1, keepdims=True))


def real_matrix(name: str, matrix: npt.ArrayLike) -> Reals:
    """A read-only finite (rows, columns) array of doubles, or a clear refusal."""
    out = np.array(matrix, dtype=np.float64)
    if out.ndim != 2 or 0 in out.shape:
        raise ParameterError(f"{name} must be a matrix with rows and columns, got shape {out.shape}")
    if not np.isfinite(out).all():
        raise ParameterError(f"{name} must hold finite numbers; it has NaN or infinite entries: replace them")
    out.setflags(write=False)
    return out
