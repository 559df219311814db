"""Events joined with people, at most so many rows of each person: beside the same written by hand in SQL.

Run `python benchmarks/joins.py --json [--quick]`: one JSON object per line with the figure, its value, the target and
whether it holds.  Times are ratios of the best of alternating repetitions within this run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import duckdb
from engine import alternating, figure

import sfumato as sf
from sfumato.queries import bind

EVENTS, PEOPLE, ROWS = 1_000_000, 100_000, 5
PAID = "CASE WHEN paid > 0 AND paid < 500 THEN CAST(FLOOR(paid * 100.0 + 0.5) AS BIGINT) WHEN paid <= 0 THEN 0 " \
       "WHEN NOT isnan(paid) THEN 50000 END"  # fmt: skip
COLUMNS = {"paid": sf.Interval(0, 500, 0.01), "shop": sf.Categories(list("abcd")), "day": sf.Integers(0, 364)}
ATTRIBUTES = {"age": sf.Integers(0, 120), "sex": sf.Categories(["f", "m"])}


def generate(folder: Path, events: int, people: int) -> None:
    """Events of people, ten each on average, and one line a person."""
    database = duckdb.connect()
    database.execute(f"""COPY (SELECT CAST(floor(random() * {people}) AS BIGINT) AS person,
        round(random() * random() * 520, 2) AS paid, substr('abcd', 1 + CAST(floor(random() * 4) AS INT), 1) AS shop,
        CAST(floor(random() * 365) AS INT) AS day FROM range({events})) TO '{folder}/events.parquet'""")
    database.execute(f"""COPY (SELECT range AS person, CAST(floor(random() * 100) AS INT) AS age,
        CASE WHEN random() < 0.5 THEN 'f' ELSE 'm' END AS sex FROM range({people})) TO '{folder}/people.parquet'""")


def by_hand(folder: Path) -> str:
    """The same join, limit and sums."""
    return f"""SELECT sex, shop, count(t), sum(t) FROM (
        SELECT p.sex, e.shop, e.t, row_number() OVER (PARTITION BY e.person ORDER BY hash(e.t, e.shop, e.day)) AS place
        FROM (SELECT *, {PAID} AS t FROM '{folder}/events.parquet') e
        LEFT JOIN '{folder}/people.parquet' p ON e.person = p.person)
        WHERE place <= {ROWS} GROUP BY sex, shop"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    size = (EVENTS // 5, PEOPLE // 5, 3) if parser.parse_args().quick else (EVENTS, PEOPLE, 5)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        generate(folder, *size[:2])
        table = sf.read(
            folder / "events.parquet", schema=COLUMNS, unit="person", rows=ROWS, dataset="events",
            people=folder / "people.parquet", attributes=ATTRIBUTES,
        )  # fmt: skip
        question = bind(sf.sum("paid").by("sex", "shop"), table.schema)
        database = duckdb.connect()
        times = alternating(
            {
                "ours": lambda: question.answer(table),
                "by hand": lambda: database.execute(by_hand(folder)).fetchall(),
            },
            size[2],
        )
        print(json.dumps(asdict(figure("joined sums / by hand", times["ours"] / times["by hand"], 1.5))))
        print(json.dumps(asdict(figure("seconds of joined sums", times["ours"]))))


if __name__ == "__main__":
    main()
