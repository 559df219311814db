r"""Text files: one physical line is one row, whatever it holds.

A line ends with a line feed, or a carriage return and a line feed.  It is read by one pattern: fields between
separators, each either quoted (`"..."`, a quote inside written twice) or not beginning with a quote.  A line that does
not match, that has another number of fields than the first one, that is not UTF-8 or longer than LONGEST bytes is a row
of missing values.  So a row depends on its own line alone, and tables that differ in a line differ in a row.

With `quoted_lines` a quote may hold line ends: a row ends with the first line at whose end the quotes of the row are
even in number.  Then one open quote joins what follows it.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from sfumato.engines.columns import absent
from sfumato.errors import SchemaError

__all__ = ["SEPARATORS", "Unread", "batches", "names", "unread"]

SEPARATORS = {".csv": ",", ".tsv": "\t"}
BLOCK = 1 << 22  # bytes read at a time
LONGEST = 1 << 24  # bytes of a row; longer ones are missing
UNREADABLE = b"\xff"  # no text in UTF-8 holds it
MARK = b"\xef\xbb\xbf"
FEED, RETURN, QUOTE = 10, 13, 34

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Unread:
    """How many rows are missing as a whole, for how their lines are written: facts about the data, and secret.

    Of these, `quotes` have an odd number of quotes, as where a text holds a line end, `encoding` are not UTF-8, and
    `empty` are lines without anything.
    """

    rows: int = 0
    quotes: int = 0
    encoding: int = 0
    empty: int = 0

    def __add__(self, other: Unread) -> Unread:
        return Unread(*(getattr(self, part) + getattr(other, part) for part in self.__slots__))


def names(path: Path, separator: str) -> list[str]:
    """The fields of the first line."""
    with _opened(path) as file:
        return _names(file, path, separator)


def batches(path: Path, separator: str, wanted: Mapping[str, str], quoted_lines: bool = False) -> pa.RecordBatchReader:
    """The wanted columns as texts, each from the stored one that it names, a row for each line after the first."""
    held = names(path, separator)
    for name in wanted.values():
        if name not in held:
            raise absent(name, held)
        if held.count(name) > 1:
            raise SchemaError(f"the first line of {path} names the column {name!r} twice; rename one")
    columns = {name: held.index(stored) for name, stored in wanted.items()}
    schema = pa.schema([pa.field(name, pa.string()) for name in columns])

    def parts() -> Iterator[pa.RecordBatch]:
        with _opened(path) as file:
            _names(file, path, separator)
            for block in _blocks(file, quoted_lines):
                yield _read(block, separator, len(held), list(columns.values()), quoted_lines, schema)

    return pa.RecordBatchReader.from_batches(schema, parts())


def unread(path: Path, separator: str, quoted_lines: bool = False) -> Unread:
    """What of a file is missing for how its lines are written; for the steward alone."""
    width, found = len(names(path, separator)), Unread()
    with _opened(path) as file:
        _names(file, path, separator)
        for data, ends in _blocks(file, quoted_lines):
            bad = _unreadable(data, ends, separator, quoted_lines)
            held = np.frombuffer(data, dtype=np.uint8)
            lengths = np.diff(ends, prepend=-1)
            empty = (lengths == 1) | ((lengths == 2) & (held[ends - 1] == RETURN))
            missing = bad | empty | _parsed((data, ends), bad, separator, width, [0], quoted_lines)[1]
            odd = np.diff(np.searchsorted(np.flatnonzero(held == QUOTE), ends), prepend=0) % 2 == 1
            counted = (missing, missing & odd, _not_unicode(data, ends), empty)
            found += Unread(*(int(np.count_nonzero(some)) for some in counted))
    return found


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _names(file: IO[bytes], path: Path, separator: str) -> list[str]:
    line = file.readline(LONGEST).removeprefix(MARK)
    found: list[str] = []
    if re.fullmatch(_pattern(separator, False).encode(), line.rstrip(b"\r\n") + b"\n"):
        try:
            found = _fields(line.decode().rstrip("\r\n"), separator)
        except UnicodeDecodeError:
            found = []
    if not any(found):
        raise SchemaError(f"the first line of {path} must name the columns, in UTF-8")
    return found


def _fields(line: str, separator: str) -> list[str]:
    """The fields of a line that matches the pattern."""
    field = rf'(?:^|{separator})(?:"((?:[^"]|"")*)"|([^{separator}]*))'
    return [found[1].replace('""', '"') if found[1] is not None else found[2] for found in re.finditer(field, line)]


def _pattern(separator: str, quoted_lines: bool) -> str:
    """What a whole row matches, its line end included; the same to Python and RE2."""
    inside = r'[^"]' if quoted_lines else r'[^"\r\n]'
    field = rf'("({inside}|"")*"|[^"{separator}\r\n][^{separator}\r\n]*)?'
    return rf"{field}({separator}{field})*\r?\n"


def _blocks(file: IO[bytes], quoted_lines: bool) -> Iterator[tuple[bytes, Places]]:
    """The file in pieces of whole rows: the bytes, and where each row ends."""
    rest, odd = b"", False  # what is left of a row, and whether its quotes are odd in number
    while chunk := file.read(BLOCK):
        held = np.frombuffer(chunk, dtype=np.uint8)
        ends = np.flatnonzero(held == FEED)
        if quoted_lines:
            quotes = np.flatnonzero(held == QUOTE)
            ends = ends[(np.searchsorted(quotes, ends) + odd) % 2 == 0]
            odd = bool((len(quotes) + odd) % 2)
        if not len(ends):
            rest = rest + chunk if len(rest) + len(chunk) <= LONGEST else UNREADABLE
            continue
        last = int(ends[-1]) + 1
        yield rest + chunk[:last], ends + len(rest)
        rest = chunk[last:]
    if rest:
        yield rest + b"\n", np.array([len(rest)])


def _read(
    block: tuple[bytes, Places],
    separator: str,
    width: int,
    columns: Sequence[int],
    quoted_lines: bool,
    schema: pa.Schema,
) -> pa.RecordBatch:
    """A block's rows; whatever a row holds, there is one for each end."""
    data, ends = block
    bad = _unreadable(data, ends, separator, quoted_lines)
    table, missing = _parsed(block, bad, separator, width, columns, quoted_lines)
    if missing.any():
        table = table.take(pa.array(np.cumsum(~missing) - 1, mask=missing))
    (batch,) = table.rename_columns(schema.names).combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], schema)
    ]
    assert batch.num_rows == len(ends)
    return batch


def _parsed(
    block: tuple[bytes, Places],
    bad: npt.NDArray[np.bool_],
    separator: str,
    width: int,
    columns: Sequence[int],
    quoted_lines: bool,
) -> tuple[pa.Table, npt.NDArray[np.bool_]]:
    """The rows that have as many fields as the first line, and which have not."""
    data, ends = block
    if bad.any():  # what cannot be read becomes an empty line, which has one field
        keep = np.repeat(~bad, np.diff(ends, prepend=-1))
        keep[ends] = True
        data = np.frombuffer(data, dtype=np.uint8)[keep].tobytes()
    ragged: list[int] = []

    def ragged_row(row: pyarrow.csv.InvalidRow) -> str:
        ragged.append(row.number - 1)
        return "skip"

    table = pyarrow.csv.read_csv(
        pa.BufferReader(MARK + data if data.startswith(MARK) else data),  # one mark at the start is taken for none
        pyarrow.csv.ReadOptions(
            use_threads=False, block_size=len(data) + len(MARK) + 1, column_names=[str(place) for place in range(width)]
        ),
        pyarrow.csv.ParseOptions(
            delimiter=separator, ignore_empty_lines=False, newlines_in_values=quoted_lines,
            invalid_row_handler=ragged_row,
        ),
        pyarrow.csv.ConvertOptions(
            include_columns=[str(place) for place in columns],
            column_types=dict.fromkeys(map(str, columns), pa.string()),
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True,
        ),
    )  # fmt: skip
    missing = np.zeros(len(ends), dtype=np.bool_)
    missing[ragged] = True
    return table, missing


def _unreadable(data: bytes, ends: Places, separator: str, quoted_lines: bool) -> npt.NDArray[np.bool_]:
    """Which rows are too long, not UTF-8, or do not match the pattern."""
    lengths = np.diff(ends, prepend=-1)
    bad = lengths > LONGEST
    if b'"' in data or data.count(b"\r") != data.count(b"\r\n"):
        offsets = pa.array(np.append(0, ends + 1), pa.int64())
        rows = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(ends), [None, offsets.buffers()[1], pa.py_buffer(data)]
        )
        pattern = rf"\A{_pattern(separator, quoted_lines)}\z"
        bad |= ~pc.match_substring_regex(rows, pattern).to_numpy(zero_copy_only=False)
    return bad | _not_unicode(data, ends)


def _not_unicode(data: bytes, ends: Places) -> npt.NDArray[np.bool_]:
    """Which rows are not UTF-8."""
    bad = np.zeros(len(ends), dtype=np.bool_)
    if not _unicode(data):
        starts = np.append(0, ends[:-1] + 1)
        high = np.maximum.reduceat(np.frombuffer(data, dtype=np.uint8), starts) > 127
        for row in np.flatnonzero(high):
            bad[row] = not _unicode(data[starts[row] : ends[row]])
    return bad


def _unicode(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
