"""What can publish a whole table: the mechanisms for each question whose answer is rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.sanitized import Sanitization
from sfumato.mechanisms.synthetic.cuts import CutSynthesis
from sfumato.mechanisms.synthetic.joined import JOINING, JoinedSynthesis, part_of_rows
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.net import Net
from sfumato.mechanisms.synthetic.numeric import NumericSynthesis
from sfumato.mechanisms.synthetic.persons.mechanism import PersonSynthesis
from sfumato.mechanisms.synthetic.small_database import SmallDatabase
from sfumato.mechanisms.synthetic.texts import TextSynthesis
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.mechanisms.synthetic.workload.mechanism import WorkloadSynthesis
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.sanitized import SanitizedRows
from sfumato.queries.small_database import CountingQueries
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.trigonometric import SmoothRows
from sfumato.sampling.law import LARGEST

__all__ = ["counting_mechanisms", "sanitizing_mechanisms", "smooth_mechanisms", "synthetic_mechanisms"]

# What moments get beside marginals: smooth queries feel every part of a pure budget, so that of tables of numbers alone
# most goes to them; with normal noise, and with categories, a tenth is enough.
LARGE, SMALL = Fraction(5, 6), Fraction(1, 10)
# Noise of a count, as a part of the rows, beyond which moments alone say as much of every column, and more of all.
DROWNED, DROWNED_PURE, DROWNED_FEW = 0.03, 0.01, 0.005
FINEST = 2**20  # the noise of the least part, in its own units, beside that of all that is spent on one count
MANY = 10  # columns, below which moments alone tell little of any of them, unless counts tell nothing

Candidates = Iterator[Callable[[], tuple[Mechanism, float]]]  # each with its predicted error


def synthetic_mechanisms(question: SyntheticRows, target: Guarantee) -> Candidates:
    """What suits the queries that the table should be good for, by public quantities alone."""
    _must_be_drawable(question, target)
    if question.undiscovered:
        yield from _over_texts(question, target)
        return
    if question.uncut:
        yield from _over_cuts(question, target)
        return
    if question.person is not None:
        persons = PersonSynthesis.calibrate(question, target)
        yield lambda: (persons, persons.predicted(question.supposed_persons)[0])
        return
    marginal = MarginalSynthesis.calibrate(question, target)
    size = question.supposed_size
    if question.goals:
        answering = WorkloadSynthesis.calibrate(question, target)
        yield lambda: (answering, answering.predicted(size)[0])
        return
    # Moments are of the declared bounds, in which columns that need cuts are hardly more than a point.
    if question.good_for == "marginals" or question.cuts:
        yield lambda: (marginal, marginal.predicted(size)[0])
        return
    if question.good_for == "smooth":
        yield lambda: _smooth(question, target)
        return
    chosen: tuple[Mechanism, float]
    numbers, noise = all(column.ordered for column in question.levels), part_of_rows(marginal, size)
    divided = numbers and not target.takes_normal and not question.triples  # moments would leave too little for these
    try:
        many, known = len(question.levels) >= MANY, question.schema.size is not None
        drowned = (DROWNED_PURE if divided else DROWNED) if many else DROWNED_FEW if divided else math.inf
        if numbers and known and noise > drowned:
            chosen = _smooth(question, target)
        elif divided or noise > JOINING:
            both = JoinedSynthesis.calibrate(question, target, LARGE if divided else SMALL)
            chosen = (both, both.predicted())
        else:
            chosen = (marginal, marginal.predicted(size)[0])
    except (ParameterError, UnsupportedQuery):  # too few numbers, or noise beyond what the samplers reach
        chosen = (marginal, marginal.predicted(size)[0])
    yield lambda: chosen


def _must_be_drawable(question: SyntheticRows, target: Guarantee) -> None:
    """Refuse, before anything is charged, a spend whose parts would need more noise than samplers draw."""
    made = MarginalSynthesis(question, target)
    if made.amount <= 0:
        return  # what makes the table says what it needs
    try:
        (scale,) = made.noise.scales(made.amount, [1])
    except (ParameterError, OverflowError, ZeroDivisionError):
        scale = math.inf
    if scale * FINEST > LARGEST:
        raise UnsupportedQuery(
            f"a synthetic table for {target!r} would be noise alone, and more of it than can be drawn; spend more"
        )


def _over_texts(question: SyntheticRows, target: Guarantee) -> Candidates:
    """Texts are discovered, then what would suit the table over them makes it."""
    first, rest = TextSynthesis.shares(question, target)
    discoveries = TextSynthesis.finding(question, first)
    for make in synthetic_mechanisms(question.over(), rest):
        yield partial(_after, partial(TextSynthesis, question, discoveries), make)


def _over_cuts(question: SyntheticRows, target: Guarantee) -> Candidates:
    """Where values lie is found, then what would suit the table over such cells makes it."""
    first, rest = CutSynthesis.shares(question, target)
    cutting = CutSynthesis.finding(question, first)
    CutSynthesis.must_help(question, cutting, target)
    for make in synthetic_mechanisms(question.about(), rest):
        yield partial(_after, partial(CutSynthesis, question, cutting), make)


def _after(finding: Callable[..., Mechanism], make: Callable[[], tuple[Mechanism, float]]) -> tuple[Mechanism, float]:
    """What finds something first, and its error that of what then makes the rows."""
    making, predicted = make()
    return finding(making), predicted


def _smooth(question: SyntheticRows, target: Guarantee) -> tuple[Mechanism, float]:
    """Moments alone."""
    if question.schema.fixed_size is None:
        counting = JoinedSynthesis.calibrate(question, target, Fraction(1))
        return counting, counting.predicted()
    smooth = NumericSynthesis.calibrate(question, target)
    return smooth, smooth.error()


def sanitizing_mechanisms(question: SanitizedRows, target: Guarantee) -> Candidates:
    """The one randomizer of records, by the mean distance of a record."""
    yield lambda: _by_error(Sanitization.calibrate(question, target))


def smooth_mechanisms(question: SmoothRows, target: Guarantee) -> Candidates:
    """The trigonometric mechanism, by the error of a feature's sum."""
    yield lambda: _by_error(Trigonometric.calibrate(question, target))


def counting_mechanisms(question: CountingQueries, target: Guarantee) -> Candidates:
    """The net of the given candidates, or all small databases, by how far the choice can miss the best of them."""
    chosen = SmallDatabase if question.candidates is None else Net
    yield lambda: _by_error(chosen.calibrate(question, target))


def _by_error(mechanism: Mechanism) -> tuple[Mechanism, float]:
    return mechanism, mechanism.error()
