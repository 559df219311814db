"""Spending that survives crashes and races: charge durably, compute, store durably, then show."""

from sfumato.ledger.entries import FORMAT, Entry
from sfumato.ledger.protocol import Charge, Known, LedgerLike, Member, Stored, Verification
from sfumato.ledger.sqlite import Ledger

__all__ = ["FORMAT", "Charge", "Entry", "Known", "Ledger", "LedgerLike", "Member", "Stored", "Verification"]
