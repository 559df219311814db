"""A release before it is paid for: everything public about it settled and checked, nothing spent, no data read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sfumato.archive import must_read_back
from sfumato.bounds import certify
from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.ledger.entries import label
from sfumato.numeric import ceil_float
from sfumato.planner import Option, options
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure, to_record
from sfumato.queries import Query, Question, bind
from sfumato.queries.binding import STAND_INS, bind_discovered
from sfumato.queries.keys import Keys
from sfumato.release import FORMAT, FORMER, Identity, canonical, scope
from sfumato.schema import Schema
from sfumato.statements import Accuracy

__all__ = ["Order", "Preview", "identify", "must_be_storable", "order", "preview", "previewed"]

ANSWERS = ("estimate", "low", "high", "rank", "item", "probability")  # columns of a release's table


@dataclass(frozen=True, slots=True)
class Order:
    """A question that can be charged: its name, what makes it the same again, its claim, and what answers it."""

    title: str
    identity: Identity
    claim: Guarantee
    spend: Guarantee
    described: dict[str, Any]
    parts: tuple[tuple[Option, Any], ...]
    ranking: tuple[Option, ...]  # of the last part, best first


def order(
    query: Query, schema: Schema, *, spend: Guarantee, allow: Iterable[str] = (), name: str | None = None
) -> Order:
    """Settle a release of `query` from any table of this schema; whatever is wrong with it in public is refused."""
    _must_be_query(query)
    ranked = _ranked(bind(query, schema), spend, frozenset(allow))
    parts = tuple((found[0], question) for found, question in ranked)
    _must_be_tabular(parts[-1][1])
    record = query.to_record()
    _must_read_back(query, record)
    for option, question in parts:
        must_read_back(option.mechanism, question)
    identity = identify(query, schema, spend)
    described = {"query": record, "mechanisms": [option.mechanism.to_record() for option, _ in parts]}
    title = _title(query.name) if name is None else label("name", name)
    return Order(title, identity, _claim(parts), spend, described | identity.described(), parts, tuple(ranked[-1][0]))


def identify(query: Query, schema: Schema, spend: Guarantee) -> Identity:
    """What makes a release of this question the same again, by today's rule and by that of 0.2.0."""
    record, paid = query.to_record(), to_record(spend)
    about = scope(schema, query.columns, _needs_size(query, schema))
    asked = record if query.condition is None else {**record, "where": query.condition.words()}  # type: ignore[union-attr]
    former = {"format": FORMER, "query": asked, "schema": schema.to_record(), "spend": paid}
    return Identity({"format": FORMAT, **about, "query": record, "spend": paid}, former)


def _needs_size(query: Query, schema: Schema) -> bool:
    """Whether a declared size is part of the question: a bandwidth by a rule, a penalty a row."""
    if query.details is None or schema.size is None or schema.fixed_size is not None:
        return False
    try:
        bind(query, replace(schema, size=None))
    except SfumatoError:
        return True
    return False


@dataclass(frozen=True, slots=True)
class Preview:
    """What a release would cost and how accurate it would be: nothing is spent, no data is read."""

    name: str
    guarantee: Guarantee
    mechanism: str
    errors: tuple[Accuracy, ...]
    certificate: Certificate | NoBoundKnown
    ranking: tuple[tuple[str, float], ...]
    unit: str
    notice: str | None = None

    @property
    def accuracy(self) -> str:
        """The errors to expect, in words."""
        return "; ".join(error.words() for error in self.errors)

    def __str__(self) -> str:
        ranked = ", ".join(f"{name} {error:.4g}" for name, error in self.ranking)
        return (
            f"{self.name}\n"
            f"  would cost   {self.guarantee.words().format(unit=self.unit)}\n"
            f"  error        {self.accuracy}\n"
            f"  certificate  {self.certificate.words()}\n"
            f"  mechanism    {self.mechanism} (predicted, in lattice units: {ranked})"
            + (f"\n  notice       {self.notice}" if self.notice else "")
        )


def preview(
    query: Query, schema: Schema, *, spend: Guarantee, allow: Iterable[str] = (), name: str | None = None
) -> Preview:
    """What releasing `query` from any table of this schema would cost and how accurate it would be."""
    return previewed(order(query, schema, spend=spend, allow=allow, name=name), schema)


def previewed(settled: Order, schema: Schema) -> Preview:
    """What carrying out an order would cost and how accurate it would be."""
    parts = settled.parts
    return Preview(
        name=settled.title,
        guarantee=settled.claim,
        mechanism=" then ".join(option.name for option, _ in parts),
        errors=tuple(part.accuracy(option.mechanism, 0.05) for option, part in parts),
        certificate=certify(parts[0][1], parts[-1][0].mechanism),
        ranking=tuple((option.name, option.predicted) for option in settled.ranking),
        unit=schema.words(),
    )


def _ranked(question: Question, spend: Guarantee, allow: frozenset[str]) -> list[tuple[list[Option], Any]]:
    """What can answer a question, part by part, best first, with what each part answers."""
    if not isinstance(question, Keys):
        return [(options(question, spend, allow), question)]
    if not (isinstance(spend, Approximate) and spend.delta > 0):
        options(question, spend)  # refuses, and says what to spend
    assert isinstance(spend, Approximate)
    half = Approximate(spend.epsilon / 2, spend.delta)
    over_keys = bind_discovered(question, STAND_INS)
    return [(options(question, half), question), (options(over_keys, Pure(half.epsilon)), over_keys)]


def _claim(parts: tuple[tuple[Option, Any], ...]) -> Guarantee:
    """The guarantee of all parts together: epsilons and deltas add."""
    claims: list[Any] = [option.mechanism.guarantee() for option, _ in parts]
    if len(claims) == 1:
        return claims[0]  # type: ignore[no-any-return]
    epsilon = ceil_float(sum((Fraction(claim.epsilon) for claim in claims), Fraction(0)))
    return Approximate(epsilon, ceil_float(sum((Fraction(getattr(c, "delta", 0)) for c in claims), Fraction(0))))


def _title(own: str) -> str:
    """The question's own name, where a ledger can keep it."""
    try:
        return label("name", own)
    except ParameterError:
        raise ParameterError(
            "the question in words is too long, or not printable, to be the name of a release; give it one with name="
        ) from None


def _must_be_query(query: object) -> None:
    if not isinstance(query, Query):
        raise ParameterError(
            f"query must be a question such as sfumato.count() or sfumato.mean('age'), got {type(query).__name__}"
        )


def _must_be_tabular(question: Any) -> None:
    """Refuse keys whose columns would hide those of the answers."""
    for key in question.cells.keys:
        if key.column in ANSWERS:
            raise SchemaError(
                f"column {key.column!r} cannot be a key, since the table of the release has its answers under that "
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


def must_be_storable(schema: Schema) -> None:
    """Refuse a schema whose stored form would not be the same schema again."""
    for name, space in schema.columns.items():
        if not _reads_back(Schema({name: space})):
            raise SchemaError(
                f"the space of column {name!r} cannot be written down so that it reads back the same; use plain texts "
                "and numbers as labels and bounds"
            )
    if not _reads_back(schema):
        raise SchemaError(
            "the schema cannot be written down so that it reads back the same; use plain texts and numbers as names"
        )


def _reads_back(schema: Schema) -> bool:
    try:
        return bool(Schema.from_record(json.loads(canonical(schema.to_record()))) == schema)
    except (SfumatoError, TypeError, ValueError, KeyError, AttributeError, RecursionError):
        return False
