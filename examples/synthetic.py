"""A synthetic table in place of a sensitive one: preview, publish, compare.

python examples/synthetic.py                 # on a small invented table
python examples/synthetic.py --people 200000
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from people import write

import sfumato as sf
from sfumato.samples import STATES


def main() -> None:
    """Make invented rows, drawn from a private model, and see how near they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20_000)
    directory = Path(tempfile.mkdtemp(prefix="sfumato-"))
    count = parser.parse_args().people
    write(directory, count)

    people = sf.read(
        directory / "people.parquet",
        schema={
            "age": sf.Interval(0, 120, step=1),
            "salary": sf.Interval(0, 200_000, step=10),
            "state": sf.Categories(STATES, other="elsewhere"),
        },
        unit="person_id",
        rows=2,
        size=count,
    )
    spend = sf.Approximate(1.0, 1e-6)
    session = sf.Session(people, budget=spend, ledger=directory / "people.ledger")
    print(session.preview(sf.synthetic(), spend=spend), "\n")
    made = session.synthesize(spend=spend)
    print(made, "\n")
    print(made.to_pandas().head(), "\n")
    print(made.compare(people))
    print("\nwritten to", made.save(directory / "synthetic.parquet"))


if __name__ == "__main__":
    main()
