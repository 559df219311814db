"""All that is asked of synthetic tables, part by part: beside AIM, smooth queries, targets, predictions, sizes, rules.

Run `python benchmarks/synthesis.py --json [--tuning] [--only PART ...] [--peers] [--data DIR] [--peer-python PYTHON]`:
one JSON object a line with the part, the figure, its value, the target and whether it holds.  Each part is a file of
its own, run as a process of its own, and can be run alone (`PARTS` has the commands).  By default tables that nothing
was tuned on are judged, at the sizes that are asked for, which takes some hours on two cores; with `--tuning` the
tables that constants were set on, at smaller sizes.  Every run on the judging tables is to be listed in the part's
`RUNS`.  `--peers` measures AIM again instead of reading what it reached in `peers.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, show
from open_tables import FOLDER, JUDGING, TUNING

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Part:
    """A file, its options where tables are judged and where they are those of tuning, and whether it reads `--data`."""

    file: str
    judged: tuple[str, ...] = ()
    tuning: tuple[str, ...] = ()
    data: bool = True


PARTS = {
    "aim": Part("tables", ("--judged",)),
    "adult": Part("adult"),
    "smooth": Part("smooth_queries"),
    "smooth-generated": Part("smooth_queries", ("--made", "judging"), ("--made", "tuning", "--runs", "2"), data=False),
    "targets": Part("targets", ("--judge",)),
    "predictions": Part("predictions", ("--judge",), ("--quick",)),
    "sizes": Part("large_tables", ("--long",), data=False),
    "skewed": Part("skewed", data=False),
    "rules": Part("rules", data=False),
}


def figures(name: str, part: Part, options: argparse.Namespace) -> Iterator[Figure]:
    """What a part prints, under its name; a part that ends early says so as a figure that does not hold."""
    command = [
        sys.executable,
        str(HERE / f"{part.file}.py"),
        "--json",
        *(part.tuning if options.tuning else part.judged),
    ]
    if part.data:
        command += ["--data", str(options.data)]
    if options.peers and part.file == "tables":
        command.append("--peers")
    peer = {} if options.peer_python is None else {"SFUMATO_PEER_PYTHON": options.peer_python}
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | peer) as run:
        assert run.stdout is not None
        for line in run.stdout:
            found = Figure(**json.loads(line))
            yield Figure(f"{name}: {found.figure}", found.value, found.target, found.holds)
    seconds = round(time.perf_counter() - start)
    if run.returncode:
        yield Figure(f"{name}: ended early", f"after {seconds} s", f"exit 0, not {run.returncode}", False)
    else:
        yield Figure(f"{name}: seconds", seconds, "", None)


def main() -> None:
    """Print each figure as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for flag in ("--json", "--tuning", "--peers"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--data", type=Path, default=FOLDER)
    parser.add_argument("--peer-python", help="a Python that has mbi 2, in which AIM is run")
    options = parser.parse_args()
    show(Figure("tables that constants were set on", ", ".join(TUNING), "", None), options.json)
    show(Figure("tables that only judge", ", ".join(JUDGING), "", None), options.json)
    for name in options.only:
        for figure in figures(name, PARTS[name], options):
            show(figure, options.json)


if __name__ == "__main__":
    main()
