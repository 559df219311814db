"""A service of invented people in a process of its own, with tokens that the command line made."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from sfumato.ledger import Ledger
from sfumato.samples import HOBBIES, people
from waiting import wait_until

MOODS = ["<i>fine</i>", "<img src=x onerror=alert(1)>"]  # labels are texts, whatever they hold
STATES = ["CA", "FL", "IL", "NY", "PA", "TX"]
PLAN = f"""
format = "sfumato-plan/2"

[table]
path = "people.parquet"
dataset = "people"
unit = {{ column = "person_id", rows = 1 }}
size = 20000

[columns."age in months"]
type = "integers"
low = 0
high = 1440

[columns.age]
type = "integers"
low = 0
high = 120

[columns.salary]
type = "interval"
low = 0
high = 200000
step = 10

[columns.state]
type = "categories"
values = {STATES}

[columns.hobbies]
type = "subsets"
of = {HOBBIES}
cap = 5

[columns.mood]
type = "categories"
values = {MOODS}

[budget]
epsilon = 3.0
delta = 1e-6

[service]
tick = 0.25
rate = 200

[ledger]
path = "people.ledger"

[analysts.ana]
budget = {{ epsilon = 1.5, delta = 5e-7 }}

[analysts.bob]
budget = {{ epsilon = 1.0, delta = 2e-7 }}

[analysts.kim]
budget = {{ epsilon = 0.5 , delta = 1e-7 }}

[analysts.sam]
role = "steward"
"""


def sfumato(*arguments: object, cwd: Path) -> str:
    """What a command says."""
    line = [sys.executable, "-m", "sfumato.cli", *map(str, arguments)]
    return subprocess.run(line, cwd=cwd, check=True, capture_output=True, text=True, timeout=120).stdout


class House:
    """The address of a running service, tokens, and the ledger that it spends from."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.tokens = {name: token(folder, name) for name in ("ana", "bob", "kim", "sam")}

    def charges(self) -> list[tuple[str | None, float]]:
        """Who was charged how much epsilon, as the ledger's file says."""
        entries = Ledger.existing(self.folder / "people.ledger").entries()
        return [(entry.account, entry.amounts[0] / 1e12) for entry in entries if entry.kind == "charge"]


def token(folder: Path, name: str) -> str:
    """A new token of an analyst."""
    return sfumato("analyst", "add", "people.toml", name, cwd=folder).split()[0]


@contextmanager
def running(folder: Path, *arguments: str):
    """`sfumato serve` with these arguments, as long as the block lasts; its address."""
    line = [sys.executable, "-m", "sfumato.cli", "serve", *arguments, "--port", "0"]
    place = folder / "serve.log"
    with place.open("w") as log:
        process = subprocess.Popen(line, cwd=folder, stdout=log, stderr=log, env={**os.environ, "TZ": "UTC"})
        try:
            yield _address(process, place)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=300)


def _address(process: subprocess.Popen, log: Path) -> str:
    """Where the service says that it is."""

    def find_address() -> re.Match[str] | None:
        assert process.poll() is None, log.read_text()
        return re.search(r"http://\S+", log.read_text())

    found = wait_until(find_address)
    assert found is not None
    return found[0]


def settled(folder: Path) -> Path:
    """The folder with the table and the plan."""
    table = people(20_000, seed=11)
    moods = pa.array([MOODS[row % 2] for row in range(table.num_rows)])
    months = pa.compute.multiply(table["age"], 12)
    table = table.append_column("mood", moods).append_column("age in months", months)
    pq.write_table(table, folder / "people.parquet")
    (folder / "people.toml").write_text(PLAN)
    return folder


def number(text: str) -> float:
    """The first number in a text of the page."""
    found = re.search(r"[\u2212-]?[\d,]+(?:\.\d+)?(?:e-?\d+)?", text)
    assert found is not None, text
    return float(found[0].replace(",", "").replace("\u2212", "-"))


def expect(*given: object):
    """Playwright's own, loaded where a browser is driven: other tests are collected without it."""
    from playwright.sync_api import expect

    expect.set_options(timeout=120_000)
    return expect(*given)
