"""A release's answers as text for tables: as many digits as the error bars justify, thousands apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sfumato.answers.answer import NO_ANSWER, Columns
from sfumato.answers.pivots import TOTAL, pivoted
from sfumato.numeric import shown_down, shown_up
from sfumato.privacy.guarantees import SYMBOLS, Guarantee
from sfumato.release import Published, Release
from sfumato.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Answers",
    "added_up",
    "answers",
    "brief",
    "cost",
    "decimals",
    "few",
    "label",
    "laid_out",
    "left",
    "listed",
    "plain",
    "spaced",
    "written",
]

MOST_DECIMALS = 8
EMPTY = "\N{EN DASH}"  # of an answer that holds no information
FIRST = 10  # rows that are shown of a whole table
MOST_CROSSED = 30  # rows that are shown of a cross table
MOST_ACROSS = 9  # columns of a cross table
POINTS = ("curve", "curves", "shares")  # answers whose rows are points of one function


@dataclass(frozen=True, slots=True)
class Answers:
    """Headings, what each column is (key, rank, item, quantile, answer or interval), then a tuple of texts a row."""

    headings: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def single(self) -> str | None:
        """The one answer about the whole table with its interval, or the one item; none where there are several."""
        if len(self.rows) != 1 or "key" in self.kinds:
            return None
        held = dict(zip(self.kinds, self.rows[0], strict=True))
        value = ": ".join(held[kind] for kind in ("item", "answer") if kind in held)
        return f"{value} ({self.headings[-1]} {held['interval']})" if "interval" in held else value

    @property
    def each(self) -> int:
        """How many answers a row has."""
        return max(1, self.kinds.count("answer"))

    @property
    def numeric(self) -> tuple[bool, ...]:
        """The columns to set right-aligned."""
        return tuple(kind in ("answer", "rank", "quantile", "interval") for kind in self.kinds)


def answers(release: Published, level: float = 0.95) -> Answers:
    """The release's table for readers."""
    if release.answer.kind == "rows":
        return _first_rows(release.table())
    return _read(release, release.answer.table(level), level)


def laid_out(release: Published, level: float = 0.95) -> Answers:
    """The same, of a cross table with one key across where there is room."""
    if release.answer.order != "crossed":
        return answers(release, level)
    numbers = release.answer.table(level)
    keys = list(release.answer.keys)
    if len(set(numbers[keys[-1]])) > MOST_ACROSS:
        return answers(release, level)
    digits = decimals(numbers, release.answer.step)
    bars = zip(numbers["estimate"], numbers["low"], numbers["high"], strict=True)
    texts = [f"{spaced(value, digits)} ± {spaced((high - low) / 2, digits)}" for value, low, high in bars]
    laid = pivoted({**release.answer.keys, "answer": texts}, keys, "answer")
    shown = [list(map(label, laid[name])) if name in keys else laid[name] for name in laid]
    kinds = ["key"] * (len(keys) - 1) + ["answer"] * (len(laid) - len(keys) + 1)
    return Answers(tuple(map(visible, laid)), tuple(kinds), tuple(zip(*shown, strict=True)))


def added_up(release: Release, level: float = 0.95) -> Answers:
    """Counts by public keys as whole numbers that add up, with all their sums."""
    return _read(release, release.adding_up(level).to_pydict(), level)


def _read(release: Published, numbers: Columns, level: float) -> Answers:
    """Some rows of the release's table as texts."""
    digits = decimals(numbers, release.answer.step)
    columns = release.answer.shown(numbers)
    shown = [(visible(name), "key", list(map(label, columns[name]))) for name in columns if name not in _PARTS]
    if "rank" in columns:
        shown.append(("rank", "rank", [str(rank) for rank in columns["rank"]]))
        shown.append(("item", "item", [plain(item) for item in columns["item"]]))
    if "probability" in columns:
        shown.append(("quantile", "quantile", [f"{p:.6g}" for p in columns["probability"]]))
    if "estimate" in columns:
        shown.append(("answer", "answer", [written(value, digits) for value in columns["estimate"]]))
    if "low" in columns:
        ends = zip(columns["low"], columns["high"], release.answer.remarks(numbers, level), strict=True)
        texts = [f"{written(low, digits)} to {written(high, digits)}{told and f', {told}'}" for low, high, told in ends]
        each = " at each point" if release.answer.kind in ("curve", "curves") else ""
        shown.append((f"{level:.0%} interval{each}", "interval", texts))
    headings, kinds, texts_by_column = zip(*shown, strict=True)
    return Answers(headings, kinds, tuple(zip(*texts_by_column, strict=True)))


def few(release: Published, level: float = 0.95) -> tuple[Answers, int]:
    """A few rows of the release's table for readers, of a curve spread over all of it, and how many are left out."""
    if release.answer.kind == "rows":
        return _first_rows(release.table()), max(0, release.table().num_rows - FIRST)
    if release.answer.order == "crossed":
        whole = laid_out(release, level)
        return replace(whole, rows=whole.rows[:MOST_CROSSED]), max(0, len(whole.rows) - MOST_CROSSED)
    numbers = release.answer.table(level)
    count = max(map(len, numbers.values()), default=0)
    step = max(1, count // FIRST) if release.answer.kind in POINTS else 1
    places = list(range(step // 2, count, step))[:FIRST]
    chosen = {name: [column[place] for place in places] for name, column in numbers.items()}
    return _read(release, chosen, level), count - len(places)


def _first_rows(rows: pa.Table) -> Answers:
    """The first rows of a whole table."""
    columns = rows.slice(0, FIRST).to_pydict()
    texts = [["" if value is None else plain(value) for value in columns[name]] for name in columns]
    return Answers(tuple(map(visible, columns)), ("key",) * len(columns), tuple(zip(*texts, strict=True)))


def written(value: object, digits: int) -> str:
    """A number with its digits, anything else (a date) as it is."""
    return EMPTY if value is None else spaced(value, digits) if isinstance(value, int | float) else plain(value)


_PARTS = ("estimate", "low", "high", "rank", "item", "probability", NO_ANSWER)


def decimals(columns: Columns, step: float | None) -> int:
    """Digits after the point: two significant ones of the narrowest error bar, or those of the answer's step."""
    if "low" not in columns:
        return _places(step) if step is not None else 0
    widths = [(high - low) / 2 for low, high in zip(columns["low"], columns["high"], strict=True)]
    narrow = min((width for width in widths if 0 < width < math.inf), default=1.0)
    whole = all(value == int(value) for value in columns["estimate"] if value is not None and math.isfinite(value))
    return 0 if whole else max(0, min(MOST_DECIMALS, 1 - math.floor(math.log10(narrow))))


def _places(step: float) -> int:
    """Digits that a multiple of the step can have after the point."""
    return next((n for n in range(MOST_DECIMALS) if step * 10**n == round(step * 10**n)), MOST_DECIMALS)


def spaced(value: float, digits: int) -> str:
    """A number for readers.

    >>> spaced(1234567.891, 0), spaced(-0.004, 2), spaced(-2.5, 1)
    ('1,234,568', '0.00', '−2.5')
    """
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "\N{MINUS SIGN}")


def plain(value: object) -> str:
    """A label as text that steers nothing; numbers without a needless point."""
    return f"{value:g}" if isinstance(value, float) else visible(str(value))


def label(value: object) -> str:
    """A key's label as text; of what is summed over, that it is."""
    return TOTAL if value is None else plain(value)


def cost(claim: Guarantee) -> str:
    """A guarantee in a few characters, rounded up.

    >>> from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
    >>> cost(Pure(0.3)), cost(Approximate(0.5000000000000001, 4e-7)), cost(Concentrated(0.01))
    ('ε 0.3', 'ε 0.500001, δ 4e-7', 'ρ 0.01')
    """
    return ", ".join(
        f"{SYMBOLS[name]} {brief(amount) if name == 'delta' else shown_up(amount, 6)}"
        for name, amount in claim.parts().items()
    )


def left(claim: Guarantee) -> str:
    """What remains of a budget, rounded down: as much as is shown can be spent.

    >>> from sfumato.privacy.guarantees import Approximate, Concentrated
    >>> left(Approximate(1.45, 4.3173e-7)), left(Concentrated(0.12345678))
    ('ε 1.45, δ 4.31e-7', 'ρ 0.123456')
    """
    return ", ".join(
        f"{SYMBOLS[name]} {shown_down(amount, 3).replace('e-0', 'e-') if name == 'delta' else shown_down(amount, 6)}"
        for name, amount in claim.parts().items()
    )


def brief(amount: float) -> str:
    """A small amount in three digits, rounded up.

    >>> brief(0.0000001234), brief(0.25)
    ('1.24e-7', '0.25')
    """
    return shown_up(amount, 3).replace("e-0", "e-")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "nothing"
