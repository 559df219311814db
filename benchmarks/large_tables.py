"""Synthetic tables of hundreds of columns and of millions of rows, through the command line: seconds and memory.

Run `python benchmarks/large_tables.py --json [--long] [--folder DIR]`: one JSON object a line with the figure, its
value, the target and whether it holds.  Files are written to a temporary folder (in `DIR`) and removed: 20 mixed
columns of 10,000 rows, and 10 columns of a million rows; with `--long` 400 mixed columns of 100,000 rows and 10 columns
of ten million.  Seconds are those of the processor, so that a busy machine changes little; memory is the most that the
process held.  Long tables are made twice, from a tenth of the rows and from all: memory may not grow with them.
Previews must name about the seconds that a table takes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from figures import Figure, show

LEVELS, MANY = 100, 10_000  # of categories
LARGEST = 10  # columns that have so many
SECONDS, GIGABYTES = 600.0, 4.0
GROWN = 1.25  # times the memory of a tenth of the rows
PUBLISHED = 100_000  # rows that are made of a long table
CHILD = "from sfumato.cli import main; main()"


@dataclass(frozen=True)
class Run:
    """What one command took."""

    wall: float
    cpu: float
    gigabytes: float


def mixed(folder: Path, columns: int, rows: int) -> Path:
    """A plan and its Parquet file: numbers, skewed ones, flags, labels, dates; every fifth column has nulls."""
    chance = np.random.default_rng(16)
    hidden = chance.normal(size=(rows, 8))
    held: dict[str, Any] = {}
    spaces: dict[str, dict[str, Any]] = {}
    for place in range(columns):
        x = 0.7 * hidden[:, place % 8] + 0.7 * chance.normal(size=rows)
        missing = chance.random(rows) < (0.3 if place % 5 == 0 else 0.0)
        values, space = _column(place, x)
        held[f"c{place}"], spaces[f"c{place}"] = pa.array(values, mask=missing), space
    pq.write_table(pa.table(held), folder / "mixed.parquet", row_group_size=50_000)
    return _plan(folder, "mixed", spaces, rows)


def _column(place: int, x: Any) -> tuple[Any, dict[str, Any]]:
    kind = place % 6
    if kind == 0:
        return np.round(x * 10 + 50).clip(0, 100).astype(np.int64), {"type": "integers", "low": 0, "high": 100}
    if kind == 1:
        return np.exp(2 * x + 3).round(2), {"type": "interval", "low": 0, "high": 1e6, "step": 0.01}
    if kind == 2:
        return x > 0, {"type": "categories", "values": [False, True]}
    if kind == 5:
        days = np.datetime64("2020-01-01") + np.clip(x * 100 + 500, 0, 1400).astype(int)
        return days, {"type": "dates", "low": "2020-01-01", "high": "2023-12-31"}
    size = 5 + place % 20 if kind == 3 else MANY if place < 6 * LARGEST else LEVELS
    labels = [f"l{level}" for level in range(size)]
    spread = (x + 2) / 4 if kind == 3 else np.abs(x) / 4
    return np.array(labels)[np.clip(spread * size, 0, size - 1).astype(int)], {"type": "categories", "values": labels}


def long(folder: Path, rows: int) -> Path:
    """A plan and its Parquet file of ten related columns, written by DuckDB: numbers, skewed ones and labels."""
    columns, spaces = [], {}
    for place in range(10):
        x = "(0.6 * a + 0.4 * random())"
        if place % 3 == 0:
            columns.append(f"cast(round(100 * {x}) as integer) as c{place}")
            spaces[f"c{place}"] = {"type": "integers", "low": 0, "high": 100}
        elif place % 3 == 1:
            columns.append(f"round(exp(8 * {x}), 2) as c{place}")
            spaces[f"c{place}"] = {"type": "interval", "low": 0, "high": 10_000, "step": 0.01}
        else:
            columns.append(f"'l' || cast(floor(20 * {x}) as integer) as c{place}")
            spaces[f"c{place}"] = {"type": "categories", "values": [f"l{level}" for level in range(20)]}
    source = f"select {', '.join(columns)} from (select random() as a from range({rows}))"
    with duckdb.connect() as held:
        held.execute(f"copy ({source}) to '{folder / 'long.parquet'}' (format parquet)")
    return _plan(folder, "long", spaces, rows)


def _plan(folder: Path, name: str, spaces: dict[str, dict[str, Any]], rows: int) -> Path:
    plan = {
        "format": "sfumato-plan/2",
        "table": {"path": f"{name}.parquet", "unit": "row", "size": rows},
        "columns": spaces,
        "budget": {"epsilon": 1.0, "delta": 1e-9},
        "release": [{"query": "synthetic", "name": "rows", "spend": {"epsilon": 1.0, "delta": 1e-9}}],
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(plan))
    return path


def _command(plan: Path, *options: str) -> list[str]:
    return [sys.executable, "-c", CHILD, "synthesize", str(plan), "--epsilon", "1", "--delta", "1e-9", *options]


def made(plan: Path, *options: str) -> Run:
    """One `sfumato synthesize` in a process of its own."""
    command = _command(plan, *options, "--out", str(plan.with_suffix(".made.parquet")))
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"sfumato synthesize {plan.name} failed")
    return Run(time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20)


def previewed(plan: Path, run: Run, name: str, *options: str) -> Figure:
    """The seconds that the preview of a table names, over those that it took."""
    told = subprocess.run(_command(plan, *options, "--json"), capture_output=True, text=True, check=True).stdout
    off = json.loads(told)["seconds"] / run.cpu
    return Figure(f"{name}: previewed seconds over measured", round(off, 2), "0.5 to 2", 0.5 <= off <= 2)


def wide_figures(folder: Path, columns: int, rows: int) -> Iterator[Figure]:
    """Hundreds of columns."""
    plan = mixed(folder, columns, rows)
    run = made(plan)
    name = f"{columns} mixed columns of {rows:,} rows"
    yield Figure(f"{name}: seconds of processor", round(run.cpu), f"<= {SECONDS:g}", run.cpu <= SECONDS)
    yield Figure(f"{name}: seconds", round(run.wall), "", None)
    yield Figure(f"{name}: GB", round(run.gigabytes, 2), f"<= {GIGABYTES:g}", run.gigabytes <= GIGABYTES)
    yield previewed(plan, run, name)


def long_figures(folder: Path, rows: int) -> Iterator[Figure]:
    """Millions of rows."""
    runs = []
    for count in (rows // 10, rows):
        place = folder / str(count)
        place.mkdir()
        plan, options = long(place, count), ("--rows", str(PUBLISHED))
        runs.append(made(plan, *options))
        name = f"10 columns of {count:,} rows"
        yield Figure(f"{name}: seconds of processor", round(runs[-1].cpu), "", None)
        yield Figure(f"{name}: GB", round(runs[-1].gigabytes, 2), "", None)
        yield previewed(plan, runs[-1], name, *options)
    grown = runs[1].gigabytes / runs[0].gigabytes
    name = f"10 columns of {rows:,} rows: memory over that of a tenth"
    yield Figure(name, round(grown, 2), f"<= {GROWN:g}", grown <= GROWN)


def main() -> None:
    """Print each figure as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", choices=["wide", "long"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        place = Path(folder)
        if options.only != "long":
            for figure in wide_figures(place, *((400, 100_000) if options.long else (20, 10_000))):
                show(figure, options.json)
        if options.only != "wide":
            for figure in long_figures(place, 10_000_000 if options.long else 1_000_000):
                show(figure, options.json)


if __name__ == "__main__":
    main()
