"""Kills of devices, a relay and a collector, run in a process of their own: `python relaying.py DIRECTORY [options]`.

Three children work at once: devices that record a value and post it until it is acknowledged, a relay that listens and
posts its batches, and a collector that listens and counts them.  Any of them is killed at any moment and started again.
In the end the devices finish, the relay ends its round and posts the rest, and everything is added up: reports are so
little randomized that they are their values, so the tally is known.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import threading
import urllib.error
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
from fastapi import APIRouter

from sfumato.errors import ReportError
from sfumato.local import Collection, Collector, Device, GeneralizedResponse, Relay, new_key
from sfumato.local.client.budget import UNIT
from sfumato.local.client.sealing import sealed
from sfumato.local.collection.collector import Receipt
from sfumato.local.relay import delivering
from sfumato.local.relay.delivering import posted
from sfumato.local.relay.tokens import token_of
from sfumato.privacy.guarantees import Pure
from sfumato.server.connections import bound, serve, server_of
from sfumato.server.local.alone import application
from sfumato.server.local.collecting import collecting
from sfumato.server.local.relaying import relaying
from sfumato.server.local.terms import Terms

sys.path.append(str(Path(__file__).parents[1]))

from waiting import let_pass, wait_until

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


PARENT = os.getpid()


def alone() -> None:
    """End with the drill."""
    if os.getppid() != PARENT:
        os._exit(1)


def declared(place: Path) -> Collection:
    return Collection.read(place / "drill.json")


def watched() -> None:
    """End with the drill, whatever else goes on."""

    def watch() -> None:
        while True:
            alone()
            let_pass(0.05)

    threading.Thread(target=watch, daemon=True).start()


def served(place: Path, role: str, router: APIRouter) -> None:
    """Listen, and say where."""
    (listening,) = bound(("127.0.0.1", 0))
    (place / f"{role}.new").write_text(f"http://127.0.0.1:{listening.getsockname()[1]}/local/drill")
    os.replace(place / f"{role}.new", place / f"{role}.url")
    serve(server_of(application(router)), [listening])


def relay_process(place: Path, careless: bool) -> None:
    """A relay that posts its batches to the collector."""
    watched()
    delivering.AGAIN = (0.02, 0.05)
    relay = (Careless if careless else Relay)(declared(place), place / "drill.relay", LEAST, FULL)
    with relaying(relay, "drill", lambda: forwarded(place, relay), Terms()) as router:
        served(place, "relay", router)


def forwarded(place: Path, relay: Relay) -> int:
    """Batches that went to the collector, wherever it listens now."""
    url = place / "collector.url"
    return posted(relay, f"{url.read_text()}/batches", token_of(place / "drill.token")) if url.exists() else 0


def collector_process(place: Path) -> None:
    """A collector that takes batches over HTTP."""
    watched()
    with collecting([place / "drill.json"], Terms(relay="http://127.0.0.1")) as router:
        served(place, "collector", router)


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
            with urllib.request.urlopen((place / "relay.url").read_text(), data=message, timeout=10):
                taken += 1
        except (OSError, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code == 400:
                raise
            let_pass(PAUSE)


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
    (place / "devices").mkdir()
    protocol = GeneralizedResponse.calibrate(CELLS, Pure(30.0))
    Collection("drill", protocol, LABELS, rounds=("one", "two"), key=new_key(place / "drill.key"), batch=LEAST).save(
        place / "drill.json"
    )
    sealed(b"", declared(place).key or "", b"")  # everything is loaded before the forks
    roles = {
        "relay": (relay_process, place, careless),
        "devices": (sending, place),
        "collector": (collector_process, place),
    }
    children = {role: started(*work) for role, work in roles.items()}
    seen, problems = dict.fromkeys(roles, 0), []
    for _ in range(kills):
        let_pass(moments.uniform(0.0, 0.3))
        role = moments.choice(list(roles))
        if killed(children[role]) != -signal.SIGKILL:
            problems.append(f"{role} ended by itself")
        seen[role] += 1
        children[role] = started(*roles[role])
    wait_until(lambda: len(list((place / "devices").glob("*.db"))) > LEAST)  # enough to leave at all
    (place / "stop").touch()
    problems += ["devices failed"] if os.waitpid(children["devices"], 0)[1] else []
    killed(children["relay"])
    relay = Relay(declared(place), place / "drill.relay", LEAST, FULL)
    relay.end("one", discard=True)  # so few are left only if some were lost

    def has_delivered() -> bool:
        with suppress(ReportError):  # the collector may just have started
            forwarded(place, relay)
        return not relay.outgoing()

    wait_until(has_delivered)
    problems += ["something stays with the relay"] if relay.outgoing() or relay.waiting("one") else []
    os.kill(children["collector"], signal.SIGTERM)
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
