"""A saved release, for readers."""

from __future__ import annotations

from pathlib import Path

from sfumato.archive import load
from sfumato.cli.answers import full_table
from sfumato.cli.console import console, print_json, say
from sfumato.release import TableRelease
from sfumato.report.answers import answers

__all__ = ["run"]

FIRST = 10  # rows of a table that are shown


def run(path: Path, as_json: bool) -> None:
    """Print the release; of a table its first rows."""
    release = load(path)
    if as_json:
        print_json(release.to_record())
        return
    say(release.words())
    if isinstance(release, TableRelease):
        say(release.rows.slice(0, FIRST).to_pandas().to_string())
        return
    console().print(full_table(answers(release)))
