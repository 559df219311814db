"""Cross tables: the counts of every combination of some keys' values, and of every sum over some of the keys."""

from __future__ import annotations

import itertools
from typing import Any

from sfumato.answers.answer import Columns
from sfumato.errors import ParameterError
from sfumato.queries.grouping import Cells
from sfumato.queries.linear.families import Part, Product

__all__ = ["crossed_labels", "crossing", "crosstab_parts", "is_crossing"]

MOST_KEYS = 6  # of which there are 64 tables


def crossing(keys: int) -> tuple[Product, ...]:
    """The parts of a workload that is the cross table of so many keys: the cells first, the total last."""
    if not 2 <= keys <= MOST_KEYS:
        raise ParameterError(f"a cross table has 2 to {MOST_KEYS} keys, such as crosstab('sex', 'state'), not {keys}")
    return tuple(Product(names) for names in itertools.product(("each", "total"), repeat=keys))


def crosstab_parts(keys: int) -> dict[str, Any]:
    """The same as a plan would list them."""
    return {"workload": [part.to_record() for part in crossing(keys)]}


def is_crossing(parts: tuple[Part, ...]) -> bool:
    """Whether these are the parts of a cross table, however they were asked for."""
    keys = len(parts).bit_length() - 1
    return 2 <= keys <= MOST_KEYS and parts == crossing(keys)


def crossed_labels(parts: tuple[Part, ...], cells: Cells) -> Columns:
    """The labels of each row by key, None for a key that is summed over.

    >>> from sfumato.queries.grouping import Key
    >>> crossed_labels(crossing(2), Cells((Key("a", ("x", "y")), Key("b", (1,)))))
    {'a': ['x', 'y', 'x', 'y', None, None], 'b': [1, 1, None, None, 1, None]}
    """
    rows: list[tuple[object, ...]] = []
    for part in parts:
        assert isinstance(part, Product)
        kept = zip(part.rows, cells.keys, strict=True)
        rows.extend(itertools.product(*(key.labels if name == "each" else (None,) for name, key in kept)))
    return {key.column: [row[place] for row in rows] for place, key in enumerate(cells.keys)}
