"""Numbers by several keys as a table with one key across: one column for each of its labels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sfumato.answers.answer import Columns
from sfumato.errors import UnsupportedQuery

__all__ = ["TOTAL", "pivoted"]

TOTAL = "total"  # the heading of what is summed over


def pivoted(table: Columns, keys: Sequence[str], part: str) -> Columns:
    """The column `part` of a table, the last of its keys across; what is summed over is None down and `total` across.

    >>> pivoted({"a": ["x", "y", None], "b": [1, 1, 1], "estimate": [5, 6, 11]}, ["a", "b"], "estimate")
    {'a': ['x', 'y', None], '1': [5, 6, 11]}
    """
    if len(keys) < 2 or part not in table or part in keys:
        parts = [name for name in table if name not in keys]
        raise UnsupportedQuery(
            f"a pivot lays out one of {', '.join(parts)} of answers by two keys or more; use table() for others"
        )
    *first, across = (sorted(dict.fromkeys(table[key]), key=lambda label: label is None) for key in keys)
    present = set(zip(*(table[key] for key in keys[:-1]), strict=True))
    down = [labels for labels in itertools.product(*first) if labels in present]
    held = dict(zip(zip(*(table[key] for key in keys), strict=True), table[part], strict=True))
    laid: Columns = {key: [labels[place] for labels in down] for place, key in enumerate(keys[:-1])}
    for label in across:
        name = TOTAL if label is None else str(label)
        unused = (one for turn in itertools.count(1) if (one := name if turn == 1 else f"{name} ({turn})") not in laid)
        laid[next(unused)] = [held.get((*labels, label)) for labels in down]
    return laid
