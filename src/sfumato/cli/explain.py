"""A saved release in plain words: what was promised, what could be learned at most, what the error bar means."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import console, print_json, say, table
from sfumato.release.archive import load
from sfumato.report.explanation import HEADINGS, explained

__all__ = ["run"]


def run(path: Path, as_json: bool) -> None:
    """Print the explanation."""
    found = explained(load(path))
    if as_json:
        print_json(found.to_record())
        return
    whole = table(*HEADINGS, right=range(len(HEADINGS)))
    for belief in found.learned:
        whole.add_row(*belief.cells())
    say(found.name)
    _part("What was promised", found.promised())
    _part("What somebody could learn at most", found.attack())
    console().print(whole)
    for sentence in found.limits():
        say(f"  {sentence}")
    _part("What the error bar means", found.accuracy())
    _part("How good that is", (f"{found.certificate}.",))
    _part("What else counts", found.adding_up())


def _part(heading: str, sentences: tuple[str, ...]) -> None:
    say(f"\n{heading}")
    for sentence in sentences:
        say(f"  {sentence}")
