"""Races and kills, run in a process of their own: `python drills.py race|kill DIRECTORY [options]`.

The process has one thread and everything imported, so forking children is safe and fast.  Each drill
prints one JSON object with what it saw; the tests and the benchmark judge it.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from sfumato.errors import BudgetExceeded
from sfumato.ledger import Ledger, contents
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.privacy.guarantees import Pure

sys.path.append(str(Path(__file__).parents[1]))

from waiting import let_pass, measure_seconds, wait_for_kill

STEP = 2.0**-10  # 976562500 units exactly
DIGEST = "0" * 64
LEDGER, SHOWN = "kill.ledger", "shown.jsonl"


def opened(path: Path, steps: int) -> Ledger:
    """The drill's ledger, with a budget of that many steps; made by whoever comes first."""
    return Ledger.open(path, dataset="drill", adjacency=AddRemove(), unit=Row(), budget=Pure(steps * STEP))


def forked(work: Callable[[], None]) -> int:
    """A child that does `work` and exits with 0, or with 1 if it raised."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException as failure:
        print(repr(failure), file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


# race: all children open one missing ledger and charge it at once


def race(directory: Path, processes: int, charges: int, steps: int) -> dict[str, object]:
    """What became of one ledger under many writers."""
    path = directory / "race.ledger"
    gate, starter = os.pipe()

    def charging(who: int) -> Callable[[], None]:
        def work() -> None:
            os.close(starter)
            os.read(gate, 1)  # returns when the parent closes its end: all start together
            ledger = opened(path, steps)
            admitted = 0
            for turn in range(charges):
                try:
                    ledger.charge(f"{who}-{turn}", DIGEST, Pure(STEP), {})
                    admitted += 1
                except BudgetExceeded:
                    pass
            (directory / f"admitted-{who}").write_text(str(admitted))

        return work

    children = [forked(charging(who)) for who in range(processes)]
    os.close(gate)
    os.close(starter)
    ended: list[int] = []
    seconds = measure_seconds(lambda: ended.extend(os.waitpid(child, 0)[1] for child in children))
    codes = [os.waitstatus_to_exitcode(status) for status in ended]
    ledger = Ledger.existing(path)
    entries = ledger.entries()
    return {
        "failed": sum(code != 0 for code in codes),
        "attempts": processes * charges,
        "admitted": sum(int((directory / f"admitted-{who}").read_text()) for who in range(processes)),
        "recorded": sum(entry.kind == "charge" for entry in entries),
        "total": entries[-1].total[0],
        "budget": round(steps * STEP * 10**12),
        "problems": list(ledger.verify().problems),
        "per_second": processes * charges / seconds,
    }


# kill: a child charges, computes, stores, shows, over and over, until it is killed


def shown(place: Path) -> list[dict[str, str]]:
    """What has reached the reader."""
    path = place / SHOWN
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def publish(place: Path, seed: int, careless: bool, step: Callable[[], None]) -> None:
    """Show release after release, first retrying the one that an earlier kill cut short.

    A careless publisher shows before it stores: the planted bug that the drill must catch.
    `step` is called before each step, so that the kill can aim at any of them.
    """
    contents.INSIDE_BYTES = 2048  # so that a part of the contents goes beside the ledger
    noise = random.Random(seed)
    step()
    ledger = opened(place / LEDGER, 2**20)
    screen = os.open(place / SHOWN, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def show(name: str, content: bytes, head: str) -> None:
        step()
        line = {"name": name, "content": hashlib.sha256(content).hexdigest(), "head": head}
        os.write(screen, (json.dumps(line) + "\n").encode())
        os.fsync(screen)

    done = len(shown(place))
    while True:
        name = f"release-{done}"
        step()
        stored = ledger.find(name, DIGEST)
        if stored is None:
            step()
            charge = ledger.charge(name, DIGEST, Pure(STEP), {"mechanism": "drill"})
            content = noise.randbytes(noise.randrange(1, 4096))
            if careless:
                show(name, content, charge.head)
                step()
                ledger.store(charge, content)
            else:
                step()
                show(name, content, ledger.store(charge, content))
        else:
            show(name, stored.content, stored.head)
        done += 1


def examine(place: Path, seen: dict[str, int]) -> list[str]:
    """Everything that contradicts the promise, after a kill."""
    lines = shown(place)
    journal = place / f"{LEDGER}-journal"
    seen["open journal"] += journal.exists() and journal.stat().st_size > 0
    if not (place / LEDGER).exists():
        seen["no ledger yet"] += 1
        return ["shown without a ledger"] if lines else []
    ledger = opened(place / LEDGER, 2**20)
    problems = list(ledger.verify(line["head"] for line in lines).problems)
    if len({line["name"] for line in lines}) != len(lines):
        problems.append("a name was shown twice")
    for line in lines:
        stored = ledger.find(line["name"], DIGEST)
        if stored is None or line["head"] not in (stored.head, stored.charge.head):
            problems.append("shown without its charge and stored release")
        elif hashlib.sha256(stored.content).hexdigest() != line["content"]:
            problems.append("shown something else than was stored")
    kinds = [entry.kind for entry in ledger.entries()]
    seen["charged, not stored"] += kinds[-1] == "charge"
    seen["stored, not shown"] += kinds.count("release") > len(lines)
    seen["beside"] += any(place.glob("*.release"))
    return problems


def kill_once(place: Path, steps: int, moments: random.Random, careless: bool) -> int:
    """Start a publisher; kill it exactly before that step, or at a random moment around it."""
    seed, inside = moments.randrange(2**32), moments.random() < 0.6
    return killed(lambda step: publish(place, seed, careless, step), steps, moments if inside else None, 2)


def killed(work: Callable[[Callable[[], None]], None], steps: int, moments: random.Random | None, reach: float) -> int:
    """The exit code of a child that is killed at that step of its work.

    With `moments`, at a random one after it instead, at most `reach` steps later; the child waits for no kill then.
    """
    ear, mouth = os.pipe()
    turn = itertools.count(1)

    def step() -> None:
        os.write(mouth, b".")
        if next(turn) == steps and moments is None:
            wait_for_kill()

    child = forked(lambda: work(step))
    os.close(mouth)
    pace = measure_seconds(lambda: read_steps(ear, steps)) / steps
    let_pass(0 if moments is None else moments.uniform(0, reach * pace))
    os.kill(child, signal.SIGKILL)
    os.close(ear)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def read_steps(ear: int, steps: int) -> None:
    """Hear of so many steps, or of the end of the child, which its exit code will tell."""
    for _ in range(steps):
        if not os.read(ear, 1):
            break


def kill(directory: Path, kills: int, every: int, seed: int, careless: bool) -> dict[str, object]:
    """Kill a publishing child that many times; a new ledger after each `every` kills."""
    moments = random.Random(seed)
    phases = ("no ledger yet", "charged, not stored", "stored, not shown", "open journal", "beside")
    seen = dict.fromkeys(phases, 0)
    problems: list[str] = []
    releases = 0
    for turn in range(kills):
        place = directory / str(turn // every)
        place.mkdir(exist_ok=True)
        steps = moments.randrange(1, 12) if turn % every else 1  # 1: while making the ledger
        if kill_once(place, steps, moments, careless) != -signal.SIGKILL:
            problems.append("the child ended by itself")
        problems += examine(place, seen)
        releases += len(shown(place)) if turn % every == every - 1 else 0
    return {"kills": kills, "problems": problems, "shown": releases, "seen": seen}


def main() -> None:
    """Run one drill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("drill", choices=["race", "kill"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--charges", type=int, default=200)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    if options.drill == "race":
        found = race(options.directory, options.processes, options.charges, options.steps)
    else:
        found = kill(options.directory, options.kills, options.every, options.seed, options.careless)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
