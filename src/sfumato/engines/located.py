"""From the place that a plan names to what `read` takes.  Nothing is connected to before this is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from sfumato.addresses import held_in
from sfumato.engines import spark
from sfumato.engines.servers import on_server

__all__ = ["located"]


class Placed(Protocol):
    """A file or address, or a table of an engine."""

    @property
    def path(self) -> Path | str | None:
        """The file, or the address of a store or server."""

    @property
    def others(self) -> tuple[Path, ...]:
        """Further files of the same table."""

    @property
    def table(self) -> str | None:
        """The table within an engine or a file."""

    @property
    def engine(self) -> str | None:
        """Spark, postgres, or none for DuckDB."""

    @property
    def connection(self) -> str | None:
        """The environment variable that holds a server's address."""


def located(place: Placed) -> object:
    """What `read` takes for a place: a path, a Spark DataFrame, or an Ibis table of a server."""
    if place.engine is None:
        return [place.path, *place.others] if place.others else place.path
    if place.engine == "spark":
        return spark.held_by(spark.started(), None if place.path is None else str(place.path), place.table)
    return on_server(str(place.path) if place.connection is None else held_in(place.connection), place.table)
