"""A small table with its plan, and a way to run commands as a user would."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli import main

PLAN = """
format = "sfumato-plan/1"

[table]
path = "people.parquet"
unit = { column = "id", rows = 1 }
size = 300

[columns]
age = { type = "interval", low = 0, high = 120, step = 1 }
state = { type = "categories", values = ["CA", "NY", "TX"] }
hobbies = { type = "subsets", of = ["chess", "judo", "opera"], cap = 2 }
city = { type = "texts", longest = 30 }

[budget]
epsilon = 4.0
delta = 1e-5

[[release]]
name = "everyone"
query = "count"
spend = { epsilon = 0.5 }

[[release]]
name = "mean age by state"
query = "mean"
column = "age"
by = "state"
spend = { epsilon = 1.0 }

[[release]]
name = "hobbies"
query = "top"
column = "hobbies"
k = 2
spend = { epsilon = 0.5 }

[[release]]
name = "median age"
query = "median"
column = "age"
spend = { epsilon = 0.5 }

[[release]]
name = "cities"
query = "count"
by = { discovered = "city" }
spend = { epsilon = 1.0, delta = 1e-6 }
"""

SECRET = "Zanzibar-canary"


def table() -> pa.Table:
    """300 people; one of them lives alone in a place whose name must never be seen."""
    return pa.table({
        "id": range(300),
        "age": [float(20 + i % 50) for i in range(300)],
        "state": [("CA", "NY", "TX")[i % 3] for i in range(300)],
        "hobbies": [["chess"] if i % 3 else ["judo", "opera"] for i in range(300)],
        "city": [SECRET if i == 7 else ("Big", "Large")[i % 2] for i in range(300)],
    })  # fmt: skip


@dataclass
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A directory with `people.parquet` and `plan.toml`, which is the current one."""
    pq.write_table(table(), tmp_path / "people.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Run `sfumato ...` in this process."""

    def command(*arguments) -> Done:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = ended.value.code
        return Done(0 if code is None else int(code), captured.out, captured.err)

    return command


@pytest.fixture(autouse=True)
def _same_path(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
