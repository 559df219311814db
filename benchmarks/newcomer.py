"""A newcomer's way: a fresh clone, then `make demo`, `make docs` and, if asked for, tests and experiments, timed.

python benchmarks/newcomer.py --json               # demo and docs
python benchmarks/newcomer.py --json --test        # also the tests, which execute every block of the documentation
python benchmarks/newcomer.py --experiments DATA   # also every figure of the documents, compared with what is stored
python benchmarks/newcomer.py --targets help       # others, by name

The first target sets the environment up: its time includes that.  What was asked: the demo within 2.5 minutes, the
tests within 12, documentation that loads nothing from elsewhere and has no broken link (else `make docs` fails), and
experiments that end as they are stored.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
ASKED = {"demo": 150.0, "test": 720.0}  # seconds
MADE = {"demo": "demo/index.html", "docs": "build/site/index.html"}  # what a target must leave behind


def made(target: str, clone: Path, *given: str) -> dict[str, object]:
    """One target in the clone: seconds, whether it passed, what was asked of it, and the end of what it said if not."""
    start = time.monotonic()
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS")}
    done = subprocess.run(["make", target, *given], cwd=clone, capture_output=True, text=True, env=own)
    seconds = round(time.monotonic() - start, 1)
    there = target not in MADE or (clone / MADE[target]).is_file()
    passed = done.returncode == 0 and there
    found = {"target": target, "seconds": seconds, "passed": passed, "asked": ASKED.get(target)}
    found["holds"] = passed and seconds <= ASKED.get(target, float("inf"))
    return found if passed else {**found, "said": (done.stdout + done.stderr)[-2000:]}


def main() -> None:
    """Clone, make, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--test", action="store_true", help="make test as well")
    parser.add_argument("--experiments", metavar="DATA", type=Path, help="make experiments as well, with these tables")
    parser.add_argument("--targets", nargs="+", default=["demo", "docs"])
    options = parser.parse_args()
    targets = [*options.targets, *(["test"] if options.test else [])]
    with tempfile.TemporaryDirectory() as place:
        clone = Path(place) / "sfumato"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        found = [made(target, clone) for target in targets]
        if options.experiments is not None:  # without --write, what differs from the stored figures fails
            found.append(made("experiments", clone, f"DATA={options.experiments.resolve()}", "ARGS=--seed 0"))
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        for each in found:
            print(f"make {each['target']}: {each['seconds']} s, {'passed' if each['passed'] else 'FAILED'}")
    sys.exit(not all(each["holds"] for each in found))


if __name__ == "__main__":
    main()
