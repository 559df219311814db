"""Which bound speaks about which release; where none does, that is said."""

from __future__ import annotations

import math
from typing import Any

from sfumato.bounds.concentrated import concentrated_mean_square
from sfumato.bounds.counting import count_mean_square
from sfumato.bounds.curves import certify_density
from sfumato.bounds.fixed_size import fixed_size_mean_square
from sfumato.bounds.integer_tables import concentrated_divergence, pure_divergence
from sfumato.bounds.packing import packed_mean_square
from sfumato.bounds.reachability import obstacle
from sfumato.bounds.staircase import integer_sum_mean_square
from sfumato.bounds.workloads import certify_workload
from sfumato.certificate import Certificate, NoBoundKnown, certified
from sfumato.privacy.adjacency import AddRemove
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries.contributions import Segment
from sfumato.queries.counts import Counts
from sfumato.queries.functions.density import Density
from sfumato.queries.linear.workload import Workload
from sfumato.queries.mean import Mean
from sfumato.queries.total import Total

__all__ = ["certify"]

UNBOUNDED = "on integer tables of unbounded size"
MEASURE = "root mean square error"
CHAIN = "Hammersley-Chapman-Robbins along replacements"
LARGEST_LOSS = 300.0  # rho or epsilon, beyond which divergences overflow


def certify(question: Any, mechanism: Any) -> Certificate | NoBoundKnown:
    """The certificate of one mechanism on one question."""
    if isinstance(question, Workload):
        return certify_workload(question, mechanism)
    if isinstance(question, Density):
        return certify_density(question, mechanism)
    if not isinstance(question, Counts | Total | Mean) or (isinstance(question, Mean) and question.rows is None):
        return NoBoundKnown(_reason(question))
    if question.sensitivity("linf") == 0:
        return NoBoundKnown("the answer is public, its error is zero")
    if not _every_integer(question):
        return NoBoundKnown("the bounds need 0 among a row's values, so that a unit can change the sum by any integer")
    found = obstacle(question)
    if found is not None:
        return NoBoundKnown(found)
    achieved = question.dimension * mechanism.noise.variance
    if isinstance(question.schema.adjacency, AddRemove):
        return _unbounded(question, mechanism.guarantee(), achieved)
    return _fixed_size(question, mechanism.guarantee(), achieved)


def _unbounded(question: Any, claim: Any, achieved: float) -> Certificate | NoBoundKnown:
    moved = question.coordinate_sensitivity()
    if isinstance(claim, Pure) and moved == 1:
        least = question.dimension * count_mean_square(claim.epsilon)
        return _certificate(achieved, least, "two-sided geometric optimum", f"pure mechanisms {UNBOUNDED}")
    if isinstance(claim, Pure):
        least = question.dimension * integer_sum_mean_square(moved, claim.epsilon)
        among = f"pure mechanisms with whole answers {UNBOUNDED}"
        return _certificate(achieved, least, "discrete staircase optimum of each number", among)
    if isinstance(claim, Concentrated):
        least = question.dimension * concentrated_mean_square(moved, claim.rho)
        return _certificate(achieved, least, "Hammersley-Chapman-Robbins", f"concentrated mechanisms {UNBOUNDED}")
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
    moved = question.coordinate_sensitivity()
    if isinstance(claim, Concentrated) and claim.rho <= LARGEST_LOSS:
        least = fixed_size_mean_square(size * moved, size, concentrated_divergence(claim.rho))
        among = "concentrated mechanisms on tables of the declared size"
        return _certificate(achieved, least, CHAIN, among)
    if not isinstance(claim, Pure):
        return NoBoundKnown("none is proven here for replacement and approximate privacy")
    among = "pure mechanisms with whole answers on tables of the declared size"
    chain = 0.0
    if claim.epsilon <= LARGEST_LOSS:
        chain = fixed_size_mean_square(size * moved, size, pure_divergence(claim.epsilon))
    packed = packed_mean_square(moved, claim.epsilon, size * moved // 2)
    if chain > packed:
        return _certificate(achieved, chain, CHAIN, "pure mechanisms on tables of the declared size")
    return _certificate(achieved, packed, "packing", among)


def _certificate(achieved: float, least: float, name: str, among: str) -> Certificate | NoBoundKnown:
    return certified(math.sqrt(achieved), math.sqrt(max(least, 0.0)), MEASURE, name, among)


def _reason(question: Any) -> str:
    return {
        "Mean": "a mean over a private number of rows is a ratio",
        "Variance": "a variance over a private number of rows is a ratio",
        "Quantiles": "the error of a quantile in the column's units depends on the data",
        "Popular": "none is proven here for selection",
        "Keys": "none is proven here for discovered keys",
    }.get(type(question).__name__, "none is proven here for this question")
