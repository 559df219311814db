"""What each row of a workload asks, for a reader."""

from __future__ import annotations

import itertools

from sfumato.queries.grouping import Cells, Key
from sfumato.queries.linear.families import Conditions, Part, Product

__all__ = ["labels_of"]


def labels_of(parts: tuple[Part, ...], cells: Cells) -> list[str]:
    """One text a row, in the order of the answers.

    >>> labels_of((Product(("prefix",)),), Cells((Key("age", (0, 1, 2)),)))
    ['age up to 0', 'age up to 1', 'age up to 2']
    """
    listed: list[str] = []
    for number, part in enumerate(parts, start=1):
        if isinstance(part, Product):
            axes = [_axis(name, key) for name, key in zip(part.rows, cells.keys, strict=True)]
            joined = (", ".join(filter(None, texts)) for texts in itertools.product(*axes))
            listed.extend(text or "all" for text in joined)
        elif isinstance(part, Conditions):
            listed.extend(part.conditions)
        else:
            prefix = f"matrix {number}, " if len(parts) > 1 else ""
            listed.extend(f"{prefix}row {row}" for row in range(1, len(part.matrix) + 1))
    return listed


def _axis(name: str, key: Key) -> list[str]:
    labels = [str(label) for label in key.labels]
    if name == "total":
        return [""]
    if name == "each":
        return [f"{key.column} = {label}" for label in labels]
    if name == "prefix":
        return [f"{key.column} up to {label}" for label in labels]
    return [f"{key.column} {a} to {b}" for i, a in enumerate(labels) for b in labels[i:]]
