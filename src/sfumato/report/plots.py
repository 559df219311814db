"""Pictures of releases and budgets, as Altair charts drawn from public values only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from sfumato.errors import UnsupportedQuery
from sfumato.ledger import Ledger
from sfumato.privacy.filters import UNIT
from sfumato.privacy.guarantees import Approximate, Concentrated
from sfumato.release import Release
from sfumato.report import marks
from sfumato.report.answers import brief, cost, decimals, plain, spaced
from sfumato.report.curves import plot_curve
from sfumato.report.databases import plot_components, plot_thresholds
from sfumato.report.style import LONGEST, drawable, styled

__all__ = ["plot_budget", "plot_release"]

MOST_CELLS = 60  # of more cells the largest answers are drawn, and the picture says so
MOST_ORDERED = 400  # of more bins the first are drawn

PICTURES = {"pca": plot_components, "thresholds": plot_thresholds}


def plot_release(release: Release, level: float = 0.95) -> Any:
    """Bars or points with error bars, a ranked list, or an interval, whichever the release holds."""
    if hasattr(release.question, "curve"):
        return plot_curve(release.curve, level)
    if release.question.query.kind in PICTURES:
        return PICTURES[release.question.query.kind](release, level)
    columns = release.table(level).to_pydict()
    keys = [name for name in columns if name not in ("estimate", "low", "high", "rank", "item", "probability")]
    digits = decimals(columns, release.question)
    rows = _rows(columns, keys)
    for row in rows:
        row["shown"] = spaced(row["estimate"], digits) if "estimate" in row else plain(row["item"])
    note = [f"{level:.0%} error bars" if "low" in columns else release.accuracy(level), cost(release.guarantee)]
    if not rows:
        chart = marks.nothing("no key is held by enough units to be shown")
    elif "rank" in columns:
        chart = marks.ranking(rows, keys)
    elif "probability" in columns:
        chart = marks.quantiles(rows, _axis(release), keys)
    elif not keys:
        note[0] = f"{level:.0%} interval {spaced(rows[0]['low'], digits)} to {spaced(rows[0]['high'], digits)}"
        chart = marks.single(rows[0], _axis(release), _frame(release), digits)
    else:
        chart = _cells(release, rows, keys, digits, note)
    return styled(chart, release.name, " · ".join(note))


def plot_budget(ledger: Ledger) -> Any:
    """A gauge for each part of the budget: what each release took, and what is left."""
    budget, spent = ledger.terms.budget, ledger.spent()
    names = ["rho" if isinstance(budget, Concentrated) else "epsilon"]
    names += ["delta"] if isinstance(budget, Approximate) else []
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(names):
        limit, used = getattr(budget, name), getattr(spent, name)
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
    note = f"{cost(spent)} spent of {cost(budget)} · {ledger.terms.dataset}"
    return styled(marks.gauge(rows), "Privacy budget", note)


def _rows(columns: dict[str, list[Any]], keys: list[str]) -> list[dict[str, Any]]:
    """One dict for each answer: its numbers, `cell` for its keys together, and of two keys `row` and `column`."""
    numbers = [name for name in columns if name not in keys]
    held = list(zip(*(columns[key] for key in keys), strict=True)) or [()] * len(columns[numbers[0]])
    texts = _distinct(held, lambda cell: ", ".join(map(plain, cell)))
    rows = [
        {"cell": texts[cell], **dict(zip(numbers, values, strict=True))}
        for cell, values in zip(held, zip(*(columns[name] for name in numbers), strict=True), strict=True)
    ]
    if len(keys) == 2:
        for name, place in (("row", 0), ("column", 1)):
            sides = _distinct([cell[place] for cell in held], plain)
            for row, cell in zip(rows, held, strict=True):
                row[name] = sides[cell[place]]
    return rows


def _distinct(labels: Sequence[Hashable], text: Callable[[Any], str]) -> dict[Hashable, str]:
    """A text to draw for each label; where two would look the same, numbers tell them apart."""
    found: dict[Hashable, str] = {}
    taken: set[str] = set()
    for label in dict.fromkeys(labels):
        short = drawable(text(label), LONGEST - 20)
        shown = next(
            one for turn in itertools.count(1) if (one := short if turn == 1 else f"{short} ({turn})") not in taken
        )
        taken.add(shown)
        found[label] = shown
    return found


def _axis(release: Release) -> str:
    """What the numbers are, for an axis."""
    query = release.question.query
    words = {"count": "rows", "histogram": "rows", "workload": "rows", "quantiles": query.column, "top": query.column}
    return str(words.get(query.kind, f"{query.kind} of {query.column}"))


def _frame(release: Release) -> tuple[float, float] | None:
    """The public range of a single answer: the column's bounds for a mean, none for counts and sums."""
    if release.question.query.kind != "mean":
        return None
    lattice = release.question.lattice
    return lattice.low_value, lattice.high_value


def _cells(release: Release, rows: list[dict[str, Any]], keys: list[str], digits: int, note: list[str]) -> Any:
    """One number for each cell of public or discovered keys."""
    if len(keys) > 2:
        raise UnsupportedQuery(
            f"{release.name!r} is grouped by {len(keys)} columns; pictures show at most two: plot a part of table()"
        )
    if len(keys) == 2:
        note[0] = release.accuracy()
        return marks.heatmap(rows, keys, _axis(release), digits)
    kind = release.question.query.kind
    ordered = kind != "workload" and release.question.cells.keys[0].starts is not None
    if not ordered and kind != "workload":
        rows = sorted(rows, key=lambda row: -row["estimate"])
    most = MOST_ORDERED if ordered else MOST_CELLS
    if len(rows) > most:
        note.append(f"the {most} {'first' if ordered or kind == 'workload' else 'largest'} of {len(rows):,} answers")
        rows = rows[:most]
    counted = kind in ("count", "histogram", "sum", "workload")
    longest = max(len(row["cell"]) for row in rows)
    if ordered or (longest <= 3 and 8 < len(rows) <= marks.MOST_LABELS):
        return marks.columns(rows, keys[0], _axis(release), digits, bars=counted)
    return marks.lines(rows, keys[0], _axis(release), digits, bars=counted)
