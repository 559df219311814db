"""Texts that are not known in advance: keys to be discovered, with the discrete metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.spaces import codes
from sfumato.spaces.categories import Categories, checked_labels
from sfumato.spaces.forms import Strings
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Texts"]

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Texts(Space):
    """Texts of at most `longest` characters; longer ones are cut.

    Nulls, codes in `na` and what is not Unicode are missing.  `other` is the public word that stands for texts which
    were not found where whole rows are made: in a synthetic table.

    >>> Texts(3).coerce("Ljubljana"), Texts(3).coerce(None), Texts(other="elsewhere").among(["Ljubljana"]).values
    ('Lju', None, ('Ljubljana', 'elsewhere'))
    """

    longest: int = 64
    other: str = field(default=OTHER, kw_only=True)
    na: tuple[codes.Code, ...] = field(default=(), kw_only=True)

    kind: ClassVar[str] = "texts"
    hint: ClassVar[tuple[str, str] | None] = ("free texts", "longest = 64  (shown where enough hold them)")

    def __post_init__(self) -> None:
        object.__setattr__(self, "na", codes.checked(self.na))
        if not (isinstance(self.longest, int) and 1 <= self.longest <= 1000):
            raise ParameterError(f"longest must be a whole number from 1 to 1000, got {self.longest!r}")
        checked_labels([arguments.text("other", self.other)], "other")

    @property
    def diameter(self) -> float:
        """The largest distance."""
        return 1.0

    def distance(self, one: str, other: str) -> float:
        """0 for equal texts, else 1."""
        return float(one != other)

    def coerce(self, value: object) -> str | None:
        """The text that stands for `value`, or None if it is missing."""
        if not isinstance(value, str) or value in codes.texts_of(self.na):
            return None
        unicode = not any("\ud800" <= character <= "\udfff" for character in value)
        return value[: self.longest] if unicode else None

    def to_record(self) -> dict[str, Any]:
        """Plain values, for plans and releases."""
        word = {} if self.other == OTHER else {"other": self.other}  # none in records of old
        return {"type": "texts", "longest": self.longest, **word, **codes.in_record(self.na)}

    @property
    def form(self) -> Strings:
        """Texts, cut."""
        return Strings(self.longest, codes.texts_of(self.na))

    @property
    def discoverable(self) -> bool:
        """They are not public."""
        return True

    def among(self, known: Sequence[str]) -> Categories:
        """Known texts as categories, and last the word for all others; codes for missing values are none by now."""
        return Categories((*(text for text in known if text != self.other), self.other), other=self.other)

    def examples(self) -> tuple[str, str, str, str]:
        """Letters."""
        return "a", "b", "a", "c"

    def arrow(self) -> pa.DataType:
        """Texts."""
        import pyarrow as pa

        return pa.string()
