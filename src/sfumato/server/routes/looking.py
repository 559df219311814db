"""Looking: what is public about a dataset, budgets, and releases that are stored."""

from __future__ import annotations

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from sfumato.errors import ParameterError
from sfumato.ledger.names import plain_name
from sfumato.plans.execution import file_names
from sfumato.release import Published
from sfumato.server import models
from sfumato.server.answers import plain
from sfumato.server.callers import Called, Served
from sfumato.server.pictures import picture
from sfumato.server.responses import problems
from sfumato.server.statuses import Plain

__all__ = ["routes"]

MEDIA = {"csv": "text/csv", "json": "application/vnd.sfumato.release+json", "parquet": "application/vnd.apache.parquet"}
LOOKING = problems(401, 404, 422, 429, 503)


class Format(StrEnum):
    """What a release is downloaded as."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def routes() -> APIRouter:
    """Datasets, budgets, releases."""
    router = APIRouter(prefix="/api/v1")

    @router.get("/datasets/{dataset}", responses={200: {"model": models.Dataset}, **LOOKING})
    def described(dataset: str, service: Served, caller: Called) -> Plain:
        """What is public about a dataset."""
        caller.of(dataset)
        return Plain(service.desk(dataset).described())

    @router.get("/datasets/{dataset}/budget", responses={200: {"model": models.Budgets}, **LOOKING})
    def budget(dataset: str, service: Served, caller: Called) -> Plain:
        """The dataset's budget, which is the promise, and the caller's own, which is a rule among those who ask."""
        analyst = caller.of(dataset)
        return Plain(service.desk(dataset).budgets(analyst))

    @router.get("/datasets/{dataset}/releases", responses={200: {"model": list[models.Stored]}, **LOOKING})
    def history(dataset: str, service: Served, caller: Called) -> Plain:
        """What the caller asked for; a steward sees all that is stored."""
        analyst = caller.of(dataset)
        return Plain(service.desk(dataset).history(analyst))

    files = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA.values()}

    @router.get(
        "/datasets/{dataset}/releases/{release}",
        responses={200: {"model": models.Answer, "content": files}, **LOOKING},
    )
    def stored(
        dataset: str,
        release: str,
        service: Served,
        caller: Called,
        format: Annotated[Format | None, Query(description="download it as a file")] = None,
        level: Annotated[float, Query(gt=0.5, lt=1, description="the probability of the intervals")] = 0.95,
    ) -> Response:
        """A stored release, at no cost, whoever asked for it."""
        analyst, desk = caller.of(dataset), service.desk(dataset)
        line = desk.stored(release)
        name = desk.named(analyst, release) or plain_name(line.name, line.digest)
        if format is None:
            return Plain({**desk.answer(line, level), "name": name, "charged": None})
        service.note(dataset, analyst=analyst.name, does="download", asked={"release": release, "format": format.value})
        (file,) = file_names([name])
        headers = {"Content-Disposition": f'attachment; filename="{file}.{format.value}"'}
        return Response(_saved(desk.publication(line), format.value), 200, headers, MEDIA[format.value])

    @router.get(
        "/datasets/{dataset}/releases/{release}/picture", responses={200: {"model": dict[str, Any] | None}, **LOOKING}
    )
    def pictured(dataset: str, release: str, service: Served, caller: Called) -> Plain:
        """The chart of a stored release as Vega-Lite; null where it has none."""
        caller.of(dataset)
        desk = service.desk(dataset)
        return Plain(plain({"picture": picture(desk.publication(desk.stored(release)))})["picture"])

    return router


def _saved(release: Published, suffix: str) -> bytes:
    """The bytes of the file that a release is saved to."""
    if f".{suffix}" not in (*release.FILES, ".csv"):
        raise ParameterError(f"a table of rows is downloaded as parquet or csv, not {suffix}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / f"release.{suffix}"
        release.save(place)
        return place.read_bytes()
