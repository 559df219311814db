"""A saved release, for readers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from sfumato.answers.answer import NO_COUNTS
from sfumato.cli.answers import full_table
from sfumato.cli.console import console, print_json, say
from sfumato.errors import UnsupportedQuery
from sfumato.release import Release
from sfumato.release.archive import load
from sfumato.report.answers import added_up, laid_out

__all__ = ["run"]


def run(path: Path, as_json: bool, adding_up: bool = False) -> None:
    """Print the release; of a table its first rows."""
    release = load(path)
    if adding_up and release.answer.kind == "rows":
        raise UnsupportedQuery(f"{path}: {NO_COUNTS}")
    if as_json:
        print_json(cast(Release, release).adding_up().to_pydict() if adding_up else release.to_record())
        return
    say(release.words())
    console().print(full_table(added_up(cast(Release, release)) if adding_up else laid_out(release)))
