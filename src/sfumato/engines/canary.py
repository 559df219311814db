"""A trial before an engine is trusted: a small public Parquet file of numbers within their bounds, and one NaN.

Its footer says that every number lies within the bounds.  An engine that believes it clips nothing, and adds up NaN:
such an engine is refused, whatever its settings say.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakSet

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.engines.backends import OWN, configured, executed, isolated, quiet, selected
from sfumato.engines.coercion import coerced
from sfumato.engines.files import local
from sfumato.engines.parquet import read_columns
from sfumato.engines.spill import private_folder
from sfumato.errors import SchemaError
from sfumato.spaces import Interval

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from ibis.backends import BaseBackend

__all__ = ["trusted"]

NUMBERS = [10.0, math.nan, 90.0]
VALUES = "SELECT v FROM (VALUES (10.0::float8), ('NaN'), (90.0)) AS s(v)"
RIGHT = [{"count": 2, "total": 100}]

_tried: WeakSet[BaseBackend] = WeakSet()
_trying = Lock()  # threads share the trial file, and a set that one of them walks through while another adds breaks


def trusted(backend: BaseBackend) -> BaseBackend:
    """The same backend, set up; refused if it does not clip the numbers of a small file."""
    configured(backend)
    with _trying:
        is_known = backend in _tried or (backend in OWN and any(map(OWN.__contains__, _tried)))  # our own are all alike
        if not is_known and _reads_files(backend):
            if not _clips(backend):
                raise SchemaError(
                    f"this {backend.name} engine answers a trial question wrongly: it drops the bounds of a column "
                    "whose file says that they hold; use a version of it that Sfumato supports, with its usual settings"
                )
            _tried.add(backend)
    return backend


def _clips(backend: BaseBackend) -> bool:
    try:
        with quiet():
            held = isolated(_trial(backend), ["v"])
            rows = held.select(t=coerced(held["v"], Interval(0, 120, 1).form))
            return bool(executed(rows.aggregate(count=rows["t"].count(), total=rows["t"].sum())).to_pylist() == RIGHT)
    except Exception:
        return False


def _trial(backend: BaseBackend) -> ir.Table:
    if backend.name == "postgres":
        return selected(backend, VALUES, {"v": "float64"})
    path = _trial_file(private_folder())
    return backend.read_parquet(str(path)) if backend.name == "pyspark" else _own(path, backend)


def _own(path: Path, backend: BaseBackend) -> ir.Table:
    return read_columns(local([path]), {"v": pa.float64()}, None, backend)


@cache
def _trial_file(folder: Path) -> Path:
    path = folder / "trial.parquet"
    pq.write_table(pa.table({"v": NUMBERS}), path)
    return path


def _reads_files(backend: BaseBackend) -> bool:
    """Whether it can read a file of this machine: not where external access is off, nor on a cluster."""
    if backend.name == "postgres":
        return True
    if backend.name == "pyspark":
        return bool(backend._session.sparkContext.master.startswith("local"))
    (allowed,) = backend.con.cursor().sql("SELECT current_setting('enable_external_access')").fetchall()
    return bool(allowed[0])
