"""A ledger by where it is: a file's path, or the address of a PostgreSQL server."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sfumato.addresses import SERVERS
from sfumato.ledger.protocol import LedgerLike
from sfumato.ledger.sqlite import Ledger
from sfumato.privacy.adjacency import Adjacency, Unit
from sfumato.privacy.guarantees import Guarantee

__all__ = ["opened"]


def opened(
    place: str | os.PathLike[str],
    *,
    dataset: str,
    adjacency: Adjacency,
    unit: Unit,
    budget: Guarantee | None,
    allow: Iterable[str],
) -> tuple[LedgerLike, bool]:
    """The ledger of a dataset, made if missing, and whether it was; on a server it is called after the dataset."""
    if isinstance(place, str) and place.startswith(SERVERS):
        from sfumato.ledger.postgres import PostgresLedger

        ledger = PostgresLedger.open(place, dataset=dataset, adjacency=adjacency, unit=unit, budget=budget, allow=allow)
        return ledger, len(ledger.entries()) == 1
    is_new = not Path(place).exists()
    return Ledger.open(place, dataset=dataset, adjacency=adjacency, unit=unit, budget=budget, allow=allow), is_new
