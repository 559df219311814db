"""Pictures of releases and budgets, as Altair charts drawn from public values only."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from sfumato.answers.answer import NO_ANSWER
from sfumato.answers.estimates import Estimates
from sfumato.answers.functions import Function, Functions
from sfumato.errors import UnsupportedQuery
from sfumato.ledger import LedgerLike
from sfumato.ledger.protocol import spent_words
from sfumato.privacy.filters import UNIT
from sfumato.queries.running import COUNTED, RUNNING
from sfumato.release import Release
from sfumato.report import marks
from sfumato.report.answers import brief, cost, decimals, label, plain, written
from sfumato.report.curves import plot_curve, plot_curves
from sfumato.report.databases import plot_components, plot_thresholds
from sfumato.report.style import LONGEST, drawable, marked, styled

__all__ = ["plot_budget", "plot_release"]

MOST_CELLS = 60  # of more cells the largest answers are drawn, and the picture says so
MOST_ORDERED = 400  # of more bins the first are drawn


Drawing = Callable[[list[dict[str, Any]], list[str], int, list[str]], Any]  # of rows, keys, digits and a note


def plot_release(release: Release, level: float = 0.95) -> Any:
    """Bars or points with error bars, a ranked list, a curve or components, whichever the release holds."""
    return marked(PICTURES[release.answer.kind](release, level), release.provenance.laboratory)


def _plot_curve(release: Release, level: float) -> Any:
    return plot_curve(release.curve, level, smoothed=_smoothed(release))


def _plot_curves(release: Release, level: float) -> Any:
    return plot_curves(release.curves, release.name, level, _smoothed(release))


def _smoothed(release: Release) -> str | None:
    assert isinstance(release.answer, Function | Functions)
    return release.answer.smoothed


def _plot_items(release: Release, level: float) -> Any:
    """The items of each cell, most popular first; with their counts, where these were released."""

    def drawn(rows: list[dict[str, Any]], keys: list[str], digits: int, note: list[str]) -> Any:
        if keys or "estimate" not in rows[0]:
            for row in rows:
                row["shown"] = plain(row["item"])
            return marks.ranking(rows, keys)
        labels = _distinct([row["item"] for row in rows], plain)
        for row in rows:
            row["cell"] = labels[row["item"]]
        return marks.lines(rows, release.answer.measure, "rows", digits, bars=True)

    return _drawn(release, level, drawn)


def _plot_names(release: Release, level: float) -> Any:
    """The names that were found, as a list."""
    names = release.answer.keys["key"]
    texts = (drawable(plain(name), LONGEST) for name in names[:MOST_CELLS])
    shown = [{"place": place, "shown": text} for place, text in enumerate(texts)]
    chart = marks.listing(shown) if shown else marks.nothing("no key is held by enough units to be shown")
    left_out = [f"the first {MOST_CELLS} of {len(names):,}"] if len(names) > MOST_CELLS else []
    return styled(chart, release.name, " · ".join([release.accuracy(level), cost(release.guarantee), *left_out]))


def _plot_quantiles(release: Release, level: float) -> Any:
    """The quantiles of each cell."""
    axis = release.answer.measure
    return _drawn(release, level, lambda rows, keys, digits, note: marks.quantiles(rows, axis, keys))


def _plot_estimates(release: Release, level: float) -> Any:
    """One number with its interval, or one for each cell."""

    def drawn(rows: list[dict[str, Any]], keys: list[str], digits: int, note: list[str]) -> Any:
        if keys:
            return _cells(release, rows, keys, digits, note)
        ends = _estimates(release).shown({end: [rows[0][end]] for end in ("low", "high")})
        note[0] = f"{level:.0%} interval {written(ends['low'][0], digits)} to {written(ends['high'][0], digits)}"
        return marks.single(rows[0], release.answer.measure, _estimates(release).frame, digits)

    return _drawn(release, level, drawn)


def _estimates(release: Release) -> Estimates:
    assert isinstance(release.answer, Estimates)
    return release.answer


def _drawn(release: Release, level: float, draw: Drawing) -> Any:
    """A picture of the rows of a release, with what its error and cost are below."""
    columns, keys = _pictured(release, release.answer.table(level))
    columns, empty = _told(columns)
    digits = decimals(columns, release.answer.step)
    rows = _rows(columns, keys)
    own = release.answer.shown(columns).get("estimate", ())
    for row, value in itertools.zip_longest(rows, own):
        row["shown"] = written(value, digits) if "estimate" in row else plain(row["item"])
    bars = "low" in columns and not (keys and "item" in columns)
    note = [f"{level:.0%} error bars" if bars else release.accuracy(level), cost(release.guarantee)]
    if empty:
        note.append(f"{empty:,} without an answer at this spend" if rows else "no answer at this spend")
    void = "no answer at this spend" if empty else "no key is held by enough units to be shown"
    chart = draw(rows, keys, digits, note) if rows else marks.nothing(void)
    return styled(chart, release.name, " · ".join(note))


def _told(columns: dict[str, list[Any]]) -> tuple[dict[str, list[Any]], int]:
    """The rows whose answers hold information, and how many hold none: those have no place in a picture."""
    empty = columns.get(NO_ANSWER)
    if empty is None:
        return columns, 0
    kept = {name: list(itertools.compress(held, map(operator.not_, empty))) for name, held in columns.items()}
    return {name: held for name, held in kept.items() if name != NO_ANSWER}, sum(empty)


def _pictured(release: Release, columns: dict[str, list[Any]]) -> tuple[dict[str, list[Any]], list[str]]:
    """The rows to draw and their keys: of running counts those up to the end of each period, which come first."""
    keys = list(release.answer.keys)
    if release.answer.order != RUNNING:
        return columns, keys
    half = {name: values[: len(values) // 2] for name, values in columns.items() if name != COUNTED}
    return half, [key for key in keys if key != COUNTED]


PICTURES: dict[str, Callable[[Release, float], Any]] = {
    "estimates": _plot_estimates,
    "items": _plot_items,
    "keys": _plot_names,
    "quantiles": _plot_quantiles,
    "curve": _plot_curve,
    "curves": _plot_curves,
    "components": plot_components,
    "shares": plot_thresholds,
}


def plot_budget(ledger: LedgerLike) -> Any:
    """A gauge for each part of the budget: what each release took, and what is left."""
    budget, spent, left = ledger.terms.budget, ledger.spent(), ledger.remaining().parts()
    rows: list[dict[str, Any]] = []
    for place, (name, limit) in enumerate(budget.parts().items()):
        used = limit - left[name] if name == "delta" else spent.parts()[name]  # what is spent is said at all of delta
        charges = [entry for entry in ledger.entries() if entry.kind == "charge"]
        parts = [(entry.name, entry.amounts[place] / UNIT) for entry in charges if entry.amounts[place]]
        if abs(sum(amount for _, amount in parts) - used) > 1e-9 * max(limit, used):
            parts = [("all releases together", used)]  # another way of adding up was tighter
        label = f"{name}  {brief(used)} of {brief(limit)}"
        start = 0.0
        for order, (release, amount) in enumerate(parts):
            end = start + amount / limit
            rows.append({"part": label, "release": release, "from": start, "to": end, "order": order})
            start = end
        rows.append({"part": label, "release": "left", "from": min(start, 1.0), "to": 1.0, "order": -1})
    note = f"spent {spent_words(spent, budget, cost)} · {ledger.terms.dataset}"
    return styled(marks.gauge(rows), "Privacy budget", note)


def _rows(columns: dict[str, list[Any]], keys: list[str]) -> list[dict[str, Any]]:
    """One dict for each answer: its numbers, `cell` for its keys together, and of two keys `row` and `column`."""
    numbers = [name for name in columns if name not in keys]
    held = list(zip(*(columns[key] for key in keys), strict=True)) or [()] * len(columns[numbers[0]])
    texts = _distinct(held, lambda cell: ", ".join(map(label, cell)))
    rows = [
        {"cell": texts[cell], **dict(zip(numbers, values, strict=True))}
        for cell, values in zip(held, zip(*(columns[name] for name in numbers), strict=True), strict=True)
    ]
    if len(keys) == 2:
        for name, place in (("row", 0), ("column", 1)):
            sides = _distinct([cell[place] for cell in held], label)
            for row, cell in zip(rows, held, strict=True):
                row[name] = sides[cell[place]]
                row["summed"] = None in cell
    return rows


def _distinct(labels: Sequence[Hashable], text: Callable[[Any], str]) -> dict[Hashable, str]:
    """A text to draw for each label; where two would look the same, numbers tell them apart."""
    found: dict[Hashable, str] = {}
    taken: set[str] = set()
    for held in dict.fromkeys(labels):
        short = drawable(text(held), LONGEST - 20)
        shown = next(
            one for turn in itertools.count(1) if (one := short if turn == 1 else f"{short} ({turn})") not in taken
        )
        taken.add(shown)
        found[held] = shown
    return found


def _cells(release: Release, rows: list[dict[str, Any]], keys: list[str], digits: int, note: list[str]) -> Any:
    """One number for each cell of public or discovered keys."""
    if len(keys) > 2:
        raise UnsupportedQuery(
            f"{release.name!r} is grouped by {len(keys)} columns; pictures show at most two: plot a part of table()"
        )
    if len(keys) == 2:
        note[0] = release.accuracy()
        return marks.heatmap(rows, keys, release.answer.measure, digits)
    answer = _estimates(release)
    ordered = answer.order in ("axis", RUNNING)
    if answer.order == "size":
        rows = sorted(rows, key=lambda row: -row["estimate"])
    most = MOST_ORDERED if ordered else MOST_CELLS
    if len(rows) > most:
        note.append(f"the {most} {'largest' if answer.order == 'size' else 'first'} of {len(rows):,} answers")
        rows = rows[:most]
    longest = max(len(row["cell"]) for row in rows)
    if ordered or (longest <= 3 and 8 < len(rows) <= marks.MOST_LABELS):
        return marks.columns(rows, keys[0], release.answer.measure, digits, bars=answer.is_total)
    return marks.lines(rows, keys[0], release.answer.measure, digits, bars=answer.is_total)
