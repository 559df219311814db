"""Synthetic tables of Adult beside AIM, independent columns and a bootstrap: two-way errors, a classifier, and times.

Run `python benchmarks/adult.py --json [--quick | --full] [--data DIR] [--peer-python PYTHON]`: one JSON object per
line with the figure, its value, the target and whether it holds.  Without `--json` a table.

AIM runs over mbi 2 in the environment of PYTHON (default: this one, if it holds mbi).  Its own settings take hours on
Adult, so the usual run gives it a model of at most 1 MB, fewer steps of fitting and five minutes, after which it spends
what is left of its budget in one last round, and says so; `--full` gives it 80 MB and 1,000 steps, its defaults.
`--quick` leaves AIM out.  The table is a sample of the census with every column cut into public levels (ages and hours
by the unit, others in a hundred cells); epsilon 1 and delta 1e-9 as in AIM's own experiments, under addition and
removal of a row.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import itertools
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

import numpy as np
import pandas as pd
from figures import Figure, show
from scipy.optimize import minimize

import sfumato as sf
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.privacy.conversions import concentrated_for
from sfumato.queries import bind
from sfumato.randomness import secure

EPSILON, DELTA = 1.0, 1e-9
ORDERED = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
LABEL = "income>50K"
LONGEST = 7 * 3600  # seconds that AIM may take in a full run; 300 in a usual one
RECORDED = 0.0426  # AIM's error when it was left to end, on a busy machine with two cores
RAW = {"age": (17, 90), "fnlwgt": (0, 1_500_000), "education_num": (1, 16), "capital_gain": (0, 99_999),
       "capital_loss": (0, 5_000), "hours_per_week": (1, 99)}  # fmt: skip
PEER = Path(__file__).with_name("aim_peer.py")


@dataclass(frozen=True)
class Adult:
    """The table in levels."""

    names: list[str]
    sizes: list[int]
    rows: Any

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(itertools.combinations(range(len(self.names)), 2))

    def joint(self, rows: Any, pair: tuple[int, int]) -> Any:
        """The shares of a pair's cells."""
        one, other = pair
        cells = rows[:, one] * self.sizes[other] + rows[:, other]
        return np.bincount(cells, minlength=self.sizes[one] * self.sizes[other]) / len(rows)

    def error(self, rows: Any) -> float:
        """The mean total variation of all pairs."""
        gaps = [np.abs(self.joint(self.rows, pair) - self.joint(rows, pair)).sum() / 2 for pair in self.pairs]
        return float(np.mean(gaps))

    def schema(self) -> sf.Schema:
        """Numbers as whole numbers, the rest as categories; nothing is missing, and the schema says so."""
        spaces: dict[str, Any] = {}
        for name, size in zip(self.names, self.sizes, strict=True):
            values = tuple(range(size))
            ordered = sf.Integers(0, size - 1, missing=0)
            spaces[name] = ordered if name in ORDERED else sf.Categories(values, other=0, missing=0)
        return sf.Schema(spaces, dataset="adult")


def adult(folder: Path) -> Adult:
    """The discretized table and its public domain."""
    source = folder / "adult_discretized.csv.gz"
    if not source.exists():
        sys.exit(f"there is no {source}; give the folder that holds it with --data")
    domain = json.loads((folder / "adult_discretized_domain.json").read_text())
    frame = pd.read_csv(source)[list(domain)]
    return Adult(list(domain), list(domain.values()), frame.to_numpy(dtype=np.int64))


@dataclass(frozen=True)
class Held:
    """Rows in memory, as a view of a table."""

    rows: list[dict[str, Any]]

    def batches(self) -> Iterator[dict[str, Any]]:
        """One pass."""
        return iter(self.rows)


def ours(table: Adult, target: Any, pairs: bool = True) -> tuple[Any, float]:
    """Synthetic rows and the seconds they took; without `pairs` every column by itself, for the whole budget."""
    start = time.perf_counter()
    batches = [{name: table.rows[:, place] for place, name in enumerate(table.names)}]
    groups = [table.names] if pairs else [[name] for name in table.names]
    made: dict[str, Any] = {}
    for names in groups:
        part = target if pairs else sf.Concentrated(target.rho / len(table.names))
        question = bind(sf.synthetic(names, rows=len(table.rows)), table.schema())
        made |= MarginalSynthesis.calibrate(question, part).release(Held(batches), secure()).rows
    return np.stack([made[name] for name in table.names], axis=1), time.perf_counter() - start


def accuracy(train: Any, test: Any, names: list[str], sizes: list[int]) -> float:
    """Of logistic regression on one-hot levels, trained on one table and tested on held-out real rows."""
    label = names.index(LABEL)
    weights = _logistic(_features(train, label, sizes), train[:, label])
    return float(((_features(test, label, sizes) @ weights > 0) == test[:, label]).mean())


def _features(rows: Any, label: int, sizes: list[int]) -> Any:
    """Levels in at most 16 cells a column, one column of zeros and ones for each, and a constant."""
    parts = [np.ones((len(rows), 1))]
    for place, size in enumerate(sizes):
        if place != label:
            cells = min(16, size)
            parts.append(np.eye(cells)[rows[:, place] * cells // size])
    return np.concatenate(parts, axis=1)


def _logistic(features: Any, labels: Any) -> Any:
    signs = 2.0 * labels - 1

    def loss(weights: Any) -> tuple[float, Any]:
        margin = signs * (features @ weights)
        slope = -signs / (1 + np.exp(np.clip(margin, -500, 500)))
        value = np.logaddexp(0, -margin).mean() + 1e-4 * (weights @ weights)
        return float(value), features.T @ slope / len(labels) + 2e-4 * weights

    return minimize(loss, np.zeros(features.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200}).x


def aim(table: Adult, python: str, size: float, iterations: int, limit: float) -> tuple[Any, float, float]:
    """AIM's synthetic rows, the seconds they took, and the part of the budget that its rounds used by then."""
    rho = concentrated_for(EPSILON, DELTA)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rows.npz", Path(folder) / "made.npy"
        np.savez(source, rows=table.rows, sizes=np.array(table.sizes))
        command = [python, str(PEER), str(source), str(target), "--rho", repr(rho), "--size", str(size),
                   "--iterations", str(iterations), "--seconds", str(limit)]  # fmt: skip
        paths = {**os.environ, "PYTHONPATH": str(PEER.parent.parent / "src")}
        done = subprocess.run(command, env=paths, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"AIM failed:\n{done.stderr[-2000:]}")
        said = json.loads(done.stdout)
        return np.load(target), said["seconds"], said["used"]


def two_way(table: Adult, runs: int) -> Iterator[Figure]:
    """Ours and the controls."""
    target = sf.Concentrated(concentrated_for(EPSILON, DELTA))
    chance = np.random.default_rng(1)
    shuffled = np.stack([chance.permutation(column) for column in table.rows.T], axis=1)
    strap = table.rows[chance.integers(0, len(table.rows), len(table.rows))]
    name = "mean total variation of 91 pairs"
    yield Figure(f"{name}, bootstrap of the real rows (not private)", round(table.error(strap), 4), "", None)
    yield Figure(f"{name}, independent columns (not private)", round(table.error(shuffled), 4), "", None)
    alone = table.error(ours(table, target, pairs=False)[0])
    yield Figure(f"{name}, independent columns, private", round(alone, 4), "", None)
    made = [ours(table, sf.Approximate(EPSILON, DELTA)) for _ in range(runs)]
    error, seconds = float(np.mean([table.error(rows) for rows, _ in made])), float(np.median([t for _, t in made]))
    yield Figure(f"{name}, ours, mean of {runs}", round(error, 4), f"< {alone:.4f} (independent)", error < alone)
    pure = table.error(ours(table, sf.Pure(EPSILON))[0])
    yield Figure(f"{name}, ours, pure epsilon 1", round(pure, 4), f"< {alone:.4f}", pure < alone)
    yield Figure("seconds, ours", round(seconds, 2), "", None)


def against_aim(table: Adult, mine: float, seconds: float, options: argparse.Namespace) -> Iterator[Figure]:
    """AIM in the same run, stopped early in a usual one; and what it reached when it was once left to end."""
    size, iterations, limit = (80.0, 1000, LONGEST) if options.full else (1.0, 250, 300.0)
    rows, taken, used = aim(table, options.peer_python, size, iterations, limit)
    words = f"AIM ({size:g} MB, {iterations} steps a round)"
    if taken > limit:
        words += f", stopped after {limit:g} s with {used:.0%} of its budget used"
    error = table.error(rows)
    yield Figure(f"mean total variation of 91 pairs, {words}", round(error, 4), f">= ours {mine:.4f}", mine <= error)
    yield Figure(f"seconds, {words}", round(taken, 1), "", None)
    ratio = seconds / taken
    yield Figure(f"our time over that of {words}", round(ratio, 4), "<= 1/3", ratio <= 1 / 3)
    name = "mean total variation of 91 pairs, AIM (4 MB, 1000 steps a round) left to end, recorded, 958 s then"
    yield Figure(name, RECORDED, f">= ours {mine:.4f}", mine <= RECORDED)


def classifier(table: Adult) -> Iterator[Figure]:
    """Income from the other columns: trained on synthetic rows of a private half, tested on the other half."""
    order = np.random.default_rng(2).permutation(len(table.rows))
    train, test = np.array_split(table.rows[order], 2)
    half = Adult(table.names, table.sizes, train)
    made, _ = ours(half, sf.Approximate(EPSILON, DELTA))
    majority = float(max(test[:, -1].mean(), 1 - test[:, -1].mean()))
    real = accuracy(train, test, table.names, table.sizes)
    private = accuracy(made, test, table.names, table.sizes)
    yield Figure("accuracy of income, the larger class always", round(majority, 4), "", None)
    yield Figure("accuracy of income, trained on the real half", round(real, 4), "", None)
    text = f"> {majority:.4f} (the larger class)"
    yield Figure("accuracy of income, trained on the synthetic half", round(private, 4), text, private > majority)


def raw(folder: Path) -> Iterator[Figure]:
    """The table as it comes, through a session: numbers by their public bounds, `?` as a missing value."""
    with gzip.open(folder / "adult.csv.gz", "rt") as source:
        frame = pd.read_csv(source, na_values="?", keep_default_na=False).drop(columns="split")
    spaces: dict[str, Any] = {}
    for name in frame.columns:
        labels = sorted(set(frame[name].dropna())) if name not in RAW else []
        spaces[name] = sf.Integers(*RAW[name]) if name in RAW else sf.Categories(labels)
    schema = sf.Schema(spaces, adjacency=sf.Replace(), size=len(frame), dataset="adult")
    table = sf.read(frame, schema=schema)
    with tempfile.TemporaryDirectory() as place:
        spend = sf.Approximate(EPSILON, DELTA)
        session = sf.Session(table, budget=spend, ledger=Path(place) / "adult.ledger")
        start = time.perf_counter()
        made = session.synthesize(spend=spend)
        seconds = time.perf_counter() - start
    found = made.compare(table)
    missing = float(abs(frame["workclass"].isna().mean() - made.to_pandas()["workclass"].isna().mean()))
    name = f"raw Adult, {len(spaces)} columns, under replacement"
    yield Figure(
        f"{name}: mean total variation of columns", round(float(np.mean([*found.columns.values()])), 4), "", None
    )
    yield Figure(f"{name}: of pairs in 32 groups", round(float(np.mean([*found.pairs.values()])), 4), "", None)
    yield Figure(f"{name}: error of the missing share of workclass", round(missing, 4), "<= 0.01", missing <= 0.01)
    yield Figure(f"{name}: mean error of Gaussian bumps", round(found.smooth[0], 4), "<= 0.01", found.smooth[0] <= 0.01)
    yield Figure(f"{name}: seconds in all", round(seconds, 1), "", None)


def measured(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures, one after another."""
    table = adult(options.data)
    values: dict[str, float] = {}
    for figure in two_way(table, 1 if options.quick else 3):
        values[figure.figure] = float(figure.value)
        yield figure
    if options.quick:
        return
    yield from classifier(table)
    yield from raw(options.data)
    if options.peer_python is None:
        yield Figure("AIM", "not measured: give --peer-python", "", None)
        return
    mine = next(value for name, value in values.items() if ", ours, mean" in name)
    yield from against_aim(table, mine, values["seconds, ours"], options)


def main() -> None:
    """Print each figure as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true")
    size.add_argument("--full", action="store_true")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent.parent.parent / "shared" / "data")
    here = sys.executable if importlib.util.find_spec("mbi") else None
    parser.add_argument(
        "--peer-python", default=os.environ.get("SFUMATO_PEER_PYTHON", here), help="a Python that has mbi 2"
    )
    options = parser.parse_args()
    for figure in measured(options):
        show(figure, options.json)


if __name__ == "__main__":
    main()
