"""A release before it is paid for: everything public about it settled and checked, nothing spent, no data read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.accounting.laws import Law
from sfumato.answers.answer import NO_ANSWER
from sfumato.answers.preview import Preview
from sfumato.answers.statements import ErrorStatement
from sfumato.answers.targets import Target
from sfumato.bounds import certify
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.ledger.entries import label
from sfumato.ledger.names import versioned
from sfumato.mechanisms import Mechanism, steps
from sfumato.mechanisms.mechanism import loss_of
from sfumato.mechanisms.synthetic.effort import effort
from sfumato.numeric import shown_up
from sfumato.planner import Calibrates, Option, chosen, options
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, Question, bind
from sfumato.queries.declared import must_have_program
from sfumato.queries.running import series_of
from sfumato.records import canonical
from sfumato.release import Identity
from sfumato.release.archive import PUBLICATIONS, must_read_back
from sfumato.release.recognition import identity_within
from sfumato.spaces import space_from
from sfumato.spaces.schema import Schema

__all__ = ["Order", "Preview", "asked", "must_be_different", "order", "preview", "previewed", "title_of"]

VOID = "no row can meet the condition, whatever the table holds: compare it with the declared bounds and labels"
MUCH = 0.8  # of the error: what a hint promises at least
ANSWERS = ("estimate", "low", "high", "rank", "item", "probability", NO_ANSWER)  # columns of a release's table


@dataclass(frozen=True, slots=True)
class Order:
    """A question that can be charged: its name, what makes it the same again, its claim, and what answers it."""

    title: str
    identity: Identity
    claim: Guarantee
    spend: Guarantee
    described: dict[str, Any]
    question: Question
    ranking: tuple[Option, ...]  # what could answer it, best first
    target: Target | None = None  # the error for which the spend was found, where it was

    @property
    def mechanism(self) -> Mechanism:
        """What answers it."""
        return self.ranking[0].mechanism

    @property
    def periods(self) -> tuple[str, ...]:
        """The versions of the series that it is one of; none where it is of none."""
        series = series_of(self.question)
        return () if series is None else series.names

    @property
    def loss(self) -> Law | None:
        """The law of the privacy loss, where a stored release tells it again: no table does."""
        return None if self.question.query.kind in PUBLICATIONS else loss_of(self.mechanism)


def order(
    query: Query,
    schema: Schema,
    *,
    spend: Guarantee,
    allow: Iterable[str] = (),
    name: str | None = None,
    mechanism: str | Calibrates | None = None,
    laboratory: bool = False,
) -> Order:
    """Settle a release of `query` from any table of this schema; whatever is wrong with it in public is refused.

    `mechanism` is the stored name of one that could answer, or one's own, which only a laboratory takes: what could be
    stored but never read back is not charged.
    """
    question = asked(query, schema)
    allowed = frozenset(allow)
    ranking = options(question, spend, allowed) if mechanism is None else chosen(question, spend, mechanism, allowed)
    made = ranking[0].mechanism
    _must_be_tabular(query)
    record = query.to_record()
    if not laboratory:
        _must_read_back(query, record)
        again = must_read_back(made, question)
        if mechanism is not None and not isinstance(mechanism, str):  # whatever was handed in: what is stored draws
            made = again
            ranking = [replace(ranking[0], mechanism=made)]
    named = mechanism if isinstance(mechanism, str) else made.to_record() if mechanism is not None else None
    identity = identity_within(query, question, spend, named)
    described = {"query": record, "mechanisms": steps(made), **identity.described()}
    if series_of(question) is not None:  # whose charge describes every period: the specification tells the question
        del described["query"]
    title = title_of(question, name)
    return Order(title, identity, made.guarantee(), spend, described, question, tuple(ranking))


def preview(
    query: Query, schema: Schema, *, spend: Guarantee, allow: Iterable[str] = (), name: str | None = None
) -> Preview:
    """What releasing `query` from any table of this schema would cost and how accurate it would be."""
    return previewed(order(query, schema, spend=spend, allow=allow, name=name), schema)


def previewed(settled: Order, schema: Schema) -> Preview:
    """What carrying out an order would cost and how accurate it would be."""
    question, mechanism = settled.question, settled.mechanism
    return Preview(
        name=settled.title,
        guarantee=settled.claim,
        mechanism=settled.ranking[0].name,
        errors=(question.accuracy(mechanism, 0.05),),
        certificate=certify(question, mechanism, spend=settled.spend),
        ranking=tuple((option.name, option.predicted) for option in settled.ranking),
        unit=question.schema.words(),
        effort=effort(mechanism),
        target=settled.target,
        hint=hinted(settled, schema),
    )


def hinted(settled: Order, schema: Schema) -> str | None:
    """Which declaration would make the error much smaller, where one is known; or that the condition is void; or that
    versions could not be compared.

    All from public quantities.

    Where the number of rows is public, a column without missing values has all of them, and a mean needs no count.
    """
    query = settled.question.query
    if query.is_void(schema):
        return VOID
    if settled.periods:
        first, *_, last = settled.periods * 2
        return f"charged once for all of {first} to {last}, with the first that is published; the others cost nothing"
    if schema.version is not None and query.incomparable is not None:
        return query.incomparable
    column = query.column
    if schema.fixed_size is None or column is None or column not in schema.columns or schema.columns[column].settled:
        return None
    record = schema.columns[column].to_record()
    if "low" not in record:
        return None
    try:
        columns = {**schema.columns, column: space_from({**record, "missing": record["low"]}, column)}
        declared = order(query, replace(schema, columns=columns), spend=settled.spend)
        widths = [_width(one.question, one.mechanism) for one in (declared, settled)]
    except SfumatoError:
        return None
    if widths[0] is None or widths[1] is None or not widths[0] <= MUCH * widths[1]:
        return None
    return (
        f"with missing= declared for {column!r}, a public value that stands for missing ones, every row counts and the "
        f"error would be {shown_up(widths[0] / widths[1], 2)} times this"
    )


def _width(question: Question, mechanism: Mechanism) -> float | None:
    stated = question.accuracy(mechanism, 0.05)
    return stated.most if isinstance(stated, ErrorStatement) and stated.most > 0 else None


def must_be_different(orders: Sequence[Order]) -> None:
    """Refuse two releases of one name in one batch."""
    names = Counter(settled.title for settled in orders)
    for name, times in names.items():
        if times > 1:
            raise ParameterError(f"the name {name!r} occurs {times} times; name each release once with name=")


def title_of(question: Question, name: str | None) -> str:
    """The name of a release: the one given, or the question's own, and the dataset's version, where one is declared."""
    version = question.schema.version
    if name is not None:
        return label("name", versioned(label("name", name), version))
    try:
        return label("name", versioned(question.name, version))
    except ParameterError:
        raise ParameterError(
            "the question in words is too long, or not printable, to be the name of a release; give it one with name="
        ) from None


def asked(query: Query, schema: Schema) -> Question:
    """The question that a caller asks of tables of this schema."""
    if not isinstance(query, Query):
        raise ParameterError(
            f"query must be a question such as sfumato.count() or sfumato.mean('age'), got {type(query).__name__}"
        )
    must_have_program(query)
    return bind(query, schema)


def _must_be_tabular(query: Query) -> None:
    """Refuse keys whose columns would hide those of the answers."""
    for column in query.key_columns:
        if column in ANSWERS:
            raise SchemaError(
                f"column {column!r} cannot be a key, since the table of the release has its answers under that "
                "name; rename the column in the data and in the schema"
            )


def _must_read_back(query: Query, record: dict[str, Any]) -> None:
    """Refuse a question whose stored form would not be the same question again."""
    try:
        again = Query.from_record(json.loads(canonical(record)))
        same = canonical(again.to_record()) == canonical(record)
    except (SfumatoError, TypeError, ValueError, KeyError, AttributeError, RecursionError):
        same = False
    if not same:
        raise ParameterError(
            "the question cannot be written down so that it reads back the same; "
            "use plain numbers, texts and dates in it, and fewer nested conditions"
        )
