"""Outputs as numbers: a feature map learned from a training sample of any kind of output.

Scalars and arrays of one shape become columns directly.  Anything else (dicts, tables, texts, sets,
lists of any length, exceptions) is walked through and gives named numbers: values at paths, lengths,
sums, and 1 for each text or token that occurs.  A name that an output lacks reads as `ABSENT`.
Derived columns: differences of few columns, sums and norms of many, the lowest set bit of a float,
and the distance of the nearest output row to the record in which the inputs differ.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from sfumato.auditing.bits import lowest_bit
from sfumato.auditing.running import Died, Raised, Warned

__all__ = ["ABSENT", "FeatureMap", "learn", "walk"]

ABSENT = -1.2345678901234567e308  # no output feature has this value
COLUMNS = 256  # the most columns that are kept
POSITIONS = 48  # the most places of a list that get a column of their own
_NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class FeatureMap:
    """A fixed map from outputs to a matrix of features.  `shape` is set for arrays of one shape."""

    names: tuple[str, ...]
    shape: tuple[int, ...] | None
    derived: tuple[tuple[Any, ...], ...]
    record: Any = None

    def matrix(self, outputs: Sequence[Any]) -> np.ndarray:
        """One row per output."""
        base = self._base(outputs)
        extra = [_derive(base, rule) for rule in self.derived]
        return np.column_stack([base, *extra]) if extra else base

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, derived ones last."""
        return self.names + tuple(_say(self.names, rule) for rule in self.derived)

    def is_bit(self, place: int) -> bool:
        """Whether a column holds lowest set bits."""
        return place >= len(self.names) and self.derived[place - len(self.names)][0] == "bit"

    def _base(self, outputs: Sequence[Any]) -> np.ndarray:
        if self.shape is not None:
            ragged = self.shape == RAGGED
            flat = _ragged(outputs, len(self.names)) if ragged else _stack(outputs, self.shape)
            if flat is not None:
                return flat
        place = {name: k for k, name in enumerate(self.names)}
        table = np.full((len(outputs), len(self.names)), ABSENT)
        for row, output in enumerate(outputs):
            for name, value in walk(output, record=self.record):
                if name in place:
                    table[row, place[name]] = value
        return table


def learn(outputs: Sequence[Any], record: Any, bits: bool) -> FeatureMap:
    """A feature map that fits a training sample; `bits` adds the lowest set bit of floats."""
    shape = _shape(outputs)
    if shape is not None:
        size = max(map(len, outputs)) if shape == RAGGED else math.prod(shape)
        names = tuple(f"output[{k}]" for k in range(size)) if shape else ("output",)
        names = (*names, "length of output") if shape == RAGGED else names
    else:
        seen: Counter[str] = Counter()
        for output in outputs[:20000]:
            seen.update({name for name, _ in walk(output, record=record)})
        names = tuple(name for name, _ in seen.most_common(COLUMNS))
    plain = FeatureMap(names, shape, (), record)
    return FeatureMap(names, shape, _rules(plain.matrix(outputs[:2000]), bits), record)


RAGGED = (-1,)  # the shape of short lists of numbers, truths and nothings, of any length


def _shape(outputs: Sequence[Any]) -> tuple[int, ...] | None:
    if isinstance(outputs, np.ndarray):
        return outputs.shape[1:] if outputs.dtype.kind in "fiub" else None
    kinds = set(map(type, outputs))
    if kinds and kinds <= _NUMBERS:
        return ()
    if kinds and kinds <= {tuple, list}:
        inner = set(map(type, chain.from_iterable(outputs)))
        sizes = set(map(len, outputs))
        if len(sizes) == 1 and inner and inner <= _NUMBERS and max(sizes) <= COLUMNS:
            return (sizes.pop(),)
        if max(sizes) <= POSITIONS and inner <= _NUMBERS | {bool, type(None)}:
            return RAGGED
        return None
    if kinds == {np.ndarray}:
        shapes = {(output.shape, output.dtype.kind in "fiub") for output in outputs}
        if len(shapes) == 1:
            shape, numeric = next(iter(shapes))
            return shape if numeric and 0 < math.prod(shape) <= COLUMNS else None
    return None


def _stack(outputs: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray | None:
    try:
        table = np.asarray(outputs, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return None
    return table.reshape(len(outputs), -1) if table.shape[1:] == shape else None


def _ragged(outputs: Sequence[Any], width: int) -> np.ndarray | None:
    """Short lists side by side, filled up with `ABSENT`, and their lengths."""
    if any(not isinstance(output, list | tuple) or len(output) >= width + 8 for output in outputs):
        return None
    columns = list(zip_longest(*outputs, fillvalue=ABSENT))[: width - 1]
    try:
        table = np.array(columns, dtype=float).T.reshape(len(outputs), len(columns))
    except (TypeError, ValueError, OverflowError):
        return None
    missing = np.full((len(outputs), width - 1 - len(columns)), ABSENT)
    return np.column_stack([table, missing, [float(len(output)) for output in outputs]])


def _rules(table: np.ndarray, bits: bool) -> tuple[tuple[Any, ...], ...]:
    """Which derived columns a sample deserves."""
    present = (table != ABSENT).mean(axis=0) > 0.5
    varied = [k for k in range(table.shape[1]) if present[k] and np.ptp(_finite(table[:, k])) > 0]
    varied.sort(key=lambda k: -len(np.unique(table[:, k])))
    rules: list[tuple[Any, ...]] = []
    numeric = [k for k in varied if len(np.unique(table[:, k])) > 2]
    for i, a in enumerate(numeric[:4]):
        rules += [("difference", a, b) for b in numeric[:4][i + 1 :]]
    discrete = [k for k in range(table.shape[1]) if k not in numeric or len(np.unique(table[:, k])) <= 12]
    if 1 < len(varied) <= len(discrete) <= POSITIONS + 1:
        rules.append(("code", *discrete))
    if len(numeric) > 1:
        group = tuple(sorted(numeric))
        rules += [(how, *group) for how in ("sum", "largest", "least", "size")]
    if bits:
        rules += [("bit", k) for k in range(min(table.shape[1], 6)) if _fractional(table[:, k])]
    return tuple(rules)


def _finite(column: np.ndarray) -> np.ndarray:
    kept = column[np.isfinite(column) & (column != ABSENT)]
    return np.clip(kept, -1e300, 1e300) if len(kept) else np.zeros(1)


def _fractional(column: np.ndarray) -> bool:
    kept = _finite(column)
    return bool(np.any(kept != np.rint(kept)))


def _derive(base: np.ndarray, rule: tuple[Any, ...]) -> np.ndarray:
    how, *places = rule
    part = base[:, places]
    with np.errstate(all="ignore"):
        if how == "bit":
            return lowest_bit(part[:, 0])
        if how == "code":
            known = np.where(part == ABSENT, -7.0, np.where(np.isnan(part), -5.0, np.clip(part, -1e9, 1e9)))
            return np.asarray(known @ np.sqrt(1.0 + np.arange(len(places))))
        if how == "difference":
            value = part[:, 0] - part[:, 1]
        elif how == "sum":
            value = part.sum(axis=1)
        elif how == "largest":
            value = part.max(axis=1)
        elif how == "least":
            value = part.min(axis=1)
        else:
            value = np.abs(part).sum(axis=1)
    return np.where((part == ABSENT).any(axis=1), ABSENT, value)


def _say(names: tuple[str, ...], rule: tuple[Any, ...]) -> str:
    how, *places = rule
    if how == "bit":
        return f"exponent of the lowest set bit of {names[places[0]]}"
    if how == "code":
        return f"the code of {len(places)} discrete outputs together"
    if how == "difference":
        return f"{names[places[0]]} - {names[places[1]]}"
    return f"{how if how != 'size' else 'sum of magnitudes'} of {len(places)} outputs"


def walk(output: Any, path: str = "output", record: Any = None, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The named numbers of one output."""
    if isinstance(output, bool | np.bool_):
        yield path, float(output)
    elif isinstance(output, int | float | np.number):
        yield from _number(output, path)
    elif output is None:
        yield f"{path} is none", 1.0
    elif isinstance(output, Raised):
        yield f"raises {output.kind}", 1.0
        yield from _text(output.text, "its text")
    elif isinstance(output, Died):
        yield f"process ends: {output.how}", 1.0
    elif isinstance(output, Warned):
        yield from walk(output.output, path, record, depth)
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


def _inside(output: Any, path: str, record: Any, depth: int) -> Iterator[tuple[str, float]]:
    if isinstance(output, Mapping):
        yield f"size of {path}", float(len(output))
        for key, value in output.items():
            yield from walk(value, f"{path}[{key!r}]", record, depth + 1)
    elif isinstance(output, Set):
        yield f"size of {path}", float(len(output))
        for item in output:
            yield f"{path} has {item!r}"[:200], 1.0
    elif hasattr(output, "to_pydict") and hasattr(output, "column_names"):
        yield from _columns(output.to_pydict(), path, record, depth)
    elif hasattr(output, "columns") and hasattr(output, "to_dict"):
        names = [str(name) for name in output.columns]
        yield from _columns(dict(zip(names, output.to_numpy().T.tolist(), strict=True)), path, record, depth)
    elif hasattr(output, "tolist"):
        yield from walk(output.tolist(), path, record, depth + 1)
    elif isinstance(output, Sequence):
        yield from _sequence(output, path, record, depth)
    elif is_dataclass(output) and not isinstance(output, type):
        for part in fields(output):
            yield from walk(getattr(output, part.name), f"{path}.{part.name}", record, depth + 1)
    elif hasattr(output, "__dict__") and vars(output):
        for name, value in vars(output).items():
            yield from walk(value, f"{path}.{name}", record, depth + 1)
    else:
        yield f"{path} = {output!r}"[:200], 1.0


def _number(value: Any, path: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, complex | np.complexfloating):
        yield from _number(float(value.real), f"real part of {path}")
        yield from _number(float(value.imag), f"imaginary part of {path}")
        return
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        yield f"{path} is nan", 1.0
    else:
        yield path, number


def _text(text: str, path: str) -> Iterator[tuple[str, float]]:
    yield f"length of {path}", float(len(text))
    yield f"{path} = {text!r}"[:200], 1.0
    for k, number in enumerate(NUMBER.findall(text)[:POSITIONS]):
        yield f"number {k} in {path}", float(number)


def _columns(table: Mapping[str, list[Any]], path: str, record: Any, depth: int) -> Iterator[tuple[str, float]]:
    rows = list(zip(*table.values(), strict=True))
    yield from _nearness(rows, path, record)
    for name, column in table.items():
        yield from _sequence(column, f"{path}[{name!r}]", None, depth + 1)


def _sequence(items: Sequence[Any], path: str, record: Any, depth: int) -> Iterator[tuple[str, float]]:
    yield f"length of {path}", float(len(items))
    yield from _nearness(items, path, record)
    if len(items) <= POSITIONS:
        for k, item in enumerate(items):
            yield from walk(item, f"{path}[{k}]", None, depth + 1)
        if items and all(isinstance(i, bool | str | int | None) for i in items):
            yield f"{path} = {list(items)!r}"[:200], 1.0
    numbers = [float(i) for i in items if isinstance(i, int | float) and math.isfinite(i)]
    if len(numbers) > POSITIONS:
        yield f"sum of {path}", math.fsum(numbers)
        yield f"largest of {path}", max(numbers)
        yield f"least of {path}", min(numbers)
    tokens = Counter(repr(i)[:80] for i in items if i is None or isinstance(i, str))
    for token, count in tokens.most_common(POSITIONS):
        yield f"times {token} in {path}", float(count)


def _nearness(rows: Sequence[Any], path: str, record: Any) -> Iterator[tuple[str, float]]:
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


def _vector(row: Any) -> np.ndarray | None:
    try:
        vector = np.atleast_1d(np.asarray(row, dtype=float))
    except (TypeError, ValueError, OverflowError):
        return None
    return vector if vector.ndim == 1 else None


def _same(row: Any, record: Any) -> bool:
    return repr(row) == repr(record) or (
        isinstance(row, tuple) and isinstance(record, Mapping) and list(row) == list(record.values())
    )
