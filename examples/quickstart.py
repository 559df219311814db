"""From a sensitive table to a private, certified answer, in a few lines.

python examples/quickstart.py                 # on a small invented table
python examples/quickstart.py --people 200000
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from people import write

import sfumato as sf
from sfumato.samples import HOBBIES, STATES


def main() -> None:
    """Preview a release at no cost, make it, and look at what is left."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20_000)
    directory = Path(tempfile.mkdtemp(prefix="sfumato-"))
    count = parser.parse_args().people
    write(directory, count)

    people = sf.read(
        directory / "people.parquet",
        schema={  # what is public about each column; declared, never read off the data
            "age": sf.Interval(0, 120, step=1),
            "salary": sf.Interval(0, 200_000, step=10),
            "state": sf.Categories(STATES),
            "hobbies": sf.Subsets(HOBBIES, cap=5),
        },
        unit="person_id",  # a person is protected ...
        rows=2,  # ... with at most two of their rows
        size=count,  # a public guess, for previews
    )
    session = sf.Session(people, budget=sf.Pure(2.0), ledger=directory / "people.ledger")

    question = sf.mean("salary").by("state").where("age >= 18")
    print(session.preview(question, spend=sf.Pure(0.5)), end="\n\n")  # free, from public quantities only

    release = session.release(question, spend=sf.Pure(0.5))
    low, high = release.interval(0.95)
    for state in ("CA", "TX", "WY"):
        place = STATES.index(state)
        print(f"{state}: {release.value[place]:,.0f}, between {low[place]:,.0f} and {high[place]:,.0f}")
    print(f"\nguarantee    {release.guarantee}\ncertificate  {release.certificate.words()}")

    ages = session.release(sf.histogram(sf.bins("age", 0, 18, 40, 65, 120)), spend=sf.Pure(0.1))
    print(f"\n{ages.to_pandas().to_string(index=False)}\ncertificate  {ages.certificate.words()}")

    again = session.release(question, spend=sf.Pure(0.5))  # stored: the same bytes, at no cost
    assert again.to_bytes() == release.to_bytes()
    release.plot().save(directory / "salaries.svg")
    release.save(directory / "salaries.json")
    print(f"\nleft to spend {session.remaining}; picture, release and ledger are in {directory}")


if __name__ == "__main__":
    main()
