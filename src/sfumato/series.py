"""Orders of a series: outputs of one mechanism that are announced together and published one after the other."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger import LedgerLike
from sfumato.ledger.entries import label, plain
from sfumato.ledger.names import versioned
from sfumato.mechanisms import joined, mechanism_from
from sfumato.mechanisms.noise.continual_counting import continuing
from sfumato.orders import Order
from sfumato.queries.question import Source
from sfumato.queries.running import series_of
from sfumato.randomness import Rng
from sfumato.release import Identity, Release

__all__ = ["Measured", "as_announced", "awaited", "must_follow", "order_of", "orders_of", "unpublished"]

WAITS, WAIT = 60, 0.05  # how often, and for how many seconds each time: far longer than a count takes to be stored


def orders_of(settled: Order) -> tuple[Order, ...]:
    """The orders of all periods of the series that an order is one of."""
    if not settled.periods:
        raise ParameterError(
            f"{settled.title!r} is no series, so that nothing of it is announced; release it, or ask sf.running(...)"
        )
    return tuple(order_of(settled, version) for version in settled.periods)


def order_of(settled: Order, version: str) -> Order:
    """The order of another period: its question, and so its name and digest, have another version."""
    series = series_of(settled.question)
    assert series is not None
    base = settled.title.removesuffix(f", {series.schema.version}")
    question = replace(series, schema=replace(series.schema, version=version))
    identity = Identity({**settled.identity.specification, "version": version}, ())
    mechanism = mechanism_from(settled.mechanism.to_record(), question)
    return replace(
        settled, title=label("name", versioned(base, version)), identity=identity, question=question,
        described={**settled.described, **identity.described()},
        ranking=(replace(settled.ranking[0], mechanism=mechanism),),
    )  # fmt: skip


def as_announced(settled: Order, ledger: LedgerLike) -> Order:
    """The order with the mechanism that its series was announced with, where today another would be chosen."""
    known = ledger.known(settled.title) if settled.periods else None
    kept = None if known is None or known.digest != settled.identity.digest else known.description.get("mechanisms")
    if not isinstance(kept, list) or kept == plain(settled.described)["mechanisms"]:
        return settled
    mechanism = mechanism_from(joined(kept), settled.question)
    return replace(
        settled, claim=mechanism.guarantee(), described={**settled.described, "mechanisms": kept},
        ranking=(replace(settled.ranking[0], mechanism=mechanism),),
    )  # fmt: skip


def unpublished(settled: Order, ledger: LedgerLike) -> tuple[Order | None, tuple[Order, ...]]:
    """Of a series up to one of its orders: the last that is stored, and those after it."""
    pending: tuple[Order, ...] = ()
    for version in reversed(settled.periods[: 1 + settled.periods.index(settled.question.schema.version or "")]):
        one = order_of(settled, version)
        if ledger.find(one.title, one.identity.within(one.title, ledger.known(one.title))) is not None:
            return one, pending
        pending = (one, *pending)
    return None, pending


def must_follow(pending: tuple[Order, ...]) -> None:
    """Refuse to skip a period whose rows the last one's table does not hold."""
    series = series_of(pending[0].question) if len(pending) > 1 else None
    if series is not None and series.apart:
        raise LedgerError(
            f"{pending[0].title!r} is not published yet, and this table holds the rows of {pending[-1].title!r} "
            f"alone (apart): publish version {series.schema.version} first, from its own table; nothing was charged"
        )


def awaited(ledger: LedgerLike, name: str, digest: str) -> bool:
    """Whether a release that somebody has begun is stored, after a short wait: of a series only its noise is left."""
    for _ in range(WAITS):
        if ledger.find(name, digest) is not None:
            return True
        time.sleep(WAIT)
    return False


class Measured:
    """The exact, secret counts of a table, taken once, and what was published of its series so far.

    The series is paid for, so that the table may be read; noise is drawn only once a period is begun in the ledger.
    """

    def __init__(self, settled: Order, table: Source, last: Release | None) -> None:
        self._counts = continuing(settled.mechanism).take(table)
        self.last = last

    def output(self, one: Order, rng: Rng) -> object:
        """What was published before, which is public, and the measurements that this period adds."""
        earlier = np.zeros(0, dtype=object) if self.last is None else np.asarray(self.last.output, dtype=object)
        return continuing(one.mechanism).continued(earlier, self._counts, rng)
