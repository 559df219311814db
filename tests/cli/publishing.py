"""Kills of a real `sfumato publish`, run in a process of their own: `python publishing.py DIRECTORY`.

The process imports everything and starts no thread, so forking publishers from it is safe and quick.
Prints one JSON object with what was seen; the test judges it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
from pathlib import Path

import altair  # noqa: F401
import pyarrow as pa
import pyarrow.parquet as pq
import vl_convert  # noqa: F401

import sfumato.engines
import sfumato.report
import sfumato.session  # noqa: F401
from sfumato.cli import main as sfumato_main
from sfumato.ledger import Ledger
from sfumato.release.archive import load

sys.path.append(str(Path(__file__).parents[1]))

from waiting import let_pass, wait_until


def prepare(place: Path, count: int) -> None:
    """A table of 50 rows and a plan with several releases."""
    place.mkdir(parents=True)
    pq.write_table(pa.table({"age": [20.0 + i for i in range(50)], "sex": ["f", "m"] * 25}), place / "t.parquet")
    lines = [
        'format = "sfumato-plan/1"',
        'table = { path = "t.parquet", unit = "row" }',
        'columns.age = { type = "interval", low = 0, high = 100, step = 1 }',
        'columns.sex = { type = "categories", values = ["f", "m"] }',
        "budget = { epsilon = 100 }",
    ]
    for number in range(count):
        query = ('query = "count"', 'query = "mean"\ncolumn = "age"', 'query = "count"\nby = "sex"')[number % 3]
        lines.append(f'[[release]]\nname = "answer {number}"\n{query}\nspend = {{ epsilon = 0.1 }}')
    (place / "plan.toml").write_text("\n".join(lines))


def publisher(place: Path, linger: bool = False) -> int:
    """A child that publishes the plan, silently; with `linger` it stays until it is killed."""
    child = os.fork()
    if child:
        return child
    try:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        sfumato_main(["publish", str(place / "plan.toml"), "--out", str(place / "out")])
    except SystemExit as ended:
        if linger:
            signal.pause()
        os._exit(int(ended.code or 0))
    finally:
        os._exit(99)


def files(place: Path) -> list[Path]:
    """The releases that a reader would see."""
    return sorted(path for path in (place / "out" / "releases").glob("*.*") if not path.name.startswith("."))


def examine(place: Path) -> list[str]:
    """Everything that contradicts the promise: a file without its charge and stored release, a broken ledger."""
    path = place / "t.ledger"
    if not path.exists():
        return ["a release without a ledger"] if files(place) else []
    ledger, problems, heads = Ledger.existing(path), [], []
    for file in files(place):
        release = load(file)
        stored = ledger.find(release.name, release.provenance.digest)
        heads.append(release.provenance.head)
        if stored is None or stored.charge.head != release.provenance.head:
            problems.append(f"{file.name} has no charge and stored release")
        elif stored.content != release.to_bytes():
            problems.append(f"{file.name} differs from what is stored")
    return problems + list(ledger.verify(heads).problems)


def drill(directory: Path, kills: int, seed: int, count: int) -> dict[str, object]:
    """Kill publishers of a plan of `count` releases at random moments; now and then let one finish."""
    moments = random.Random(seed)
    prepare(directory / "whole", count)
    code = os.waitstatus_to_exitcode(os.waitpid(publisher(directory / "whole"), 0)[1])
    problems = examine(directory / "whole") + ([] if code == 0 else [f"publishing ended with {code}"])
    killed = partial = repeated = 0
    for turn in range(kills):
        place = directory / str(turn // 2)  # two kills in each place: the second publisher goes on after the first
        if turn % 2 == 0:
            prepare(place, count)
        before = {path: load(path).to_bytes() for path in files(place)}
        child = publisher(place, linger=True)
        target = len(before) + moments.randrange(0, max(1, 2 * count - len(before)))
        wait_until(lambda place=place, target=target: len(files(place)) >= target)
        let_pass(moments.uniform(0, 0.03))  # one release takes about as long
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        partial += 0 < len(files(place)) < 2 * count
        repeated += len(before)
        problems += examine(place)
        problems += [f"{path.name} changed" for path, content in before.items() if load(path).to_bytes() != content]
    place = directory / "0"
    code = os.waitstatus_to_exitcode(os.waitpid(publisher(place), 0)[1])
    problems += examine(place)
    charges = sum(entry.kind == "charge" for entry in Ledger.existing(place / "t.ledger").entries())
    return {
        "problems": problems, "killed": killed, "partial": partial, "repeated": repeated, "code": code,
        "files": len(files(place)), "charges": charges,
    }  # fmt: skip


def forge(directory: Path) -> list[str]:
    """What the examination says of the plan that was published whole, once a release is shown that was not stored."""
    file = directory / "whole/out/releases/answer-0.json"
    file.write_text(file.read_text().replace('"answer 0"', '"answer 99"'))
    return examine(directory / "whole")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--releases", type=int, default=8)
    chosen = parser.parse_args()
    found = drill(chosen.directory, chosen.kills, chosen.seed, chosen.releases)
    print(json.dumps(found | {"forged": forge(chosen.directory)}))
