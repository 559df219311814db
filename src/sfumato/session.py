"""The only place where engine, mechanism and ledger meet.

Charge durably, compute, store the release durably, then show it; whatever fails after the charge is
spent, and says one generic thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.archive import read
from sfumato.bounds import certify
from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.engines import Table
from sfumato.errors import EngineError, ParameterError
from sfumato.ledger import Charge, Ledger
from sfumato.mechanisms.ranks import Ranks
from sfumato.numeric import ceil_float
from sfumato.planner import Option, options
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure, to_record
from sfumato.publishing import Publication, Recipe
from sfumato.publishing.sanitized import Sanitizing
from sfumato.publishing.synthetic import SynthesisPreview, Synthesizing
from sfumato.queries import Query, Question, bind
from sfumato.queries.binding import STAND_INS, bind_discovered
from sfumato.queries.keys import Keys
from sfumato.queries.linear.workload import Workload
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.vector import VectorQuestion
from sfumato.randomness import SecureRng, secure
from sfumato.release import FORMAT, Provenance, Release, digest
from sfumato.sanitization import Sanitization, SanitizedTable, Together
from sfumato.schema import Schema
from sfumato.synthesis.table import SyntheticTable
from sfumato.version import VERSION

__all__ = ["Preview", "Session", "exact_answer", "preview"]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a release would cost and how accurate it would be: nothing is spent, no data is read."""

    name: str
    guarantee: Guarantee
    mechanism: str
    accuracy: str
    certificate: Certificate | NoBoundKnown
    ranking: tuple[tuple[str, float], ...]
    unit: str

    def __str__(self) -> str:
        ranked = ", ".join(f"{name} {error:.4g}" for name, error in self.ranking)
        return (
            f"{self.name}\n"
            f"  would cost   {self.guarantee.words().format(unit=self.unit)}\n"
            f"  error        {self.accuracy}\n"
            f"  certificate  {self.certificate.words()}\n"
            f"  mechanism    {self.mechanism} (predicted, in lattice units: {ranked})"
        )


class Session:
    """Private answers about one table, paid from one ledger.

    `allow` names the assumptions that guarantees may rest on; none by default.
    """

    def __init__(
        self,
        table: Table,
        *,
        budget: Guarantee,
        ledger: str | Path | Ledger,
        allow: Iterable[str] = (),
        rng: SecureRng | None = None,
    ) -> None:
        if not isinstance(table, Table):
            raise ParameterError("table must come from sfumato.read(...), which puts it behind its schema")
        if rng is not None and not isinstance(rng, SecureRng):
            raise ParameterError("a session takes only the secure generator; seeded ones are for tests")
        self._table = table
        self._rng = rng or secure()
        self._allow = frozenset(allow)
        self.schema = table.schema
        if isinstance(ledger, Ledger):
            ledger.terms.must_match(self.schema.dataset, self.schema.adjacency, self.schema.unit, budget)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(
            ledger, dataset=self.schema.dataset, adjacency=self.schema.adjacency, unit=self.schema.unit,
            budget=budget, allow=frozenset(allow),
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"Session({self.schema.dataset!r}, spent {self.spent!r}, left {self.remaining!r})"

    @property
    def spent(self) -> Guarantee:
        """The guarantee of everything charged so far."""
        return self.ledger.spent()

    @property
    def remaining(self) -> Guarantee:
        """What may still be spent."""
        return self.ledger.remaining()

    def plan(self, query: Query, *, spend: Guarantee, name: str | None = None) -> Preview:
        """What `release` would cost and how accurate it would be, from public quantities only."""
        return preview(query, self.schema, spend=spend, allow=self._allow, name=name)

    def release(self, query: Query, *, spend: Guarantee, name: str | None = None) -> Release:
        """A private answer.  The same name and question again returns what was stored, at no cost."""
        question = bind(query, self.schema)
        parts = _parts(question, spend, self._allow)
        specification = {
            "format": FORMAT, "query": query.to_record(), "schema": self.schema.to_record(),
            "spend": to_record(spend),
        }  # fmt: skip
        described = {"query": query.to_record(), "mechanisms": [o.mechanism.to_record() for o, _ in parts]}
        title = name or query.name
        return self._published(  # type: ignore[no-any-return]
            title, digest(specification), _claim(parts), described,
            lambda provenance: self._answer(title, parts, spend, provenance),
        )  # fmt: skip

    def sanitize(
        self, columns: Sequence[str | Together] | None = None, *, spend: Guarantee, name: str | None = None
    ) -> SanitizedTable:
        """A perturbed copy of the table, record by record (all columns by default): every later query on it is free.

        Needs replacement adjacency, since the number of rows is published.  Columns that are one thing (a vector, an
        image, a curve) are named by `together(...)`.
        """
        table = self.publish(Sanitizing.of(self.schema, columns, spend), name=name)
        assert isinstance(table, SanitizedTable)
        return table

    def plan_sanitization(self, columns: Sequence[str | Together] | None = None, *, spend: Guarantee) -> Sanitization:
        """What `sanitize` would do to each column and how accurate that is; nothing is spent, no data is read."""
        return Sanitizing.of(self.schema, columns, spend).randomizer

    def synthesize(
        self,
        columns: Sequence[str] | None = None,
        *,
        spend: Guarantee,
        rows: int | None = None,
        name: str | None = None,
        progress: bool = True,
    ) -> SyntheticTable:
        """A table of rows that nobody has, alike in every column and in the pairs that matter; queries on it are free.

        All columns by default, which must hold numbers or categories; missing values are modelled.  `rows`: as many as
        the table has, by default.  Look at `plan_synthesis` first: it says what the table will be good at.
        """
        table = self.publish(Synthesizing.of(self.schema, columns, spend, rows, progress), name=name)
        assert isinstance(table, SyntheticTable)
        return table

    def plan_synthesis(
        self, columns: Sequence[str] | None = None, *, spend: Guarantee, rows: int | None = None
    ) -> SynthesisPreview:
        """What `synthesize` would cost, be good at, and need; nothing is spent, no data is read."""
        return Synthesizing.of(self.schema, columns, spend, rows).preview()

    def publish(self, recipe: Recipe, *, name: str | None = None) -> Any:
        """What a recipe makes of the table.  The same name and recipe again returns what was stored, at no cost."""
        if recipe.schema != self.schema:
            raise ParameterError("the recipe was made for another schema; make it with session.schema")
        title = name or recipe.title
        specification = {**recipe.specification(), "schema": self.schema.to_record()}
        return self._published(
            title, digest(specification), recipe.guarantee(), recipe.described(),
            lambda provenance: recipe.publish(title, self._table, self._rng, provenance),
        )  # fmt: skip

    def _published(
        self,
        title: str,
        key: str,
        claim: Guarantee,
        described: dict[str, Any],
        make: Callable[[Provenance], Publication],
    ) -> Any:
        """The stored publication, or one that is charged, computed and stored now."""
        stored = self.ledger.find(title, key)
        if stored is not None:
            return read(stored.content)
        charge = self.ledger.charge(title, key, claim, described)
        publication = self._stored(key, charge, make)
        if publication is None:  # raised out here, so that the cause is not its context
            raise EngineError(
                f"release {title!r} failed after its charge, which is spent; ask again to charge and compute "
                "anew (the cause is withheld, since it may hold data)"
            )
        return publication

    def _stored(self, key: str, charge: Charge, make: Callable[[Provenance], Publication]) -> Publication | None:
        """The publication, computed and durably stored; None if anything failed on the way."""
        provenance = Provenance(
            dataset=self.schema.dataset, unit=self.schema.words(), version=VERSION, digest=key,
            time=datetime.now(UTC).isoformat(timespec="seconds"), charge=charge.sequence, head=charge.head,
        )  # fmt: skip
        try:
            publication = make(provenance)
            self.ledger.store(charge, publication.to_bytes())
        except Exception:
            return None
        return publication

    def _answer(self, title: str, parts: list[tuple[Option, Any]], spend: Guarantee, provenance: Provenance) -> Release:
        option, question = parts[-1]
        mechanism: Any = option.mechanism
        keys: tuple[str, ...] | None = None
        if len(parts) == 2:
            keys = self._discover(parts[0][0].mechanism, parts[0][1])
            question = bind_discovered(parts[0][1], keys)
            mechanism = type(mechanism)(question, **_parameters(mechanism))
        output = mechanism.release(exact_answer(self._table, question, mechanism), self._rng)
        if hasattr(question, "read_by"):
            question = question.read_by(mechanism)
        stamped = replace(provenance, parts=tuple(dict(part.mechanism.to_record()) for part, _ in parts))
        certificate = certify(parts[0][1] if keys is not None else question, mechanism)
        return Release(title, question, mechanism, output, _claim(parts), certificate, stamped, spend, keys)

    def _discover(self, mechanism: Any, question: Keys) -> tuple[str, ...]:
        texts, counts = self._table.answer(question.statistic)
        noisy = mechanism.release(counts, self._rng)
        return tuple(sorted(text for text, count in zip(texts, noisy, strict=True) if count))


def preview(
    query: Query, schema: Schema, *, spend: Guarantee, allow: Iterable[str] = (), name: str | None = None
) -> Preview:
    """What releasing `query` from any table of this schema would cost and how accurate it would be."""
    question, allowed = bind(query, schema), frozenset(allow)
    parts = _parts(question, spend, allowed)
    ranking = options(parts[-1][1], _last_target(question, spend), allowed)
    return Preview(
        name=name or query.name,
        guarantee=_claim(parts),
        mechanism=" then ".join(option.name for option, _ in parts),
        accuracy="; ".join(part.accuracy(option.mechanism, 0.05) for option, part in parts),
        certificate=certify(question, parts[-1][0].mechanism),
        ranking=tuple((option.name, option.predicted) for option in ranking),
        unit=schema.words(),
    )


def exact_answer(table: Table, question: Any, mechanism: Any) -> Any:
    """The exact, secret answer in the form its mechanism takes."""
    if hasattr(question, "exact"):
        return question.exact(table, mechanism)
    if isinstance(question, Workload) and getattr(mechanism, "on_histogram", False):
        return question.histogram(table.answer(question.statistic))
    if isinstance(question, VectorQuestion):
        if question.cells.count == 0:
            return np.zeros(0, dtype=object)
        return question.vector(table.answer(question.statistic))
    if question.cells.count == 0:
        return np.zeros((0, len(question.items)), dtype=np.int64) if isinstance(question, Popular) else []
    cells, values, counts = table.answer(question.statistic)
    if isinstance(question, Popular):
        return question.scores(cells, values, counts)
    assert isinstance(question, Quantiles)
    order = np.argsort(cells, kind="stable")
    ends = np.searchsorted(cells[order], np.arange(1, question.cells.count))
    return [Ranks.counted(values[part], counts[part]) for part in np.split(order, ends)]


def _parts(question: Question, spend: Guarantee, allow: frozenset[str]) -> list[tuple[Option, Any]]:
    """The mechanisms that answer a question, in order, with what each of them answers."""
    if not isinstance(question, Keys):
        return [(options(question, spend, allow)[0], question)]
    if not (isinstance(spend, Approximate) and spend.delta > 0):
        options(question, spend)  # refuses, and says what to spend
    assert isinstance(spend, Approximate)
    half = Approximate(spend.epsilon / 2, spend.delta)
    over_keys = bind_discovered(question, STAND_INS)
    return [
        (options(question, half)[0], question),
        (options(over_keys, Pure(half.epsilon))[0], over_keys),
    ]


def _last_target(question: Question, spend: Guarantee) -> Guarantee:
    return Pure(spend.epsilon / 2) if isinstance(question, Keys) and isinstance(spend, Approximate) else spend


def _claim(parts: list[tuple[Option, Any]]) -> Guarantee:
    """The guarantee of all parts together: epsilons and deltas add."""
    claims: list[Any] = [option.mechanism.guarantee() for option, _ in parts]
    if len(claims) == 1:
        return claims[0]  # type: ignore[no-any-return]
    epsilon = ceil_float(sum((Fraction(claim.epsilon) for claim in claims), Fraction(0)))
    return Approximate(epsilon, ceil_float(sum((Fraction(getattr(c, "delta", 0)) for c in claims), Fraction(0))))


def _parameters(mechanism: Any) -> dict[str, Any]:
    return {name: value for name, value in mechanism.to_record().items() if name != "type"}
