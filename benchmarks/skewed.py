"""Incomes with a spike at zero and a long tail, in bounds far too wide: mean, median and spike of synthetic tables.

Run `python benchmarks/skewed.py --json [--seeds N]`: one JSON object a line with the figure, its value, the target and
whether it holds.  Tables are generated and nothing was set on them: in bounds of 0 to 10^8, by the unit, 35 % of the
rows hold zero and the others a log-normal value, its median and spread drawn at random, beside three columns that go
with it.  Figures are the worst over the seeds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from figures import Figure, show

import sfumato as sf

WIDE, SPIKE = 100_000_000, 0.35
LIMITS = {"mean": 0.1, "median": 0.1, "spike": 0.02}
CASES = (
    (5_000, sf.Pure(1.0), sf.Replace()),
    (5_000, sf.Approximate(1.0, 1e-6), sf.AddRemove()),
    (50_000, sf.Pure(1.0), sf.AddRemove()),
    (50_000, sf.Approximate(1.0, 1e-6), sf.Replace()),
)


def table(seed: int, rows: int) -> pd.DataFrame:
    """Incomes, ages, hours and trades."""
    chance = np.random.default_rng([17, seed, rows])
    hidden = chance.normal(size=rows)
    middle, spread = chance.uniform(9, 11.5), chance.uniform(0.5, 1.1)
    income = np.exp(middle + spread * hidden)
    income[chance.random(rows) < SPIKE] = 0
    age = np.clip(45 + 12 * (0.4 * hidden + 0.9 * chance.normal(size=rows)), 0, 100)
    hours = np.where(income > 0, np.clip(38 + 8 * chance.normal(size=rows), 0, 99), 0)
    trade = chance.choice(list("abcdef"), rows, p=chance.dirichlet(np.full(6, 3.0)))
    held = {"income": np.clip(income, 0, WIDE).astype(int), "age": age.astype(int), "hours": hours.astype(int)}
    return pd.DataFrame({**held, "trade": trade})


def errors(seed: int, rows: int, spend: Any, adjacency: Any) -> dict[str, float]:
    """By how much the synthetic incomes are off."""
    frame = table(seed, rows)
    spaces = {"income": sf.Interval(0, WIDE, step=1), "age": sf.Integers(0, 100), "hours": sf.Integers(0, 99),
              "trade": sf.Categories(list("abcdef"))}  # fmt: skip
    held = sf.Schema(spaces, adjacency=adjacency, size=rows, dataset="skewed")
    with tempfile.TemporaryDirectory() as place:
        session = sf.Session(sf.read(frame, schema=held), budget=spend, ledger=Path(place) / "skewed.ledger")
        made = session.synthesize(spend=spend).to_pandas()["income"].dropna()
    real = frame["income"]
    # The median of an income that is zero for a third of the rows is that of all rows, zeros among them.
    return {
        "mean": abs(made.mean() / real.mean() - 1),
        "median": abs(made.median() / real.median() - 1),
        "spike": abs(float((made == 0).mean() - (real == 0).mean())),
    }


def measured(seeds: int) -> Iterator[Figure]:
    """The worst of every case."""
    for rows, spend, adjacency in CASES:
        found = [errors(seed, rows, spend, adjacency) for seed in range(seeds)]
        kind = type(adjacency).__name__
        for key, limit in LIMITS.items():
            worst = float(max(each[key] for each in found))
            words = f"incomes in 0 to 1e8, {rows:,} rows, {spend}, {kind}: {key} off by, worst of {seeds}"
            yield Figure(words, round(worst, 4), f"<= {limit:g}", worst <= limit)


def main() -> None:
    """Print each figure as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    for figure in measured(options.seeds):
        show(figure, options.json)


if __name__ == "__main__":
    main()
