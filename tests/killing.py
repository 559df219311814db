"""A process that is killed at random points while it answers about persons, and what the next one finds.

    python tests/killing.py FOLDER SEED POINTS

Prints one line for each point.  Every attempt is a fork that starts its engine anew and ends by SIGKILL at its n-th
call of a function, n drawn at random; the next one opens the same table and ledger, and asks the same again.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import duckdb  # noqa: F401
import ibis.backends.duckdb  # noqa: F401
import pyarrow as pa
import pyarrow.parquet as pq

import sfumato as sf
from sfumato.ledger import Ledger
from sfumato.orders import preview

QUERIES = (sf.count(), sf.median("x").by("c"), sf.sum("x").by("c").per_person(each=1, groups=2))
COLUMNS = {"x": sf.Integers(0, 99), "c": sf.Categories(["a", "b"])}


def answered(folder: Path, limit: int | None) -> int:
    """Release all, and note what was shown; how many functions were called."""
    calls = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(counted)
    table = sf.read(folder.parent / "visits.parquet", schema=COLUMNS, unit="id", rows=3)
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=folder / "visits.ledger")
    for query in QUERIES:
        release = session.release(query, spend=1.0)
        with (folder / "shown").open("a") as shown:
            shown.write(json.dumps([release.name, hashlib.sha256(release.to_bytes()).hexdigest()]) + "\n")
    sys.setprofile(None)
    return calls


def forked(folder: Path, limit: int | None) -> tuple[int, int]:
    """How an attempt in a process of its own ended (the signal), and how many calls it made."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.write(writing, str(answered(folder, limit)).encode())
        atexit._run_exitfuncs()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        made = pipe.read()
    return os.waitpid(process, 0)[1], int(made or 0)


def recorded(folder: Path) -> dict[str, Any]:
    """What the ledger holds, and what was shown."""
    path = folder / "visits.ledger"
    kinds = [(entry.kind, entry.name) for entry in Ledger.existing(path).entries()] if path.exists() else []
    shown = folder / "shown"
    return {
        "charged": [name for kind, name in kinds if kind == "charge"],
        "stored": [name for kind, name in kinds if kind == "release"],
        "shown": [json.loads(line) for line in shown.read_text().splitlines()] if shown.exists() else [],
    }


def main(folder: Path, seed: int, points: int) -> None:
    draw = random.Random(seed)
    rows = 3000
    held = {"id": [draw.randrange(900) for _ in range(rows)], "x": [draw.randrange(100) for _ in range(rows)],
            "c": [draw.choice("ab") for _ in range(rows)]}  # fmt: skip
    pq.write_table(pa.table(held), folder / "visits.parquet")
    for query in QUERIES:  # what forks need is imported and planned here; no engine is started
        preview(query, sf.Schema(COLUMNS, unit=sf.Person("id", 3)), spend=sf.Pure(1.0))
    temporary = Path(os.environ["TMPDIR"])
    (folder / "whole").mkdir()
    _, calls = forked(folder / "whole", None)
    for point in range(points):
        place = folder / f"point{point}"
        place.mkdir()
        ended, _ = forked(place, draw.randrange(calls // 3, calls))
        left, before = len(list(temporary.iterdir())), recorded(place)
        again, _ = forked(place, None)
        after = recorded(place)
        print(json.dumps({"ended": ended, "left": left, "before": before, "again": again, "after": after,
                          "remains": len(list(temporary.iterdir()))}), flush=True)  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
