"""What makes a release of a question the same again, found without settling what answers it: nothing is planned."""

from __future__ import annotations

from sfumato.errors import SchemaError, SfumatoError
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, Question, bind
from sfumato.records import canonical
from sfumato.release import FORMAT, FORMER, Identity, scope
from sfumato.release.archive import PUBLICATIONS
from sfumato.spaces.schema import Schema, schema_from

__all__ = ["identify", "identity_of", "identity_within", "must_be_storable"]


def identity_of(query: Query, schema: Schema, spend: Guarantee, mechanism: str | None = None) -> Identity:
    """What makes a release the same again, without settling what answers it."""
    return identity_within(query, bind(query, schema), spend, mechanism)


def identity_within(query: Query, question: Question, spend: Guarantee, mechanism: object) -> Identity:
    """The same of a question that is bound already: as its publication says."""
    published = PUBLICATIONS.get(query.kind)
    if published is None:
        return identify(query, question.schema, spend, mechanism)
    return published.identity(question, spend, {} if mechanism is None else {"mechanism": mechanism})


def identify(query: Query, schema: Schema, spend: Guarantee, mechanism: object = None) -> Identity:
    """What makes a release of this question the same again, by today's rule and by that of 0.2.0.

    A mechanism is part of it only where one was chosen.
    """
    record, paid = query.to_record(), to_record(spend)
    about = scope(schema, query.columns, _needs_size(query, schema))
    asked = record if query.condition is None else {**record, "where": query.condition.words()}
    former = {"format": FORMER, "query": asked, "schema": schema.to_record(), "spend": paid}
    given = {} if mechanism is None else {"mechanism": mechanism}
    return Identity({"format": FORMAT, **about, "query": record, "spend": paid, **given}, ({**former, **given},))


def _needs_size(query: Query, schema: Schema) -> bool:
    """Whether a declared size is part of the question: a bandwidth by a rule, a penalty a row."""
    if schema.size is None or schema.fixed_size is not None:
        return False
    try:
        bind(query, schema.unsized())
    except SfumatoError:
        return True
    return False


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
        return schema_from(canonical(schema.to_record()).decode()) == schema
    except (SfumatoError, TypeError, ValueError, KeyError, AttributeError, RecursionError):
        return False
