"""Kills of devices, a relay and a collector, run in a process of their own: `python relaying.py DIRECTORY [options]`.

Three children work at once: devices that record a value and post it until it is acknowledged, a relay that listens, and
a collector that counts the batches it finds and removes their files.  Any of them is killed at any moment and started
again.  In the end the devices finish, the relay ends its round, the collector counts the rest, and everything is added
up: reports are so little randomized that they are their values, so the tally is known.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import numpy as np

from sfumato.local import Collection, Collector, Device, GeneralizedResponse, Relay, new_key
from sfumato.local.client.budget import UNIT
from sfumato.local.client.sealing import sealed
from sfumato.local.collection.collector import Receipt
from sfumato.local.relay.serving import Server
from sfumato.privacy.guarantees import Pure

CELLS, LEAST, FULL = 4, 5, 8
BUDGET = Pure(30.0)  # pays for one report, and there are two rounds
LABELS = tuple(f"value {place}" for place in range(CELLS))
PAUSE = 0.002


class Careless(Relay):
    """The planted bug: it acknowledges what it has only heard, and writes it down when it hears something else."""

    heard: list[bytes] = []  # noqa: RUF012

    def add_all(self, messages):
        if fresh := [message for message in messages if message not in self.heard]:
            super().add_all(self.heard)
            Careless.heard = fresh
        return [Receipt(1, {}) for _ in messages]


class Watched(Server):
    """A server that ends when the drill does."""

    def service_actions(self):
        alone()


PARENT = os.getpid()


def alone() -> None:
    """End with the drill."""
    if os.getppid() != PARENT:
        os._exit(1)


def declared(place: Path) -> Collection:
    return Collection.read(place / "drill.json")


def relaying(place: Path, careless: bool) -> None:
    """Listen, and say where."""
    relay = (Careless if careless else Relay)(declared(place), place / "drill.relay", LEAST, FULL)
    server = Watched(relay, place / "batches", ("127.0.0.1", 0))
    (place / "url.new").write_text(server.url)
    os.replace(place / "url.new", place / "url")
    server.serve_forever(poll_interval=0.05)


def sending(place: Path) -> None:
    """Device after device, until told to stop; then those that were begun are finished."""
    collection, number = declared(place), 0
    while not (place / "stop").exists() or state(place, number).exists():
        device = Device(collection, state(place, number), budget=BUDGET)
        for round in collection.rounds:
            device.record(LABELS[number % CELLS], round)
        for message in device.pending():
            deliver(place, message)
            device.acknowledge(message)
        number += 1


def state(place: Path, number: int) -> Path:
    return place / "devices" / f"{number}.db"


def deliver(place: Path, message: bytes) -> None:
    """Post until it is taken; every fifth time again, as if the answer had been lost."""
    taken = 0
    while taken < 1 + (message[-1] % 5 == 0):
        alone()
        try:
            with urllib.request.urlopen((place / "url").read_text(), data=message, timeout=10):
                taken += 1
        except (OSError, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code == 400:
                raise
            time.sleep(PAUSE)


def collecting(place: Path) -> None:
    """Count batches and remove their files, until told that there will be no more."""
    collector = Collector(declared(place), place / "drill.journal", key=place / "drill.key")
    while True:
        alone()
        last = (place / "ended").exists()
        found = sorted(path for path in (place / "batches").glob("*.sfr") if path.name[0] != ".")
        for path in found:
            receipt = collector.add(path.read_bytes())
            if receipt.refused:
                raise AssertionError(receipt.words)
            path.unlink()
        if last and not found:
            return
        time.sleep(PAUSE)


def started(work, *arguments) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work(*arguments)
        code = 0
    except BaseException as failure:
        print(repr(failure), file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def killed(child: int) -> int:
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def examine(place: Path) -> tuple[list[str], int]:
    """Everything that contradicts the promises, and how many reports there were."""
    collection, problems = declared(place), []
    expected, number = np.zeros(CELLS, dtype=int), 0
    while state(place, number).exists():
        device = Device(collection, state(place, number), budget=BUDGET)
        with closing(sqlite3.connect(state(place, number))) as connection:
            charges = connection.execute("SELECT round, epsilon FROM charges").fetchall()
        spent = sum(epsilon for _, epsilon in charges)
        problems += ["a device overspent or did not send"] if len(charges) != 1 or spent > BUDGET.epsilon * UNIT else []
        problems += ["a device forgot its acknowledgment"] if device.pending() else []
        expected[number % CELLS] += 1
        number += 1
    collector = Collector(collection, place / "drill.journal")
    tallies = {one.name: one for one in collector.journal.rounds()}
    problems += ["a second round was paid for"] if set(tallies) - {"one"} else []
    found = tallies["one"].tally if "one" in tallies else np.zeros(CELLS, dtype=int)
    problems += ["an acknowledged report is lost"] if (found < expected).any() else []
    problems += ["a report counts twice"] if (found > expected).any() else []
    return problems, int(expected.sum())


def drill(place: Path, kills: int, moments: random.Random, careless: bool) -> tuple[list[str], int, dict[str, int]]:
    for name in ("devices", "batches"):
        (place / name).mkdir()
    protocol = GeneralizedResponse.calibrate(CELLS, Pure(30.0))
    Collection("drill", protocol, LABELS, rounds=("one", "two"), key=new_key(place / "drill.key"), batch=LEAST).save(
        place / "drill.json"
    )
    sealed(b"", declared(place).key or "", b"")  # everything is loaded before the forks
    roles = {"relay": (relaying, place, careless), "devices": (sending, place), "collector": (collecting, place)}
    children = {role: started(*work) for role, work in roles.items()}
    seen, problems = dict.fromkeys(roles, 0), []
    for _ in range(kills):
        time.sleep(moments.uniform(0.0, 0.3))
        role = moments.choice(list(roles))
        if killed(children[role]) != -signal.SIGKILL:
            problems.append(f"{role} ended by itself")
        seen[role] += 1
        children[role] = started(*roles[role])
    while len(list((place / "devices").glob("*.db"))) <= LEAST:  # enough to leave at all
        time.sleep(0.05)
    (place / "stop").touch()
    problems += ["devices failed"] if os.waitpid(children["devices"], 0)[1] else []
    killed(children["relay"])
    relay = Relay(declared(place), place / "drill.relay", LEAST, FULL)
    relay.end("one", discard=True)  # so few are left only if some were lost
    relay.deliver(place / "batches")
    problems += ["something stays with the relay"] if relay.outgoing() or relay.waiting("one") else []
    (place / "ended").touch()
    problems += ["the collector failed"] if os.waitpid(children["collector"], 0)[1] else []
    more, reports = examine(place)
    return problems + more, reports, seen


def main() -> None:
    """Kill that many times, and add up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    problems, reports, seen = drill(options.directory, options.kills, random.Random(options.seed), options.careless)
    print(json.dumps({"kills": seen, "reports": reports, "problems": problems}))


if __name__ == "__main__":
    main()
