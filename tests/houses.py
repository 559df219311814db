"""A small dataset with its plan, and a service of it."""

from __future__ import annotations

import pathlib
import threading

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fastapi import FastAPI

from sfumato.plans import read_plan
from sfumato.server.app import created
from sfumato.server.connections import bound, server_of
from sfumato.server.hands import Hands
from waiting import LIMIT, wait_until

PLAN = """
format = "sfumato-plan/2"

[table]
path = "people.parquet"
dataset = "people"
unit = "row"
size = 2000

[columns.age]
type = "interval"
low = 0
high = 100
step = 1

[columns.salary]
type = "interval"
low = 0
high = 200000
step = 100

[columns.state]
type = "categories"
values = ["CA", "NY", "TX"]

[budget]
epsilon = 2.0

[service]
tick = 0.05
rate = 1000

[analysts.ana]
budget = { epsilon = 1.0 }

[analysts.bob]
budget = { epsilon = 1.5 }

[analysts.sam]
role = "steward"
"""


def people(folder: pathlib.Path, plan: str = PLAN) -> pathlib.Path:
    """A folder with a table and its plan."""
    rng = np.random.default_rng(5)
    rows = {
        "age": rng.integers(0, 100, 2000),
        "salary": rng.integers(0, 2000, 2000) * 100.0,
        "state": rng.choice(["CA", "NY", "TX"], 2000),
    }
    pq.write_table(pa.table(rows), folder / "people.parquet")
    (folder / "people.toml").write_text(plan)
    return folder / "people.toml"


class House:
    """A service on a port of this machine, with a token for each who may ask."""

    def __init__(self, *paths: pathlib.Path, hands: Hands | None = None) -> None:
        self._stand_around(created([read_plan(path) for path in paths], hands=hands))

    @classmethod
    def around(cls, app: FastAPI) -> House:
        """A service that was made already."""
        made = cls.__new__(cls)
        made._stand_around(app)
        return made

    def _stand_around(self, app: FastAPI) -> None:
        self.app, self.service = app, app.state.service
        self.desk = next(iter(self.service.desks.values()))
        self.tokens = {name: self.desk.roster.add(name, None) for name in self.desk.plan.service.analysts}

    def __enter__(self) -> House:
        (self._socket,) = bound(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.server = server_of(self.app)
        self._thread = threading.Thread(target=self.server.run, args=([self._socket],), daemon=True)
        self._thread.start()
        wait_until(lambda: self.server.started)
        return self

    def __exit__(self, *_) -> None:
        self.server.should_exit = True
        self._thread.join(LIMIT)
        self._socket.close()

    def client(self, name: str | None = None, **options) -> httpx.Client:
        """A client with somebody's token."""
        headers = {} if name is None else {"Authorization": f"Bearer {self.tokens[name]}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=300, **options)
