"""Any output as named numbers: values at paths, lengths, and 1 for each text or token that occurs.

`named` keeps whole numbers whole, however large; `walk` gives the same as floats.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.auditing.running import Died, Raised, Warned
from sfumato.auditing.tabular import Arrayed, ArrowTable, Frame, PandasFrame

__all__ = ["POSITIONS", "as_float", "named", "walk"]

POSITIONS = 48  # the most places of a list that get a column of their own
DIGITS = 4000  # the longest number in a text that is read as a whole number
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

Number = int | float


def walk(output: object, record: object = None) -> Iterator[tuple[str, float]]:
    """The named numbers of one output, as floats."""
    for name, value in named(output, record=record):
        yield name, as_float(value)


def as_float(value: Number) -> float:
    """The nearest float, or an infinity.

    >>> as_float(10**400), as_float(3)
    (inf, 3.0)
    """
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def named(output: object, path: str = "output", record: object = None, depth: int = 0) -> Iterator[tuple[str, Number]]:
    """The named numbers of one output, whole numbers exactly."""
    if isinstance(output, bool | np.bool_):
        yield path, int(output)
    elif isinstance(output, int | float | complex | Decimal | Fraction | np.number):
        yield from _number(output, path)
    elif output is None:
        yield f"{path} is none", 1.0
    elif isinstance(output, Raised):
        yield f"raises {output.kind}", 1.0
        yield from _text(output.text, "its text")
    elif isinstance(output, Died):
        yield f"process ends: {output.how}", 1.0
    elif isinstance(output, Warned):
        yield from named(output.output, path, record, depth)
        for kind in output.kinds:
            yield f"warns {kind}", 1.0
        for text in output.texts:
            yield from _text(text, "its warning")
    elif isinstance(output, str | bytes):
        yield from _text(output if isinstance(output, str) else output.hex(), path)
    elif depth < 6:
        yield from _inside(output, path, record, depth)
    else:
        yield f"{path} = {output!r}"[:200], 1.0


def _inside(output: object, path: str, record: object, depth: int) -> Iterator[tuple[str, Number]]:
    if isinstance(output, list | tuple):  # first: to ask whether a list is a table takes longer than to read it
        yield from _sequence(output, path, record, depth)
    elif isinstance(output, Mapping):
        yield f"size of {path}", len(output)
        for key, value in output.items():
            yield from named(value, f"{path}[{key!r}]", record, depth + 1)
    elif isinstance(output, Set):
        yield f"size of {path}", len(output)
        for item in output:
            yield f"{path} has {item!r}"[:200], 1.0
    elif isinstance(output, ArrowTable):
        yield from _columns(output.to_pydict(), path, record, depth)
    elif isinstance(output, Frame):
        yield from _columns(_listed(output), path, record, depth)
    elif isinstance(output, Arrayed):
        yield from named(output.tolist(), path, record, depth + 1)
    elif isinstance(output, Sequence):
        yield from _sequence(output, path, record, depth)
    elif is_dataclass(output) and not isinstance(output, type):
        for part in fields(output):
            yield from named(getattr(output, part.name), f"{path}.{part.name}", record, depth + 1)
    elif getattr(output, "__dict__", None):
        for name, value in vars(output).items():
            yield from named(value, f"{path}.{name}", record, depth + 1)
    else:
        yield f"{path} = {output!r}"[:200], 1.0


def _number(value: object, path: str) -> Iterator[tuple[str, Number]]:
    if isinstance(value, complex | np.complexfloating):
        yield from _number(float(value.real), f"real part of {path}")
        yield from _number(float(value.imag), f"imaginary part of {path}")
    elif isinstance(value, int | np.integer):
        yield path, int(value)
    elif value != value:
        yield f"{path} is nan", 1
    elif isinstance(value, Decimal | Fraction) and math.isfinite(value) and value == int(value):
        yield path, int(value)
    else:
        yield path, as_float(value)  # type: ignore[arg-type]


def _text(text: str, path: str) -> Iterator[tuple[str, Number]]:
    yield f"length of {path}", len(text)
    yield f"{path} = {text!r}"[:200], 1.0
    for k, number in enumerate(NUMBER.findall(text)[:POSITIONS]):
        whole = number.lstrip("+-").isdigit() and len(number) < DIGITS
        yield f"number {k} in {path}", int(number) if whole else float(number)


def _listed(frame: Frame) -> dict[str, list[Any]]:
    """The columns of a frame, each with its own type of number."""
    if isinstance(frame, PandasFrame):
        return {str(name): frame.iloc[:, k].tolist() for k, name in enumerate(frame.columns)}
    return {str(name): frame[name].to_list() for name in frame.columns}


def _columns(table: Mapping[str, list[Any]], path: str, record: object, depth: int) -> Iterator[tuple[str, Number]]:
    rows = list(zip(*table.values(), strict=True))
    yield from _nearness(rows, path, record)
    for name, column in table.items():
        yield from _sequence(column, f"{path}[{name!r}]", None, depth + 1)


def _sequence(items: Sequence[Any], path: str, record: object, depth: int) -> Iterator[tuple[str, Number]]:
    yield f"length of {path}", len(items)
    yield from _nearness(items, path, record)
    if len(items) <= POSITIONS:
        for k, item in enumerate(items):
            yield from named(item, f"{path}[{k}]", None, depth + 1)
        if items and all(isinstance(i, bool | str | int | None) for i in items):
            yield f"{path} = {list(items)!r}"[:200], 1.0
    numbers = [i for i in items if isinstance(i, int) or (isinstance(i, float) and math.isfinite(i))]
    if len(numbers) > POSITIONS:
        whole = all(isinstance(i, int) for i in numbers)
        yield f"sum of {path}", sum(numbers) if whole else math.fsum(map(as_float, numbers))
        yield f"largest of {path}", max(numbers)
        yield f"least of {path}", min(numbers)
    tokens = Counter(repr(i)[:80] for i in items if i is None or isinstance(i, str))
    for token, count in tokens.most_common(POSITIONS):
        yield f"times {token} in {path}", float(count)


def _nearness(rows: Sequence[Any], path: str, record: object) -> Iterator[tuple[str, Number]]:
    """How close the nearest row comes to the record, and how many rows equal it."""
    if record is None or not rows:
        return
    wanted = _vector(record)
    if wanted is None:
        yield f"rows of {path} equal to the record", float(sum(_same(r, record) for r in rows))
        return
    found = [v for v in map(_vector, rows) if v is not None and v.shape == wanted.shape]
    if not found:
        return
    with np.errstate(all="ignore"):
        gaps = np.abs(np.stack(found) - wanted).max(axis=1)
    yield f"distance of {path} to the record", float(np.nan_to_num(gaps.min(), nan=0.0))
    yield f"rows of {path} equal to the record", float(np.count_nonzero(gaps == 0))


def _vector(row: object) -> np.ndarray | None:
    try:
        vector = np.atleast_1d(np.asarray(row, dtype=float))
    except (TypeError, ValueError, OverflowError):
        return None
    return vector if vector.ndim == 1 else None


def _same(row: object, record: object) -> bool:
    return repr(row) == repr(record) or (
        isinstance(row, tuple) and isinstance(record, Mapping) and list(row) == list(record.values())
    )
