"""Running counts published month by month: charged once, for the whole year.

python examples/months.py                # three months of an invented table
python examples/months.py --months 12
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import pandas as pd

import sfumato as sf

COLUMNS = {"day": sf.Dates("2026-01-01", "2026-12-31"), "shop": sf.Categories(["north", "south", "web"])}


def grown(months: int) -> pd.DataFrame:
    """The table as it stands after so many months: some more visits every day."""
    days = pd.date_range("2026-01-01", "2026-12-31").repeat(20)
    shops = ["north", "south", "web", "web"]
    table = pd.DataFrame({"day": days, "shop": [shops[place % 4] for place in range(len(days))]})
    return table[table.day.dt.month <= months]


def main() -> None:
    """Every month reads its table, and publishes for nothing what the first month has charged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=3)
    count = parser.parse_args().months
    directory = Path(tempfile.mkdtemp(prefix="sfumato-"))
    question = sf.running("day", "2026-01-01", months=12).by("shop")

    for month in range(1, count + 1):
        table = sf.read(grown(month), schema=COLUMNS, dataset="visits", version=f"2026-{month:02d}")
        session = sf.Session(
            table, budget=sf.Concentrated(0.5), ledger=directory / "visits.ledger", allow=["fixed-dates"]
        )  # a row keeps its date: the steward says so
        counts = session.release(question, spend=sf.Concentrated(0.5))
        print(f"{counts.name}: {counts.accuracy()}; spent {session.spent!r}")

    print(counts)
    counts.plot().save(directory / "months.png")
    print(f"a picture is in {directory / 'months.png'}")


if __name__ == "__main__":
    main()
