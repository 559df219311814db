"""The measurements worth trying for a workload, by name; all from public quantities."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.linear import optimization
from sfumato.queries.linear.bodies import Moves
from sfumato.queries.linear.factorization import MOST_PREFIXES, is_prefix
from sfumato.queries.linear.frames import framed
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.measurements import Dense, Kronecker, Measurement
from sfumato.queries.linear.measurements.toeplitz import square_root
from sfumato.queries.linear.workload import Workload

__all__ = ["best_measurement", "error_of", "measurements"]

LARGEST_ANSWERS = 400_000  # entries of a workload that is measured row by row


def measurements(question: Workload, norm: str) -> tuple[tuple[str, Measurement], ...]:
    """Histogram, hierarchies, tables, products, searches: those that fit the workload's shape and size."""
    return _measurements(question.linear, question.moves, norm)


@lru_cache(maxsize=64)
def _measurements(linear: Linear, moves: Moves, norm: str) -> tuple[tuple[str, Measurement], ...]:
    searches: dict[str, Callable[[], Measurement | None]] = {"histogram": lambda: _histogram(linear)}
    if len(linear.shape) == 1:
        searches["hierarchy"] = lambda: optimization.hierarchy(linear, norm)
    else:
        searches["tables"] = lambda: optimization.tables(linear, norm)
        searches["product"] = lambda: optimization.kronecker(linear, norm)
    if norm == "l2" and is_prefix(linear):
        searches["square root"] = lambda: square_root(linear.cells) if linear.cells <= MOST_PREFIXES else None
    if norm == "l2":
        searches["interactions"] = lambda: optimization.independent(linear)
    searches["beside identity"] = lambda: optimization.beside_identity(linear, norm)
    if linear.rows * linear.cells <= LARGEST_ANSWERS:
        searches["answers"] = lambda: _answers(linear)
        searches["frame"] = lambda: _framed(linear, moves, norm)
    found = ((name, _tried(search)) for name, search in searches.items())
    return tuple((name, one) for name, one in found if one is not None)


def _tried(search: Callable[[], Measurement | None]) -> Measurement | None:
    """What a search found; None if it was refused: a search may fail, a plan must not."""
    try:
        return search()
    except (ParameterError, UnsupportedQuery):
        return None


def best_measurement(question: Workload, norm: str) -> Measurement:
    """The measurement with the least error for noise scaled to its norm."""
    return min((one for _, one in measurements(question, norm)), key=lambda one: error_of(question, one, norm))


def error_of(question: Workload, measurement: Measurement, norm: str) -> float:
    """The mean square of all answers together, for noise of variance one a squared unit of sensitivity."""
    try:
        variances = measurement.variances(question.linear)
    except UnsupportedQuery:
        return float("inf")
    return float(variances.sum()) * question.moves.sensitivity(norm, *measurement.norms(norm)) ** 2


def _answers(linear: Linear) -> Dense:
    matrix = linear.dense()
    return Dense.of(matrix[matrix.any(axis=1)])


def _framed(linear: Linear, moves: Moves, norm: str) -> Dense | None:
    matrix = linear.dense()
    return framed(matrix, moves.vertices(matrix), norm)


def _histogram(linear: Linear) -> Measurement:
    axes = tuple(optimization.identity(cells) for cells in linear.shape)
    return axes[0] if len(axes) == 1 else Kronecker(axes)
