"""Running the service: on this machine alone unless told, by TLS or behind a proxy where others reach it."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.ledger.server import CONNECTED
from sfumato.plans import read_plan
from sfumato.server.local.terms import NOTHING, Collecting
from sfumato.server.places import is_loopback

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["CONFIGURED", "Running", "application", "run"]

CONFIGURED = "SFUMATO_SERVE"  # how worker processes, and those beside them, are told what to serve
ALONE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")  # threads of linear algebra in a process


@dataclass(frozen=True, slots=True)
class Running:
    """What is served, and where."""

    plans: tuple[str, ...]
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    certificate: str | None = None
    key: str | None = None
    proxy: str | None = None  # the address of what stands in front, and does TLS
    playground: bool = False
    collecting: Collecting = NOTHING
    open_metrics: bool = False  # whether this machine needs no token for /metrics

    def __post_init__(self) -> None:
        if not (self.plans or self.playground or self.collecting.files):
            raise ParameterError("give a plan for each dataset to serve, --collect COLLECTION, or --playground")
        if (self.certificate is None) != (self.key is None):
            raise ParameterError("--certificate and --key stand together: the files of the certificate and its key")
        for given, file in (("--certificate", self.certificate), ("--key", self.key)):
            if file is not None and not Path(file).is_file():
                raise ParameterError(f"{given}: there is no file {file}")
        if not 1 <= self.workers <= 64:
            raise ParameterError(f"--workers must be between 1 and 64, got {self.workers}")
        if not is_loopback(self.host) and not self.secure:
            raise ParameterError(
                f"--host {self.host} can be reached by others, and tokens would travel in the clear: give "
                "--certificate and --key, or say --behind-proxy ADDRESS where one on the way does TLS"
            )

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by TLS alone."""
        return self.certificate is not None or self.proxy is not None


def must_be_installed() -> None:
    """Refuse where the extra is missing."""
    for package in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise UnsupportedQuery("the service needs the extra `server`: pip install 'sfumato[server]'")


def application() -> FastAPI:
    """The application of a worker process, as `run` has configured it."""
    from sfumato.server.pages import warmed

    warmed()
    return _made(json.loads(os.environ[CONFIGURED]), must_open=False)  # `run` has opened all once


def _made(said: dict[str, Any], must_open: bool = True) -> FastAPI:
    from sfumato.server.app import created
    from sfumato.server.aside import Aside

    plans = [read_plan(path) for path in said["plans"]]
    collecting = Collecting(**said["collecting"])
    parts = {name: said[name] for name in ("secure", "playground", "this_machine", "open_metrics")}
    hands = Aside(said["plans"]) if plans else None
    return created(plans, collecting=collecting, hands=hands, must_open=must_open, **parts)


def run(running: Running, started: Callable[[str], None] = lambda url: None) -> None:
    """Serve until stopped; what is wrong with a plan is said before anything listens.  `started` is told where."""
    must_be_installed()
    from sfumato.server.connections import bound, serve, server_of
    from sfumato.server.pages import warmed

    said = {"plans": running.plans, "secure": running.secure, "playground": running.playground,
            "this_machine": is_loopback(running.host) and not running.secure, "open_metrics": running.open_metrics,
            "collecting": asdict(running.collecting)}  # fmt: skip
    app = _made(said)
    listening = bound((running.host, running.port), running.workers)
    named = "sfumato.server.running:application"
    certificate = None if running.certificate is None or running.key is None else (running.certificate, running.key)
    os.environ[CONFIGURED] = json.dumps(said)
    for library in ALONE:  # of each process that is started; several would wait for each other
        os.environ.setdefault(library, "1")
    if running.workers > 1:
        CONNECTED.close_idle()  # the processes have their own
    server = server_of(app if running.workers == 1 else named, certificate, running.proxy, running.workers)
    host, port = listening[0].getsockname()[:2]
    if running.workers == 1:
        warmed()
    started(f"{'http' if certificate is None else 'https'}://{f'[{host}]' if ':' in host else host}:{port}")
    serve(server, listening)
