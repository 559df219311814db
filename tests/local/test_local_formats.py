"""The pages of formats say what the code does: what each type is declared with, and a message worked out by hand."""

import inspect
import re
from pathlib import Path

from sfumato.local.questions import QUESTIONS

FORMATS = Path(__file__).parents[2] / "docs" / "formats"


def _declared(kind):
    """The parts of a declaration, those with a default in brackets."""
    parts = inspect.signature(kind.calibrate).parameters.values()
    return {f"`{p.name}`" if p.default is p.empty else f"[`{p.name}`]" for p in parts} - {"`target`", "[`utility`]"}


def test_the_table_of_declared_parts_is_that_of_calibrate():
    text = (FORMATS / "collection.md").read_text().split("**What each type is declared with**")[1]
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", text.split("\n\n`k` is")[0], re.MULTILINE)
    told = {name.strip("`"): set(parts.split(", ")) for names, parts in rows[1:] for name in names.split(", ")}
    assert told == {name: _declared(kind) for name, kind in QUESTIONS.items()}
