"""The page of all proofs by claim, each with the modules that name it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, NOTES = ROOT / "src" / "sfumato", ROOT / "docs" / "proofs"
AREAS = (  # heading, and the folders of the modules that a proof is about; the first that fits
    ("Mechanisms: noise", ("mechanisms/noise", "mechanisms/mechanism.py")),
    ("Mechanisms: choosing", ("mechanisms/selection",)),
    (
        "Mechanisms: geometry, functions and components",
        ("mechanisms/geometry", "mechanisms/functions", "mechanisms/components"),
    ),
    ("Whole tables", ("mechanisms/synthetic", "mechanisms/sanitized", "synthesis", "reference")),
    ("How far one unit moves an answer", ("queries", "answers", "spaces")),
    ("Claims, and how they add up", ("privacy", "accounting")),
    ("Exact draws", ("sampling",)),
    ("What no private mechanism can beat", ("bounds",)),
    ("Local privacy", ("local",)),
    ("The ledger and the auditor", ("ledger", "auditing", "release", "session.py", "plans", "engines")),
)
NAMED = re.compile(r"docs/proofs/([\w-]+\.md)")


def index() -> str:
    homes = modules()
    lines = ["# Proofs, by claim", ""]
    lines += [
        "One note for each claim: what the code checks, what the caller brings, the claim, the argument.",
        "A fingerprint in a note's first line is that of the code that it speaks of: the tests fail when",
        "one changes without the other.",
        "",
    ]
    left = {note.name: title(note) for note in sorted(NOTES.glob("*.md"))}
    for heading in [*(name for name, _ in AREAS), "Others"]:
        rows = []
        for name in list(left):
            places = homes.get(name, [])
            if heading == "Others" or area(name, places) == heading:
                shown = "<br>".join(f"`{place}`" for place in places[:6])
                rows.append(f"| [{left.pop(name)}]({name}) | {shown}{'<br>…' if len(places) > 6 else ''} |")
        if rows:
            lines += [f"## {heading}", "", "| claim | modules of `sfumato` that rest on it |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def modules() -> dict[str, list[str]]:
    """For each note the modules whose docstrings name it, the one of its own name first."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for note in dict.fromkeys(NAMED.findall(ast.get_docstring(ast.parse(path.read_text())) or "")):
            found.setdefault(note, []).append(str(path.relative_to(SOURCE)))
    own = {note: Path(note).stem.split("-")[-1] for note in found}
    return {note: sorted(places, key=lambda place: Path(place).stem != own[note]) for note, places in found.items()}


def area(note: str, places: list[str]) -> str | None:
    """The heading that a note stands under: by its first part where that is a package, else by its module."""
    first = note.split("-")[0].removesuffix(".md")
    packages = {
        "accounting": "accounting",
        "auditing": "auditing",
        "bounds": "bounds",
        "curves": "queries",
        "functions": "queries",
        "ledger": "ledger",
        "local": "local",
        "privacy": "privacy",
        "queries": "queries",
        "sampling": "sampling",
        "sanitization": "synthesis",
        "synthesis": "synthesis",
    }
    about = [packages[first]] if first in packages else places
    return next(
        (
            heading
            for place in about
            for heading, folders in AREAS
            if any(place == folder or place.startswith(f"{folder}/") for folder in folders)
        ),
        None,
    )


def title(note: Path) -> str:
    first = note.read_text().splitlines()[0].removeprefix("# ")
    return re.sub(r" \(fingerprint \w+\)$", "", first).replace("|", "\\|")
