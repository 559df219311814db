"""Settings that make backends agree; applied once to each connection a table comes from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sfumato.errors import SchemaError

__all__ = ["prepared", "quiet", "streamed"]

SETTINGS = {
    # Ibis 12 writes lambdas with an arrow, which DuckDB 2 reads only when told to.
    "duckdb": ("SET lambda_syntax = 'ENABLE_SINGLE_ARROW'",),
    # Spark: overflow, bad casts and missing entries raise under ANSI rules; our expressions need neither.
    "pyspark": ("SET spark.sql.ansi.enabled = false", "SET spark.sql.session.timeZone = UTC"),
}


def prepared(source: Any) -> Any:
    """The same Ibis table, its connection set up."""
    backend = source.get_backend()
    if backend.name not in SETTINGS:
        raise SchemaError(
            f"tables of the backend {backend.name!r} are not supported; "
            f"use {' or '.join(SETTINGS)}, or read the data from a file"
        )
    with quiet():
        for setting in SETTINGS[backend.name]:
            backend.raw_sql(setting)
    return source


def streamed(expression: Any, size: int) -> Iterator[Any]:
    """Arrow batches of at most `size` rows; one stream of a connection is read to its end before the next query."""
    backend = expression.get_backend()
    with quiet():
        if backend.name == "duckdb":  # Ibis 12 streams by a method that DuckDB 2 no longer has
            backend._run_pre_execute_hooks(expression)
            batches = backend.con.sql(backend.compile(expression)).to_arrow_reader(size)
        else:
            batches = expression.to_pyarrow_batches(chunk_size=size)
        for batch in batches:
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size)


@contextmanager
def quiet() -> Iterator[None]:
    """Deprecations between Ibis and its backends are nobody's to act on, also where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield
