"""Sets of at most `cap` public items, with the size of the symmetric difference as metric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.categories import BLANKS, Label, checked_labels, read_label, written_label
from sfumato.spaces.forms import Sets
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["UNIT_SEPARATOR", "Subsets", "items_in"]

UNIT_SEPARATOR = "\x1f"  # joins a set's items where engines order sets, so no item may hold it


@dataclass(frozen=True, slots=True)
class Subsets(Space):
    """A set of the items `of`; in text files the items are joined by `separator`.

    Coercion: unknown items, nulls and repetitions are dropped; of more than `cap` items the first `cap` in
    the order of their values (texts by code point) are kept.  A null is missing, and so is a set of nothing but codes
    in `na`; an empty set is not.

    >>> hobbies = Subsets(["chess", "judo", "opera"], cap=2)
    >>> sorted(hobbies.coerce(["opera", "judo", "chess", "golf", "judo"])), hobbies.coerce(None)
    (['chess', 'judo'], None)
    """

    of: tuple[Label, ...]
    cap: int
    separator: str = ";"
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str] = "subsets"
    needed: ClassVar[tuple[str, ...]] = ("of", "cap")
    hint: ClassVar[tuple[str, str] | None] = ("sets", 'of = ["a", "b", "c"], cap = 2')

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", checked_labels(self.of, "of"))
        if not (isinstance(self.cap, int) and 1 <= self.cap <= len(self.of)):
            raise ParameterError(
                f"cap must be a whole number from 1 to the number of items ({len(self.of)}), got {self.cap!r}"
            )
        if any(UNIT_SEPARATOR in str(item) for item in self.of):
            raise ParameterError("of holds an item with the control character U+001F; rename that item")
        if not isinstance(self.separator, str) or len(self.separator) != 1:
            raise ParameterError(f"separator must be a single character, got {self.separator!r}")
        object.__setattr__(self, "na", codes.checked(self.na))
        both = next((item for item in self.of if self._coded(item)), None)
        if both is not None:
            raise ParameterError(f"{both!r} is declared as an item and as a code for missing values; keep one")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return float(min(2 * self.cap, len(self.of)))

    def distance(self, one: Collection[Label], other: Collection[Label]) -> float:
        """How many items are in one of the two sets only."""
        return float(len(set(one) ^ set(other)))

    def coerce(self, value: object) -> frozenset[Label] | None:
        """The set that stands for `value`, or None if it is missing."""
        if isinstance(value, str):
            value = [item.strip(BLANKS) for item in value.split(self.separator)]
        held = items_in(value)
        if held is None:
            return None
        if self.na and held and all(self._coded(item) for item in held):
            return None
        read = {read_label(item, type(self.of[0])) for item in held}
        return frozenset(sorted(item for item in self.of if item in read)[: self.cap])

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "subsets",
            "of": list(self.of),
            "cap": self.cap,
            "separator": self.separator,
            **codes.in_record(self.na),
        }

    @property
    def form(self) -> Sets:
        """Lists, or texts to be split."""
        return Sets(self.of, self.cap, self.separator, self.na)

    @property
    def items(self) -> tuple[Label, ...]:
        """The declared items."""
        return self.of

    @property
    def most_items(self) -> int:
        """The declared cap."""
        return self.cap

    def written(self, value: object) -> str | None:
        """An item that is no text."""
        return written_label(value, type(self.of[0]))

    def examples(self) -> tuple[list[Label], list[Label], list[Label], list[Label]]:
        """No item, as many as count, the first, the last."""
        return [], list(self.of[: self.cap]), list(self.of[:1]), list(self.of[-1:])

    def arrow(self) -> pa.DataType:
        """Lists of texts or of whole numbers."""
        import pyarrow as pa

        return pa.list_(pa.scalar(self.of[0]).type)

    @classmethod
    def drafted(cls, stored: str, blank: str) -> list[str] | None:
        """Lists, but of numbers that need not be whole, of lists and of structures."""
        others = ("array", "float", "decimal", "struct", "map")
        if not stored.startswith("array") or stored.startswith(tuple(f"array<{kind}" for kind in others)):
            return None
        return ['type = "subsets"', f'of = ["{blank}"]', f'cap = "{blank}"             # how many items of a row count']

    def _coded(self, item: object) -> bool:
        """Whether an item is a code for a missing set."""
        if isinstance(item, str) and item in codes.texts_of(self.na):
            return True
        return isinstance(self.of[0], int) and read_label(item, int) in codes.wholes_of(self.na)


def items_in(value: object) -> list[object] | None:
    """What a list, or anything like it, holds; None of all else.

    >>> items_in(("a", "b")), items_in({"a": 1}), items_in(3)
    (['a', 'b'], None, None)
    """
    if codes.blank(value) or not isinstance(value, Iterable) or isinstance(value, Mapping):
        return None
    try:
        return list(value)
    except TypeError:  # an array without axes
        return None
