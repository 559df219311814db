"""Every table and figure of the five source documents, printed values beside corrected ones.

    python experiments/run.py --list                  # the figures by name
    python experiments/run.py --only geometry-table-3  # some of them; a pattern such as 'metric-*' names several
    python experiments/run.py                         # all, compared with the stored results
    python experiments/run.py --write                 # all, stored in experiments/results

The same seed gives the same figures, seconds apart.  A figure that does not hold, or that differs from what is stored,
ends the run with 1.  Some figures are about tables that are not part of this repository; `--data DIR` says where they
lie, docs/research/reproducing.md what they are.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # figures are divided among processes
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Newer processors round otherwise, and one bit of a direction sends a random walk elsewhere: here most are alike.
os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")
os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", "X86_V4,AVX512_ICL,AVX512_SPR")

import databases
import functions
import geometry
import reports
import selection
import synthesis
from lines import SHARED, Figure, Line, Setting

RESULTS = Path(__file__).parent / "results"
FIGURES: dict[str, Figure] = {
    name: figure
    for module in (synthesis, reports, functions, geometry, databases, selection)  # the longest first
    for name, figure in module.FIGURES.items()
}
NEAR = 1e-4  # how far a number may be from the stored one: programs that solve and integrate differ in last digits


def drawn(name: str, setting: Setting) -> list[Line]:
    """The lines of one figure, and the seconds that all of it took."""
    started = time.process_time()
    lines = list(FIGURES[name].lines(setting))
    return [*lines, {"seconds": "all of it", "value": float(f"{time.process_time() - started:.2g}"), "printed": None}]


def lacking(name: str, data: Path) -> list[str]:
    """The files that a figure needs and that are not there."""
    return [file for file in FIGURES[name].files if not (data / file).is_file()]


def stored(name: str) -> list[Line]:
    """What is kept of a figure."""
    found: list[Line] = json.loads((RESULTS / f"{name}.json").read_text())["lines"]
    return found


def store(name: str, lines: list[Line]) -> None:
    """One line of the file for each line of the figure."""
    head = json.dumps({"figure": name, "title": FIGURES[name].title}, ensure_ascii=False)[:-1]
    body = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(f'{head}, "lines": [\n{body}\n]}}\n')


def differences(lines: list[Line], before: list[Line], figure: Figure) -> list[str]:
    """Where two runs of a figure differ, seconds apart."""
    new, old = ([line for line in each if "seconds" not in line] for each in (lines, before))
    if len(new) != len(old):
        return [f"{len(new)} lines instead of {len(old)}"]
    return [f"{json.dumps(a)} instead of {json.dumps(b)}" for a, b in zip(new, old, strict=True)
            if not near(a, b, figure)]  # fmt: skip


def near(a: Any, b: Any, figure: Figure, off: float = NEAR) -> bool:
    """Alike, but for the last digits of numbers, and for the scatter of random walks, which one bit sends elsewhere."""
    if isinstance(a, dict) and isinstance(b, dict):
        walked = {*figure.walked} | ({"value"} if any(word in a.get("check", "") for word in figure.walked) else set())
        return list(a) == list(b) and all(
            near(a[key], b[key], figure, figure.scatter if key in walked else off) for key in a
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(near(one, other, figure, off) for one, other in zip(a, b, strict=True))
    if isinstance(a, bool) or isinstance(b, bool) or not (isinstance(a, int | float) and isinstance(b, int | float)):
        return bool(a == b)
    return math.isclose(a, b, rel_tol=off, abs_tol=1e-9)


def broken(lines: list[Line]) -> list[str]:
    """The checks of a figure that do not hold."""
    return [line["check"] for line in lines if line.get("holds") is False]


def shown(lines: list[Line]) -> str:
    """A figure for the terminal."""
    rows = [line["row"] for line in lines if "row" in line]
    out: list[str] = []
    for at, each in enumerate(rows):
        if at == 0 or list(each) != list(rows[at - 1]):
            out.append("  " + " | ".join(each))
        out.append("  " + " | ".join(cell(value) for value in each.values()))
    for line in lines:
        if "check" in line:
            verdict = "holds" if line["holds"] else "DOES NOT HOLD"
            out.append(f"  {line['check']}: {cell(line['value'])} (asked {cell(line['target'])}): {verdict}")
        elif "seconds" in line:
            printed = "" if line["printed"] is None else f" (printed {line['printed']:g})"
            out.append(f"  {line['seconds']}: {line['value']:g} s{printed}")
    return "\n".join(out)


def cell(value: Any) -> str:
    """A value as one reads it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return " ".join(map(cell, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {cell(each)}" for key, each in value.items())
    return str(value)


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the figures and end")
    parser.add_argument("--only", action="append", metavar="NAME", help="a figure or a pattern; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the noise (0 is what is stored)")
    parser.add_argument("--data", type=Path, help="the folder of the tables that are not generated")
    parser.add_argument("--generated", action="store_true", help="only figures that need no such table")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions; compared with nothing")
    parser.add_argument("--write", action="store_true", help="store the results instead of comparing them")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--jobs", type=int, default=2, help="figures that are drawn at a time")
    chosen = parser.parse_args()
    asked = chosen.only or ["*"]
    names = [name for name in FIGURES if any(fnmatch(name, each) for each in asked)]
    if chosen.generated:
        names = [name for name in names if not FIGURES[name].files]
    if not names:
        parser.error(f"no figure is called {' or '.join(asked)}; --list names them")
    if chosen.list:
        for name in sorted(names):
            print(f"{name:28}{FIGURES[name].title}" + (" (needs --data)" if FIGURES[name].files else ""))
        return
    if chosen.write and (chosen.quick or chosen.seed):
        parser.error("what is stored is the whole run with seed 0: leave --quick and --seed out, or --write")
    setting = Setting(chosen.quick, chosen.seed, chosen.data or SHARED)
    absent = {name: lost for name in names if (lost := lacking(name, setting.data))}
    if absent:
        files = ", ".join(sorted({file for lost in absent.values() for file in lost}))
        parser.error(
            f"{', '.join(absent)}: {files} not found in {setting.data}; say where they lie with --data DIR, or leave "
            "these figures out with --generated"
        )
    sys.exit(carried_out(names, setting, chosen))


def carried_out(names: list[str], setting: Setting, chosen: argparse.Namespace) -> int:
    """Draw the figures, some at a time; show, store or compare each; 1 if anything is not as it should be."""
    wrong: list[str] = []
    compared = not (chosen.write or setting.quick or setting.seed)
    with ProcessPoolExecutor(min(chosen.jobs, len(names)), mp_context=get_context("spawn")) as pool:
        tasks = {name: pool.submit(drawn, name, setting) for name in names}
        for name, task in tasks.items():
            lines = task.result()
            if chosen.json:
                print("\n".join(json.dumps({"figure": name, **line}) for line in lines), flush=True)
            else:
                print(f"{name}: {FIGURES[name].title}\n{shown(lines)}\n", flush=True)
            wrong += [f"{name}: {each} does not hold" for each in broken(lines)]
            if chosen.write:
                store(name, lines)
            elif compared:
                kept = stored(name) if (RESULTS / f"{name}.json").is_file() else []
                differ = differences(json.loads(json.dumps(lines)), kept, FIGURES[name])
                wrong += [f"{name}: {each}" for each in differ]
                if not (differ or chosen.json):
                    print(f"{name}: as stored\n", flush=True)
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    main()
