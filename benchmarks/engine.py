"""What privacy costs beside the same query without it, and how fast and sharp the median is.

Run `python benchmarks/engine.py --json [--quick | --full]`: one JSON object per line with the figure, its
value, the target and whether it holds.  Times are ratios of the best of alternating repetitions within this run: by
the clock, and beside it (`processor`) by the processor time of all threads, which a busy machine changes little.
Each part runs in a process of its own, so that peak memory is its own (data is generated in another).
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SALARY = "CASE WHEN {0} > 0 AND {0} < 200000 THEN CAST(FLOOR({0} * 100.0 + 0.5) AS BIGINT) WHEN {0} <= 0 THEN 0 " \
         "WHEN NOT isnan({0}) THEN 20000000 END"  # fmt: skip
LONGEST = 1.5e9  # bytes
BEYOND, WITHIN = "random() * random() * 210000 - 1000", "random() * random() * 190000 + 1000"
# Digits kept (Parquet's dictionary holds cents, and full doubles lie plain), and numbers that exceed their bounds or
# lie within them, where an engine that believes the footer would drop the clipping.
FORMS = {"cents": (2, BEYOND), "doubles": (12, BEYOND), "cents within": (2, WITHIN), "doubles within": (12, WITHIN)}


@dataclass(frozen=True)
class Size:
    """How much to measure."""

    rows: int
    people: int
    values: int
    repeats: int
    medians: int


SIZES = {
    "quick": Size(1_000_000, 200_000, 1_000_000, 5, 100),
    "usual": Size(10_000_000, 2_000_000, 1_000_000, 9, 400),
    "full": Size(10_000_000, 2_000_000, 1_000_000, 25, 2_000),
}


@dataclass(frozen=True)
class Figure:
    """One measured figure and its verdict, by the clock and by processor time; no target: reported only."""

    figure: str
    value: float
    target: float | None
    holds: bool | None
    processor: float | None = None
    processor_holds: bool | None = None


class Times(NamedTuple):
    """The least time of a task by the clock, and its least processor time, of all threads of this process."""

    seconds: float
    processor: float

    def compare(self, name: str, other: Times, target: float | None = None) -> Figure:
        """Return the figure that says how often the other task's time goes into this one's."""
        ratio = self.processor / other.processor
        held = None if target is None else ratio <= target
        by_clock = figure(name, self.seconds / other.seconds, target)
        return replace(by_clock, processor=float(f"{ratio:.4g}"), processor_holds=held)

    def show(self, name: str) -> Figure:
        """Return the figure that reports both times in seconds."""
        return replace(figure(name, self.seconds), processor=float(f"{self.processor:.4g}"))


def figure(name: str, value: float, target: float | None = None) -> Figure:
    """A figure that should be at most its target."""
    return Figure(name, float(f"{value:.4g}"), target, None if target is None else value <= target)


def alternating(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The best time of each task, the tasks taking turns; one turn beforehand warms all of them up."""
    return {name: best.seconds for name, best in measure_in_turns(tasks, repeats).items()}


def measure_in_turns(tasks: dict[str, Callable[[], Any]], repeats: int) -> dict[str, Times]:
    """Return the best times of each task, the tasks taking turns; one turn beforehand warms all of them up."""
    best = dict.fromkeys(tasks, Times(float("inf"), float("inf")))
    for turn in range(repeats + 1):
        for name, task in tasks.items():
            start, started = time.perf_counter(), time.process_time()
            task()
            taken = time.perf_counter() - start, time.process_time() - started
            if turn:
                best[name] = Times(*map(min, best[name], taken))
    return best


def generate(folder: Path, size: Size) -> None:
    """Rows in 1,000 groups, salaries in cents or as full doubles; and rows of people, five each on average."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.25)").fetchall()
    for name, (digits, numbers) in FORMS.items():
        connection.execute(
            f"""COPY (SELECT CAST(floor(random() * 1000) AS INTEGER) AS "group",
            round({numbers}, {digits}) AS salary
            FROM range({size.rows})) TO '{folder}/{name}.parquet' (FORMAT parquet)"""
        ).fetchall()
    connection.execute(
        f"""COPY (SELECT CAST(floor(random() * {size.people}) AS BIGINT) AS person,
        CAST(floor(random() * 1000) AS INTEGER) AS "group", round(random() * random() * 210000 - 1000, 2) AS salary
        FROM range({size.rows})) TO '{folder}/people.parquet' (FORMAT parquet)"""
    ).fetchall()


def columns() -> dict[str, Any]:
    """The declared spaces of both files."""
    import sfumato as sf

    return {"group": sf.Categories(range(1000)), "salary": sf.Interval(0, 200_000, 0.01)}


NUMBERS = count()  # of releases, each under a name of its own


def releasing(table: Any, folder: Path) -> Callable[[], Any]:
    """A whole release, with its charge and its stored answer on disk: the mean, which brings the count along."""
    import sfumato as sf

    session = sf.Session(table, budget=sf.Pure(1e6), ledger=folder / f"{table.schema.dataset}.ledger")
    query = sf.mean("salary").by("group")
    return lambda: session.release(query, spend=sf.Pure(1.0), name=f"release {next(NUMBERS)}")


def grouped(folder: Path, size: Size) -> Iterator[Figure]:
    """Grouped count and mean, row privacy."""
    import duckdb

    import sfumato as sf

    connection = duckdb.connect()
    for form in FORMS:
        path = folder / f"{form}.parquet"
        source = f"""(SELECT "group", {SALARY.format("salary")} AS t FROM '{path}')"""
        plain = f"""SELECT "group", count(*), avg(salary) FROM '{path}' GROUP BY 1"""
        clipped = f"""SELECT "group", count(t), sum(t) FROM {source} GROUP BY 1"""
        best = measure_in_turns(
            {
                "plain": lambda query=plain: connection.execute(query).fetchall(),
                "clipped": lambda query=clipped: connection.execute(query).fetchall(),
                "release": releasing(sf.read(path, schema=columns(), dataset=form), folder),
            },
            size.repeats,
        )
        name = f"grouped mean and count, {form}"
        release = best["release"]
        yield release.compare(f"{name}: whole release / clipped, quantized SQL", best["clipped"], 1.25)
        yield release.compare(f"{name}: whole release / plain DuckDB query", best["plain"], 2.0)
        yield best["clipped"].compare(f"{name}: clipped, quantized SQL / plain DuckDB query", best["plain"])
        yield release.show(f"{name}: seconds of a whole release")
    yield figure("grouped mean and count: peak bytes of memory", peak(), LONGEST)


def persons(folder: Path, size: Size) -> Iterator[Figure]:
    """The same by person, at most two rows each: the first question, which puts rows into order, and later ones."""
    import sfumato as sf
    from sfumato.queries import bind

    def read() -> Any:
        return sf.read(folder / "people.parquet", schema=columns(), unit="person", rows=2, dataset="people")

    table = read()
    question: Any = bind(sf.mean("salary").by("group"), table.schema)
    statistic, repeats = question.statistic, max(3, size.repeats // 3)
    first = {"bounded": lambda: read().answer(statistic), "release": lambda: releasing(read(), folder)()}
    best = measure_in_turns(first, repeats - 1)
    yield best["release"].compare("person level: first release / the same bounded query, anew", best["bounded"], 1.25)
    yield best["release"].show("person level: seconds of a first release")
    tasks = {"bounded": lambda: table.answer(statistic), "release": releasing(table, folder)}
    best = measure_in_turns(tasks, size.repeats)
    yield best["release"].compare("person level: whole release / the same bounded query", best["bounded"], 1.25)
    yield best["release"].show("person level: seconds of a whole release")
    yield figure("person level: peak bytes of memory", peak(), LONGEST)


def medians(folder: Path, size: Size) -> Iterator[Figure]:
    """Quantiles of numbers in [0, 100] on a lattice of step 1e-4 at epsilon 1."""
    import pyarrow as pa

    import sfumato as sf
    from sfumato.mechanisms.selection.recursive_quantiles import RecursiveQuantiles
    from sfumato.queries import bind
    from sfumato.queries.ranks import Ranks
    from sfumato.randomness import secure

    numbers = np.random.default_rng(1).uniform(0, 100, size.values)
    space, rng = sf.Interval(0, 100, 1e-4), secure()
    table = sf.read(pa.table({"x": numbers}), schema={"x": space}, dataset="median")
    one = RecursiveQuantiles.calibrate(bind(sf.median("x"), table.schema), sf.Pure(1.0))
    deciles = sf.quantiles("x", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    nine = RecursiveQuantiles.calibrate(bind(deciles, table.schema), sf.Pure(1.0))
    session = sf.Session(table, budget=sf.Pure(1e6), ledger=folder / "median.ledger")
    names = iter(range(10**9))
    best = alternating(
        {
            "numpy": lambda: np.quantile(numbers, 0.5),
            "one": lambda: one.release([Ranks.of(numbers, space.lattice)], rng),
            "nine": lambda: nine.release([Ranks.of(numbers, space.lattice)], rng),
            "release": lambda: session.release(sf.median("x"), spend=sf.Pure(1.0), name=f"median {next(names)}"),
        },
        2 * size.repeats,
    )
    ranks = Ranks.of(numbers, space.lattice)
    drawn = np.array([one.release([ranks], rng)[0, 0] for _ in range(size.medians)])
    errors = rank_error(np.sort(numbers), space.lattice.values(drawn))
    yield figure("median of an array / numpy.quantile", best["one"] / best["numpy"], 3.0)
    yield figure("median of an array: mean rank error, as a share of the rows", errors, 3e-6)
    yield figure("nine deciles / one median", best["nine"] / best["one"], 2.0)
    yield figure("median: whole release through the engine / numpy.quantile", best["release"] / best["numpy"])


def rank_error(ordered: Any, chosen: Any) -> float:
    """How far, on average, the middle rank lies from the number of rows below a point (or up to it)."""
    middle = len(ordered) / 2
    low, high = (np.searchsorted(ordered, chosen, side=side) for side in ("left", "right"))
    return float(np.mean(np.maximum(0, np.maximum(low - middle, middle - high)))) / len(ordered)


def peak() -> int:
    """The most memory this process has held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


PARTS = {"grouped": grouped, "persons": persons, "medians": medians}


def main() -> None:
    """Run every part, or in a child process one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object per line (also the default)")
    parser.add_argument("--quick", dest="size", action="store_const", const="quick", default="usual")
    parser.add_argument("--full", dest="size", action="store_const", const="full")
    parser.add_argument("--part", choices=[*PARTS, "generate"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    size = SIZES[chosen.size]
    if chosen.part == "generate":
        generate(chosen.folder, size)
    elif chosen.part:
        for line in PARTS[chosen.part](chosen.folder, size):
            print(json.dumps(asdict(line)), flush=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("generate", *PARTS):
                options = [f"--{chosen.size}"] if chosen.size != "usual" else []
                command = [sys.executable, __file__, *options, "--part", part, "--folder", folder]
                subprocess.run(command, check=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
