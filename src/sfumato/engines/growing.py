"""Tables that grow by files: what was counted in files that have not changed is kept, and a new file costs one pass.

Exact whole numbers of separate rows add up, so the answer of a table is the sum of those of its files.  Each is kept
under what decides it: the file (its path, which may name columns, where that leads, its size, times and number on the
disk), the question, the schema, and the version of this package.  A file that changed has another name here, and what
belongs to files that are gone is removed; an answer that is damaged is computed anew, as is one that nobody can name.
What is kept is as exact, hence as secret, as the data: it lies where its owner says, readable to nobody else, and
nothing of it is published.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import SchemaError
from sfumato.queries.aggregation import Aggregation, Distinct, Frequencies, Statistic
from sfumato.records import canonical
from sfumato.spaces.schema import Schema
from sfumato.storage import PRIVATE, clear_drafts, whole
from sfumato.version import VERSION

__all__ = ["Growing", "Part", "must_be_private"]

FORMAT = "sfumato-kept/1"
MOST = 1 << 20  # numbers of an answer that is kept
SETTLED = 2.0  # seconds after which a file that was written no longer looks as it did before
WHOLE = "every declared column was read to its end"


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One file: how it is read to its end, and how a question about it is answered."""

    path: Path
    read: Callable[[], object]
    answer: Callable[[Statistic], Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Growing:
    """The files of a table, and the folder in which their answers are kept."""

    folder: Path
    schema: Schema
    parts: tuple[Part, ...]

    def read(self) -> None:
        """Read files that were not yet to their end, so that none fails after a charge; forget those that are gone."""
        clear_drafts(self.folder)
        known = {self._file(_identity(part.path)) for part in self.parts}
        for file in self.folder.glob(f"{self._owner}-*.json"):
            if file.name.rpartition("-")[0] not in known:
                with contextlib.suppress(OSError):
                    file.unlink()
        for part in self.parts:
            self._found(part, [WHOLE], lambda part=part: [part.read() is not None])  # type: ignore[misc]

    def answer(self, statistic: Statistic) -> Any:
        """The sum of the answers of all files."""
        written, read, added = KEPT[type(statistic)]
        try:
            asked = _told(statistic)
        except TypeError:  # a question that has no name
            return added([part.answer(statistic) for part in self.parts])
        found = [self._found(part, asked, lambda part=part: written(part.answer(statistic))) for part in self.parts]  # type: ignore[misc]
        return added([read(one) for one in found])

    def _found(self, part: Part, asked: object, computed: Callable[[], Any]) -> Any:
        """What is kept of a file under this question, or what is computed now, and kept if it did not change."""
        began, before = time.time(), _identity(part.path)
        declared = {**self.schema.to_record(), "version": None}  # the same file has the same answers in every version
        name = hashlib.sha256(canonical([FORMAT, VERSION, declared, asked])).hexdigest()
        file = self.folder / f"{self._file(before)}-{name[:40]}.json"
        held = _opened(file, name)
        if held is not None:
            return held
        answer = computed()
        settled = max(before["times"]) / 1e9 + SETTLED < began
        if settled and _identity(part.path) == before and len(canonical(answer)) <= 20 * MOST:
            with contextlib.suppress(OSError), whole(file, PRIVATE) as draft:
                draft.write_bytes(canonical({"name": name, "answer": answer, "check": _check(answer)}))
        return answer

    @property
    def _owner(self) -> str:
        return hashlib.sha256(self.schema.dataset.encode()).hexdigest()[:16]

    def _file(self, identity: Mapping[str, Any]) -> str:
        return f"{self._owner}-{hashlib.sha256(canonical(identity)).hexdigest()[:40]}"


def must_be_private(folder: Path) -> Path:
    """The folder, made if there is none; one that others may read is refused."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True)
    if not folder.is_dir():
        raise SchemaError(f"keep={str(folder)!r} is no folder and cannot be made one; name another place")
    if os.name != "nt" and (folder.stat().st_uid != os.geteuid() or stat.S_IMODE(folder.stat().st_mode) & 0o077):
        raise SchemaError(
            f"keep={str(folder)!r} can be read by others, and what is kept there is as secret as the data; name a "
            "folder of your own with rights for you alone (chmod 700)"
        )
    return folder


def _identity(path: Path) -> dict[str, Any]:
    """What changes with a file: never its contents, which nobody reads twice."""
    try:
        found = path.stat()
    except OSError:
        raise SchemaError(f"{path.name} is gone or cannot be read; open the table again") from None
    return {
        "path": [str(path.absolute()), str(path.resolve())],
        "size": found.st_size,
        "times": [found.st_mtime_ns, found.st_ctime_ns],
        "number": [found.st_dev, found.st_ino],
    }


def _check(answer: object) -> str:
    return hashlib.sha256(canonical(answer)).hexdigest()


def _opened(file: Path, name: str) -> Any | None:
    """What a file keeps under a name; nothing where it is damaged, or another's."""
    try:
        record = json.loads(file.read_bytes())
        sound = record["name"] == name and record["check"] == _check(record["answer"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return record["answer"] if sound else None


def _told(value: object) -> Any:
    """A question as plain values that say all of it; whatever is not known to do so is refused."""
    if value is None or isinstance(value, bool | int | str):
        return [type(value).__name__, value]
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, Fraction):
        return ["fraction", value.numerator, value.denominator]
    if isinstance(value, tuple | list | frozenset):
        told = [_told(one) for one in value]
        return [type(value).__name__, sorted(told, key=canonical) if isinstance(value, frozenset) else told]
    if dataclasses.is_dataclass(value):
        kind = type(value)
        fields = [[one.name, _told(getattr(value, one.name))] for one in dataclasses.fields(value)]
        return [f"{kind.__module__}.{kind.__qualname__}", fields]
    raise TypeError("a part that has no name")


def _counts(parts: Sequence[Sequence[Any]]) -> tuple[Any, Any, Any]:
    """Cells, values and counts of all parts, each cell and value once."""
    cells, values, counts = (np.concatenate([np.asarray(part[place], dtype=np.int64) for part in parts])
                             for place in range(3))  # fmt: skip
    pairs, places = np.unique(np.stack([cells, values]), axis=1, return_inverse=True)
    sums = np.zeros(pairs.shape[1], dtype=np.int64)
    np.add.at(sums, places.ravel(), counts)
    return pairs[0], pairs[1], sums


def _labels(parts: Sequence[Sequence[Any]]) -> tuple[list[Any], Any]:
    """Distinct values of all parts, with how many rows have each."""
    sums: dict[Any, int] = {}
    for values, counts in parts:
        for value, count in zip(values, counts, strict=True):
            sums[value] = sums.get(value, 0) + int(count)
    return list(sums), np.array(list(sums.values()), dtype=np.int64)


def _integers(array: Iterable[Iterable[int]]) -> list[list[int]]:
    return [[int(one) for one in row] for row in array]


# Of each kind of statistic: how an answer is written, read, and added up.
KEPT: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Sequence[Any]], Any]]] = {
    Aggregation: (
        _integers,
        lambda told: np.array(told, dtype=object).reshape(len(told), -1),
        lambda parts: reduce(lambda one, other: one + other, parts),
    ),
    Frequencies: (_integers, lambda told: told, _counts),
    Distinct: (lambda answer: [list(answer[0]), [int(one) for one in answer[1]]], lambda told: told, _labels),
}
