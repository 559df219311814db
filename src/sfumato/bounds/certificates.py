"""Which bound speaks about which release; where none does, that is said."""

from __future__ import annotations

import math
from typing import Any

from sfumato.bounds.concentrated import concentrated_mean_square
from sfumato.bounds.packing import packed_mean_square
from sfumato.bounds.staircase import integer_sum_mean_square
from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.privacy.adjacency import AddRemove
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries.contributions import Segment
from sfumato.queries.counts import Counts
from sfumato.queries.mean import Mean
from sfumato.queries.total import Total

__all__ = ["certify"]

UNBOUNDED = "mechanisms on integer tables of unbounded size"


def certify(question: Any, mechanism: Any) -> Certificate | NoBoundKnown:
    """The certificate of one mechanism on one question."""
    claim = mechanism.guarantee()
    if not isinstance(question, Counts | Total | Mean) or (isinstance(question, Mean) and question.rows is None):
        return NoBoundKnown(_reason(question))
    if question.sensitivity("linf") == 0:
        return NoBoundKnown("the answer is public, its error is zero")
    if not _every_integer(question):
        return NoBoundKnown("the bounds need 0 among a row's values, so that a unit can change the sum by any integer")
    achieved = question.dimension * mechanism.noise.variance
    if isinstance(question.schema.adjacency, AddRemove):
        return _unbounded(question, claim, achieved)
    return _fixed_size(question, claim, achieved)


def _unbounded(question: Any, claim: Any, achieved: float) -> Certificate | NoBoundKnown:
    moved = question.coordinate_sensitivity()
    if isinstance(claim, Pure):
        least = question.dimension * integer_sum_mean_square(moved, claim.epsilon)
        name = "two-sided geometric optimum" if moved == 1 else "discrete staircase optimum of each number"
        return _certificate(achieved, least, name, f"pure {UNBOUNDED}")
    if isinstance(claim, Concentrated):
        least = question.dimension * concentrated_mean_square(moved, claim.rho)
        return _certificate(achieved, least, "Hammersley-Chapman-Robbins", f"concentrated {UNBOUNDED}")
    return NoBoundKnown("none is proven here for approximate privacy")


def _every_integer(question: Any) -> bool:
    """Whether one unit can change each number by every integer up to its sensitivity."""
    if not isinstance(question.body, Segment) or question.every_row_counts:
        return True
    return bool(question.lattice.low <= 0 <= question.lattice.high)


def _fixed_size(question: Any, claim: Any, achieved: float) -> Certificate | NoBoundKnown:
    size = question.schema.fixed_size
    if question.dimension > 1 or size is None:
        return NoBoundKnown("none is proven here for several numbers, or private sizes, under replacement")
    if not isinstance(claim, Pure):
        return NoBoundKnown("none is proven here for replacement without pure privacy")
    moved = question.coordinate_sensitivity()
    least = packed_mean_square(moved, claim.epsilon, size * moved // 2)
    return _certificate(achieved, least, "packing", "pure mechanisms on tables of the declared size")


def _certificate(achieved: float, least: float, name: str, among: str) -> Certificate:
    return Certificate(math.sqrt(achieved), math.sqrt(least), "root mean square error", name, among)


def _reason(question: Any) -> str:
    return {
        "Mean": "a mean over a private number of rows is a ratio",
        "Variance": "a variance over a private number of rows is a ratio",
        "Quantiles": "the error of a quantile in the column's units depends on the data",
        "Popular": "none is proven here for selection",
        "Keys": "none is proven here for discovered keys",
    }.get(type(question).__name__, "none is proven here for this question")
