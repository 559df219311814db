"""The only place where engine, mechanism and ledger meet.

Charge durably, compute, store the release durably, then show it; whatever fails after the charge is
spent, and says one generic thing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.archive import read, tables
from sfumato.bounds import certify
from sfumato.disk import free_bytes
from sfumato.engines import Table
from sfumato.errors import EngineError, LedgerError, ParameterError, UnsupportedQuery
from sfumato.ledger import Charge, Ledger
from sfumato.ledger.contents import INSIDE_BYTES
from sfumato.ledger.entries import label
from sfumato.mechanisms.ranks import Ranks
from sfumato.orders import Order, Preview, must_be_storable, order, preview
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.guarantees import Guarantee
from sfumato.publishing import Publication, Recipe
from sfumato.queries import Query
from sfumato.queries.binding import bind_discovered
from sfumato.queries.keys import Keys
from sfumato.queries.linear.workload import Workload
from sfumato.queries.popular import Popular
from sfumato.queries.quantiles import Quantiles
from sfumato.queries.vector import VectorQuestion
from sfumato.randomness import SecureRng, secure
from sfumato.release import Identity, Provenance, Release, scope
from sfumato.version import VERSION

if TYPE_CHECKING:  # whole tables are few, and what makes them is large
    from sfumato.publishing.synthetic import SynthesisPreview
    from sfumato.sanitization import Sanitization, SanitizedTable, Together
    from sfumato.synthesis.table import SyntheticTable

__all__ = ["Session", "exact_answer", "must_have_room"]

ROOM = 2 * INSIDE_BYTES  # what a release of the largest size inside the ledger takes, with its journal


class Session:
    """Private answers about one table, paid from one ledger.

    `allow` names the assumptions that guarantees may rest on; none by default.
    """

    def __init__(
        self,
        table: Table,
        *,
        budget: Guarantee,
        ledger: str | os.PathLike[str] | Ledger,
        allow: Iterable[str] = (),
        rng: SecureRng | None = None,
    ) -> None:
        if not isinstance(table, Table):
            raise ParameterError("table must come from sfumato.read(...), which puts it behind its schema")
        if rng is not None and not isinstance(rng, SecureRng):
            raise ParameterError("a session takes only the secure generator; seeded ones are for tests")
        if not isinstance(ledger, str | os.PathLike | Ledger):
            raise ParameterError(f"ledger must be the path of a ledger file or a Ledger, got {type(ledger).__name__}")
        self._table = table
        self._rng = rng or secure()
        self._allow = assumed(allow)
        self._unstored: dict[tuple[str, str], tuple[Charge, bytes, Publication]] = {}
        self.schema = table.schema
        must_be_storable(self.schema)
        self.is_new = not isinstance(ledger, Ledger) and not Path(ledger).exists()
        if isinstance(ledger, Ledger):
            ledger.terms.must_match(self.schema.dataset, self.schema.adjacency, self.schema.unit, budget)
        self.ledger = ledger if isinstance(ledger, Ledger) else Ledger.open(
            ledger, dataset=self.schema.dataset, adjacency=self.schema.adjacency, unit=self.schema.unit,
            budget=budget, allow=self._allow,
        )  # fmt: skip

    def __repr__(self) -> str:
        new = f", {self.notice}" if self.notice else ""
        return f"Session({self.schema.dataset!r}, spent {self.spent!r}, left {self.remaining!r}{new})"

    @property
    def notice(self) -> str | None:
        """What to know before spending: that the ledger was started by this session, and so knows of nothing before."""
        if not self.is_new:
            return None
        return (
            f"ledger {self.ledger.path} is new, started by this session: it knows of no earlier release; if releases "
            "from this data were paid for elsewhere, use that ledger"
        )

    @property
    def spent(self) -> Guarantee:
        """What everything charged so far costs together; true at any moment, also one chosen after seeing answers.

        Under an approximate budget it is stated at the budget's own delta, unless every charge was pure.
        """
        return self.ledger.spent()

    @property
    def remaining(self) -> Guarantee:
        """What may still be spent."""
        return self.ledger.remaining()

    def plan(self, query: Query, *, spend: Guarantee, name: str | None = None) -> Preview:
        """What `release` would cost and how accurate it would be, from public quantities only."""
        found = preview(query, self.schema, spend=spend, allow=self._allow, name=name)
        return replace(found, notice=self.notice)

    def release(self, query: Query, *, spend: Guarantee, name: str | None = None) -> Release:
        """A private answer.  The same name and question again returns what was stored, at no cost."""
        return self.fulfill(order(query, self.schema, spend=spend, allow=self._allow, name=name))

    def fulfill(self, settled: Order) -> Release:
        """The answer to an order that was settled for this session's schema."""
        return self._published(  # type: ignore[no-any-return]
            settled.title, settled.identity, settled.claim, settled.described,
            lambda provenance: self._answer(settled, provenance),
        )  # fmt: skip

    def sanitize(
        self, columns: Sequence[str | Together] | None = None, *, spend: Guarantee, name: str | None = None
    ) -> SanitizedTable:
        """A perturbed copy of the table, record by record (all columns by default): every later query on it is free.

        Needs replacement adjacency, since the number of rows is published.  Columns that are one thing (a vector, an
        image, a curve) are named by `together(...)`.
        """
        from sfumato.publishing.sanitized import Sanitizing

        return self.publish(Sanitizing.of(self.schema, columns, spend), name=name)  # type: ignore[no-any-return]

    def plan_sanitization(self, columns: Sequence[str | Together] | None = None, *, spend: Guarantee) -> Sanitization:
        """What `sanitize` would do to each column and how accurate that is; nothing is spent, no data is read."""
        from sfumato.publishing.sanitized import Sanitizing

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
        """A table of invented rows, drawn from a private model of this one; whatever is computed from them is free.

        All columns by default, which must hold numbers or categories; missing values are modelled.  `rows`: as many as
        the table has, by default.  Look at `plan_synthesis` first: it says what the table will be good at.
        """
        from sfumato.publishing.synthetic import Synthesizing

        asked = Synthesizing.of(self.schema, columns, spend, rows, progress)
        return self.publish(asked, name=name)  # type: ignore[no-any-return]

    def plan_synthesis(
        self, columns: Sequence[str] | None = None, *, spend: Guarantee, rows: int | None = None
    ) -> SynthesisPreview:
        """What `synthesize` would cost, be good at, and need; nothing is spent, no data is read."""
        from sfumato.publishing.synthetic import Synthesizing

        return Synthesizing.of(self.schema, columns, spend, rows).preview()

    def publish(self, recipe: Recipe, *, name: str | None = None) -> Any:
        """What a recipe makes of the table.  The same name and recipe again returns what was stored, at no cost."""
        if not (hasattr(recipe, "specification") and hasattr(recipe, "publish")):
            raise ParameterError("recipe must be made by a function such as trigonometric(session.schema, ...)")
        if recipe.schema != self.schema:
            raise ParameterError("the recipe was made for another schema; make it with session.schema")
        title, asked = label("name", recipe.title if name is None else name), recipe.specification()
        if asked.get("format") not in tables():
            raise UnsupportedQuery(
                f"a recipe of format {asked.get('format')!r:.60} could be stored but never read back, so it is not "
                f"charged; a session publishes {', '.join(tables())}"
            )
        renamed = {"asked" if part == "columns" else part: value for part, value in asked.items()}
        identity = Identity(
            {**renamed, **scope(self.schema, recipe.columns, sized=True)}, {**asked, "schema": self.schema.to_record()}
        )
        return self._published(
            title, identity, recipe.guarantee(), recipe.described() | identity.described(),
            lambda provenance: recipe.publish(title, self._table, self._rng, provenance),
        )  # fmt: skip

    def _published(
        self,
        title: str,
        identity: Identity,
        claim: Guarantee,
        described: dict[str, Any],
        make: Callable[[Provenance], Publication],
    ) -> Any:
        """The stored publication, or one that is charged, computed and stored now.

        What was computed and could not be stored is kept: asking again stores it, and charges nothing more.
        """
        key = identity.within(title, self.ledger.named(title))
        stored = self.ledger.find(title, key)
        if stored is not None:
            return read(stored.content)
        held = self._unstored.pop((title, key), None) or self._computed(title, key, claim, described, make)
        charge, content, publication = held
        failure = self._stored(charge, content)
        if failure is not None:
            self._unstored[title, key] = held
            raise LedgerError(
                f"release {title!r} is charged and computed but could not be stored, so it is not shown: {failure}.  "
                "Mend that and ask again in this session, which stores it and charges nothing more; "
                "another session would charge again"
            )
        return publication

    def _computed(
        self, title: str, key: str, claim: Guarantee, described: dict[str, Any], make: Callable[[Provenance], Any]
    ) -> tuple[Charge, bytes, Publication]:
        """The publication and its bytes, after its charge."""
        must_have_room(self.ledger.path)
        charge = self.ledger.charge(title, key, claim, described)
        made = self._made(key, charge, make)
        if made is None:  # raised out here, so that the cause is not its context
            raise EngineError(
                f"release {title!r} failed after its charge, which is spent, and nothing can be shown; asking again "
                "charges again, so first see that the table can be read and that memory and disk suffice "
                "(the cause is withheld, since it may hold data)"
            )
        return charge, *made

    def _made(self, key: str, charge: Charge, make: Callable[[Provenance], Any]) -> tuple[bytes, Publication] | None:
        """The publication as bytes and as a value; None if anything failed on the way."""
        provenance = Provenance(
            dataset=self.schema.dataset, unit=self.schema.words(), version=VERSION, digest=key,
            time=datetime.now(UTC).isoformat(timespec="seconds"), charge=charge.sequence, head=charge.head,
        )  # fmt: skip
        try:
            publication = make(provenance)
            return publication.to_bytes(), publication
        except Exception:
            return None

    def _stored(self, charge: Charge, content: bytes) -> str | None:
        """Nothing if it was stored; else why not, as far as that is about the ledger's file and not about the data."""
        try:
            self.ledger.store(charge, content)
        except LedgerError as error:
            return str(error)
        except Exception:
            return f"ledger {self.ledger.path} failed"
        return None

    def _answer(self, settled: Order, provenance: Provenance) -> Release:
        parts = settled.parts
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
        return Release(
            settled.title, question, mechanism, output, settled.claim, certificate, stamped, settled.spend, keys
        )

    def _discover(self, mechanism: Any, question: Keys) -> tuple[str, ...]:
        texts, counts = self._table.answer(question.statistic)
        noisy = mechanism.release(counts, self._rng)
        return tuple(sorted(text for text, count in zip(texts, noisy, strict=True) if count))


def must_have_room(ledger: Path) -> None:
    """Refuse, before anything is charged, where a release could be paid for and not be stored."""
    free = free_bytes(ledger.parent)
    if free < ROOM:
        raise LedgerError(
            f"the disk of ledger {ledger} has {free // 2**20} MB free, and {ROOM // 2**20} MB may be needed to store "
            "what is paid for; nothing was charged.  Make room first"
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


def _parameters(mechanism: Any) -> dict[str, Any]:
    return {name: value for name, value in mechanism.to_record().items() if name != "type"}
