"""Which bound speaks about which release; where none does, that is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.answers.certificate import NoBoundKnown, Verdict
from sfumato.bounds.curves import certify_curves_by_group, certify_density, certify_mean_curve
from sfumato.bounds.items import certify_items
from sfumato.bounds.keys import certify_keys
from sfumato.bounds.local_means import certify_local_means
from sfumato.bounds.numbers import (
    certify_counts,
    certify_public_mean,
    certify_smooth_mean,
    certify_total,
    certify_total_difference,
)
from sfumato.bounds.quotients import certify_difference, certify_quotient
from sfumato.bounds.ratios import Claiming, certify_deviation, certify_mean, certify_variance
from sfumato.bounds.reachability import dependence, undecided
from sfumato.bounds.selection import certify_popular, certify_quantiles
from sfumato.bounds.tables import certify_counting_queries, certify_synthetic, certify_thresholds
from sfumato.bounds.workloads import certify_running, certify_workload
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.components import Moments
from sfumato.queries.correlation import Correlation
from sfumato.queries.counts import Counts
from sfumato.queries.declared import DeclaredScores
from sfumato.queries.deviation import Deviation
from sfumato.queries.difference import Difference, TotalDifference
from sfumato.queries.entries import EntryQuestion
from sfumato.queries.extent import Extent
from sfumato.queries.functions.chosen import ChosenDensity
from sfumato.queries.functions.covariance import CovarianceCurve
from sfumato.queries.functions.density import Density
from sfumato.queries.functions.groups import CurvesByGroup
from sfumato.queries.functions.local_means import LocalMeans
from sfumato.queries.functions.means import MeanCurve
from sfumato.queries.functions.question import FunctionQuestion
from sfumato.queries.items import ItemCounts
from sfumato.queries.keys import Keys
from sfumato.queries.linear.workload import Workload
from sfumato.queries.mean import Mean
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.question import Question
from sfumato.queries.quotient import Quotient
from sfumato.queries.running import Running
from sfumato.queries.sanitized import SanitizedRows
from sfumato.queries.scored import Scored
from sfumato.queries.share import Share
from sfumato.queries.small_database import CountingQueries
from sfumato.queries.smooth_mean import SmoothMean
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.thresholds import ThresholdGrid
from sfumato.queries.total import Total
from sfumato.queries.trigonometric import SmoothRows
from sfumato.queries.variance import Variance
from sfumato.queries.vector import Whole

__all__ = ["certify"]

Bound = Callable[[Any, Any, Guarantee], Verdict]  # of a question, a mechanism and what was to be spent


def certify(question: Question, mechanism: Any, output: object = None, *, spend: Guarantee | None = None) -> Verdict:
    """The certificate of one mechanism on one question; of a release also from the public output, which shows sizes.

    The bound is about every mechanism that keeps to `spend`, not about the class of the one that was taken: a pure
    mechanism that answers a concentrated spend is compared with all concentrated ones.  Without a spend it is about
    those of the mechanism's own claim.
    """
    obstacle = dependence(question.query, question.schema)
    if obstacle is not None:
        return NoBoundKnown(obstacle)
    claim = mechanism.guarantee() if spend is None else spend
    try:
        for form in type(question).__mro__:
            if form in SIZED:
                return SIZED[form](question, mechanism, claim, output)
            if form in BOUNDS:
                return BOUNDS[form](question, mechanism, claim)
    except (ArithmeticError, MemoryError):  # beyond doubles: nothing is known, and an answer is not held back for it
        return NoBoundKnown("it could not be computed at this much privacy loss")
    return NoBoundKnown("none is proven here for this question")


def _mean(question: Mean, mechanism: Any, claim: Guarantee, output: Whole | None) -> Verdict:
    if question.rows is None:
        return certify_mean(question, mechanism, claim, output)
    return certify_public_mean(question, mechanism, claim)


def _share(question: Share, mechanism: Claiming, claim: Guarantee, output: Whole | None) -> Verdict:
    hindered = undecided(question.asked, question.schema)
    return NoBoundKnown(hindered) if hindered is not None else _mean(question, mechanism, claim, output)


def _unknown(reason: str) -> Bound:
    """What is said of questions for which no bound is known."""
    return lambda question, mechanism, claim: NoBoundKnown(reason)


def _of_records(question: SanitizedRows, mechanism: Any, claim: Guarantee) -> Verdict:
    """Of records perturbed one by one, which know the bound of their own spaces."""
    certificate: Verdict = mechanism.certificate(claim)
    return certificate


# Which bound speaks about which kind of question, or why none does; a new bound is one row.
BOUNDS: dict[type, Bound] = {
    Counts: certify_counts,
    ItemCounts: certify_items,
    Total: certify_total,
    EntryQuestion: _unknown("the best error of many numbers of one row at once is not known"),
    TotalDifference: certify_total_difference,
    Workload: certify_workload,
    Running: certify_running,
    Correlation: _unknown("a correlation is no mean of rows: means and deviations are taken off"),
    Quantiles: certify_quantiles,
    Extent: _unknown("the cells of a range are public, and how many rows share them is not"),
    Popular: certify_popular,
    Scored: _unknown("which of one's own scores rows can raise without the others is not looked at"),
    DeclaredScores: _unknown("what rows can do to a score that is a program is not known"),
    Keys: certify_keys,
    SanitizedRows: _of_records,
    SyntheticRows: certify_synthetic,
    SmoothRows: _unknown("the best error of synthetic tables for smooth queries is not known"),
    SmoothMean: certify_smooth_mean,
    ThresholdGrid: certify_thresholds,
    Moments: _unknown("how far components are from the best depends on the gaps between the data's own"),
    CovarianceCurve: _unknown("a covariance is no mean of rows: the products of the means are taken off"),
    ChosenDensity: _unknown("the bandwidth is part of the answer, and no bound speaks of choosing it"),
    FunctionQuestion: _unknown("a learned curve is no linear function of the rows"),
    LocalMeans: certify_local_means,
    CountingQueries: certify_counting_queries,
}

# Bounds that depend on private numbers of rows: from the released output where there is one, else from declared sizes.
SIZED: dict[type, Callable[..., Verdict]] = {
    Mean: _mean,
    Share: _share,
    Quotient: certify_quotient,
    Difference: certify_difference,
    Variance: certify_variance,
    Deviation: certify_deviation,
    Density: certify_density,
    MeanCurve: certify_mean_curve,
    CurvesByGroup: certify_curves_by_group,
}
