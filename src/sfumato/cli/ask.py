"""Questions to a saved synthetic table, in the words of plans: free, each with an interval."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfumato.cli.console import console, print_json, say, table
from sfumato.cli.tables import synthetic_table
from sfumato.queries import Query

__all__ = ["run"]


def run(path: Path, parts: Mapping[str, object], level: float, as_json: bool) -> None:
    """Print the answers to a question, given by the parts that it would have in a plan, with their intervals."""
    asked = Query.from_record(parts)
    answer = synthetic_table(path, "questions are asked of").ask(asked)
    held = answer.table(level)
    if as_json:
        answers = [{name: _plain(value) for name, value in row.items()} for row in held.to_pylist()]
        print_json({"name": answer.name, "level": level, "sample": answer.sample, "answers": answers})
        return
    card = answer.card(level)
    say(card.title)
    numbers = [place for place, name in enumerate(held.column_names) if name not in answer.keys]
    whole = table(*held.column_names, right=numbers, fold=True)
    for row in answer.shown(level):
        whole.add_row(*row)
    console().print(whole)
    for name, text in card.facts.items():
        say(f"  {name:<13}{text}")


def _plain(value: object) -> object:
    """A key or a number as JSON has it: dates and times as texts."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
