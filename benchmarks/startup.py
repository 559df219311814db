"""From process start to the first release, against plain Ibis: import, connect, one query; interleaved in one run.

`python benchmarks/startup.py` prints the best of several processes of each kind, in processor time and by the clock,
and their ratios.  Both read the same Parquet file of a thousand rows and count it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAIN = """
import sys, ibis
table = ibis.duckdb.connect().read_parquet(sys.argv[1])
print(table.count().execute())
"""
PRIVATE = """
import sys
import sfumato as sf
table = sf.read(sys.argv[1], schema={"age": sf.Interval(0, 100, step=1)}, dataset="d")
session = sf.Session(table, budget=sf.Pure(1), ledger=sys.argv[2])
print(session.release(sf.count(), spend=sf.Pure(0.1)).value)
"""


def taken(code: str, *arguments: str) -> tuple[float, float]:
    """Processor seconds and seconds by the clock of one fresh process."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=7)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        file = str(Path(place) / "t.parquet")
        pq.write_table(pa.table({"age": [float(i % 90) for i in range(1000)]}), file)
        plain, private = [], []
        for turn in range(chosen.times):
            plain.append(taken(PLAIN, file))
            private.append(taken(PRIVATE, file, str(Path(place) / f"{turn}.ledger")))
    for place, words in enumerate(("processor", "clock")):
        one, other = min(run[place] for run in plain), min(run[place] for run in private)
        print(f"{words:10s} plain Ibis {one:.2f} s   first release {other:.2f} s   ratio {other / one:.2f}")


if __name__ == "__main__":
    main()
