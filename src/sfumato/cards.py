"""How objects show themselves: a title, a few facts and some rows, as text in a terminal and as HTML in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sfumato.errors import SfumatoError, UnsupportedQuery
from sfumato.markup import Markup, filled, joined
from sfumato.visible import visible

__all__ = ["Card", "Printed", "Shown", "counted", "listed", "state_side_fact"]

WIDTH = 13  # of the names of facts
STYLE = "text-align:{side};padding:1px 10px 1px 0;vertical-align:top"


def counted(number: int, thing: str) -> str:
    """So many things, in words.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int = 24) -> str:
    """The names, of very many the first and how many more there are.

    >>> listed(["a", "b"]), listed(["a", "b", "c", "d"], most=2)
    ('a, b', 'a, b and 2 more')
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def state_side_fact(name: str, state: Callable[[], str]) -> dict[str, str]:
    """Return a fact that stands beside an answer: none where nothing is known, "not computed" where computing fails.

    A side figure never hides the answer.

    >>> state_side_fact("half", lambda: str(1 / 2)), state_side_fact("ratio", lambda: str(1 / 0))
    ({'half': '0.5'}, {'ratio': 'not computed'})
    """
    try:
        return {name: state()}
    except UnsupportedQuery:
        return {}
    except (SfumatoError, ArithmeticError, ValueError, MemoryError):
        return {name: "not computed"}


@dataclass(frozen=True, slots=True)
class Card:
    """What there is to see of an object: public words alone.

    >>> print(Card("adult", {"spent": "epsilon 0.5"}, ("sex", "answer"), (("F", "1,204"), ("M", "97")), (False, True)))
    adult
      sex  answer
      F     1,204
      M        97
      spent        epsilon 0.5
    """

    title: str
    facts: Mapping[str, str] = field(default_factory=dict)
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    numeric: Sequence[bool] = ()  # the columns of numbers, set to the right
    omitted: int = 0  # rows that are not shown

    def __str__(self) -> str:
        facts = [f"  {name:<{WIDTH}}{text}" for name, text in self.facts.items()]
        return "\n".join([self.title, *self._lines(), *facts])

    def _lines(self) -> list[str]:
        """The rows under their headings, in columns."""
        if not self.rows:
            return []
        columns = list(zip(self.headings, *self.rows, strict=True))
        widths = [max(map(len, column)) for column in columns]
        sides = [">" if side == "right" else "<" for side in self._sides()]
        shaped = [
            "  " + "  ".join(f"{text:{side}{width}}" for text, side, width in zip(line, sides, widths, strict=True))
            for line in zip(*columns, strict=True)
        ]
        return [line.rstrip() for line in [*shaped, *([f"  {self._more()}"] if self.omitted else [])]]

    def html(self) -> Markup:
        """The same for a notebook: escaped, without scripts, in the colors of the page around it."""
        table = joined([self._head(), *self._body()])
        facts = (
            filled("<tr>{name}{text}</tr>", name=_cell("th", name), text=_cell("td", text))
            for name, text in self.facts.items()
        )
        return filled(
            "<div><strong>{title}</strong><table>{table}</table><table>{facts}</table></div>",
            title=self.title, table=table, facts=joined(facts),
        )  # fmt: skip

    def _head(self) -> Markup:
        if not self.rows:
            return Markup()
        cells = (_cell("th", text, side) for text, side in zip(self.headings, self._sides(), strict=True))
        return filled("<tr>{cells}</tr>", cells=joined(cells))

    def _body(self) -> list[Markup]:
        rows = (
            joined(_cell("td", text, side) for text, side in zip(row, self._sides(), strict=True)) for row in self.rows
        )
        last = [_cell("td", self._more())] if self.omitted else []
        return [filled("<tr>{row}</tr>", row=row) for row in [*rows, *last]]

    def _sides(self) -> list[str]:
        numbers = self.numeric or (False,) * len(self.headings)
        return ["right" if number else "left" for number in numbers]

    def _more(self) -> str:
        return f"… {self.omitted:,} more"


def _cell(tag: str, text: str, side: str = "left") -> Markup:
    style = STYLE.format(side=side)
    return filled('<{tag} style="{style}">{text}</{tag}>', tag=tag, style=style, text=text)


class Printed:
    """What a notebook shows as it is printed."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(filled("<pre>{text}</pre>", text=Markup("\n".join(map(_escaped, str(self).split("\n"))))))


class Shown:
    """What shows itself by its card: where it is printed, and in a notebook."""

    __slots__ = ()

    def card(self) -> Card:
        """What there is to see of it."""
        raise NotImplementedError

    def __str__(self) -> str:
        return visible(str(self.card()), keep="\n")

    def _repr_html_(self) -> str:
        return str(self.card().html())


def _escaped(line: str) -> str:
    return str(filled("{line}", line=line))
