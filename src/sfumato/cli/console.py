"""Where output goes: tables for people, JSON for programs.

Labels, names and paths come from plans, files and discovered keys.  All text for people passes through `visible`
here, and nothing in it is read as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sfumato.records import indented
from sfumato.storage import writing
from sfumato.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["complain", "console", "print_json", "progress_bar", "say", "table", "tolerant", "write_text"]

WIDE = 110  # where the output is not a terminal
LONGEST = 1000  # characters of one cell or line; the files hold all of it


def console(errors: bool = False) -> Any:
    """The console for results, or beside them for progress: text is text, never markup."""
    from rich.console import Console
    from rich.text import Text

    class Plain(Console):
        """A console that shows every string as it is."""

        def render_str(self, text: str, **options: Any) -> Text:
            shown = text if len(text) <= LONGEST else text[:LONGEST] + "…"
            return Text(
                visible(shown, keep="\n"), style=options.get("style", ""), justify=options.get("justify"),
                overflow=options.get("overflow"),
            )  # fmt: skip

    stream = sys.stderr if errors else sys.stdout
    wide = None if errors or stream.isatty() else WIDE
    return Plain(stderr=errors, soft_wrap=False, highlight=False, width=wide)


def table(*headings: str, right: Collection[int] = (), fold: bool = False) -> Any:
    """An empty table; `right` says which columns hold numbers."""
    from rich import box
    from rich.table import Table

    empty = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        justify: Literal["left", "right"] = "right" if place in right else "left"
        empty.add_column(heading, justify=justify, overflow="fold" if fold else "ellipsis")
    return empty


def progress_bar(*columns: str | ProgressColumn, quiet: bool) -> Progress:
    """A bar beside the results, whose descriptions are text."""
    from rich.progress import Progress, TextColumn

    words = TextColumn("{task.description}", markup=False)
    return Progress(words, *columns, console=console(errors=True), disable=quiet, transient=True)


def say(text: object) -> None:
    """Print text for people."""
    print(visible(str(text), keep="\n"))


def complain(text: str) -> None:
    """Print text for people beside the results."""
    print(visible(text, keep="\n"), file=sys.stderr)


def print_json(value: object) -> None:
    """One JSON document on standard output, in ASCII, so that no terminal is steered by it."""
    print(indented(value, 2))


def tolerant() -> None:
    """Let a terminal that lacks a character show an escape instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_text(path: Path, text: str) -> None:
    """Write a file that the user named."""
    with writing(path):
        path.write_text(text, encoding="utf-8")
