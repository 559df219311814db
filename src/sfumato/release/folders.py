"""Rows as a folder of Parquet files, written piece by piece: the memory is that of a piece, however many there are.

Other programs, and `sfumato.read`, take such a folder for one table.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.progress import tell
from sfumato.storage import in_a_folder, sync_directory, sync_names

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PIECE", "must_be_new", "sliced", "write_parts"]

PIECE = 1_000_000  # rows of a file


def write_parts(folder: str | Path, pieces: Iterable[pa.Table], rows: int) -> Path:
    """Write each piece as a file of a new folder, which is there with all of them or not at all."""
    import pyarrow.parquet as pq

    target, done = must_be_new(folder), 0
    draft = target.parent / f".{target.name}.{secrets.token_hex(8)}.new"
    draft.mkdir()
    try:
        for number, piece in enumerate(pieces):
            with (draft / f"part-{number:05}.parquet").open("wb") as file:
                pq.write_table(piece, file)
                file.flush()
                os.fsync(file.fileno())
            done += len(piece)
            tell("writing rows", min(1.0, done / max(1, rows)))
        sync_directory(draft)
        os.rename(draft, must_be_new(target))
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_names(target)
    return target


def must_be_new(folder: str | Path) -> Path:
    """The path of a folder to make; refused where something is there."""
    target = in_a_folder(arguments.path("folder", folder))
    if target.exists() or target.is_symlink():
        raise ParameterError(f"{target} is there already; name a folder that is to be made, or remove that one")
    return target


def sliced(rows: pa.Table, piece: int = PIECE) -> Iterator[pa.Table]:
    """The rows in pieces, at least one."""
    for start in range(0, max(1, len(rows)), piece):
        yield rows.slice(start, piece)
