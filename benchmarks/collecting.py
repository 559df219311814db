"""Local collection as it is deployed: many reports through pieces and a merge, single messages that are durable, kills.

Run by `benchmarks/local.py`, each part in a process of its own (`python benchmarks/collecting.py PART NUMBER`); prints
one object: what was measured, with times on the clock and of the processor.  A rate on the clock is that of this disk
and of whatever else the machine does.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.local import Client, Collection, Collector, Door, GeneralizedResponse, encode_batch, randomized, secure
from sfumato.privacy.guarantees import Pure

PIECES, BATCH, CELLS = 4, 10**6, 64
SYNCED = 200  # appends that are synced one by one
BEST_OF = 3
DRILL = Path(__file__).parents[1] / "tests" / "local" / "relaying.py"


def merged(place: Path, reports: int) -> dict[str, Any]:
    """Fresh reports in batches of a million through four pieces, merged: the tally against one counted beside it."""
    collection = Collection("many", GeneralizedResponse.calibrate(CELLS, Pure(1.0)))
    values, rng = np.random.default_rng(1).integers(0, CELLS, BATCH), secure()
    pieces = [Collector(collection, place / f"{piece}.journal") for piece in range(PIECES)]
    expected, seconds = np.zeros(CELLS, dtype=np.int64), 0.0
    for number in range(0, reports, BATCH):
        drawn = randomized(collection.protocol, values[: reports - number], rng)
        expected += np.bincount(drawn.reports, minlength=CELLS)
        message = encode_batch(collection, drawn)
        began = time.perf_counter()
        assert pieces[number // BATCH % PIECES].add(message).accepted == len(drawn)
        seconds += time.perf_counter() - began
    whole = Collector(collection, place / "whole.journal")
    for piece in pieces:
        whole.merge(piece)
    exact = whole.state.reports == reports and np.array_equal(whole.state.tally, expected)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"reports": reports, "exact": bool(exact), "gigabytes": memory, "seconds": seconds}


def single(place: Path, messages: int) -> dict[str, Any]:
    """Messages of one report through a door, all durable; beside them plain appends that are synced one by one."""
    collection = Collection("single", GeneralizedResponse.calibrate(100, Pure(1.0)))
    client = Client(collection)
    held = [client.report(number % 100) for number in range(messages)]
    floor = synced(place / "floor", held[:SYNCED])
    best, busy = float("inf"), float("inf")
    for turn in range(BEST_OF):
        began, spent = time.perf_counter(), time.process_time()
        with Door(collection, place / f"{turn}.journal") as door:
            promised = [door.send(message) for message in held]
            assert sum(one.result().accepted for one in promised) == messages
        best, busy = min(best, time.perf_counter() - began), min(busy, time.process_time() - spent)
    load = os.getloadavg()[0]
    return {"rate": messages / best, "processor": messages / busy, "floor": floor, "load": load}


def synced(path: Path, messages: list[bytes]) -> float:
    """Appends a second, each synced."""
    began = time.perf_counter()
    with path.open("ab", buffering=0) as file:
        for message in messages:
            file.write(message)
            os.fsync(file.fileno())
    return len(messages) / (time.perf_counter() - began)


def kills(place: Path, count: int) -> dict[str, Any]:
    """Devices, a relay and a collector, killed again and again."""
    command = [sys.executable, "-W", "error", str(DRILL), str(place), "--kills", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """One part."""
    part, number = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
        print(json.dumps({"merged": merged, "single": single, "kills": kills}[part](Path(place), number)))


if __name__ == "__main__":
    main()
