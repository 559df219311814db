"""The tables of the book on the source documents, written from the stored results of the experiments.

python website/results.py      # writes every table of docs/documents and docs/research anew

A table stands between two marks, `<!-- figure NAME -->` and `<!-- end of NAME -->`; what is between them is written by
this program alone.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "experiments" / "results"
PAGES = sorted([*(ROOT / "docs" / "documents").glob("*.md"), *(ROOT / "docs" / "research").glob("*.md")])
MARKED = re.compile(r"<!-- figure ([\w-]+) -->\n.*?<!-- end of \1 -->", re.DOTALL)


@cache
def result(name: str) -> dict[str, Any]:
    """A stored figure: its title and lines."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of its table."""
    return [line["row"] for line in result(name)["lines"] if "row" in line]


def points(name: str) -> list[dict[str, Any]]:
    """What its picture is drawn from."""
    return next(line["value"] for line in result(name)["lines"] if "points" in line)


def filled(text: str) -> str:
    """A page with every table between its marks as it is stored."""
    return MARKED.sub(lambda mark: f"<!-- figure {mark[1]} -->\n{table(mark[1])}\n<!-- end of {mark[1]} -->", text)


def costs() -> str:
    """The seconds of processor that every stored figure took."""
    lines = ["| figure | shows | seconds |", "|---|---|---|"]
    for path in sorted(RESULTS.glob("*.json")):
        found = result(path.stem)
        spent = next(line["value"] for line in found["lines"] if line.get("seconds") == "all of it")
        lines.append(f"| `{path.stem}` | {found['title']} | {spent:g} |")
    return "\n".join(lines)


def table(name: str) -> str:
    """The rows as tables, one for each set of columns; then the checks, and the seconds beside printed ones."""
    if name == "costs":
        return costs()
    found = result(name)
    lines = [f"**{found['title']}** (`{name}`)", ""]
    before: list[str] = []
    for each in rows(name):
        if list(each) != before:
            before = list(each)
            lines += ["", "| " + " | ".join(before) + " |", "|" + "---|" * len(before)]
        lines.append("| " + " | ".join(cell(value) for value in each.values()) + " |")
    checks = [line for line in found["lines"] if "check" in line]
    if checks:
        kept = sum(line["holds"] for line in checks)
        lines += ["", f"Checks that hold: {kept} of {len(checks)}."]
        if len(checks) <= FEW:
            lines += [f"- {said(line)}" for line in checks]
    beside = [line for line in found["lines"] if line.get("seconds") and line["printed"] is not None]
    if beside:
        lines += [
            "",
            "Seconds of processor, printed and ours: "
            + "; ".join(f"{line['seconds']} {line['printed']:g}, {line['value']:g}" for line in beside)
            + ".",
        ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


FEW = 4  # checks that are told one by one


def said(line: dict[str, Any]) -> str:
    return f"{line['check']}: {cell(line['value'])} (asked {cell(line['target'])})"


def cell(value: Any) -> str:
    """A value as one reads it in a table."""
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(map(cell, value))
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return str(value).replace("|", "\\|")


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text()))
