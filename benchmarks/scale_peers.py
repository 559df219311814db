"""The same releases by other packages, where they do the job; benchmarks/scale.py runs each with its interpreter.

`python -m venv peers; peers/bin/pip install "opendp[polars]==0.16.0" pipeline-dp==0.3.1 duckdb` makes one of them,
`python -m venv tmlt; tmlt/bin/pip install tmlt.analytics==0.21.0` the other, which needs Java 17.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scale import THREADS, file_of, least

PUBLIC: dict[str, Any] = {"invariant": "keys", "max_groups": 200}  # what a peer is told of public keys
FEW = 10**5  # rows that a peer in Python reads


def opendp(folder: Path, rows: int) -> dict[str, float | str]:
    """The same by OpenDP on Polars."""
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    paid: Any = pl.col("paid").cast(float).fill_nan(0.0).fill_null(0.0)
    edges = [500.0 * place for place in range(401)]  # candidates, where ours are all cents
    chosen = [paid.dp.quantile(p, edges).alias(str(p)) for p in (0.1, 0.25, 0.5, 0.75, 0.9)]
    jobs: dict[str, tuple[list[str], bool, list[Any]]] = {  # keys, whether they are public, and what is asked
        "count": ([], True, [dp.len()]),
        "histogram": (["age"], True, [dp.len()]),
        "mean by 50": (["region"], True, [dp.len(), paid.dp.sum((0.0, 200_000.0))]),
        "keys": (["word"], False, [dp.len()]),
        "quantiles": ([], True, chosen),
    }

    def run(by: list[str], public: bool, asked: list[Any]) -> Any:
        margin = dp.polars.Margin(by=by, max_length=rows, **(PUBLIC if by and public else {}))
        held = dp.Context.compositor(
            data=pl.scan_parquet(file_of(folder, rows)), privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-10), split_evenly_over=1, margins=[margin],
        ).query()  # fmt: skip
        return (held.group_by(*by).agg(*asked) if by else held.select(*asked)).release().collect()

    return {name: _tried(_once, lambda job=job: run(*job)) for name, job in jobs.items()}


def pipeline_dp(folder: Path, rows: int) -> dict[str, float | str]:
    """Counts by public and by private keys; row by row in Python, so that few rows stand for all."""
    import duckdb
    import pipeline_dp as peer

    few = duckdb.sql(f"SELECT region, word FROM '{file_of(folder, rows)}' LIMIT {FEW}").fetchall()
    held = [(place, region, word) for place, (region, word) in enumerate(few)]

    def run(column: int, public: list[int] | None) -> Any:
        budget = peer.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-10)
        engine = peer.DPEngine(budget, peer.LocalBackend())
        asked = peer.AggregateParams(
            metrics=[peer.Metrics.COUNT], max_partitions_contributed=1, max_contributions_per_partition=1
        )
        parts = peer.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[column],
            value_extractor=lambda row: 1,
        )
        found = engine.aggregate(held, asked, parts, public)
        budget.compute_budgets()
        return list(found)

    whole = rows / FEW
    counted = _tried(_once, lambda: run(1, list(range(50))))
    keys = _tried(_once, lambda: run(2, None))
    found = {"mean by 50": counted, "keys": keys}  # a count by 50, which is less than a mean
    return {name: one * whole if isinstance(one, float) else one for name, one in found.items()}


def tmlt(folder: Path, rows: int) -> dict[str, float | str]:
    """The same by Tumult Analytics on Spark, warm; by the clock, which is less than its processors' seconds."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import tmlt.analytics as peer
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{THREADS}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.sql.shuffle.partitions", str(2 * THREADS))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    session = peer.Session.from_dataframe(
        privacy_budget=peer.ApproxDPBudget(1000.0, 1e-3), source_id="rows",
        dataframe=spark.read.parquet(str(file_of(folder, rows))), protected_change=peer.AddOneRow(),
    )  # fmt: skip
    held = peer.QueryBuilder("rows")
    paid = held.replace_null_and_nan({"paid": 0.0})

    def public(column: str, count: int) -> Any:
        return peer.KeySet.from_dict({column: list(range(count))})

    def run(asked: Any, epsilon: float = 1.0) -> Any:
        return session.evaluate(asked, peer.ApproxDPBudget(epsilon, 0)).toPandas()

    def keys() -> Any:
        found = session.evaluate(held.get_groups(["word"]), peer.ApproxDPBudget(0.5, 1e-10))
        return run(held.groupby(peer.KeySet.from_dataframe(found)).count(), 0.5)

    jobs: dict[str, Callable[[], Any]] = {
        "count": lambda: run(held.count()),
        "histogram": lambda: run(held.groupby(public("age", 101)).count()),
        "mean by 50": lambda: run(paid.groupby(public("region", 50)).average("paid", 0.0, 200_000.0)),
        "keys": keys,
        "quantiles": lambda: run(paid.quantile("paid", 0.5, 0.0, 200_000.0)),  # one, where ours are five
    }

    def warm(job: Callable[[], Any]) -> float:
        job()
        start = time.perf_counter()
        job()
        return time.perf_counter() - start

    found = {name: _tried(warm, job) for name, job in jobs.items()}
    spark.stop()
    return found


def _tried(measured: Callable[[Callable[[], Any]], float], job: Callable[[], Any]) -> float | str:
    try:
        return measured(job)
    except Exception as error:
        return f"did not finish: {type(error).__name__}"


def _once(job: Callable[[], Any]) -> float:
    return least(job, 1)


PARTS = {"opendp": opendp, "pipeline_dp": pipeline_dp, "tmlt": tmlt}


def main() -> None:
    """Print what one of them took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=int, required=True)
    options = parser.parse_args()
    print(json.dumps(PARTS[options.part](options.folder, options.rows)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
