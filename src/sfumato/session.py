"""The only place where engine, mechanism and ledger meet.

Charge durably, compute, store the release durably, then show it; whatever fails after the charge is
spent, and says one generic thing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato import arguments
from sfumato.accuracy.division import Division
from sfumato.accuracy.meeting import beyond, order_within
from sfumato.accuracy.requests import requested, shared
from sfumato.bounds import certify
from sfumato.engines import Table
from sfumato.errors import BudgetExceeded, LedgerError, ParameterError
from sfumato.ledger import LedgerLike, Member
from sfumato.ledger.contents import must_have_room
from sfumato.ledger.names import kept_title, lost_words
from sfumato.ledger.offers import Offer, offer
from sfumato.ledger.opening import opened
from sfumato.ledger.protocol import in_words
from sfumato.orders import Order, Preview, must_be_different, order, previewed
from sfumato.planner import Calibrates
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import guarantee_like
from sfumato.processors import alone
from sfumato.progress import shown, stage
from sfumato.publishing import Publisher
from sfumato.queries import Query
from sfumato.queries.binding import limited
from sfumato.queries.sanitized import Subject, sanitized
from sfumato.queries.synthetic import synthetic
from sfumato.randomness import Rng, SecureRng, secure
from sfumato.release import Provenance, Published, Release
from sfumato.release.archive import PUBLICATIONS, must_be_listed
from sfumato.release.recognition import must_be_storable
from sfumato.series import Measured, as_announced, must_follow, orders_of, unpublished

if TYPE_CHECKING:
    from sfumato.release.sanitized import SanitizedTable
    from sfumato.release.synthetic import SyntheticTable

__all__ = ["Session"]

# A number is the epsilon of pure privacy, a mapping is read as in plans; a kind, or nothing, only beside a target.
Spend = Guarantee | float | Mapping[str, float] | type[Guarantee] | None


class Session(Publisher):
    """Private answers about one table, paid from one ledger.

    `allow` names the assumptions that guarantees may rest on; none by default.
    """

    def __init__(
        self,
        table: Table,
        *,
        budget: Guarantee | float | Mapping[str, float],
        ledger: str | os.PathLike[str] | LedgerLike,
        allow: Iterable[str] = (),
        rng: Rng | None = None,
    ) -> None:
        if not isinstance(table, Table):
            raise ParameterError("table must come from sfumato.read(...), which puts it behind its schema")
        if not isinstance(ledger, str | os.PathLike | LedgerLike):
            raise ParameterError(
                f"ledger must be the path of a ledger file, a server's address or a ledger, got {type(ledger).__name__}"
            )
        granted: Guarantee = guarantee_like("budget", budget)  # type: ignore[assignment]
        laboratory = None if isinstance(ledger, str | os.PathLike) else ledger.laboratory
        if rng is not None and not isinstance(rng, SecureRng) and laboratory is None:
            raise ParameterError(
                "a session takes only the secure generator; seeded ones are for sf.reference.lab(...), whose releases "
                "are marked as not private"
            )
        self._table = table
        self._rng: Rng = rng or secure()
        self._allow = assumed(allow)
        schema = table.schema
        must_be_storable(schema)
        dataset, adjacency, unit = schema.dataset, schema.adjacency, schema.unit
        kept, is_new = (ledger, False) if isinstance(ledger, LedgerLike) else opened(
            ledger, dataset=dataset, adjacency=adjacency, unit=unit, budget=granted, allow=self._allow
        )  # fmt: skip
        kept.terms.must_match(dataset, adjacency, unit, granted)
        super().__init__(schema, kept, is_new)

    @classmethod
    def from_plan(cls, path: str | os.PathLike[str], version: str | None = None) -> Session:
        """The session of a plan's table, of another version where one is said, budget and ledger.

        The plan's releases are not carried out.
        """
        from sfumato.plans import read_plan
        from sfumato.plans.outlook import opened

        return opened(read_plan(Path(path), version))

    def preview(
        self,
        query: Query,
        *,
        spend: Spend = None,
        within: float | str | None = None,
        level: float = 0.95,
        of: float | Release | None = None,
        name: str | None = None,
        mechanism: str | Calibrates | None = None,
    ) -> Preview:
        """What `release` would cost and how accurate it would be, from public quantities only."""
        settled = self.order(query, spend, name, mechanism, within=within, level=level, of=of)
        seen = replace(
            previewed(settled, self.schema), notice="; ".join(filter(None, (self.notice, self._doubt))) or None
        )
        try:
            paid = not self._charges(settled)
        except LedgerError as error:  # the name stands for something else
            return replace(seen, fits=False, refusal=str(error))
        return replace(seen, fits=paid or self.ledger.admits(seen.guarantee))

    def release(
        self,
        query: Query,
        *,
        spend: Spend = None,
        within: float | str | None = None,
        level: float = 0.95,
        of: float | Release | None = None,
        name: str | None = None,
        mechanism: str | Calibrates | None = None,
    ) -> Published:
        """A private answer.  The same name and question again returns what was stored, at no cost.

        `spend` says what it may cost, or `within` what error it may have with probability `level`: a number in the
        answer's units, or a share such as "1%" (of what, see docs/guide/accuracy.md; or of `of`, a number or a released
        one).  Then the least spend is found; `spend` beside it is its kind, such as sf.Concentrated, or a ceiling.
        `mechanism` chooses one by its stored name, such as "laplace"; left out, the least error is chosen.
        """
        settled = self.order(query, spend, name, mechanism, within=within, level=level, of=of)
        if settled.target is not None and self._charges(settled) and not self.ledger.admits(settled.claim):
            raise beyond(settled, self.remaining, self._allow)
        return self.fulfill(settled)

    def order(
        self,
        query: Query,
        spend: Spend = None,
        name: str | None = None,
        mechanism: str | Calibrates | None = None,
        *,
        within: float | str | None = None,
        level: float = 0.95,
        of: float | Release | None = None,
    ) -> Order:
        """What `fulfill` takes: everything public about a release settled, nothing spent, no data read."""
        laboratory = self.ledger.laboratory is not None
        chosen: Guarantee | type[Guarantee] | None = guarantee_like("spend", spend)  # type: ignore[assignment]
        if within is not None:
            least = order_within(
                query, self.schema, within, budget=self.ledger.terms.budget, ledger=self.ledger, level=level, of=of,
                spend=chosen, allow=self._allow, name=name, mechanism=mechanism, laboratory=laboratory,
            )  # fmt: skip
            return as_announced(least, self.ledger)
        if chosen is None or isinstance(chosen, type) or of is not None:
            raise ParameterError(
                "give spend=, what the release may cost, such as sf.Pure(0.1) or the epsilon 0.1, or within=, what "
                "error it may have; of= and a kind of spend only beside within="
            )
        made = order(
            query, self.schema, spend=chosen, allow=self._allow, name=name, mechanism=mechanism, laboratory=laboratory
        )
        titled = replace(made, title=kept_title(self.ledger, made.title, self.schema.version))
        return as_announced(titled, self.ledger)

    def release_all(
        self, requests: Iterable[Mapping[str, Any]], *, split: str | None = None, total: Guarantee | float | None = None
    ) -> list[Published]:
        """Several private answers, fixed in advance; each request holds the arguments of one `release`.

        Where that saves a twentieth of the epsilon or more, those that are new are charged together, as one batch: it
        is paid for as a whole, whatever becomes of them.  See `prepay`.  With `split="auto"` requests that hold neither
        `spend` nor `within` share in what is left of the budget, as `divide` says.
        """
        if split is not None:
            arguments.choice("split", split, ("auto",))
        elif total is not None:
            raise ParameterError('total is what an automatic split divides: give split="auto" as well')
        asked = requested(requests, split is not None)
        if split is not None:
            asked, _ = shared(asked, self.schema, self.ledger, _granted(total), self._allow)
        orders = [self.order(**one) for one in asked]
        self.prepay(orders)
        made = []
        with shown():
            for place, settled in enumerate(orders):
                with stage(settled.title, place, len(orders)):
                    made.append(self.fulfill(settled))
        return made

    def divide(
        self, requests: Iterable[Mapping[str, Any]], *, total: Guarantee | float | None = None
    ) -> Division | None:
        """What `release_all(requests, split="auto")` would let each spend, by its name; nothing is spent.

        The worst error, relative and times the request's `weight`, is as small as it can be; none if all is settled.
        """
        return shared(requested(requests, True), self.schema, self.ledger, _granted(total), self._allow)[1]

    def prepay(self, orders: Sequence[Order]) -> Offer:
        """Charge orders together where that saves, and say what was saved; `fulfill` then takes each from the batch.

        What is stored or was paid for before is no part of it.  A release that was begun and not stored is lost, and
        charged again when it is asked for again; one that was not begun stays paid for, also in another session.
        """
        must_be_different(orders)
        for one in orders:
            self._must_be_settled(one)
        keys = {one.title: self._key(one.title, one.identity) for one in orders}
        fresh = [each for one in orders for each in self._charges(one)]
        paid, announcing = [(one.claim, one.loss) for one in fresh], any(one.periods for one in fresh)
        found = offer(self.ledger.terms, *self.ledger.totals(), paid, announcing)
        if found.first_refused is not None:
            raise BudgetExceeded(
                f"these releases do not fit the budget: in all {in_words(found.spent)} would be spent of "
                f"{in_words(self.ledger.terms.budget)}, and {fresh[found.first_refused].title!r} is the first that "
                "does not fit; nothing was charged.  Lower the spends, or ask for less"
                + lost_words([one.title for one in fresh if self.ledger.known(one.title) is not None])
            )
        if found.claim is not None:
            must_have_room(self.ledger.place, self.ledger.room())
            members = [Member(one.title, keys[one.title], one.claim, one.described) for one in fresh]
            self.ledger.charge_batch(members, found.claim)
        for one in fresh:
            question = one.question
            whole = question.query.kind in PUBLICATIONS
            self._table.expect(question.schema, question.schema.held if whole else question.query.columns)
            if not one.periods:
                self._table.under(question.schema).foresee(one.mechanism.take)
        return found

    def announce(
        self, query: Query, *, spend: Spend, name: str | None = None, mechanism: str | None = None
    ) -> tuple[str, ...]:
        """Charge a series of running counts, all of its periods at once; `release` then publishes each for nothing.

        The names of its releases.  Where nobody announced it, the first release does.
        """
        settled = self.order(query, spend, name, mechanism)
        self._must_be_settled(settled)
        orders = orders_of(settled)
        self._announce(settled)
        return tuple(one.title for one in orders)

    def _announce(self, settled: Order) -> None:
        """Charge a series, unless that was done before."""
        if self.ledger.known(settled.title) is None:
            must_have_room(self.ledger.place, self.ledger.room())
            members = [
                Member(one.title, self._key(one.title, one.identity), one.claim, one.described)
                for one in orders_of(settled)
            ]
            self.ledger.charge_series(members)

    def fulfill(self, settled: Order) -> Published:
        """The answer to an order that was settled for this session's schema."""
        self._must_be_settled(settled)
        if not settled.periods:
            return self._published(settled, partial(self._answer, settled))
        return self._next_of_series(as_announced(settled, self.ledger))

    def _next_of_series(self, settled: Order) -> Published:
        """This period's release, after those of the periods before it that nobody has published."""
        last, pending = unpublished(settled, self.ledger)
        found = None if last is None else self._found(last, last.identity.digest)
        must_follow(pending)
        if pending:
            certify(
                settled.question, settled.mechanism, spend=settled.spend
            )  # slow the first time: not between beginning and storing
            self._announce(settled)
            measured = Measured(settled, self._table.under(settled.question.schema), found)  # type: ignore[arg-type]
            for one in pending:
                found = self._published(one, partial(self._continued, one, measured))
                measured.last = found  # type: ignore[assignment]
        assert found is not None
        return found

    def _must_be_settled(self, settled: Order) -> None:
        """Refuse, before any charge, an order whose noise or claim is not this session's."""
        if settled.question.schema != limited(settled.question.query, self.schema):
            raise ParameterError(
                f"order {settled.title!r} was settled for another schema, so its noise may be too little for this one; "
                "settle it with this session's order(...)"
            )
        if self.ledger.laboratory is None:
            must_be_listed(settled.mechanism)
        if settled.claim != settled.mechanism.guarantee():
            raise ParameterError(
                f"order {settled.title!r} claims {settled.claim!r}, which is not what its mechanism gives; settle it "
                "with this session's order(...)"
            )

    def sanitize(
        self,
        columns: Sequence[Subject] | None = None,
        *,
        spend: Guarantee | float,
        least: str = "spread",
        name: str | None = None,
    ) -> SanitizedTable:
        """`release(sanitized(columns, least=least))`: a perturbed copy of the table, record by record."""
        return self.release(sanitized(columns, least=least), spend=spend, name=name)  # type: ignore[return-value]

    def synthesize(
        self,
        columns: Sequence[str] | None = None,
        *,
        spend: Guarantee | float,
        rows: int | None = None,
        good_for: str = "marginals",
        target: str | None = None,
        weights: Mapping[str, float] | None = None,
        keep: Sequence[str] | None = None,
        person: Sequence[str] | None = None,
        workload: Sequence[Query] | None = None,
        cuts: Sequence[str] | None = None,
        triples: bool = False,
        name: str | None = None,
    ) -> SyntheticTable:
        """`release(synthetic(columns, rows=rows, ...))`: invented rows, drawn from a private model."""
        query = synthetic(
            columns,
            rows=rows,
            good_for=good_for,
            target=target,
            weights=weights,
            keep=keep,
            person=person,
            workload=workload,
            cuts=cuts,
            triples=triples,
        )
        return self.release(query, spend=spend, name=name)  # type: ignore[return-value]

    def _answer(self, settled: Order, provenance: Provenance) -> Published:
        mechanism = settled.mechanism
        with shown(), alone():
            output = mechanism.release(mechanism.take(self._table.under(settled.question.schema)), self._rng)
        return _publication(settled, output, provenance)

    def _continued(self, settled: Order, measured: Measured, provenance: Provenance) -> Published:
        return _publication(settled, measured.output(settled, self._rng), provenance)


def _publication(settled: Order, output: object, provenance: Provenance) -> Published:
    question, mechanism = settled.question, settled.mechanism
    published = PUBLICATIONS.get(question.query.kind, Release)
    certificate = certify(question, mechanism, output, spend=settled.spend)
    return published.of(
        settled.title, question, mechanism, output, settled.claim, certificate,
        replace(provenance, unit=question.schema.words()), settled.spend,
    )  # fmt: skip


def _granted(total: object) -> Guarantee | None:
    """What requests may cost together, where that was said."""
    return guarantee_like("total", total)  # type: ignore[return-value]
