"""What each question of a statement may spend of what the whole statement may cost.

The division is that of plans, of a budget that is the spend itself: so it depends on the statement, its schema and the
spend alone, and the same statement asked again finds what is stored.  Where errors cannot be compared, all spend
alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from sfumato.accuracy.division import Claimant, Purse, divided
from sfumato.errors import SfumatoError
from sfumato.ledger.terms import Terms
from sfumato.numeric import exact, floor_float
from sfumato.orders import asked as bound
from sfumato.orders import title_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import guarantee_like
from sfumato.queries import Query
from sfumato.spaces.schema import Schema
from sfumato.sql.statement import asked

__all__ = ["requests", "spends"]


def requests(
    text: str, schema: Schema, *, spend: Guarantee | float | Mapping[str, float], allow: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """What `session.release_all` takes: the questions of a SELECT, each with its name and its part of the spend."""
    found: Guarantee = guarantee_like("spend", spend)  # type: ignore[assignment]
    questions = asked(text, schema)
    parts = spends([one.query for one in questions], schema, found, frozenset(allow))
    pairs = zip(questions, parts, strict=True)
    return [{"query": one.query, "spend": part, "name": one.name} for one, part in pairs]


def spends(
    queries: Sequence[Query], schema: Schema, spend: Guarantee, allow: frozenset[str] = frozenset()
) -> list[Guarantee]:
    """A spend for each question; in all they cost what `spend` says, at most."""
    questions = [bound(query, schema) for query in queries]  # refuses what is wrong in public
    if len(questions) == 1:
        return [spend]
    terms = Terms(schema.dataset, schema.adjacency, schema.unit, spend)
    purse = Purse(terms, terms.nothing)
    names = [f"{place} {title_of(question, None)}" for place, question in enumerate(questions)]
    claimants = [Claimant(name, question) for name, question in zip(names, questions, strict=True)]
    try:
        shares = divided(claimants, purse, allow).spends
    except SfumatoError:
        return [_part(spend, len(questions))] * len(questions)
    parts = [shares[name] for name in names]
    return parts if _add_up(parts, spend) else [_part(spend, len(questions))] * len(questions)


def _add_up(parts: Sequence[Guarantee], spend: Guarantee) -> bool:
    """Whether all parts simply added are within the spend: an approximate budget may also admit them by another sum."""
    return all(
        sum((exact(part.parts().get(name, 0.0)) for part in parts), Fraction(0)) <= exact(most)
        for name, most in spend.parts().items()
    )


def _part(spend: Guarantee, count: int) -> Guarantee:
    """An equal part of a spend, rounded down."""
    return spend.with_parts({name: floor_float(Fraction(exact(part)) / count) for name, part in spend.parts().items()})
