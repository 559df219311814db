"""Whose files lie where new ones are to go: what Sfumato did not write is never replaced."""

from __future__ import annotations

import filecmp
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.release import Published
from sfumato.release.tables import METADATA

__all__ = ["must_be_ours", "provenance"]

FREE = "; nothing was charged"


def provenance(file: Path) -> Mapping[str, Any]:
    """Where a published file says that it comes from; nothing for other files."""
    try:
        if not file.is_file():  # a pipe would be waited for
            return {}
        if file.suffix == ".parquet":
            import pyarrow.parquet as pq

            record = json.loads((pq.read_schema(file).metadata or {})[METADATA])
        else:
            record = json.loads(file.read_bytes())
        place = record["provenance"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return place if isinstance(place, Mapping) else {}


def must_be_ours(file: Path, made: Published | None = None, rest: str = FREE) -> None:
    """Refuse a file that Sfumato did not write, or of which it cannot tell."""
    if not _is_ours(file, made):
        raise ParameterError(
            f"--out: {file} is there already, and does not say that Sfumato wrote it; choose another place, or "
            f"remove it first{rest}"
        )


def _is_ours(file: Path, made: Published | None = None) -> bool:
    """Whether a file may be replaced: there is nothing to lose, or it holds a release, or what `made` is written as.

    A .csv does not say where it comes from: only one that holds the very rows counts.
    """
    if not file.exists() or (file.is_file() and not file.stat().st_size) or provenance(file):
        return True
    return file.suffix == ".csv" and file.is_file() and made is not None and _holds(file, made)


def _holds(file: Path, made: Published) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        return filecmp.cmp(file, made.save(Path(folder) / "again.csv"), shallow=False)
