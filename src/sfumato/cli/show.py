"""A saved release, for readers."""

from __future__ import annotations

from pathlib import Path

from sfumato.archive import load
from sfumato.cli.answers import full_table
from sfumato.cli.console import console, print_json
from sfumato.report.answers import answers

__all__ = ["run"]


def run(path: Path, as_json: bool) -> None:
    """Print the release."""
    release = load(path)
    if as_json:
        print_json(release.to_record())
        return
    print(release.words())
    console().print(full_table(answers(release)))
