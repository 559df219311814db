"""Which files a source names: one, several, a folder with partitions, or those of an object store.

A path that exists is that path, whatever its name holds.  Of other paths `*` stands for any characters within a part,
but for a `.` or `_` that begins it; no other character is special.  A folder is all the Parquet files below it; parts
of their paths such as `month=2026-11` are columns, whose values are texts and are read as the schema declares.  These
values are taken from the paths here, since engines refuse some of them, or take them for others.  An address such as
`s3://bucket/people` is a file or a folder there, read with the credentials that the environment has for it.
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path, PurePosixPath
from urllib.parse import unquote_to_bytes, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as stores
import pyarrow.parquet as pq

from sfumato import arguments
from sfumato.addresses import holds_secret
from sfumato.errors import SchemaError

__all__ = [
    "PARQUET",
    "STORES",
    "Files",
    "files_of",
    "is_address",
    "local",
    "must_be_all_rows",
    "must_be_apart",
    "seen_from_here",
]

PARQUET = (".parquet", ".pq")
NOTHING = "__HIVE_DEFAULT_PARTITION__"  # what writers call a folder of missing values
LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}  # folders beside files of which a table counts some rows alone
STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "file")  # that Arrow reads


@dataclass(frozen=True, slots=True)
class Files:
    """Files that are one table: their paths in a store (this machine's, if none), and the columns in those paths."""

    paths: tuple[Path, ...]
    keys: tuple[str, ...] = ()
    folder: Path | None = None
    store: stores.FileSystem | None = None
    name: str = ""  # as it was given

    def known(self, path: Path) -> str:
        """The path as Arrow takes it as written: it gives a meaning to some first characters, such as `~`."""
        return str(path.absolute()) if self.store is None else str(path)

    def footer(self, path: Path) -> pa.Schema:
        """The Arrow schema of one of them."""
        with pq.ParquetFile(self.known(path), coerce_int96_timestamp_unit="us", filesystem=self.store) as file:
            return file.schema_arrow

    def rounded(self, name: str) -> bool:
        """Whether one of them holds a column, or a part of it, as old times (INT96), which are read as microseconds."""
        for path in self.paths:
            with pq.ParquetFile(self.known(path), filesystem=self.store) as file:
                held = [file.schema.column(place) for place in range(len(file.schema))]
            if any(f"{one.path}.".startswith(f"{name}.") and one.physical_type == "INT96" for one in held):
                return True
        return False

    def dataset(self, held: pa.Schema) -> ds.Dataset:
        """Their columns as Arrow reads them, those of the paths included."""
        reading = ds.ParquetFileFormat(read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit="us"))
        store = stores.LocalFileSystem() if self.store is None else self.store
        kept = [key for key in self.keys if key in held.names]
        parts = [reading.make_fragment(self.known(path), store, self._said(path, kept)) for path in self.paths]
        return ds.FileSystemDataset(parts, held, reading, store)

    def _said(self, path: Path, keys: Sequence[str]) -> pc.Expression:
        """What the path of a file says of its rows."""
        values = dict(part.partition("=")[::2] for part in path.parent.parts if "=" in part)
        said = (_is(pc.field(key), values[key]) for key in keys)
        return reduce(operator.and_, said, pc.scalar(True))


def _is(column: pc.Expression, written: str) -> pc.Expression:
    """That a column holds what a part of a path says, in which `%20` is a space."""
    if written == NOTHING:
        return column.is_null()
    try:
        return column == unquote_to_bytes(written).decode()
    except UnicodeDecodeError:
        return column == "?"  # as every text that is not UTF-8


def local(paths: Sequence[Path]) -> Files:
    """Files of this machine."""
    return Files(tuple(paths), name=str(paths[0]) if paths else "")


def must_be_apart(files: Files) -> None:
    """Refuse a file that is named twice."""
    if len({(held.st_dev, held.st_ino) for held in (path.stat() for path in files.paths)}) < len(files.paths):
        raise SchemaError("a file is named twice, perhaps by a link, and its rows would count twice; name each once")


def must_be_all_rows(paths: Sequence[Path], name: str) -> None:
    """Refuse files of a Delta, Hudi or Iceberg table: its log says which of their rows count, and nobody reads it here.

    Rows that were deleted or replaced are still in the files, and a row that was written anew is in two of them.
    """
    within = {path.parent for path in paths}
    within |= {folder.resolve() for folder in within}
    for folder in {above for one in within for above in (one.absolute(), *one.absolute().parents)}:
        for log in LOGS:
            if os.path.isdir(folder / log):
                raise _logged(name, LOGS[log])
        if os.path.isdir(folder / "metadata") and any((folder / "metadata").glob("*.metadata.json")):
            raise _logged(name, "Iceberg")


def _logged(name: str, kind: str) -> SchemaError:
    return SchemaError(
        f"{name} belongs to a {kind} table, whose files also hold rows that were deleted or replaced: they would "
        "count, and some rows twice. Write its rows to Parquet files of their own, or read it with Spark's own reader "
        "and pass the DataFrame"
    )


def seen_from_here(path: Path) -> Files:
    """The files that another engine reads under a path or pattern, as far as this machine sees them, through links."""
    below: list[Path] = []
    for one in _matches(path):
        below += [one] if not one.is_dir() else []
        below += [Path(folder) / name for folder, _, names in os.walk(one, followlinks=True) for name in names
                  if _shown((Path(folder) / name).relative_to(one))]  # fmt: skip
    return local([one for one in _leading_somewhere(below) if one.is_file()])


def is_address(source: object) -> bool:
    """Whether a text is the address of a store, such as s3://bucket/people.parquet."""
    return isinstance(source, str) and "://" in source


def files_of(source: object) -> Files | None:
    """The files that a path, a pattern, a folder, an address or a list of paths names; None where it is none of these.

    What is refused is refused by names alone.
    """
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source):
        if any(is_address(one) for one in source):
            raise SchemaError("a list names files of this machine; of an object store name the folder that holds them")
        every = [one for each in source for one in _expanded(arguments.path("source", each))]
        if any(path.is_dir() for path in every):
            raise SchemaError("a list names files; a folder is read by itself: pass its path alone")
        if len(every) > 1:
            must_be_all_rows(every, f"{source[0]}, ...,")
        return local(every)
    if is_address(source):
        return _stored(str(source))
    if not isinstance(source, str | Path):
        return None
    path = arguments.path("source", source)
    found = _expanded(path)
    if len(found) == 1 and found[0].is_dir():
        below = [one for one in sorted(found[0].rglob("*")) if _shown(one.relative_to(found[0]))]
        if any(one.is_symlink() and one.is_dir() for one in below):
            raise SchemaError(f"{path} holds links to folders, whose rows would be left out; move the folders there")
        must_be_all_rows([found[0] / "any", *below], str(source))
        return _folder(found[0], [one for one in _leading_somewhere(below) if one.is_file()], None, str(source))
    if len(found) > 1 and any(one.is_dir() for one in found):
        raise SchemaError(f"{path} matches folders; name one of them, or the files within: */*.parquet")
    if not path.exists():  # a pattern
        must_be_all_rows(found, str(source))
    return Files(tuple(found), name=str(source))


def _expanded(path: Path) -> list[Path]:
    """The path itself, or what a pattern matches."""
    found = _matches(path)
    if not found:
        raise SchemaError(f"no file matches {path}; check the pattern")
    return _leading_somewhere(found)


def _leading_somewhere(paths: list[Path]) -> list[Path]:
    """The same paths; a link to what is not there is refused, as rows that would be left out."""
    for path in paths:
        if path.is_symlink() and not path.exists():  # folders' names may be values, and are not repeated
            raise SchemaError(f"{path.name} is a link that leads nowhere; its rows would be left out, so restore it")
    return paths


def _matches(path: Path) -> list[Path]:
    """A part that exists as it is written is no pattern."""
    if path.exists() or "*" not in str(path):
        return [path]
    if "**" in path.parts:
        raise SchemaError(f"{path}: ** stands for no folders here; name the folder, which is read with all below it")
    found = [Path(path.anchor)] if path.anchor else [Path()]
    for part in path.parts[1:] if path.anchor else path.parts:
        found = [one for base in found for one in _matching(base, part)]
    return sorted(found)


def _matching(base: Path, part: str) -> list[Path]:
    if "*" not in part or (base / part).exists():
        return [base / part] if (base / part).exists() or (base / part).is_symlink() else []
    pattern = re.compile(".*".join(re.escape(piece) for piece in part.split("*")), re.DOTALL)
    named = os.listdir(base) if base.is_dir() else []
    return [base / name for name in named if pattern.fullmatch(name) and (_shown(Path(name)) or part[0] != "*")]


def _folder(folder: Path, below: Sequence[Path], store: stores.FileSystem | None, name: str) -> Files:
    """All files below a folder as one table, with the columns that their paths name."""
    if not below:
        raise SchemaError(f"{name} holds no Parquet file; name the folder that does")
    for path in below:
        if path.suffix.lower() not in PARQUET:
            raise SchemaError(
                f"{name} holds files that are not Parquet, such as {path.name}, whose rows would be "
                "left out; move them away, or pass files of one kind by a pattern such as FOLDER/*.parquet or "
                "FOLDER/*.csv"
            )
    if any(not _is_utf8(path) for path in below):
        raise SchemaError(f"a path below {name} is not UTF-8, and no engine opens it; rename the folder or file")
    keys = [_keys(path.relative_to(folder).parent.parts, name) for path in below]
    if len(set(keys)) > 1:
        raise SchemaError(f"the files in {name} lie in folders of different columns; let all be as key=value/key=value")
    above = [part.partition("=")[0].casefold() for part in folder.parts if "=" in part]
    if len({key.casefold() for key in keys[0]}) < len(keys[0]) or any(key.casefold() in above for key in keys[0]):
        raise SchemaError(f"the paths below {name} name a column twice; rename one of the folders")
    return Files(tuple(below), keys[0], folder, store, name)


def _is_utf8(path: Path) -> bool:
    try:
        return bool(str(path).encode())
    except UnicodeEncodeError:
        return False


def _keys(parts: Sequence[str], name: str) -> tuple[str, ...]:
    keys = tuple(part.partition("=")[0] for part in parts if "=" in part)
    if keys and len(keys) < len(parts):
        raise SchemaError(f"the files in {name} lie in folders of different columns; let all be as key=value/key=value")
    return keys


def _shown(path: PurePosixPath | Path) -> bool:
    """Whether no part of a path is hidden: marks of writers, such as _SUCCESS, are no data."""
    return not any(part.startswith((".", "_")) for part in path.parts)


def _stored(address: str) -> Files:
    """The file or folder of an object store; what goes wrong there is not repeated, since it may name credentials."""
    scheme = address.partition("://")[0].lower()
    if scheme not in STORES:
        raise SchemaError(
            f"addresses that begin with {scheme}:// are not read; known are {', '.join(f'{one}://' for one in STORES)}"
            " and, for servers, postgresql://. Download the file, or mount its store as a folder"
        )
    if holds_secret(address) or (urlsplit(address).username and scheme != "abfs" and scheme != "abfss"):
        raise SchemaError("an address with a password or key is refused; put the credentials into the environment")
    found = _looked_up(address)
    if found is None:
        raise SchemaError(
            f"{address} cannot be read; check the address, and that the environment holds credentials for it (such as "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION, or GOOGLE_APPLICATION_CREDENTIALS)"
        )
    store, place, below = found
    if below is None:
        return Files((place,), store=store, name=address)
    for path in below:
        for log in LOGS.keys() & {*path.relative_to(place).parts}:
            raise _logged(address, LOGS[log])
    return _folder(place, [path for path in below if _shown(path.relative_to(place))], store, address)


def _looked_up(address: str) -> tuple[stores.FileSystem, Path, list[Path] | None] | None:
    """The store, the place in it and, of a folder, the files below, hidden ones too; None if anything failed."""
    try:
        store, place = stores.FileSystem.from_uri(address)
        is_file = store.get_file_info(place).type == stores.FileType.File
        return store, Path(place), None if is_file else list(_below(store, place))
    except Exception:
        return None


def _below(store: stores.FileSystem, place: str) -> Iterator[Path]:
    for one in sorted(store.get_file_info(stores.FileSelector(place, recursive=True)), key=lambda one: one.path):
        if one.is_file:
            yield Path(one.path)
