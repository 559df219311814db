"""A saved release, for readers."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from sfumato.answers.answer import NO_COUNTS
from sfumato.cli.answers import full_table
from sfumato.cli.console import console, print_json, say, table
from sfumato.cli.tables import synthetic_table
from sfumato.errors import UnsupportedQuery
from sfumato.release import Release
from sfumato.release.archive import load
from sfumato.release.prediction import HEADINGS, NAMED
from sfumato.report.answers import added_up, laid_out

__all__ = ["run"]


def run(path: Path, as_json: bool, adding_up: bool = False, errors: bool = False) -> None:
    """Print the release; of a table its first rows, or the errors of all its columns and pairs."""
    if errors:
        _show_errors(path, as_json)
        return
    release = load(path)
    if adding_up and release.answer.kind == "rows":
        raise UnsupportedQuery(f"{path}: {NO_COUNTS}")
    if as_json:
        print_json(cast(Release, release).adding_up().to_pydict() if adding_up else release.to_record())
        return
    say(release.words())
    console().print(full_table(added_up(cast(Release, release)) if adding_up else laid_out(release)))


def _show_errors(path: Path, as_json: bool) -> None:
    found = synthetic_table(path, "errors are predicted of").errors()
    held = found.table().to_pylist()
    if as_json:
        print_json({"level": found.level, "errors": held})
        return
    whole = table(*HEADINGS, right=(2, 3), fold=True)
    for row in held:
        whole.add_row(" x ".join(row["columns"]), NAMED[row["kind"]], f"{row['most']:.4f}", f"{row['sample']:,.0f}")
    console().print(whole)
    say(found.card().facts["read as"])
