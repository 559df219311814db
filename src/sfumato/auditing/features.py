"""Outputs as numbers: a feature map learned from a training sample of any kind of output.

Scalars and arrays of one shape become columns directly.  Anything else (dicts, tables, texts, sets,
lists of any length, exceptions) is walked through and gives named numbers (`walking`); a name that an output
lacks reads as `ABSENT`.  Derived columns: differences of few columns, sums and norms of many, the lowest set
bit of a float, residues modulo periods that the sample shows, and the distance of the nearest output row to
the record in which the inputs differ.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from sfumato.auditing.bits import lowest_bit
from sfumato.auditing.residues import CELLS, TAKEN, WHOLE, exact_difference, periods, residues
from sfumato.auditing.walking import POSITIONS, named, walk

__all__ = ["ABSENT", "FeatureMap", "learn"]

ABSENT = -1.2345678901234567e308  # no output feature has this value
COLUMNS = 256  # the most columns that are kept
_NUMBERS = {float, int, np.float64, np.float32, np.int64, np.int32}


@dataclass(frozen=True)
class FeatureMap:
    """A fixed map from outputs to a matrix of features.  `shape` is set for arrays of one shape."""

    names: tuple[str, ...]
    shape: tuple[int, ...] | None
    derived: tuple[tuple[Any, ...], ...]
    record: object = None

    def matrix(self, outputs: Sequence[Any]) -> np.ndarray:
        """One row per output."""
        base = self._base(outputs)
        places = sorted({k for rule in self.derived if rule[0] in EXACT for k in rule[1]})
        exact = dict(zip(places, self.exact(outputs, places), strict=True))
        extra = [_of_exact(exact, rule) if rule[0] in EXACT else _derive(base, rule) for rule in self.derived]
        return np.column_stack([base, *extra]) if extra else base

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, derived ones last."""
        return self.names + tuple(_say(self.names, rule) for rule in self.derived)

    def is_bit(self, place: int) -> bool:
        """Whether a column holds lowest set bits."""
        return place >= len(self.names) and self.derived[place - len(self.names)][0] == "bit"

    def decoded(self, place: int, table: np.ndarray) -> tuple[tuple[float, str], ...]:
        """The values that a column of codes stands for in a matrix; nothing for other columns."""
        rule = self.derived[place - len(self.names)] if place >= len(self.names) else ("",)
        if rule[0] != "code":
            return ()
        codes, where = np.unique(table[:, place], return_index=True)
        return tuple(
            (
                float(code),
                " and ".join(f"{self.names[k]} = {table[row, k]:g}" for k in rule[1:] if table[row, k] != ABSENT),
            )
            for code, row in zip(codes[:CODES], where[:CODES], strict=True)
        )

    def exact(self, outputs: Sequence[Any], places: Sequence[int]) -> list[Sequence[Any]]:
        """The numbers at some places as the outputs hold them, None where an output has no such number."""
        if not places:
            return []
        if self.shape is not None and self.shape != RAGGED and isinstance(outputs, np.ndarray):
            flat = outputs.reshape(len(outputs), -1)
            return [flat[:, k] for k in places]
        columns: list[list[Any]] = [[] for _ in places]
        for output in outputs:
            found = dict(named(output, record=self.record)) if self.shape != () or not _plain(output) else None
            for column, k in zip(columns, places, strict=True):
                column.append(output if found is None else found.get(self.names[k]))
        return list(columns)

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


def learn(samples: Sequence[Sequence[Any]], record: object, bits: bool) -> FeatureMap:
    """A feature map that fits training outputs, given input by input; `bits` adds the lowest set bit of floats."""
    outputs = [output for sample in samples for output in sample]
    shape = _shape(outputs)
    if shape is not None:
        size = max(map(len, outputs)) if shape == RAGGED else math.prod(shape)
        names = tuple(f"output[{k}]" for k in range(size)) if shape else ("output",)
        names = (*names, "length of output") if shape == RAGGED else names
    else:
        seen: Counter[str] = Counter()
        for output in outputs[:20000]:
            seen.update(list(dict.fromkeys(name for name, _ in walk(output, record=record))))  # in their order
        names = tuple(name for name, _ in seen.most_common(COLUMNS))
    plain = FeatureMap(names, shape, (), record)
    table = plain.matrix(outputs[:2000])
    return FeatureMap(names, shape, (*_residues(plain, samples, table), *_rules(table, bits)), record)


def _residues(plain: FeatureMap, samples: Sequence[Sequence[Any]], table: np.ndarray) -> list[tuple[Any, ...]]:
    """Residues and exact differences that the varied columns deserve."""
    places = [k for k in range(table.shape[1]) if len(np.unique(table[:, k])) > 2][:OF_NUMBERS]
    parts = [plain.exact(sample[:TAKEN], places) for sample in samples]
    rules: list[tuple[Any, ...]] = []
    for i, k in enumerate(places):
        for period, origin in periods([part[i] for part in parts]):
            rules.append(("residue", (k,), period, origin))
    huge = [k for k in places if np.abs(_finite(table[:, k])).max() >= WHOLE]
    rules += [("exact difference", (a, b)) for a in huge for b in huge if a < b]
    return rules


def _of_exact(exact: dict[int, Sequence[Any]], rule: tuple[Any, ...]) -> np.ndarray:
    how, places, *more = rule
    if how == "residue":
        return residues(exact[places[0]], *more)
    return exact_difference(exact[places[0]], exact[places[1]])


def _plain(output: object) -> bool:
    return isinstance(output, int | float | np.integer | np.floating)


EXACT = ("residue", "exact difference")  # rules on the numbers themselves, not on their floats
CODES = 64  # codes whose meaning is kept for a reader
OF_NUMBERS = 6  # columns that get residues
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
    if how == "residue":
        (place,), period, origin = places
        if isinstance(period, int):
            return f"({names[place]} - {origin % period}) modulo {period}"
        return f"({names[place]} - {origin:.17g}) modulo {period:.17g}, in cells of a {CELLS:.0f}th of it"
    if how == "exact difference":
        return f"{names[places[0][0]]} - {names[places[0][1]]}, exactly"
    if how == "bit":
        return f"exponent of the lowest set bit of {names[places[0]]}"
    if how == "code":
        return f"the code of {len(places)} discrete outputs together"
    if how == "difference":
        return f"{names[places[0]]} - {names[places[1]]}"
    return f"{how if how != 'size' else 'sum of magnitudes'} of {len(places)} outputs"
