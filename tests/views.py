"""Secret views of rows that a test holds itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.queries.view import SecretView

__all__ = ["view_of"]


@dataclass(frozen=True)
class Held:
    """Batches of rows in place of an engine's table."""

    batches: list[dict[str, Any]]

    def rows(self, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        return iter(self.batches)


def view_of(*batches: Mapping[str, Any]) -> SecretView:
    """A view of these batches: for each column an array of indices, -1 where missing."""
    held = [{name: np.asarray(column, dtype=np.int64) for name, column in batch.items()} for batch in batches]
    return SecretView(Held(held), tuple(held[0]))
