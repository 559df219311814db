"""Synthetic tables that keep public rules: whether every row does, and what that costs in error.

Run `python benchmarks/rules.py --json [--seeds N] [--rows N]`: one JSON object a line with the figure, its value, the
target and whether it holds.  Tables are generated, each with parameters of its own, and nothing was set on them: stays
that end after they start, a total that is the sum of two columns, children without an income, a derived month and a
number for each row.  Each is made twice from the same rows and budget, with `keep=` and without; the price is the mean
total variation of columns and of pairs (in 32 public groups) with the rules over that without.  What is numbered by a
rule is left out of both, since without a rule nobody would ask for it.
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

KEEP = (
    "start <= end",
    "total == base + extra",
    "status != 'child' or income == 0",
    "band == ('old' if age >= 60 else 'young')",
)
NUMBERED = "unique(number)"
SPENDS = (("epsilon 1", sf.Pure(1.0)), ("epsilon 1 and delta 1e-6", sf.Approximate(1.0, 1e-6)))
ADJACENCIES = (("add-remove", sf.AddRemove()), ("replacement", sf.Replace()))


def table(seed: int, rows: int) -> pd.DataFrame:
    """Rows that keep the rules, with shapes drawn at random."""
    chance = np.random.default_rng([16, seed])
    start = (365 * chance.beta(*chance.uniform(0.6, 3, 2), rows)).astype(int)
    end = start + chance.geometric(1 / chance.uniform(3, 30), rows) - 1
    base = (100 * chance.beta(*chance.uniform(0.6, 3, 2), rows)).astype(int)
    extra = np.clip(base * chance.uniform(0, 0.5) + chance.normal(10, 5, rows), 0, 100).astype(int)
    age = (100 * chance.beta(2, chance.uniform(2, 4), rows)).astype(int)
    status = np.where(age < 18, "child", np.where(chance.random(rows) < age / 120, "retired", "working"))
    income = np.where(status == "child", 0, np.clip(chance.lognormal(7, 0.7, rows), 0, 20_000)).astype(int)
    held = {"start": start, "end": np.minimum(end, 500), "base": base, "extra": extra, "total": base + extra,
            "age": age, "band": np.where(age >= 60, "old", "young"), "status": status, "income": income,
            "number": np.arange(rows)}  # fmt: skip
    return pd.DataFrame(held)


def schema(rows: int, adjacency: Any) -> sf.Schema:
    """The public bounds."""
    spaces = {"start": sf.Integers(0, 365), "end": sf.Integers(0, 500), "base": sf.Integers(0, 100),
              "extra": sf.Integers(0, 100), "total": sf.Integers(0, 200), "age": sf.Integers(0, 100),
              "band": sf.Categories(["young", "old"]), "status": sf.Categories(["child", "working", "retired"]),
              "income": sf.Interval(0, 20_000, step=1), "number": sf.Integers(0, 10 * rows)}  # fmt: skip
    return sf.Schema(spaces, adjacency=adjacency, size=rows, dataset="rules")


def broken(made: pd.DataFrame) -> float:
    """The share of rows that break a rule, missing values aside."""
    rows = made.astype({name: float for name in made if name not in ("band", "status")})
    band = np.where(rows["age"] >= 60, "old", "young")
    wrong = (  # what is compared with a missing value is not broken
        (rows["start"] > rows["end"])
        | ((rows["total"] - rows["base"] - rows["extra"]).abs() > 0)
        | ((rows["status"] == "child") & (rows["income"] > 0)).fillna(False)
        | (rows["band"].notna() & rows["age"].notna() & (rows["band"] != band).fillna(False))
    )
    return float(wrong.mean())


def measured(seeds: int, rows: int) -> Iterator[Figure]:
    """All figures, table by table, then the price over all."""
    prices: dict[str, list[float]] = {"columns": [], "pairs": []}
    for seed in range(seeds):
        frame = table(seed, rows)
        for (word, spend), (kind, adjacency) in zip(
            SPENDS, ADJACENCIES if seed % 2 else ADJACENCIES[::-1], strict=True
        ):
            name = f"rules, table {seed}, {rows:,} rows, {word}, {kind}"
            errors = {}
            for keep in ((), (*KEEP, NUMBERED)):
                with tempfile.TemporaryDirectory() as place:
                    source = sf.read(frame, schema=schema(rows, adjacency))
                    session = sf.Session(source, budget=spend, ledger=Path(place) / "rules.ledger")
                    columns = [each for each in frame if keep or each != "number"]
                    made = session.synthesize(columns, spend=spend, keep=keep or None)
                    shown = made.to_pandas()
                    found = made.compare(source)
                share = broken(shown)
                if keep:
                    unique = shown["number"].is_unique
                    yield Figure(f"{name}: rows that break a rule", round(share, 4), "0", share == 0 and unique)
                else:
                    yield Figure(f"{name}: rows that break one without keep=", round(share, 4), "", None)
                kept = {pair: gap for pair, gap in found.pairs.items() if "number" not in pair}
                errors[bool(keep)] = {
                    "columns": float(np.mean([gap for key, gap in found.columns.items() if key != "number"])),
                    "pairs": float(np.mean(list(kept.values()))),
                }
            for key, ratios in prices.items():
                ratios.append(errors[True][key] / errors[False][key])
                words = f"{name}: mean total variation of {key}, with rules over without"
                yield Figure(words, round(ratios[-1], 3), f"{errors[True][key]:.4f} of {errors[False][key]:.4f}", None)
    for key, ratios in prices.items():
        mean = float(np.exp(np.log(ratios).mean()))
        yield Figure(f"rules, the price in {key}, geometric mean of {len(ratios)}", round(mean, 3), "", None)


def main() -> None:
    """Print each figure as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--rows", type=int, default=20_000)
    options = parser.parse_args()
    for figure in measured(options.seeds, options.rows):
        show(figure, options.json)


if __name__ == "__main__":
    main()
