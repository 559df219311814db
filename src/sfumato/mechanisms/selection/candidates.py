"""What may choose popular items and quantiles at a target, each with its error at 95 %."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.selection.bracketed_quantiles import BracketedQuantiles
from sfumato.mechanisms.selection.exponential import Exponential
from sfumato.mechanisms.selection.permute_and_flip import PermuteAndFlip
from sfumato.mechanisms.selection.recursive_quantiles import RecursiveQuantiles
from sfumato.mechanisms.selection.sorted_counts import SortedCounts
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles

__all__ = ["popular_mechanisms", "quantile_mechanisms", "scored_mechanisms"]

Candidate = Callable[[], tuple[Mechanism, float]]


def popular_mechanisms(question: Popular, target: Guarantee) -> Iterator[Candidate]:
    """Choices one after another; and one noisy histogram, sorted."""
    yield from scored_mechanisms(question, target)
    pure = partial(_by_error, SortedCounts.calibrate, question, Pure(target.pure_within()), Laplace)
    if not target.counts_rho:
        yield pure
    if target.takes_normal:
        yield partial(_by_error, SortedCounts.calibrate, question, target, Gaussian)
        yield partial(_by_error, SortedCounts.calibrate, question, target, DiscreteGaussian)
    if target.counts_rho:
        yield pure


def scored_mechanisms(question: Popular, target: Guarantee) -> Iterator[Candidate]:
    """Choices one after another, of which permuting and flipping is never worse."""
    if not target.counts_rho:
        yield partial(_by_error, PermuteAndFlip.calibrate, question, target)
    yield partial(_by_error, Exponential.calibrate, question, target)
    if _has_delta(target):
        yield partial(_by_error, Exponential.through_rho, question, target)


def quantile_mechanisms(question: Quantiles, target: Guarantee) -> Iterator[Candidate]:
    """Choices by rank, with the epsilon or rho of the target; with a delta, also through the rho that it is worth."""
    if question.details.bars:
        yield partial(_by_error, BracketedQuantiles.calibrate, question, target)
        return
    yield partial(_by_error, RecursiveQuantiles.calibrate, question, target)
    if _has_delta(target):
        yield partial(_by_error, RecursiveQuantiles.through_rho, question, target)


def _has_delta(target: Guarantee) -> bool:
    return bool(target.parts().get("delta", 0.0))


def _by_error(calibrate: Callable[..., Mechanism], *arguments: object) -> tuple[Mechanism, float]:
    mechanism = calibrate(*arguments)
    return mechanism, mechanism.error()
