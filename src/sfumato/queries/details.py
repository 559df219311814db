"""Questions that need more than a column: what a query of such a kind carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from sfumato.queries.query import Query
    from sfumato.schema import Schema

__all__ = ["Details"]


@runtime_checkable
class Details(Protocol):
    """Frozen public parameters of a question; the closed list of kinds is in `queries/kinds.py`.

    `bind` finds every public mistake, and refuses `query.keys` or `query.condition` where the kind has none.
    """

    kind: ClassVar[str]

    def subject(self) -> str:
        """What is asked, readable: the query's name without its condition."""

    def to_record(self) -> dict[str, Any]:
        """Plain values, beside `query`, `by` and `where`."""

    def bind(self, query: Query, schema: Schema) -> Any:
        """The bound question: its sensitivity, its exact answer, how its output reads."""
