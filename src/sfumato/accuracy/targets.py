"""What `within` says: an error that a release must not exceed, in the answer's units or as a share of something public.

A share is of what `scale_of` names, which is public as well: the declared size, shared equally by the groups, of
counts, ranks and popularity; with the largest value of the column of sums; the range of a column of means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfumato import arguments
from sfumato.answers.statements import Accuracy, ErrorByRows, ErrorStatement
from sfumato.answers.targets import Target
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import Mechanism
from sfumato.numeric import exact, floor_float
from sfumato.queries import Question
from sfumato.queries.grouping import bind_cells
from sfumato.queries.quotient import ratio_bounds
from sfumato.release import Release

__all__ = ["Scale", "depends_on_rows", "scale_of", "stated", "suppose_error", "target_of", "unit_of"]


@dataclass(frozen=True, slots=True)
class Scale:
    """What an error is compared with, and what that is in words."""

    amount: float
    words: str


def target_of(within: object, question: Question, level: object = 0.95, of: object = None) -> Target:
    """The target that a caller wrote: a number, or a text such as "1%" of `of`, or of the question's own scale."""
    found = arguments.level(level)
    if not isinstance(within, str):
        if of is not None:
            raise ParameterError('of= says what a share such as within="1%" is of; a number needs none')
        return Target(_positive(within), found, f"{float(_positive(within)):g}", unit_of(question))
    share = _share(within)
    if of is not None:
        whole = arguments.number("of", of.value if isinstance(of, Release) else of)
        if whole <= 0:
            raise ParameterError(f"of must be above 0, got {whole:g}; it is what within={within!r} is a share of")
        return Target(floor_float(share * exact(whole)), found, f"{within} of {whole:g}", unit_of(question))
    scale = scale_of(question)
    return Target(floor_float(share * exact(scale.amount)), found, f"{within} of {scale.words}", unit_of(question))


def unit_of(question: Question) -> str:
    """What an error of this question counts, in words; nothing where it has no unit."""
    return UNITS.get(question.query.kind, "").format(column=question.query.column)


def stated(question: Question, mechanism: Mechanism, level: float) -> float:
    """The error that is stated, in the units that targets are in.

    Over discovered keys that of the answers; of counts also the rows of a key that may not be found.  An error that
    depends on how many rows a condition selects, or a group holds, is no number: it is refused.
    """
    return _largest(question, _statement(question, mechanism, level))


def suppose_error(question: Question, mechanism: Mechanism, level: float) -> float:
    """Return the same error to plan with: where it depends on numbers of rows, as if all rows counted, shared equally.

    It decides how a budget is divided, and is no promise.
    """
    statement = _statement(question, mechanism, level)
    if isinstance(statement, ErrorStatement):
        besides = tuple(one.supposed if isinstance(one, ErrorByRows) else one for one in statement.besides)
        return _largest(question, replace(statement, besides=besides))
    return _largest(question, statement.supposed if isinstance(statement, ErrorByRows) else statement)


def depends_on_rows(question: Question, mechanism: Mechanism, level: float) -> bool:
    """Tell whether the stated error depends on how many rows a condition or a group selects."""
    statement = _statement(question, mechanism, level)
    besides = statement.besides if isinstance(statement, ErrorStatement) else ()
    return any(isinstance(one, ErrorByRows) for one in (statement, *besides))


def _statement(question: Question, mechanism: Mechanism, level: float) -> Accuracy:
    try:
        return question.accuracy(mechanism, 1 - level)
    except ParameterError as error:
        raise ParameterError(f"no error is stated at level {level:.17g}; 0.95 is usual: {error}") from None


def _largest(question: Question, statement: Accuracy) -> float:
    if isinstance(statement, ErrorStatement) and statement.kind == "keys":
        (each,) = statement.besides
        if isinstance(each, ErrorStatement):
            return max(statement.most, each.most) if question.query.kind == "count" else each.most
        raise UnsupportedQuery(_nothing_within(each))
    if isinstance(statement, ErrorStatement):
        return statement.most
    raise UnsupportedQuery(_nothing_within(statement))


def _nothing_within(statement: Accuracy | str) -> str:
    """Why no spend can be found for an error, and what to do."""
    if isinstance(statement, ErrorByRows):
        return (
            f"within needs an error that is known before the release, and this one {statement.reason}; give a spend "
            "instead: its preview shows the error for several numbers of rows"
        )
    return f"no error is stated that could be within anything: {statement}"


def scale_of(question: Question) -> Scale:
    """What shares of this question's error are of."""
    scale = SCALES.get(question.query.kind)
    if scale is None:
        raise UnsupportedQuery(
            f"a share of a {question.query.kind}'s error is not defined; give within= as a number in the answer's "
            "units, or of= beside the share"
        )
    return scale(question)


def _positive(within: object) -> float:
    amount = arguments.number("within", within)
    if amount <= 0:
        raise ParameterError(f"within must be above 0, got {amount:g}; no spend makes the error smaller than any")
    return amount


def _share(within: str) -> Fraction:
    text = within.strip()
    wanted = 'within must be a number in the answer\'s units, or a share such as "1%"'
    if not text.endswith("%"):
        raise ParameterError(f"{wanted}, got {within!r:.60}")
    try:
        share = exact(text.removesuffix("%").strip(), "within") / 100
    except ParameterError:
        raise ParameterError(f"{wanted}, got {within!r:.60}") from None
    if share <= 0:
        raise ParameterError(f"{wanted}, above 0, got {within!r:.60}")
    return share


def _groups(question: Question) -> int:
    """The number of public groups; of discovered ones nobody knows it."""
    try:
        return max(1, bind_cells(question.query.keys, question.schema).count)
    except UnsupportedQuery:
        return 1


def _rows(question: Question) -> Scale:
    size = question.schema.size
    if size is None:
        raise ParameterError(
            "a share of the size needs one: declare size= in the schema, give of= (a number or a released size), or "
            "within= as a number of rows"
        )
    groups = _groups(question)
    if groups == 1:
        return Scale(float(size), f"the declared size {size:,}")
    return Scale(size / groups, f"the declared size {size:,} shared by {groups:,} groups")


def _size(question: Question) -> Scale:
    """Of workloads, whose rows overlap, the whole size."""
    size = _rows_of_all(question)
    return Scale(size, f"the declared size {size:,.0f}")


def _rows_of_all(question: Question) -> float:
    return _rows(question).amount * _groups(question)


def _total(question: Question) -> Scale:
    low, high = _ends(question)
    rows, most = _rows(question), max(abs(low), abs(high))
    return Scale(rows.amount * most, f"{rows.words} times the largest value {most:g}")


def _range(question: Question) -> Scale:
    low, high = _ends(question)
    return Scale(high - low or 1.0, f"the range {low:g} to {high:g}")


def _framed(question: Question) -> Scale:
    about = question.query.details.to_record()
    columns = (question.schema.lattice(about[part]) for part in ("numerator", "denominator"))
    low, high = about.get("bounds") or ratio_bounds(*columns)
    return Scale(high - low, f"the bounds {low:g} to {high:g}")


def _squared(question: Question) -> Scale:
    low, high = _ends(question)
    return Scale((high - low) ** 2 / 4 or 1.0, f"the largest variance in {low:g} to {high:g}")


def _flat(question: Question) -> Scale:
    """The height of the density that is the same everywhere."""
    lattices = [question.schema.lattice(column) for column in question.query.columns]
    volume = math.prod(lattice.high_value - lattice.low_value or 1.0 for lattice in lattices)
    return Scale(1 / volume, "the density that is the same everywhere")


def _one(question: Question) -> Scale:
    return Scale(1.0, "one")


def _ends(question: Question) -> tuple[float, float]:
    lattice = question.schema.lattice(question.query.column or "")
    return lattice.low_value, lattice.high_value


# What errors count, by the kind of question: those of quantiles and popular items are no values of the column.
UNITS = {
    "count": "rows",
    "histogram": "rows",
    "workload": "rows",
    "items": "rows",
    "quantiles": "rows in rank",
    "extent": "rows in rank",
    "rows_per_person": "people in rank",
    "top": "rows in popularity",
    "choose": "in units of the scores",
    "sum": "in units of {column!r}",
    "mean": "in units of {column!r}",
    "variance": "in squared units of {column!r}",
}

# What a share of an error is of, by the kind of question; of others it must be said.
SCALES: dict[str, Callable[[Question], Scale]] = {
    "count": _rows,
    "histogram": _rows,
    "quantiles": _rows,
    "extent": _rows,
    "top": _rows,
    "items": _rows,
    "workload": _size,
    "sum": _total,
    "mean": _range,
    "variance": _squared,
    "std": _range,
    "share": _one,
    "ratio": _framed,
    "correlation": _one,
    "density": _flat,
    "distribution": _one,
    "thresholds": _one,
    "small_database": _one,
    "trigonometric": _one,
    "pca": _one,
}
