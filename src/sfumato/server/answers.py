"""Public values as JSON: budgets, previews, releases.  Texts for readers come from the values themselves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.answers.certificate import Verdict
from sfumato.errors import SfumatoError
from sfumato.ledger.protocol import in_words, spent_words
from sfumato.ledger.rules import History, remaining, spent
from sfumato.orders import Order, Preview
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query
from sfumato.queries.grouping import bind_cells
from sfumato.release import Published
from sfumato.release.archive import PUBLICATIONS

__all__ = ["account", "added_up", "amount", "answer", "budgets", "plain", "previewed", "words"]

SHOWN = 50  # rows of a whole table
MOST_ROWS = 10_000  # rows of an answer that are sent as JSON; a download has all
MOST_EDGES = 8  # of bins, in words
USUAL = "scott"  # the bandwidth that nobody needs to give
KEPT_BACK = (
    "what is spent is a claim at the whole delta of the budget, which is not used up by it; charges may have nine "
    "tenths of that delta, and one tenth is kept back for adding them up more sharply"
)
PARTS = ("estimate", "low", "high", "rank", "item", "probability")
VALUES = ("estimate", "item", "value")


def amount(claim: Guarantee) -> dict[str, Any]:
    """An amount with its words."""
    return {**claim.parts(), "words": in_words(claim)}


def added_up(claims: Sequence[Guarantee]) -> dict[str, Any]:
    """What several claims of one kind are one by one."""
    first, *others = claims
    parts = first.parts()
    for claim in others:
        parts = {name: held + claim.parts().get(name, 0.0) for name, held in parts.items()}
    return amount(first.with_parts(parts))


def account(budget: Guarantee, paid: Guarantee, left: Guarantee) -> dict[str, Any]:
    """A budget, what is spent of it and what is left; in words as `sfumato ledger show` says it."""
    said = f"spent {spent_words(paid, budget)}; left {in_words(left)}"
    note = KEPT_BACK if budget.parts().get("delta") else None
    return {"budget": amount(budget), "spent": amount(paid), "left": amount(left), "words": said, "note": note}


def words(query: Query) -> str:
    """A question, with what its name leaves out: the bandwidth that was given, and how columns are cut."""
    record = query.to_record()
    width = record.get("bandwidth", USUAL)
    widths = f"{width}" if isinstance(width, str) else " and ".join(f"{one:g}" for one in width)
    keys = [key for key in record.get("by", ()) if isinstance(key, Mapping) and "bins" in key]
    cuts = [f"{key['bins']} {_cut(key)}" for key in keys]
    return ", ".join([query.name, *([] if width == USUAL else [f"bandwidth {widths}"]), *cuts])


def _cut(key: Mapping[str, Any]) -> str:
    edges = [f"{edge:g}" if isinstance(edge, int | float) else str(edge) for edge in key.get("edges", ())]
    if "count" in key:
        return f"in {key['count']} equal bins" + (f" from {edges[0]} to {edges[-1]}" if edges else "")
    listed = edges if len(edges) <= MOST_EDGES else [*edges[: MOST_EDGES - 2], "...", edges[-1]]
    return f"in bins at {' '.join(listed)}"


def verdict(certificate: Verdict) -> dict[str, Any]:
    """A certificate with its ratio, where it has one."""
    record = certificate.to_record()
    achieved, bound = record.get("achieved"), record.get("bound")
    ratio = achieved / bound if isinstance(achieved, int | float) and isinstance(bound, int | float) and bound else None
    return plain({**record, "ratio": ratio, "words": certificate.words()})


def previewed(seen: Preview, settled: Order, name: str | None) -> dict[str, Any]:
    """One question: what it costs and how good its answer will be."""
    return plain({
        "question": words(settled.question.query),
        "query": settled.question.query.to_record(),
        "name": name or words(settled.question.query),
        "release": settled.identity.digest,
        "cost": amount(settled.claim),
        "mechanism": seen.mechanism,
        "error": {
            "half_width": seen.half_width, "half_widths": _by_rows(seen.half_widths), "words": seen.accuracy,
            "level": 0.95,
        },
        "cells": cells(settled),
        "certificate": verdict(seen.certificate),
        "hint": seen.hint,
    })  # fmt: skip


def _by_rows(half_widths: Mapping[int, float] | None) -> list[dict[str, float]] | None:
    """Half-widths by how many rows count, the most first; none where the error does not depend on that."""
    if half_widths is None:
        return None
    return [{"rows": rows, "half_width": most} for rows, most in half_widths.items()]


def cells(settled: Order) -> int | None:
    """How many cells the answer has: all combinations of public keys; none where keys are discovered."""
    try:
        return int(bind_cells(settled.question.query.keys, settled.question.schema).count)
    except SfumatoError:
        return None


def answer(release: Published, digest: str, level: float = 0.95) -> dict[str, Any]:
    """A release with its intervals; of a curve its points, of a table its first rows."""
    found = release.answer
    rows = found.kind == "rows"
    numbers = {} if rows else found.table(level)
    columns = found.shown(numbers)
    remarks = found.remarks(numbers, level) if "low" in numbers else ()
    record = None if type(release) in PUBLICATIONS.values() else release.to_record()
    query = release.question.query
    return plain({
        "release": digest,
        "question": words(query),
        "query": query.to_record(),
        "guarantee": amount(release.guarantee) | {"words": release.provenance.claimed(release.guarantee)},
        "certificate": verdict(release.certificate),
        "error": {"half_width": _half_width(columns), "words": release.accuracy(level), "level": level},
        "columns": release.table().column_names if rows else list(columns),
        "rows": [] if rows else _rows(columns, list(found.keys), remarks),
        "curve": _curve(columns) if found.kind in ("curve", "curves", "trend") else None,
        "table": _first(release) if rows else None,
        "level": level,
        "notes": list(release.advice().values()),
        "record": record,
        "time": release.provenance.time,
    })  # fmt: skip


def _rows(columns: Mapping[str, list[Any]], keys: list[str], remarks: Sequence[str]) -> list[dict[str, Any]]:
    """One entry for each cell: its keys, its value, the ends of its interval, what to say of it, and whatever else."""
    value = next((part for part in VALUES if part in columns), None)
    count = min(MOST_ROWS, max((len(column) for column in columns.values()), default=0))
    told = any(remarks)
    others = [name for name in columns if name not in keys and name not in (value, "low", "high")]  # with `no_answer`
    return [
        {
            "keys": {name: columns[name][row] for name in keys},
            "value": None if value is None else columns[value][row],
            "low": columns["low"][row] if "low" in columns else None,
            "high": columns["high"][row] if "high" in columns else None,
            **({"remark": remarks[row]} if told else {}),
            **{name: columns[name][row] for name in others},
        }
        for row in range(count)
    ]


def _half_width(columns: Mapping[str, list[Any]]) -> float | None:
    """How far the ends of the intervals are from the answers at most, where they are numbers."""
    if "low" not in columns or "high" not in columns:
        return None  # as of quantiles, whose errors are in ranks
    lows, highs = columns["low"], columns["high"]
    middles = columns.get("estimate", [None] * len(lows))
    widths = [
        max(high - middle, middle - low) if isinstance(middle, int | float) else (high - low) / 2
        for low, middle, high in zip(lows, middles, highs, strict=True)
        if isinstance(low, int | float) and isinstance(high, int | float)
    ]
    return max(widths, default=None)


def _curve(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The points of a curve: along its first column."""
    axis, *_ = columns
    parts = {"x": axis, "value": "estimate", "low": "low", "high": "high"}
    return {part: columns[name] for part, name in parts.items() if name in columns}


def _first(release: Published) -> dict[str, Any]:
    """The first rows of a whole table."""
    whole = release.table()
    shown = whole.slice(0, SHOWN)
    rows = [list(row) for row in zip(*(column.to_pylist() for column in shown.columns), strict=True)]
    return {"columns": whole.column_names, "rows": rows, "count": whole.num_rows}


def plain(value: object) -> dict[str, Any]:
    """Values of JSON: numbers that are none become null, dates and the like their texts."""
    found: dict[str, Any] = _plain(value)
    return found


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    return str(value)


def budgets(whole: Guarantee, own: Guarantee | None, histories: Sequence[History]) -> dict[str, Any]:
    """Both budgets, with what is spent and left at one moment; an account's own history comes first."""
    last = histories[-1]
    mine = None if own is None else account(own, spent(*histories), remaining(own, *histories))
    return {"dataset": account(whole, spent(last), remaining(whole, last)), "analyst": mine}
