"""The page of benchmarks: what each measures, and the runs that are written down beside the code."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections import defaultdict
from pathlib import Path
from statistics import mean

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
MAKEFILE = BENCHMARKS.parent / "Makefile"


def page() -> str:
    lines = ["# Benchmarks", ""]
    lines += [
        "Ratios within one run, beside other packages where there are any; never part of the tests. `make bench` runs",
        "them all, `python benchmarks/NAME.py` one; `--json` prints figures as data, each with what was asked of it",
        "and whether that holds. A benchmark says on which tables constants were tuned and on which they were judged;",
        "every run on judged tables is kept beside the code, also those that missed.",
        "",
        "| benchmark | measures |",
        "|---|---|",
    ]
    named = re.search(r"for figure in (.+?); do", MAKEFILE.read_text())
    assert named, "the Makefile names the benchmarks"
    for command in shlex.split(named[1]):  # a file, with its options
        name = command.split()[0].removesuffix(".py")
        lines.append(f"| `{name}` | {cell(said(name).split('. ')[0].rstrip('.'))}. |")
    for path in sorted(BENCHMARKS.glob("*.py")):
        lines += runs(path)
    return "\n".join([*lines, *peers()]) + "\n"


def said(name: str) -> str:
    return " ".join((ast.get_docstring(ast.parse((BENCHMARKS / f"{name}.py").read_text())) or "").split())


def runs(path: Path) -> list[str]:
    """The runs on judged tables that a benchmark lists, oldest first."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "RUNS":
            lines = ["", f"## Runs of `{path.stem}`", "", cell(said(path.stem)), ""]
            kept = ast.literal_eval(node.value)
            if isinstance(kept, list):
                return lines + [f"- {cell(each)}" for each in kept]
            lines += [
                "A table, then the worst ratio over widths to the better control, and to the better of two other",
                "tables, under replacement; the same under adding and removing.",
                "",
            ]
            lines += ["| | table | | | | |", "|---|---|---|---|---|---|"]
            return lines + [f"| {part} | {' | '.join(map(str, row))} |" for part, rows in kept.items() for row in rows]
    return []


def peers() -> list[str]:
    """The other packages' own figures, which later runs are compared with."""
    found = defaultdict(list)
    for row in json.loads((BENCHMARKS / "peers.json").read_text()):
        if row.get("error") is not None:
            found[row["table"], row["peer"], row["version"]].append(row)
    lines = [
        "",
        "## Stored runs of others",
        "",
        "Mean total variation of two-way tables, and seconds, of the peers that `tables` compares with.",
        "",
    ]
    lines += ["| table | peer | version | runs | error | seconds |", "|---|---|---|---|---|---|"]
    for (table, peer, version), rows in found.items():
        seconds = [row["seconds"] for row in rows if row.get("seconds") is not None]
        spent = f"{mean(seconds):.1f}" if seconds else ""
        error = mean(row["error"] for row in rows)
        lines.append(f"| {table.replace('_', ' ')} | {peer} | {version} | {len(rows)} | {error:.4f} | {spent} |")
    return lines


def cell(text: str) -> str:
    """Text that stands in a table: its own bars and underscores are no signs."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<|])", r"\\\1", p) for p in pieces)
