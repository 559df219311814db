"""The invented tables that the tasks read, written to the folder where one stands.

python examples/tasks/tables.py                  # visits.csv, visits.parquet, months/*.parquet, visits.db, houses.csv
python examples/tasks/tables.py --rows 100000

Nobody in them exists.  The same arguments give the same rows.
"""

from __future__ import annotations

import argparse
import datetime
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd

SHOPS = ["north", "south", "web"]
TOWNS = ["Ulm", "Bonn", "Kiel", "Jena"]


def visits(rows: int, seed: int = 11) -> pd.DataFrame:
    """Purchases in 2026 of about a third as many visitors; some ages are unknown."""
    rng = np.random.default_rng(seed)
    age = rng.gamma(9, 5, rows).clip(0, 100).round()
    days = rng.integers(0, 365, rows)
    return pd.DataFrame(
        {
            "visitor": rng.integers(0, rows // 3, rows),
            "age": np.where(rng.random(rows) < 0.05, np.nan, age),
            "paid": (rng.gamma(2, 20, rows) + 0.5 * age).round(2),
            "shop": rng.choice(SHOPS, rows, p=[0.5, 0.3, 0.2]),
            "member": rng.random(rows) < 0.4,
            "town": rng.choice(TOWNS, rows, p=[0.4, 0.3, 0.2, 0.1]),
            "day": [(datetime.date(2026, 1, 1) + datetime.timedelta(int(d))).isoformat() for d in days],
            "items": [";".join(f"i{item}" for item in set(rng.zipf(1.6, 4)) if item <= 2000) for _ in range(rows)],
            "weight": rng.choice([0.5, 1.0, 2.0], rows),
        }
    )


def houses(rows: int, seed: int = 12) -> pd.DataFrame:
    """Values of houses, which rise with income and level off."""
    rng = np.random.default_rng(seed)
    income = rng.gamma(4, 1, rows).clip(0.5, 15).round(2)
    return pd.DataFrame({"income": income, "value": (500 * income / (3 + income) + rng.normal(0, 40, rows)).round(1)})


def write(place: Path, rows: int) -> None:
    """All tables, as files of several kinds."""
    table = visits(rows)
    table.to_csv(place / "visits.csv", index=False)
    table.to_parquet(place / "visits.parquet", index=False)
    (place / "months").mkdir(exist_ok=True)
    for month, part in table.groupby(table["day"].str[:7]):
        part.to_parquet(place / "months" / f"{month}.parquet", index=False)
    with sqlite3.connect(place / "visits.db") as database:
        table.to_sql("visits", database, index=False, if_exists="replace")
    database.close()
    houses(rows).to_csv(place / "houses.csv", index=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    write(Path(), parser.parse_args().rows)
