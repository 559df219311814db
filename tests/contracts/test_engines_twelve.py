"""One plan of twelve releases on every engine: the same exact answers, and from the same bits the same releases."""

import json
import math
import os
import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engines import Table
from sfumato.plans import read_plan
from sfumato.plans.outlook import opened_table, outlook
from sfumato.randomness import seeded

PLAN = """
format = "sfumato-plan/2"

[table]
{place}
dataset = "visits"
unit = "row"

[columns]
age = {{ type = "integers", low = 0, high = 100, missing = 40 }}
pay = {{ type = "interval", low = 0, high = 1000, step = 0.01 }}
state = {{ type = "categories", values = ["CA", "NY", "é"] }}
kind = {{ type = "categories", values = ["a", "b"], other = "b" }}
city = {{ type = "texts", longest = 5 }}

[budget]
epsilon = 60.0
delta = 1e-3
"""
SPENDS = "spend = { epsilon = 2.0, delta = 1e-5 }\n"
RELEASES = {
    "rows": 'query = "count"\nwhere = "age >= 18 and kind == \'a\'"',
    "cells": 'query = "histogram"\nby = ["state", "kind"]',
    "total": 'query = "sum"\ncolumn = "age"',
    "means": 'query = "mean"\ncolumn = "pay"\nby = "state"',
    "spread": 'query = "variance"\ncolumn = "pay"',
    "ranks": 'query = "quantiles"\ncolumn = "pay"\nprobabilities = [0.1, 0.5]',
    "middle": 'query = "median"\ncolumn = "age"\nby = "kind"',
    "cities": 'query = "count"\nby = { discovered = "city" }',
    "workload": 'query = "workload"\nby = { bins = "age", count = 10 }\nworkload = [{ rows = ["prefix"] }]',
    "density": 'query = "density"\ncolumns = ["age"]\nbandwidth = 8.0',
    "regression": 'query = "regression"\ntarget = "pay"\ncolumns = ["age"]\nbandwidth = 20.0',
    "made": 'query = "synthetic"\ncolumns = ["age", "state", "kind"]\nrows = 300',
}
ODD = {"age": [math.nan, math.inf, -math.inf, None, -0.0, 1e300, 17.5, 100.4],
       "pay": [math.nan, math.inf, -math.inf, None, 5e-324, 0.005, 999.995, -3.0],
       "state": ["é", "ca", "", None, "CA ", "NY", "zzz", "CA"],
       "kind": ["a", "A", "", None, "b", "c", "a", "a"],
       "city": ["日本語文字列", "", None, "Ulm", "Ulmen", "Ulmenau", "x\x1fy", "Rome"]}  # fmt: skip


def visits():
    draw = random.Random(12)
    choices = {"age": lambda: float(draw.randrange(-5, 110)), "pay": lambda: draw.uniform(-50, 1100),
               "state": lambda: draw.choice(["CA", "NY", "é", "TX"]), "kind": lambda: draw.choice("aabc"),
               "city": lambda: draw.choice(["Ulm", "Rome", "Oslo", "Kyoto"])}  # fmt: skip
    return pa.table({name: [*ODD[name], *(drawn() for _ in range(1200))] for name, drawn in choices.items()})


def plain(held):
    """Whatever a mechanism is told or says, as text that tells any two apart."""
    if isinstance(held, dict):
        return {str(name): plain(part) for name, part in held.items()}
    if isinstance(held, list | tuple):
        return [plain(part) for part in held]
    if isinstance(held, np.ndarray | pa.Array | pa.ChunkedArray):
        return plain(held.tolist() if isinstance(held, np.ndarray) else held.to_pylist())
    return held.item() if isinstance(held, np.generic) else held


def told(answer):
    """An exact answer, whatever the order in which an engine hands out its parts."""
    if not isinstance(answer, tuple):
        return plain(np.asarray(answer, dtype=object))
    return sorted(plain(list(zip(*(plain(part) for part in answer), strict=True))))


def carried_out(folder, place, monkeypatch):
    """All that mechanisms were told by the table of a plan, and what they released from seeded bits."""
    text = PLAN.format(place=place)
    text += "".join(f'\n[[release]]\nname = "{name}"\n{asked}\n{SPENDS}' for name, asked in RELEASES.items())
    (folder / "visits.toml").write_text(text)
    plan = read_plan(folder / "visits.toml")
    table, orders, heard = opened_table(plan), outlook(plan).orders, {}
    whole, rows, now = Table.answer, Table.rows, ""

    def answer(self, statistic):
        found = whole(self, statistic)
        heard.setdefault(now, []).append((repr(statistic), told(found)))
        return found

    def read(self, columns, where=None):
        batches = list(rows(self, columns, where))
        seen = Counter(
            row for batch in batches for row in zip(*(batch[name].tolist() for name in columns), strict=True)
        )
        heard.setdefault(now, []).append((repr(columns), sorted(seen.items())))
        return iter(batches)

    with monkeypatch.context() as patched:
        patched.setattr(Table, "answer", answer)
        patched.setattr(Table, "rows", read)
        for order in orders.values():
            table.under(order.question.schema).foresee(order.mechanism.take)
        made = {}
        for now, order in orders.items():
            taken = order.mechanism.take(table.under(order.question.schema))
            output = order.mechanism.release(taken, seeded(5))
            made[now] = (
                plain(order.question.stored(output)),
                plain(order.question.read(output, order.mechanism).table()),
            )
    return heard, made


def on_duckdb(folder, request):
    pq.write_table(visits(), folder / "visits.parquet")
    return 'path = "visits.parquet"'


def on_spark(folder, request):
    (folder / "visits").mkdir()
    for place in range(3):
        pq.write_table(visits().slice(403 * place, 403), folder / "visits" / f"{place}.parquet")
    return 'engine = "spark"\npath = "visits"'


def on_postgres(folder, request):
    owner, _ = request.getfixturevalue("server")
    owner.create_table("twelve", visits(), overwrite=True)
    owner.raw_sql("GRANT SELECT ON twelve TO reader").close()
    os.environ["TWELVE_SERVER"] = f"postgresql://reader@/postgres?host={os.environ['SFUMATO_POSTGRES']}"
    return 'engine = "postgres"\nconnection = "TWELVE_SERVER"\ntable = "public.twelve"'


ENGINES = [on_duckdb, pytest.param(on_spark, marks=pytest.mark.spark),
           pytest.param(on_postgres, marks=pytest.mark.postgres)]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
def test_twelve_releases_are_the_same_on_every_engine(tmp_path, request, monkeypatch, engine):
    assert len(RELEASES) == 12
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    heard, made = carried_out(tmp_path / "own", on_duckdb(tmp_path / "own", request), monkeypatch)
    assert set(heard) == set(made) == set(RELEASES)
    other, again = carried_out(tmp_path / "other", engine(tmp_path / "other", request), monkeypatch)
    for name in RELEASES:
        if name != "ranks":  # counted in runs only where nobody else can write to the table
            assert sorted(other[name]) == sorted(heard[name]), name
        assert json.dumps(again[name], default=str) == json.dumps(made[name], default=str), name
