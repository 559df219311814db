"""The shapes of tables that a target may take or return, told by what they offer: no library is imported for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

__all__ = ["Arrayed", "ArrowTable", "Frame", "PandasFrame"]


@runtime_checkable
class ArrowTable(Protocol):
    """A table of Arrow."""

    @property
    def column_names(self) -> list[str]:
        """In the order of the table."""

    @property
    def schema(self) -> Iterable[Any]:
        """Fields with a name and a type."""

    def to_pydict(self) -> dict[str, list[Any]]:
        """Columns as lists."""


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Sequence[Any]:
        """The names, in the order of the frame."""

    def to_dict(self, orient: object, /) -> Mapping[str, Any]:
        """Columns as lists, with "list"."""

    def __getitem__(self, name: object, /) -> Any:
        """One column."""


@runtime_checkable
class PandasFrame(Frame, Protocol):
    """A data frame of pandas."""

    @property
    def dtypes(self) -> Mapping[Any, Any]:
        """The type of each column."""

    @property
    def iloc(self) -> Any:
        """Rows and columns by their place."""

    def itertuples(self, index: bool = True, name: str | None = "Pandas") -> Iterator[tuple[Any, ...]]:
        """The rows."""


@runtime_checkable
class Arrayed(Protocol):
    """An array, a column or a scalar of one, that becomes plain numbers."""

    def tolist(self) -> Any:
        """Lists of numbers."""
