"""What a plan says of the service: who may ask, for how much, and when answers leave."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato import arguments
from sfumato.errors import SchemaError
from sfumato.ledger.accounts import Allowance
from sfumato.ledger.entries import label
from sfumato.ledger.pool import LEAST
from sfumato.plans.document import AnalystSection, Document
from sfumato.plans.places import must_stay
from sfumato.privacy.guarantees import Guarantee

__all__ = ["RATE", "Analyst", "Service", "service_of"]

TICK = 1.0  # seconds
RATE = 20.0  # requests a second of one token, in one process


@dataclass(frozen=True, slots=True)
class Analyst:
    """Somebody who asks, with what they may spend; or a steward, who watches and may have no budget."""

    name: str
    budget: Guarantee | None
    role: str = "analyst"


@dataclass(frozen=True, slots=True)
class Service:
    """Who may ask, how often in a second, at which multiples of seconds releases leave, where is written down who
    asked what, and how many connections a process may have to servers of ledgers.
    """

    analysts: Mapping[str, Analyst] = field(default_factory=dict)
    tick: float = TICK
    rate: float = RATE
    audit: Path | None = None
    connections: int | None = None  # None: as many as `ledger/pool.py` says

    def to_record(self, folder: Path) -> dict[str, object]:
        """As a plan in that folder says it."""
        if not self.analysts:
            return {}
        kept: dict[str, object] = {} if self.audit is None else {"audit": os.path.relpath(self.audit, folder)}
        kept |= {} if self.connections is None else {"connections": self.connections}
        held = {one.name: _analyst(one) for one in self.analysts.values()}
        return {"service": {"tick": self.tick, "rate": self.rate, **kept}, "analysts": held}


def _analyst(one: Analyst) -> dict[str, object]:
    budget = {} if one.budget is None else {"budget": one.budget.parts()}
    return {**budget, "role": one.role}


def service_of(document: Document, folder: Path, dataset: str, budget: Guarantee) -> Service:
    """What a document in a folder says of the service."""
    said = document.service
    if not 0.05 <= said.tick <= 60:
        raise SchemaError(f"service.tick must be between 0.05 and 60 seconds, got {said.tick}")
    if said.audit is None and document.analysts:
        must_stay("dataset", dataset, 'so that its log cannot be called by it; say audit = "FILE" under [service]')
    audit = arguments.path("path", folder / (said.audit or f"{dataset}.audit.jsonl"))
    if not 0 < said.rate <= 10_000:
        raise SchemaError(f"service.rate must be requests a second, above 0, got {said.rate}")
    if said.connections is not None and not LEAST <= said.connections <= 100:
        raise SchemaError(
            f"service.connections must be between {LEAST} and 100 connections of a process, got {said.connections}"
        )
    analysts = {name: _asking(name, one, budget) for name, one in document.analysts.items()}
    return Service(analysts, said.tick, said.rate, audit, said.connections)


def _asking(name: str, said: AnalystSection, budget: Guarantee) -> Analyst:
    """One who asks, with a budget of the dataset's kind."""
    label("analyst", name)
    if said.budget is None and said.role == "analyst":
        raise SchemaError(f"analysts.{name}: budget is missing; an analyst spends from one of the dataset's kind")
    own = None if said.budget is None else said.budget.guarantee()
    if own is not None:
        Allowance(name, own).must_match(budget)
    return Analyst(name, own, said.role)
