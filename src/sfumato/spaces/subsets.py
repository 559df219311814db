"""Sets of at most `cap` public items, with the size of the symmetric difference as metric."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sfumato.errors import ParameterError
from sfumato.spaces.categories import Label, labels

__all__ = ["Subsets"]


@dataclass(frozen=True, slots=True)
class Subsets:
    """A set of the items `of`; in text files the items are joined by `separator`.

    Coercion: unknown items and repetitions are dropped; of more than `cap` items the first `cap` in
    the order of their values (texts by code point) are kept.  A null is missing; an empty set is not.

    >>> hobbies = Subsets(["chess", "judo", "opera"], cap=2)
    >>> sorted(hobbies.coerce(["opera", "judo", "chess", "golf", "judo"])), hobbies.coerce(None)
    (['chess', 'judo'], None)
    """

    of: tuple[Label, ...]
    cap: int
    separator: str = ";"

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", labels(self.of, "of"))
        if not (isinstance(self.cap, int) and 1 <= self.cap <= len(self.of)):
            raise ParameterError(
                f"cap must be a whole number from 1 to the number of items ({len(self.of)}), got {self.cap!r}"
            )
        if len(self.separator) != 1:
            raise ParameterError(f"separator must be a single character, got {self.separator!r}")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return float(min(2 * self.cap, len(self.of)))

    def distance(self, one: Collection[Label], other: Collection[Label]) -> float:
        """How many items are in one of the two sets only."""
        return float(len(set(one) ^ set(other)))

    def coerce(self, value: Any) -> frozenset[Label] | None:
        """The set that stands for `value`, or None if it is missing."""
        if isinstance(value, str):
            value = [item.strip() for item in value.split(self.separator)]
        try:
            known = sorted(
                {item for item in value if item in self.of},
                key=lambda item: (str(item), item) if isinstance(item, str) else ("", item),
            )
        except TypeError:
            return None
        return frozenset(known[: self.cap])

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        return {
            "type": "subsets",
            "of": list(self.of),
            "cap": self.cap,
            "separator": self.separator,
        }
