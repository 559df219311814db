r"""Which measurement answers a workload with the least error, for noise scaled to an l1 or an l2 sensitivity.

The error of a measurement A is tr(W (A^T A)^+ W^T) times the square of its largest column norm.  Within each family
that is a small smooth problem: level weights of a hierarchy, table weights of a product, a few extra rows beside the
identity (McKennaMiklauHayMachanavajjhala2018), or a linear map of the workload's own rows.  Whatever a search
returns is rounded to whole numbers and charged by its exact norms: searching steers accuracy, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.queries.linear.factorization import spectrum_of
from sfumato.queries.linear.factors import Floats
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.linear.measurements import Dense, Hierarchy, Interactions, Kronecker, Tables
from sfumato.queries.linear.measurements.hierarchy import widths_of
from sfumato.queries.linear.measurements.tables import interactions

__all__ = [
    "beside_identity",
    "hierarchy",
    "independent",
    "kronecker",
    "minimized",
    "score",
    "tables",
    "uniform_hierarchy",
]

FINE = 2**12  # the largest weight, in whole numbers
FINEST = 2**20  # the same for interactions, whose weights lie far apart
PRODUCT = 24  # bits of the largest weight of a product, all axes together
BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 32)
LARGEST_BESIDE = 64  # cells of a dense search, seconds there
MOST_AXES = 8
WITHIN = (1e-6, 1e3)  # of weights while they are searched; the loss does not depend on their scale


def score(measurement: Any, linear: Linear, norm: str) -> float:
    """The mean square of all answers together, for noise of one unit of sensitivity (add or remove)."""
    is_tree = isinstance(measurement, Hierarchy)
    total = measurement.total_variance(linear) if is_tree else float(measurement.variances(linear).sum())
    return float(total * measurement.norms(norm)[0] ** 2)


def uniform_hierarchy(cells: int, branching: int) -> Hierarchy:
    """The plain tree: every level measured with weight one."""
    widths = widths_of(cells, branching)
    return Hierarchy(cells, widths, (1,) * len(widths), (0,) * (len(widths) - 1))


def haar(cells: int) -> Hierarchy:
    """The Haar wavelet: the total, and differences of halves at every level."""
    widths = widths_of(cells, 2)
    return Hierarchy(cells, widths, (*(0,) * (len(widths) - 1), 1), (1,) * (len(widths) - 1))


def identity(cells: int) -> Hierarchy:
    """The histogram itself."""
    return Hierarchy(cells, (1,), (1,), ()) if cells == 1 else Hierarchy(cells, (1, cells), (1, 0), (0,))


def hierarchy(linear: Linear, norm: str, fine: int = FINE) -> Hierarchy:
    """The best hierarchy found over branchings, level weights (at most `fine`) and differences."""
    cells = linear.cells
    found = [identity(cells)]
    if cells > 1:
        found.append(haar(cells))
        for branching in dict.fromkeys((*BRANCHINGS, cells)):
            if branching <= cells:
                found += [uniform_hierarchy(cells, branching), _weighted(linear, branching, norm, fine)]
    return min(found, key=lambda one: score(one, linear, norm))


def _weighted(linear: Linear, branching: int, norm: str, fine: int) -> Hierarchy:
    """The best weights of the levels, and of the differences where halves exist."""
    widths = widths_of(linear.cells, branching)
    traces = [sum(_traces(linear, width)) for width in widths]
    costs = np.maximum(np.array(traces) - np.array([*traces[1:], 0.0]), 0.0)
    levels = len(widths)
    halves = levels - 1 if branching == 2 else 0
    sizes = np.array(widths, dtype=np.float64)
    below = np.tri(levels)

    def spectrum(weights: Floats) -> Floats:
        squares = weights**2
        values = below @ (squares[:levels] * sizes)
        values[:halves] += squares[levels:] * sizes[1 : halves + 1]
        return np.asarray(values)

    def slopes(weights: Floats, gradient: Floats) -> Floats:
        own = (below.T @ gradient) * sizes
        return np.asarray(2 * weights * np.concatenate([own, gradient[:halves] * sizes[1 : halves + 1]]))

    starts = [np.ones(levels + halves), np.concatenate([np.zeros(levels - 1), [1.0], np.ones(halves)])]
    starts.append(np.concatenate([np.full(levels, 0.05), np.ones(halves)]) if halves else 1 / np.sqrt(sizes))
    weights = minimized(costs, spectrum, slopes, starts, norm)
    whole = _whole(weights, fine)
    sums, differences = list(whole[:levels]), (*whole[levels:], *[0] * (levels - 1 - halves))
    for level in range(levels):  # levels that nothing asks for, as under contrasts, must be determined all the same
        if not any(sums[: level + 1]) and not any(differences[level : level + 1]):
            sums[level] = 1
    return Hierarchy(linear.cells, widths, tuple(sums), differences)


def _traces(linear: Linear, width: int) -> list[float]:
    parts = []
    for block in linear.blocks:
        (factor,) = block.factors
        parts.append(float(block.weight) ** 2 * factor.block_total(linear.cells, width))
    return parts


def tables(linear: Linear, norm: str) -> Tables | None:
    """The best weights of the marginal tables below those asked, or None if the workload is not of tables."""
    asked = [block.marginal() for block in linear.blocks]
    if any(axes is None for axes in asked) or len(linear.shape) > MOST_AXES:
        return None
    shape, everything = linear.shape, tuple(range(len(linear.shape)))
    wanted = tuple(axes for axes in asked if axes is not None)
    effects = interactions(wanted)
    kept = list(dict.fromkeys((*effects, everything)))
    contains = np.array([[set(effect) <= set(axes) for axes in kept] for effect in effects], dtype=np.float64)
    outside = np.array([math.prod(n for i, n in enumerate(shape) if i not in axes) for axes in kept], dtype=np.float64)
    spread = contains * outside
    freedom = np.array([math.prod(shape[i] - 1 for i in effect) for effect in effects], dtype=np.float64)
    energy = [
        sum(float(b.weight) ** 2 * math.prod(n for i, n in enumerate(shape) if i not in axes)
            for b, axes in zip(linear.blocks, wanted, strict=True) if set(effect) <= set(axes))
        for effect in effects
    ]  # fmt: skip
    starts = [
        np.array([float(axes in wanted) + 0.01 for axes in kept]),
        np.array([float(axes == everything) + 0.01 for axes in kept]),
    ]
    weights = minimized(
        freedom * np.array(energy), lambda w: spread @ w**2, lambda w, g: 2 * w * (spread.T @ g), starts, norm
    )
    chosen = [(axes, w) for axes, w in zip(kept, _whole(weights), strict=True) if w]
    return Tables(shape, tuple(axes for axes, _ in chosen), tuple(w for _, w in chosen))


def independent(linear: Linear) -> Interactions | None:
    """The least ellipsoid around tables, where their spectrum is the root of the workload's own; None if no tables."""
    spectrum = spectrum_of(linear)
    if spectrum is None or len(linear.shape) > MOST_AXES:
        return None
    shape = linear.shape
    scales = [math.prod(n if i in axes else math.sqrt(n) for i, n in enumerate(shape)) for axes in spectrum]
    weights = [size**0.25 / scale for (size, _), scale in zip(spectrum.values(), scales, strict=True)]
    whole = [max(1, round(FINEST * weight / max(weights))) for weight in weights]
    common = math.gcd(*whole)
    return Interactions(shape, tuple(spectrum), tuple(w // common for w in whole))


def kronecker(linear: Linear, norm: str) -> Kronecker | None:
    """One hierarchy for each axis, each the best for the rows asked along it."""
    if len(linear.shape) < 2:
        return None
    fine = 2 ** max(1, PRODUCT // len(linear.shape))
    axes = []
    for axis, cells in enumerate(linear.shape):
        blocks = tuple(dict.fromkeys(Block((block.factors[axis],), block.weight) for block in linear.blocks))
        axes.append(hierarchy(Linear((cells,), blocks), norm, fine))
    return Kronecker(tuple(axes))


def beside_identity(linear: Linear, norm: str, extra: int | None = None) -> Dense | None:
    """Extra rows beside the identity, scaled so that every column has the same l1 norm; found by descent."""
    cells = linear.cells
    if norm != "l1" or not 2 <= cells <= LARGEST_BESIDE:
        return None
    from scipy.optimize import minimize

    gram = linear.gram()
    gram /= np.trace(gram)
    count = extra or max(1, min(cells // 4, 12))

    def loss(flat: Floats) -> tuple[float, Floats]:
        rows = flat.reshape(count, cells)
        columns = 1 + rows.sum(axis=0)
        scaled = gram * columns * columns[:, None]
        inverse = np.linalg.inv(np.eye(cells) + rows.T @ rows)
        value = float((scaled * inverse).sum())
        by_columns = 2 * ((gram * columns) * inverse).sum(axis=1)
        gradient = -2 * rows @ (inverse @ scaled @ inverse) + by_columns
        return math.log(value), gradient.reshape(-1) / value

    start = np.random.default_rng(1).random(count * cells)
    fit = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * start.size, options={"maxiter": 120})
    rows = fit.x.reshape(count, cells)
    stacked = np.concatenate([np.eye(cells), rows]) / (1 + rows.sum(axis=0))
    whole = np.round(stacked * FINE / stacked.max()).astype(np.int64)
    return Dense.of(whole[whole.any(axis=1)]) if whole[:cells].diagonal().all() else None


def minimized(
    costs: Floats,
    spectrum: Callable[[Floats], Floats],
    slopes: Callable[[Floats, Floats], Floats],
    starts: list[Floats],
    norm: str,
) -> Floats:
    """Non-negative weights with the least sum(costs / spectrum) times the squared norm of the weights."""
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        values = spectrum(weights) + 1e-12
        error = float((costs / values).sum())
        gradient = slopes(weights, -costs / values**2) / error
        if norm == "l1":
            size = weights.sum()
            return math.log(error) + 2 * math.log(size), gradient + 2 / size
        size = float((weights**2).sum())
        return math.log(error) + math.log(size), gradient + 2 * weights / size

    fits = [
        minimize(
            loss,
            np.maximum(start, 1e-3),
            jac=True,
            method="L-BFGS-B",
            bounds=[WITHIN] * start.size,
            options={"maxiter": 500},
        )
        for start in starts
    ]
    return np.asarray(min(fits, key=lambda fit: float(fit.fun)).x)


def _whole(weights: Floats, fine: int = FINE) -> tuple[int, ...]:
    """The weights as whole numbers of at most `fine`, without a common factor."""
    whole = [int(w) for w in np.round(fine * weights / weights.max())]
    common = math.gcd(*whole)
    return tuple(w // common for w in whole)
