"""The demo table: about 200,000 invented people, some with several rows, some rows hostile.

    python examples/people.py demo            # writes demo/people.parquet, demo/people.csv and demo/people.toml
    python examples/people.py demo --people 2000

Nothing in it describes anyone.  The same arguments give the same bytes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from sfumato.samples import people

PEOPLE = 200_000  # as the plan beside this file guesses


def write(directory: Path, count: int) -> None:
    """The table as Parquet and CSV, and the plan beside it."""
    directory.mkdir(parents=True, exist_ok=True)
    table = people(count)
    pq.write_table(table, directory / "people.parquet")
    joined = pc.binary_join(table["hobbies"], ";")
    flat = table.set_column(table.schema.get_field_index("hobbies"), "hobbies", joined)
    pyarrow.csv.write_csv(flat, directory / "people.csv")
    plan, guess = Path(__file__).with_name("people.toml").read_text(encoding="utf-8"), f"size = {PEOPLE}"
    written = plan.replace(guess, f"size = {count}".ljust(len(guess)))
    (directory / "people.toml").write_text(written, encoding="utf-8", newline="\n")
    print(f"wrote {table.num_rows:,} rows of {count:,} invented people to {directory}/people.parquet and people.csv")


def main() -> None:
    """Read the arguments and write the files."""
    parser = argparse.ArgumentParser(description="Write the demo table.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--people", type=int, default=PEOPLE)
    arguments = parser.parse_args()
    write(arguments.directory, arguments.people)


if __name__ == "__main__":
    main()
