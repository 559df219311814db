"""Private regressions: how near they come to the means of a real table, and whether their bands cover known functions.

Run `python benchmarks/regressions.py --table housing.csv.gz [--runs 100] [--json]`, a table of California's block
groups (1990) with columns medianIncome and medianHouseValue.  The error is that of the curve against a kernel mean of
all rows, relative in L2 over the declared range of incomes, beside that of the penalized curve.  Coverage is simulated:
incomes are drawn from the table, values from rows near a randomly moved income, so that the regression function of
the law is known; a run is covered where the band holds this function at every income that occurs.  The constants of
`answers/curves/smoothing.py` were set on other tables (earnings by age, hours by age, delays by hour, crime rates).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtri

import sfumato as sf

TARGET = ("medianIncome", "medianHouseValue")
BOUNDS = {
    "medianIncome": sf.Interval(0, 15.0001, step=0.0001),
    "medianHouseValue": sf.Interval(14_999, 500_001, step=1),
}
NEAR, MOVED, NODES = 50, 1 / 30, 201  # rows on either side, and a deviation of incomes in ranges
QUERIES = {
    "smoothed means of cells": sf.regression(TARGET[1], TARGET[0]),
    "penalized, by rule": sf.regression(TARGET[1], TARGET[0], penalty=0.01),
    "penalized, bandwidth by hand": sf.regression(TARGET[1], TARGET[0], bandwidth=1.5, penalty=0.01),
}
SPENDS = {"epsilon 1": sf.Pure(1.0), "epsilon 1, delta 1e-6": sf.Approximate(1.0, 1e-6)}


class Law:
    """Tables drawn from a law whose regression function is known."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        order = np.argsort(x, kind="stable")
        self.x, self.y, self.sums = x[order], y[order], np.concatenate([[0.0], np.cumsum(y[order])])
        self.moves = MOVED * 15.0001 * ndtri((np.arange(NODES) + 0.5) / NODES)

    def _near(self, x: np.ndarray, move: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        place = np.searchsorted(self.x, np.clip(x + move, self.x[0], self.x[-1]))
        return np.maximum(place - NEAR, 0), np.minimum(place + NEAR, len(self.x))

    def function(self, x: np.ndarray) -> np.ndarray:
        """The mean of y given x."""
        ends = [self._near(x, move) for move in self.moves]
        return np.mean([(self.sums[high] - self.sums[low]) / (high - low) for low, high in ends], axis=0)

    def draw(self, rows: int, rng: np.random.Generator) -> pd.DataFrame:
        """A table."""
        x = rng.choice(self.x, rows)
        low, high = self._near(x, rng.choice(self.moves, rows))
        return pd.DataFrame({TARGET[0]: x, TARGET[1]: self.y[rng.integers(low, high)]})


def released(frame: pd.DataFrame, query: sf.Query, spend: sf.Guarantee, folder: Path) -> sf.Release:
    """One release with a ledger of its own."""
    schema = sf.Schema(BOUNDS, size=len(frame), dataset="housing")
    with tempfile.TemporaryDirectory(dir=folder) as own:
        session = sf.Session(sf.read(frame, schema=schema), budget=sf.Approximate(2, 1e-5), ledger=Path(own) / "ledger")
        return session.release(query, spend=spend)


def errors(frame: pd.DataFrame, runs: int, folder: Path) -> Iterator[dict[str, object]]:
    """The relative L2 error over the declared range, of each query at each spend."""
    x, y = (frame[name].to_numpy() for name in TARGET)
    grid = np.linspace(0, 15, 151)
    truth = np.array([np.average(y, weights=np.exp(-(((x - at) / 0.25) ** 2) / 2) + 1e-300) for at in grid])
    for spend in SPENDS:
        for name, query in QUERIES.items():
            found = [released(frame, query, SPENDS[spend], folder).curve.at(grid) for _ in range(runs)]
            error = np.mean([np.linalg.norm(one - truth) / np.linalg.norm(truth) for one in found])
            yield {"figure": f"relative L2 error, {spend}: {name}", "value": round(float(error), 4)}


def coverage(frame: pd.DataFrame, runs: int, folder: Path) -> Iterator[dict[str, object]]:
    """How often the band holds the whole regression function, and the median of its half-width."""
    law, rng = Law(*(frame[name].to_numpy() for name in TARGET)), np.random.default_rng(1990)
    points = np.unique(np.quantile(law.x, np.linspace(0, 1, 200)))
    points = np.unique(np.append(points, law.x[np.searchsorted(law.x, np.linspace(law.x[0], law.x[-1], 100))]))
    function = law.function(points)
    for rows in (2000, len(frame)):
        held, widths = 0, []
        for _ in range(runs):
            curve = released(law.draw(rows, rng), QUERIES["smoothed means of cells"], sf.Pure(1.0), folder).curve
            low, high = curve.band(points)
            held += bool(((low <= function) & (function <= high)).all())
            widths.append(float(np.median(high - low)) / 2)
        yield {"figure": f"95 % bands that hold the whole function, {rows} rows", "value": held / runs, "runs": runs}
        yield {"figure": f"median half-width of these bands, {rows} rows", "value": round(float(np.median(widths)))}


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    frame = pd.read_csv(chosen.table)[list(TARGET)]
    with tempfile.TemporaryDirectory() as folder:
        parts = (errors(frame, max(2, chosen.runs // 20), Path(folder)), coverage(frame, chosen.runs, Path(folder)))
        for part in parts:
            for line in part:
                print(json.dumps(line) if chosen.json else f"{line['figure']:70} {line['value']}", flush=True)


if __name__ == "__main__":
    main()
