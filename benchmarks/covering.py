"""How often error bars cover, and how wide they are: every kind of question that states intervals, by simulation.

Run `python benchmarks/covering.py --json [--quick | --full]`: one JSON object per line with the kind, the mechanism,
how often the 95 % interval of a cell covers (on average over the cells), how often all joint ones cover at once, and
the mean half-width over the 95 % error that was seen (the oracle's).  Between 0.945 and 0.97 a coverage `holds` by
itself; elsewhere `why` explains it: a lattice on which no interval has just that level, a proof for the worst table, or
a truth at the end of its range, which is missed on one side only.  Draws are seeded; tables are drawn here, and nothing
was tuned on them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import sfumato as sf
from sfumato.answers.statements import ErrorStatement
from sfumato.local import rank
from sfumato.local.collection.intervals import limits_of
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.randomness import seeded

LEVEL = 0.95
LEAST, MOST = 0.945, 0.97
DRAWS = {"quick": 150, "usual": 1000, "full": 10_000}
SLOW = 5  # kinds whose reading takes long have a fifth of the draws, those that simulate anew a twentieth
ROUNDING = 1e-9
ROWS = 2500
Floats = npt.NDArray[np.float64]

LATTICE = "lattice: whole noise has no quantile at just 95 %"
WORST = "proven for the worst table, which this one is not"
END = "the truth lies at the end of its range and is missed on one side only"
DROWNED = "groups that noise drowns: the whole range is said"
UNION = "a union bound over the cells"
SIMULATED = "suprema are simulated and rounded up; exact laws of sums are widened by a few percent"
SELECTED = "counts of what was found; joint ones hold for all that could be found"
BOUNDED = "proven for any table, by the largest variance and range of one report"


@dataclass(frozen=True)
class Figure:
    """One kind of question under one mechanism; None where that is not stated."""

    kind: str
    mechanism: str
    spend: str
    cells: int
    coverage: float | None
    joint: float | None
    width: float | None  # over the oracle's
    why: str
    holds: bool


@dataclass(frozen=True)
class Case:
    """A question with its table; `why` says what is expected of coverage outside of the target."""

    kind: str
    query: Any
    frame: dict[str, Any]
    columns: dict[str, Any]
    spends: tuple[Any, ...] = (sf.Pure(1.0), sf.Concentrated(0.1))
    why: str = ""
    every: bool = False  # every mechanism that could answer, not the best alone
    slow: int = 1  # how many times fewer draws are taken
    declared: tuple[tuple[str, Any], ...] = ()
    truth: Callable[[], Any] | None = None  # else what the same reading says without noise


def covered(case: Case, draws: int) -> Iterator[Figure]:
    """The figures of one case."""
    table = sf.read(pa.table(case.frame), schema=case.columns, dataset="coverage", **dict(case.declared))
    question = bind(case.query, table.schema)
    for spend in case.spends:
        found = options(question, spend)
        for option in found if case.every else found[:1]:
            yield _simulated(case, question, option, table, spend, max(50, draws // case.slow))


def _simulated(case: Case, question: Any, option: Any, table: Any, spend: Any, draws: int) -> Figure:
    mechanism, rng = option.mechanism, seeded(len(case.kind))
    exact = mechanism.take(table)
    truth = np.asarray(case.truth() if case.truth else _without_noise(question, exact, mechanism), dtype=float)

    def one() -> Trial:
        read = question.read(mechanism.release(exact, rng), mechanism)
        return Trial(read.table(LEVEL), read.table(LEVEL, joint=True), truth)

    return tallied(case.kind, option.name, str(spend), one, case.why, draws)


@dataclass(frozen=True)
class Trial:
    """One release: its cells with their own and with joint intervals, and the truth."""

    alone: Mapping[str, Any]
    joint: Mapping[str, Any]
    truth: Floats


def tallied(kind: str, mechanism: str, spend: str, one: Callable[[], Trial], why: str, draws: int) -> Figure:
    """How often the trials' intervals cover, cell by cell and all at once."""
    trials = [one() for _ in range(draws)]
    inside = np.concatenate([_inside(trial.alone, trial.truth) for trial in trials])
    together = float(np.mean([_inside(trial.joint, trial.truth).all() for trial in trials]))
    errors = [np.abs(np.asarray(trial.alone["estimate"], dtype=float) - trial.truth) for trial in trials]
    widths = [(np.asarray(trial.alone["high"]) - np.asarray(trial.alone["low"])) / 2 for trial in trials]
    cells = max(len(trial.truth) for trial in trials)
    if min(len(trial.truth) for trial in trials) < cells:  # cells that come and go are taken as one
        errors, widths = [np.concatenate(errors)[:, None]], [np.concatenate(widths)[:, None]]
        errors, widths = list(errors[0]), list(widths[0])
    oracle = np.maximum(np.quantile(np.array(errors), LEVEL, axis=0), ROUNDING)
    width = float(np.mean(np.mean(widths, axis=0) / oracle))
    return figure(
        kind, mechanism, spend, cells, float(inside.mean()), together if cells > 1 else None, width, why, draws
    )


def _without_noise(question: Any, exact: Any, mechanism: Any) -> Any:
    """What the reading would show if the noise were nothing."""
    return question.read(exact, mechanism).table(LEVEL)["estimate"]


def _inside(columns: Mapping[str, Any], truth: Floats) -> npt.NDArray[np.bool_]:
    """Whether each interval holds the truth."""
    low, high = (np.asarray(columns[name], dtype=float) for name in ("low", "high"))
    slack = ROUNDING * (1 + np.abs(truth))
    return np.asarray((low <= truth + slack) & (truth - slack <= high))


def figure(
    kind: str, mechanism: str, spend: str, cells: int, coverage: float | None, joint: float | None,
    width: float | None, why: str, draws: int,
) -> Figure:  # fmt: skip
    """With its verdict: within the target up to chance, or above it and explained; never below."""
    chance = 3 * math.sqrt(0.05 * 0.95 / draws)
    stated = [share for share in (coverage, joint) if share is not None]
    kept = all(share >= LEAST - chance for share in stated)
    near = all(share <= MOST + chance for share in stated)
    one, both, wide = (None if share is None else round(share, 4) for share in (coverage, joint, width))
    return Figure(kind, mechanism, spend, cells, one, both, wide, "" if near else why, kept and (near or bool(why)))


def cases() -> Iterator[Case]:
    """Questions whose answers carry intervals, over tables that are drawn here."""
    draw = np.random.default_rng(2027)
    rows = ROWS
    group = draw.choice(list("abcde"), rows, p=[0.5, 0.3, 0.15, 0.04, 0.01])
    number = np.clip(np.rint(draw.gamma(3.0, 11.0, rows)), 0, 120).astype(int)
    frame = {"x": number, "s": group, "k": draw.integers(0, 3, rows), "v": draw.integers(0, 5, rows)}
    columns = {
        "x": sf.Integers(0, 120), "s": sf.Categories(list("abcde")), "k": sf.Integers(0, 2), "v": sf.Integers(0, 4),
    }  # fmt: skip
    of = [number[group == letter] for letter in "abcde"]
    one = {"frame": frame, "columns": columns}
    large = (sf.Pure(0.05), sf.Concentrated(1e-3))
    yield Case("count", sf.count(), **one, spends=(*large, sf.Approximate(0.05, 0.01)), truth=lambda: [rows])
    yield Case("count, little noise", sf.count(), **one, why=LATTICE, truth=lambda: [rows])
    yield Case("histogram", sf.histogram("s"), **one, spends=large, truth=lambda: [len(part) for part in of])
    fixed = (("adjacency", sf.Replace()), ("size", rows))
    yield Case("histogram, replacement", sf.histogram("s"), **one, spends=large, declared=fixed)
    yield Case("sum", sf.sum("x"), **one, truth=lambda: [number.sum()])
    yield Case("sum by group", sf.sum("x").by("s"), **one, truth=lambda: [part.sum() for part in of])
    yield Case("mean", sf.mean("x"), **one, truth=lambda: [number.mean()])
    means = [part.mean() for part in of]
    yield Case("mean by group", sf.mean("x").by("s"), **one, why=DROWNED, truth=lambda: means)
    yield Case("mean of a share", sf.mean("x").where(sf.col("s") == "b"), **one, truth=lambda: [of[1].mean()])
    still = {"frame": {"x": np.zeros(rows, int)}, "columns": {"x": columns["x"]}}
    yield Case("mean at the end of its range", sf.mean("x"), **still, why=END, truth=lambda: [0.0])
    imputed = {"frame": {"x": number}, "columns": {"x": sf.Integers(0, 120, missing=0)}}
    yield Case("mean, public number of rows", sf.mean("x"), **imputed, declared=fixed, truth=lambda: [number.mean()])
    yield Case("variance", sf.variance("x"), **one, truth=lambda: [number.var()])
    spread = [part.var() for part in of]
    yield Case("variance by group", sf.variance("x").by("s"), **one, why=DROWNED, truth=lambda: spread)
    smooth = sf.gaussian_mixture(["x", "v"], [[-0.3, 0.2], [0.5, -0.5]], 0.8)
    yield Case("mean of a smooth function", smooth, **one, why="what cells can hide is added", slow=SLOW)
    yield from _workloads(one)
    yield from _curves(draw)
    shares = np.cumsum(np.bincount(frame["v"], minlength=5)) / rows
    yield Case(
        "thresholds", sf.thresholds("v"), **one, spends=(sf.Pure(1.0),), why=WORST, declared=(("size", rows),),
        truth=lambda: shares,
    )  # fmt: skip


def _workloads(one: dict[str, Any]) -> Iterator[Case]:
    few, frame = (sf.Pure(0.1), sf.Concentrated(0.01)), one["frame"]
    for column, cells in (("x", 121), ("v", 5)):
        below = np.cumsum(np.bincount(frame[column], minlength=cells))
        yield Case(
            f"prefix sums of {cells} cells", sf.prefix(column), **one, spends=few, why=UNION, every=True,
            slow=SLOW if cells > 100 else 1, truth=partial(np.copy, below),
        )  # fmt: skip
    counts = np.zeros((5, 3, 5))
    np.add.at(counts, (np.searchsorted(list("abcde"), frame["s"]), frame["k"], frame["v"]), 1)
    tables = np.concatenate([counts.sum(axis=axis).ravel() for axis in (2, 1, 0)])
    query = sf.marginals(["s", "k", "v"], k=2)
    yield Case(
        "two-way tables of 5 x 3 x 5", query, **one, spends=few, why=UNION, every=True, slow=SLOW, truth=lambda: tables
    )


def _curves(draw: Any) -> Iterator[Case]:
    rows = ROWS
    place = np.clip(draw.normal(40, 12, rows), 0, 100)
    settled, open_ended = sf.Interval(0, 100, step=0.5, missing=0.0), sf.Interval(0, 100, step=0.5)
    fixed = (("adjacency", sf.Replace()), ("size", rows))
    spends = (sf.Pure(1.0), sf.Approximate(1.0, 1e-6), sf.Concentrated(0.1))
    for name, query in (("density", sf.density("y", bandwidth=5)), ("distribution", sf.distribution("y", bandwidth=5))):
        for size, space, declared in (("public", settled, fixed), ("private", open_ended, (("size", rows),))):
            yield Case(
                f"{name}, {size} size", query, {"y": place}, {"y": space}, spends, SIMULATED,
                slow=4 * SLOW if size == "private" else SLOW, declared=declared,
            )  # fmt: skip
    hours = {f"h{i}": np.clip(draw.normal(5 + 2 * math.sin(i / 3.8), 1, rows), 0, 10) for i in range(12)}
    spaces = {name: sf.Interval(0, 10, step=0.1, missing=0.0) for name in hours}
    mean = sf.mean_curve(list(hours), radius=4, center=5, waves=3, period=12)
    yield Case(
        "mean curve", mean, hours, spaces, (sf.Pure(1.0), sf.Concentrated(0.1)), SIMULATED, slow=SLOW, declared=fixed
    )


def chosen(draws: int) -> Iterator[Figure]:
    """Quantiles by rank, popular items and discovered keys with their counts, and estimates from sanitized rows."""
    draw = np.random.default_rng(2028)
    values = np.clip(np.rint(draw.gamma(3.0, 400.0, ROWS)), 0, 9999).astype(int)
    table = sf.read(pa.table({"x": values}), schema={"x": sf.Integers(0, 9999)}, dataset="coverage", size=ROWS)
    for name, wanted in (("median", [0.5]), ("deciles", [i / 10 for i in range(1, 10)])):
        for spend in (sf.Pure(0.5), sf.Concentrated(0.05)):
            yield _by_rank(name, wanted, np.sort(values), table, spend, draws)
    names, weights = [f"i{j}" for j in range(30)], np.exp(-0.12 * np.arange(30))
    letters = draw.choice(names, ROWS, p=weights / weights.sum())
    counts = Counter(letters.tolist())
    items = sf.Categories(names)
    table = sf.read(pa.table({"c": letters}), schema={"c": items}, dataset="coverage")
    yield _found("popular items with counts", sf.top("c", 5), table, sf.Pure(0.5), counts, SELECTED, draws)
    table = sf.read(pa.table({"c": letters}), schema={"c": sf.Texts()}, dataset="coverage")
    asked = sf.count().by(sf.discovered("c"))
    yield _found(
        "counts of discovered keys",
        asked,
        table,
        sf.Approximate(0.5, 1e-4),
        counts,
        SELECTED,
        max(50, draws // SLOW**2),
    )
    yield from _sanitized(letters, items, counts, max(30, draws // SLOW**2))


def _by_rank(name: str, wanted: list[float], ordered: Any, table: Any, spend: Any, draws: int) -> Figure:
    """What is said of ranks where distinct values lie evenly, against the ranks of what was chosen."""
    question: Any = bind(sf.quantiles("x", wanted), table.schema)
    option = options(question, spend)[0]
    rng, exact = seeded(31), option.mechanism.take(table)
    said = question.accuracy(option.mechanism, 1 - LEVEL)
    assert isinstance(said, ErrorStatement)
    reach, off = said.most if said.least is None else said.least, []
    for _ in range(draws):
        found = np.asarray(question.read(option.mechanism.release(exact, rng), option.mechanism).estimates)
        below, upto = (np.searchsorted(ordered, found, side=side) for side in ("left", "right"))
        target = np.array(wanted) * len(ordered)
        off.append(float(np.maximum(np.maximum(below - target, target - upto), 0).max()))
    share, width = float(np.mean(np.array(off) <= reach)), reach / max(float(np.quantile(off, LEVEL)), ROUNDING)
    alone, joint = (share, None) if len(wanted) == 1 else (None, share)
    return figure(f"{name}, by rank", option.name, str(spend), len(wanted), alone, joint, width, WORST, draws)


def _found(kind: str, query: Any, table: Any, spend: Any, counts: Counter[str], why: str, draws: int) -> Figure:
    """Counts of what a release finds: which cells there are is part of its output."""
    question = bind(query, table.schema)
    option = options(question, spend)[0]
    mechanism, rng = option.mechanism, seeded(33)
    exact = mechanism.take(table)

    def one() -> Trial:
        read = question.read(mechanism.release(exact, rng), mechanism)
        alone = read.table(LEVEL)
        truth = np.array([counts[label] for label in alone.get("item", alone.get("c"))], dtype=float)
        return Trial(alone, read.table(LEVEL, joint=True), truth)

    return tallied(kind, option.name, str(spend), one, why, draws)


def _sanitized(letters: Any, items: Any, counts: Counter[str], draws: int) -> Iterator[Figure]:
    """Counts and a mean, read from records that were perturbed one by one."""
    numbers = np.random.default_rng(2031).integers(0, 60, len(letters))
    schema = {"c": items, "n": sf.Integers(0, 100, missing=0)}
    table = sf.read(
        pa.table({"c": letters, "n": numbers}), schema=schema, dataset="coverage", adjacency=sf.Replace(), size=ROWS
    )
    with tempfile.TemporaryDirectory() as folder:
        session = sf.Session(table, budget=sf.Pure(4.0), ledger=f"{folder}/ledger")
        first = session.release(sf.sanitized(["c", "n"]), spend=sf.Pure(4.0))
    rng, mechanism = seeded(34), first.mechanism
    exact = mechanism.take(table)
    again = [replace(first, rows=pa.table(dict(mechanism.release(exact, rng)))) for _ in range(draws)]
    known = np.array([counts[label] for label in items.labels], dtype=float)
    for name, query, truth in (
        ("counts", sf.histogram("c"), known),
        ("mean", sf.mean("n"), np.array([numbers.mean()])),
    ):
        made = iter(again)

        def one(made: Any = made, query: Any = query, truth: Floats = truth) -> Trial:
            rows = next(made)
            alone, joint = (rows.estimate(query, LEVEL, joint=joint).to_pydict() for joint in (False, True))
            return Trial(alone, joint, truth)

        yield tallied(f"{name} from sanitized rows", "sanitization", "Pure(epsilon=4.0)", one, BOUNDED, draws)


def local(draws: int) -> Iterator[Figure]:
    """Frequencies estimated from local reports, by every protocol."""
    people, size = 4000, 8
    held = np.random.default_rng(2029).choice(size, people, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.08, 0.05, 0.02])
    truth, rng = np.bincount(held, minlength=size) / people, seeded(32)
    for choice in rank(size, sf.Pure(1.0), people):
        protocol = choice.protocol

        def one(protocol: Any = protocol) -> Trial:
            tally = protocol.tally(protocol.randomize(held, rng))
            ends = (limits_of(protocol, tally, people, beta) for beta in (1 - LEVEL, (1 - LEVEL) / size))
            found = protocol.estimate(tally, people)
            alone, joint = ({"estimate": found, "low": low, "high": high} for low, high in ends)
            return Trial(alone, joint, truth)

        yield tallied("local frequencies", protocol.name, "Pure(epsilon=1.0)", one, BOUNDED, draws)


def main() -> None:
    """Simulate and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", metavar="WORD", help="kinds whose name holds this word")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", dest="size", action="store_const", const="quick")
    amount.add_argument("--full", dest="size", action="store_const", const="full")
    given = parser.parse_args()
    draws, failed = DRAWS[given.size or "usual"], 0
    parts: list[Iterator[Figure]] = [
        covered(case, draws) for case in cases() if not given.only or given.only in case.kind
    ]
    parts += [chosen(draws), local(max(50, draws // SLOW))]
    for part in parts:
        start = time.perf_counter()
        for found in part:
            failed += not found.holds
            if given.json:
                print(json.dumps(asdict(found)), flush=True)
            else:
                shown = (
                    "" if share is None else f"{share:.3f}" for share in (found.coverage, found.joint, found.width)
                )
                verdict = "" if found.holds else "FAILS"
                line = (f"{share:>7}" for share in shown)
                print(
                    f"{found.kind:34} {found.mechanism:36.36} {found.spend:34}", *line, verdict, found.why, flush=True
                )
        if not given.json:
            print(f"{time.perf_counter() - start:8.1f} s", file=sys.stderr)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
