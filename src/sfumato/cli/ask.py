"""Questions to a saved synthetic table, in the words of plans: free, each with an interval."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import console, print_json, say, table
from sfumato.cli.tables import synthetic_table
from sfumato.queries import Query

__all__ = ["run"]


def run(
    path: Path, query: str, column: str | None, by: list[str] | None, where: str | None, level: float, as_json: bool
) -> None:
    """Print the answers with their intervals."""
    parts: dict[str, object] = {"query": query, "column": column, "by": by or None, "where": where}
    asked = Query.from_record({name: part for name, part in parts.items() if part is not None})
    answer = synthetic_table(path, "questions are asked of").ask(asked)
    held = answer.table(level)
    if as_json:
        print_json({"name": answer.name, "level": level, "sample": answer.sample, "answers": held.to_pylist()})
        return
    card = answer.card(level)
    say(card.title)
    numbers = [place for place, name in enumerate(held.column_names) if name not in answer.keys]
    whole = table(*held.column_names, right=numbers, fold=True)
    for row in held.to_pylist():
        whole.add_row(*map(answer.shown, row.values()))
    console().print(whole)
    for name, text in card.facts.items():
        say(f"  {name:<13}{text}")
