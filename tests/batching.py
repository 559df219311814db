"""Kills and races of releases charged together, in a process of their own: `python batching.py kill|race DIRECTORY`.

The process imports everything and opens no engine, so that children are forked quickly.  Before a child reads the
table for an answer it writes down what the answer is charged to: what a later opening of the ledger does not
know was computed unpaid.  Prints one JSON object with what was seen; the tests judge it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import sfumato as sf
import sfumato.engines
from ledger.drills import forked, killed
from sfumato.errors import BudgetExceeded
from sfumato.ledger import Ledger, rules
from sfumato.orders import order
from sfumato.release import Published
from sfumato.session import Session

LEDGER, COMPUTED, SHOWN = "people.ledger", "computed.jsonl", "shown.jsonl"
COUNT = 6
SCHEMA = sf.Schema({"age": sf.Integers(0, 100)}, dataset="people")
AGES = pa.table({"age": list(range(100))})
REQUESTS = [
    {
        "query": sf.count().where(sf.col("age") <= 10 * place),
        "spend": sf.Approximate(0.2, 1e-7),
        "name": f"up to {10 * place}",
        "mechanism": "gaussian",
    }
    for place in range(COUNT)
]
ORDERS = [order(schema=SCHEMA, **request) for request in REQUESTS]
STEPS = ("charge_batch", "draw", "charge", "store")  # a step is taken before and after each of these

Step = Callable[[], None]


def opened(place: Path, epsilon: float) -> Session:
    """A session on the drill's ledger."""
    table = sfumato.engines.read(AGES, schema=SCHEMA)
    return Session(table, budget=sf.Approximate(epsilon, 1e-5), ledger=place / LEDGER)


def lines(path: Path) -> list[dict[str, str]]:
    """What was written down, whole lines only."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def noted(path: Path, **what: str) -> None:
    """One line more, which outlives a kill."""
    place = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(place, (json.dumps(what) + "\n").encode())
    os.close(place)


def watched(place: Path, step: Step, careless: bool) -> None:
    """Take a step around each operation of a ledger, and write down what is about to be computed, in this process."""

    def stepped(name: str) -> None:
        plain = getattr(Ledger, name)

        def taken(*given: object) -> object:
            step()
            found = plain(*given)
            step()
            return found

        setattr(Ledger, name, taken)

    for name in STEPS:
        stepped(name)
    answer = Session._answer

    def computed(self: Session, settled: object, provenance: object) -> Published:
        noted(place / COMPUTED, name=settled.title, head=provenance.head)
        return answer(self, settled, provenance)

    Session._answer = computed
    if careless:  # the planted bug: what was begun and lost is begun again under the same charge
        rules.undrawn = lambda name, digest, description, named: next(
            (entry for entry in named if (name, digest) in (entry.batch or ())), None
        )


def publish(place: Path, epsilon: float, seed: int, step: Step) -> None:
    """All releases, all at once or each shown as soon as it is stored."""
    choice = random.Random(seed)
    session = opened(place, epsilon)

    def show(release: Published) -> None:
        step()
        noted(place / SHOWN, name=release.name, content=hashlib.sha256(release.to_bytes()).hexdigest())

    try:
        if choice.random() < 0.3:
            for release in session.release_all(REQUESTS):
                show(release)
        else:
            session.prepay(ORDERS)
            for settled in choice.sample(ORDERS, COUNT):
                show(session.fulfill(settled))
    except BudgetExceeded:
        noted(place / "refused", name="refused")


def examine(place: Path, epsilon: float, seen: Counter[str]) -> list[str]:
    """Everything that contradicts the promise, found by opening the ledger again."""
    computed, shown = lines(place / COMPUTED), lines(place / SHOWN)
    if not (place / LEDGER).exists():
        seen["no ledger yet"] += 1
        return ["computed or shown without a ledger"] if computed or shown else []
    ledger = Ledger.existing(place / LEDGER)
    entries = ledger.entries()
    problems = list(ledger.verify().problems)
    if ledger.spent().epsilon > epsilon or ledger.spent().delta > 1e-5:
        problems.append("more was spent than the budget")
    problems += _unpaid(entries, computed)
    stored = {(e.name, str(e.description["content"])) for e in entries if e.kind == "release"}
    problems += ["shown and not stored" for line in shown if (line["name"], line["content"]) not in stored]
    charged = {e.sequence for e in entries if e.kind == "charge" and e.batch is None}
    paid = [e.description["charge"] for e in entries if e.kind == "release"]
    if len(set(paid)) < len(paid) or not set(paid) <= charged:
        problems.append("two stored releases of one charge")
    batches = [e for e in entries if e.batch is not None]
    drawn = [(e.description["batch"], e.name) for e in entries if "batch" in e.description]
    seen["several batches"] += len(batches) > 1
    seen["charged, not begun"] += bool(batches) and len(drawn) < COUNT * len(batches)
    seen["begun, not stored"] += len(charged) > len(paid)
    seen["stored, not shown"] += len(stored) > len({(line["name"], line["content"]) for line in shown})
    seen["charged again, alone"] += any(any(e.amounts) for e in entries if e.kind == "charge" and e.batch is None)
    seen["refused"] += (place / "refused").exists()
    return problems


def _unpaid(entries: tuple[object, ...], computed: list[dict[str, str]]) -> list[str]:
    """Answers that were computed without a charge of their own that the ledger kept."""
    problems = []
    by_head = {entry.hash: entry for entry in entries}
    batches = {entry.sequence: dict(entry.batch) for entry in entries if entry.batch is not None}
    if len({line["head"] for line in computed}) < len(computed):
        problems.append("two answers computed under one charge")
    for line in computed:
        entry = by_head.get(line["head"])
        if entry is None or entry.kind != "charge" or entry.batch is not None or entry.name != line["name"]:
            problems.append("computed before its charge was durable")
        elif not any(entry.amounts) and batches.get(entry.description.get("batch"), {}).get(entry.name) != entry.digest:
            problems.append("computed for nothing")
    begun = Counter((e.description["batch"], e.name) for e in entries if "batch" in e.description)
    problems += ["a release of a batch was begun twice" for times in begun.values() if times > 1]
    return problems


def kill_once(place: Path, epsilon: float, moments: random.Random, careless: bool) -> int:
    """Start a publisher; kill it exactly at one of its steps, or at a random moment around it."""
    seed, inside, steps = moments.randrange(2**32), moments.random() < 0.6, moments.randrange(1, 3 * COUNT)

    def work(step: Step) -> None:
        watched(place, step, careless)
        publish(place, epsilon, seed, step)
        step()

    return killed(work, steps, moments if inside else None, 1)


def kill(directory: Path, kills: int, every: int, epsilon: float, seed: int, careless: bool) -> dict[str, object]:
    """Kill publishers at random moments, `every` times on one ledger; then one publishes in peace."""
    moments = random.Random(seed)
    seen: Counter[str] = Counter()
    problems: list[str] = []
    killed = 0
    for turn in range(kills):
        place = directory / str(turn // every)
        place.mkdir(exist_ok=True)
        code = kill_once(place, epsilon, moments, careless)
        killed += code == -signal.SIGKILL
        problems += [] if code in (0, -signal.SIGKILL) else ["a publisher failed"]
        problems += examine(place, epsilon, seen)
        if turn % every == every - 1:
            problems += last(place, epsilon, seen)
    return {"killed": killed, "problems": problems, "seen": dict(seen)}


def last(place: Path, epsilon: float, seen: Counter[str]) -> list[str]:
    """What is wrong after a publisher that nobody disturbs: everything is shown, or the budget refused it."""
    child = forked(lambda: (watched(place, lambda: None, False), publish(place, epsilon, 1, lambda: None)))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    names = {line["name"] for line in lines(place / SHOWN)}
    finished = len(names) == COUNT or (place / "refused").exists()
    seen["finished"] += len(names) == COUNT
    return examine(place, epsilon, Counter()) + ([] if code == 0 and finished else ["the last publisher failed"])


def race(directory: Path, rounds: int, processes: int, epsilon: float, seed: int) -> dict[str, object]:
    """Several publishers of the same releases at once, on a new ledger each round."""
    moments = random.Random(seed)
    seen: Counter[str] = Counter()
    problems: list[str] = []
    for turn in range(rounds):
        place = directory / str(turn)
        place.mkdir()
        gate, starter = os.pipe()

        def work(place: Path = place, gate: int = gate, starter: int = starter, seed: int = 0) -> None:
            os.close(starter)
            watched(place, lambda: None, False)
            os.read(gate, 1)  # returns when the parent closes its end: all start together
            publish(place, epsilon, seed, lambda: None)

        seeds = [moments.randrange(2**32) for _ in range(processes)]
        children = [forked(lambda seed=seed: work(seed=seed)) for seed in seeds]
        os.close(gate)
        os.close(starter)
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        problems += ["a publisher failed" for code in codes if code]
        problems += examine(place, epsilon, seen) + last(place, epsilon, seen)
    return {"problems": problems, "seen": dict(seen)}


def main() -> None:
    """Run one drill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("drill", choices=["kill", "race"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--every", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--careless", action="store_true")
    given = parser.parse_args()
    if given.drill == "race":
        found = race(given.directory, given.rounds, given.processes, given.epsilon, given.seed)
    else:
        found = kill(given.directory, given.kills, given.every, given.epsilon, given.seed, given.careless)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
