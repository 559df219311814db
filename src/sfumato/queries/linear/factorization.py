r"""The factorization norm of a workload, squared: the least trace of an ellipsoid around what one unit can do.

gamma^2 = min tr B such that B >= v v^T for all moves v; Gaussian noise of this covariance has the least mean square.
For any weights p on the moves gamma^2 >= (tr sqrt(sum p_i v_i v_i^T))^2, so a lower value needs good weights only, and
these are known: by symmetry for tables, from few cells for many prefix sums, axis by axis for a product, by ascent for
the rest.  Lower values are rounded down past what floating point can err.  Proof: docs/proofs/factorization.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.queries.linear.bodies import Moves
from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.queries.linear.factors import UPTO, Floats
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.linear.measurements import Tables
from sfumato.queries.linear.measurements.tables import Axes, interactions
from sfumato.queries.linear.measurements.toeplitz import square_root

__all__ = ["Factorization", "design", "factorization", "is_prefix", "spectrum_of"]

CLOSE = 1e-3  # how far apart the two values may be after an ascent
LARGEST = 1024  # cells whose Gram matrix is taken apart
WRITTEN = 128  # prefix sums whose weights are found by ascent; more of them take over these
MOST_PREFIXES = 2**14
PAIRED = 40  # cells whose differences are listed one by one
ROUNDOFF = 2.0**-48  # of the largest eigenvalue and the number of cells: sixteen times what a symmetric solver may err


@dataclass(frozen=True, slots=True)
class Factorization:
    """gamma^2 lies between `lower` and `upper`; as many as `units` moves carry the lower value's weight."""

    lower: float
    upper: float
    units: int


@lru_cache(maxsize=256)
def factorization(linear: Linear, moves: Moves) -> Factorization | None:
    """gamma^2 of the answers of a workload that a unit moves so; None if there are too many cells to tell."""
    found = _replaced(linear, moves.alone) if moves.apart else _added(linear)
    square = float(moves.rows) ** 2
    return None if found is None else Factorization(found.lower * square, found.upper * square, found.units)


def _added(linear: Linear) -> Factorization | None:
    """Of the columns themselves."""
    spectrum = spectrum_of(linear)
    if spectrum is not None:
        value = math.fsum(count * math.sqrt(size) for size, count in spectrum.values()) ** 2 / linear.cells
        return Factorization(value * (1 - 1e-9), value * (1 + 1e-9), linear.cells)
    if len(linear.shape) > 1 and len(linear.blocks) == 1:
        (block,) = linear.blocks
        axes = [_added(Linear((n,), (type(block)((f,)),))) for f, n in zip(block.factors, linear.shape, strict=True)]
        if any(axis is None for axis in axes):
            return None
        whole = float(block.weight) ** 2
        lower, upper = (math.prod(getattr(axis, name) for axis in axes) for name in ("lower", "upper"))
        return Factorization(whole * lower, whole * upper, linear.cells)
    if is_prefix(linear) and WRITTEN < linear.cells <= MOST_PREFIXES:
        return _many_prefixes(linear.cells, linear.blocks[0].weight)
    if linear.cells > LARGEST:
        return None
    _, lower, upper = design(linear)
    return Factorization(lower, upper, linear.cells)


@lru_cache(maxsize=64)
def design(linear: Linear) -> tuple[Floats, float, float]:
    r"""Weights on the cells by ascent, with the values that they prove.

    With M = sqrt(P) W^T W sqrt(P) the lower value is (tr sqrt M)^2, and g_i = (sqrt M)_ii / (p_i tr sqrt M) is the
    ratio of the upper one to it, at its largest.  p_i <- p_i g_i^2 is at once right where columns are orthogonal.
    """
    gram = linear.gram()
    weights = np.sqrt(np.maximum(gram.diagonal(), 0))
    asked = weights > 0
    gram, weights = gram[np.ix_(asked, asked)], weights[asked] / weights.sum()
    best, lower, upper, power = weights, 0.0, math.inf, 2
    for _ in range(_steps(len(weights))):
        roots = np.sqrt(weights)
        values, vectors = np.linalg.eigh(roots[:, None] * gram * roots)
        sizes = np.sqrt(np.maximum(values, 0.0))
        gaps = (vectors**2 @ sizes) / (weights * sizes.sum())
        upper = min(upper, float(gaps.max()) * float(sizes.sum()) ** 2 * (1 + 1e-6))
        value = _safe(values)
        if value > lower:
            best, lower = weights, value
        else:
            power = 1
        if upper <= (1 + CLOSE) * lower:
            break
        weights = weights * gaps**power
        weights = np.maximum(weights / weights.sum(), 1e-300)
    spread = np.zeros(linear.cells)
    spread[asked] = best
    return spread, lower, upper


def _steps(cells: int) -> int:
    """Fewer where each takes long."""
    return 60 if cells <= 128 else 12 if cells <= 512 else 4


def _safe(values: Floats) -> float:
    """(sum of the roots of eigenvalues)^2, each lowered by what it may be wrong by."""
    wrong = ROUNDOFF * len(values) * float(values[-1])
    return float(np.sqrt(np.maximum(values - wrong, 0.0)).sum()) ** 2 * (1 - 1e-9)


def _many_prefixes(cells: int, weight: int) -> Factorization:
    r"""Weights of few prefix sums, spread over many; the inverse of W P W^T has three diagonals.

    The normalized square root of the matrix of prefix sums (`measurements.toeplitz`) stands for the upper value.
    """
    from scipy.linalg import eigvalsh_tridiagonal

    few, _, _ = design(Linear((WRITTEN,), (Block((UPTO,)),)))
    places = np.linspace(0, 1, WRITTEN + 1)
    shares = np.diff(np.interp(np.linspace(0, 1, cells + 1), places, np.concatenate([[0.0], np.cumsum(few)])))
    shares = shares / math.fsum(shares)
    middle = np.full(cells, 2.0)
    middle[0] = 1.0
    inverse = eigvalsh_tridiagonal(middle / shares, -1 / np.sqrt(shares[1:] * shares[:-1]))
    wrong = ROUNDOFF * cells * float(inverse[-1])
    value = float((1 / np.sqrt(inverse + wrong)).sum()) ** 2
    found = square_root(cells)
    upper = float(found.variances(Linear((cells,), (Block((UPTO,)),))).sum()) * found.norms("l2")[0] ** 2
    return Factorization(value * weight**2 * (1 - 1e-9), upper * weight**2 * (1 + 1e-9), cells)


def _replaced(linear: Linear, alone: bool) -> Factorization | None:
    r"""Of the differences of columns; a row without a cell is one more column, of zeros.

    Weights p_i p_j on the differences sum up to (1 - sum p^2) / 2 and make F (diag p - p p^T) F^T.
    """
    count = linear.cells + alone
    pairs = count * (count - 1) // 2
    if linear.cells <= PAIRED and linear.is_small:
        points = Moves(alone, True).vertices(linear.dense()).astype(np.float64)
        if points.shape[1] == 0:
            return Factorization(0.0, 0.0, 0)
        if len(points) > linear.cells:  # in coordinates of their span
            points = np.linalg.qr(linear.dense().astype(np.float64))[0].T @ points
        found = least_ellipsoid(points)
        return Factorization(found.lower * (1 - 1e-9), found.trace * (1 + 1e-9), points.shape[1])
    upper, near = math.inf, _added(linear)
    if near is not None:
        upper = 4 * near.upper
    spectrum = spectrum_of(linear)
    if spectrum is not None:
        lower = max(_spread(spectrum, linear.cells, i / 100) for i in range(51 if alone else 1))
        return Factorization(lower, upper, pairs)
    if linear.cells > LARGEST:
        return None
    shares, _, _ = design(linear)
    gram = linear.gram()
    lower = 0.0
    for p in (shares, np.full(linear.cells, 1 / linear.cells)):
        for rest in (0.1, 0.3) if alone else (0.0,):
            on = (1 - rest) * p
            sizes = np.asarray(np.linalg.eigvalsh(_centered(gram, on)), dtype=np.float64)
            lower = max(lower, _safe(sizes) / ((1 - float(on @ on) - rest**2) / 2))
    return Factorization(lower * (1 - 1e-9), upper, pairs)


def _centered(gram: Floats, p: Floats) -> Floats:
    """N^T G N, N N^T = diag p - p p^T on the cells: the rest of the weight lies on no cell."""
    roots = np.sqrt(p)
    total = float(p.sum())
    # sqrt(P) (I - c r r^T) squares to P - p p^T if 2 c - c^2 |r|^2 = 1
    c = (1 - math.sqrt(max(0.0, 1 - total))) / total
    inner = roots[:, None] * gram * roots
    along = inner @ roots
    square = float(roots @ along)
    crossed = np.outer(roots, along)
    return np.asarray(inner - c * (crossed + crossed.T) + c * c * square * np.outer(roots, roots))


def _spread(spectrum: dict[Axes, tuple[float, int]], cells: int, share: float) -> float:
    """For tables: all cells alike, `share` of the weight on none of them, where only the total is moved."""
    each = (1 - share) / cells
    parts = (count * math.sqrt(size * each * (1 if axes else share)) for axes, (size, count) in spectrum.items())
    return math.fsum(parts) ** 2 / ((1 - cells * each**2 - share**2) / 2) * (1 - 1e-9)


def spectrum_of(linear: Linear) -> dict[Axes, tuple[float, int]] | None:
    """If the rows are tables of some axes: of each interaction the eigenvalue of W^T W, and how often it occurs."""
    asked = [block.marginal() for block in linear.blocks]
    kept = tuple(axes for axes in asked if axes is not None)
    if len(kept) < len(asked):
        return None
    tables = Tables(linear.shape, kept, tuple(block.weight for block in linear.blocks))
    counted = {axes: math.prod(linear.shape[i] - 1 for i in axes) for axes in interactions(kept)}
    return {axes: (tables.eigenvalue(axes), count) for axes, count in counted.items() if count}


def is_prefix(linear: Linear) -> bool:
    """Whether the rows are the prefix sums of one axis."""
    return len(linear.shape) == 1 and len(linear.blocks) == 1 and linear.blocks[0].factors == (UPTO,)
