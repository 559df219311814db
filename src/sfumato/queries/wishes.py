"""What a synthetic table should be good at and keep, as users write it: checked, and put into one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import Person
from sfumato.queries.query import Query
from sfumato.spaces.schema import nearest

if TYPE_CHECKING:
    from sfumato.queries.synthetic import SyntheticRows

__all__ = ["cuts_of", "keep_of", "must_be_persons", "must_have_keys", "person_of", "weights_of", "workload_of"]

TARGETED = 4.0  # times as much as others matter relations to the column that is to be predicted
HEAVIEST = 1000.0


def weights_of(target: object, weights: object) -> tuple[tuple[str, float], ...]:
    """The weights that are not 1, in the order of the names; a target's is TARGETED times as large."""
    found = {} if weights is None else arguments.mapping("weights", weights)
    for name in found:
        found[name] = arguments.number(f"the weight of {name!r}", found[name])
        if not 1 / HEAVIEST <= found[name] <= HEAVIEST:
            raise ParameterError(
                f"the weight of {name!r} must lie between {1 / HEAVIEST:g} and {HEAVIEST:g}, got {found[name]:g}; "
                "leave a column out with columns="
            )
    if target is not None:
        predicted = arguments.text("target", target)
        found[predicted] = TARGETED * found.get(predicted, 1.0)
        if found[predicted] > HEAVIEST:
            raise ParameterError(
                f"{predicted!r} is the target, which makes its weight {TARGETED:g} times as large: at most "
                f"{HEAVIEST / TARGETED:g} may be given, or {HEAVIEST:g} where target= is left out"
            )
    return tuple(sorted((arguments.text("each name in weights", name), w) for name, w in found.items() if w != 1))


def keep_of(keep: object) -> tuple[str, ...]:
    """The rules as they are written, each once."""
    texts = () if keep is None else arguments.several("keep", keep)
    return tuple(dict.fromkeys(arguments.text("each rule in keep", text) for text in texts))


def person_of(person: object) -> tuple[str, ...] | None:
    """The columns of a person, None where rows stand alone."""
    if person is None:
        return None
    return tuple(sorted(set(arguments.names("person", arguments.several("person", person)))))


def cuts_of(cuts: object) -> tuple[str, ...]:
    """The columns whose cells are found, each once."""
    named = () if cuts is None else arguments.names("cuts", arguments.several("cuts", cuts))
    if cuts is not None and not named:
        raise ParameterError("cuts is empty; name the columns whose values lie close together, or leave it out")
    return tuple(sorted(set(named)))


def workload_of(workload: object) -> tuple[Query, ...]:
    """The queries of a workload."""
    asked = () if workload is None else arguments.several("workload", workload)
    for query in asked:
        arguments.instance("each of workload", query, Query, "a question such as sf.count().where('age >= 18')")
    if workload is not None and not asked:
        raise ParameterError("workload is empty; name the queries that the table should answer well, or leave it out")
    return tuple(asked)


def must_have_keys(question: SyntheticRows) -> None:
    """Refuse keys with too few numbers for the rows that are wanted or, where nothing is known of them, supposed."""
    rows = question.rows or question.supposed_size
    for name in question.rules.keys:
        room = question.schema.lattice(name).width + 1
        if rows > room:
            known = question.rows or question.schema.size
            guess = "" if known else " (supposed, since nothing says how many the table has)"
            raise ParameterError(
                f"unique({name}) has numbers for {room:,} rows, and {rows:,} are to be made{guess}; declare wider "
                "bounds for it, or say how many rows to make (rows=, in the shell --rows)"
            )


def must_be_persons(question: SyntheticRows, person: Sequence[str]) -> None:
    """Refuse what no person can have."""
    unit = question.schema.unit
    if not isinstance(unit, Person):
        raise ParameterError(
            "the rows of a person are kept together where persons are protected, and here rows are; declare "
            "unit=Person(column, rows), in a plan unit = { column = ..., rows = ... }, or leave person out"
        )
    if unit.column in question.columns:
        raise ParameterError(f"{unit.column!r} identifies persons, and is made up; leave it out of the columns")
    unknown = sorted(set(person) - set(question.columns))
    if unknown:
        near = nearest(unknown[0], question.columns)
        raise ParameterError(f"person names columns of the synthetic table; {unknown[0]!r} is none of it{near}")
    if question.rules:
        raise ParameterError(
            "rules (keep) are kept by rows alone, not together with others of a person; leave out keep or person"
        )
    if question.good_for == "smooth":
        raise ParameterError("rows that are good for smooth queries are measured alone; leave out good_for or person")
