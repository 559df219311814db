"""The contract between a session and what it publishes: say what it costs first, compute after the charge."""

from __future__ import annotations

from typing import Any, Protocol

from sfumato.engines import Table
from sfumato.privacy.guarantees import Guarantee
from sfumato.randomness import Rng
from sfumato.release import Provenance
from sfumato.schema import Schema

__all__ = ["Publication", "Recipe"]


class Publication(Protocol):
    """A public value; `archive.read` rebuilds it from its bytes."""

    def to_bytes(self) -> bytes:
        """What the ledger stores."""


class Recipe(Protocol):
    """A calibrated way to publish something: everything but `publish` is public and reads no data."""

    @property
    def schema(self) -> Schema:
        """What it was calibrated for: a session refuses a recipe made for another schema."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns that it reads."""

    @property
    def title(self) -> str:
        """The name it is stored under unless another is given."""

    def specification(self) -> dict[str, Any]:
        """What is asked, as plain values: the same specification under the same name is the same release.

        Its `format` is one that `archive.read` knows: what cannot be read back is not charged.
        """

    def guarantee(self) -> Guarantee:
        """What it costs, charged before `publish`."""

    def described(self) -> dict[str, Any]:
        """What the ledger's entry says of it, as plain values."""

    def publish(self, name: str, table: Table, rng: Rng, provenance: Provenance) -> Publication:
        """Read the table, and return what may be shown."""
