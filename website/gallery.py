"""Runs the examples of the gallery, keeps their pictures in docs/gallery and writes the page that shows them.

python website/gallery.py            # all of them, in one process; then docs/gallery.md
python website/gallery.py density    # some, by name; the page is written from what is there

The tables are invented from seeds; the noise is drawn afresh, so a picture changes a little when it is drawn again.
"""

from __future__ import annotations

import ast
import contextlib
import runpy
import sys
import tempfile
from pathlib import Path

import pictures

ROOT = Path(__file__).parent.parent
EXAMPLES, KEPT = ROOT / "examples" / "gallery", ROOT / "docs" / "gallery"
SHELVES = {
    "Statistics and their certificates": (
        "groups", "certificates", "quantiles", "cross_table", "workload", "accuracy_target", "persons",
        "running_counts",
    ),
    "Kinds of data": ("sets", "top_items", "discovered_keys", "dates", "arrays", "records", "curves_as_rows"),
    "Functions": ("density", "regression", "classification", "thresholds"),
    "Whole tables": ("synthetic_table", "sanitized_table", "smooth_query", "components", "small_database"),
    "Local collection": ("local_frequencies", "local_means", "interactive_search", "sealed_reports"),
    "Accounting and auditing": ("accounting_curve", "shuffle", "audit"),
    "Other doors": ("sql", "service_client"),
}  # fmt: skip
ACROSS = 2  # pictures in a line
OPENING = """\
{count} short programs, each with one picture. Tables are invented in the program, from a seed; what is released is
drawn as it would be for a real table. Copy one, and put your table in place of the invented one:
`python examples/gallery/density.py` writes its picture and its ledger into the folder where it is run. Run again
there, it finds its answers in the ledger, and spends nothing.

Longer stories, as notebooks with their outputs, for four readers: [a steward](../examples/notebooks/steward.ipynb),
[an analyst](../examples/notebooks/analyst.ipynb), [a telemetry engineer](../examples/notebooks/telemetry.ipynb),
[a researcher](../examples/notebooks/researcher.ipynb)."""


def names() -> list[str]:
    """The examples in the order of the page."""
    return [name for shelf in SHELVES.values() for name in shelf]


def run(name: str, folder: Path) -> Path:
    """An example in a folder, as a program; its picture."""
    with contextlib.chdir(folder):
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    return folder / f"{name}.svg"


def said(name: str) -> tuple[str, str]:
    """An example's first sentence, and the lines after it."""
    whole = ast.get_docstring(ast.parse((EXAMPLES / f"{name}.py").read_text())) or ""
    first, _, rest = whole.partition("\n\n")
    return first, " ".join(rest.split())


def page() -> str:
    """The gallery as Markdown, for the site and for readers of the repository."""
    lines = ["# Gallery", "", OPENING.format(count=len(names()))]
    for title, shelf in SHELVES.items():
        lines += ["", f"## {title}", "", "| " * ACROSS + "|", "|---" * ACROSS + "|"]
        for start in range(0, len(shelf), ACROSS):
            shown = shelf[start : start + ACROSS]
            lines.append("| " + " | ".join(_cell(name) for name in shown) + " |" * (1 + ACROSS - len(shown)))
    return "\n".join(lines) + "\n"


def _cell(name: str) -> str:
    first, rest = said(name)
    link, title = f"../examples/gallery/{name}.py", name.replace("_", " ")
    return f"[![{first.rstrip('.')}](gallery/{name}.svg)]({link})<br>**[{title}]({link}).** {first} {rest}"


def keep(name: str) -> None:
    """Run an example in a folder of its own, and keep its picture."""
    with tempfile.TemporaryDirectory() as place:
        (KEPT / f"{name}.svg").write_text(pictures.bared(run(name, Path(place)).read_text()))


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for each in sys.argv[1:] or names():
        print(f"--- {each}", flush=True)
        keep(each)
    (ROOT / "docs" / "gallery.md").write_text(page())
