"""Where output goes: tables for people, JSON for programs.

Labels, names and paths come from plans, files and discovered keys.  All text for people passes through `visible`
here, and nothing in it is read as markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.visible import visible

__all__ = ["complain", "console", "print_json", "progress_bar", "say", "table", "tolerant", "write_text", "writing"]

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
        justify: Any = "right" if place in right else "left"
        empty.add_column(heading, justify=justify, overflow="fold" if fold else "ellipsis")
    return empty


def progress_bar(*columns: Any, quiet: bool) -> Any:
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


def print_json(value: Any) -> None:
    """One JSON document on standard output, in ASCII, so that no terminal is steered by it."""
    print(json.dumps(value, indent=2))


def tolerant() -> None:
    """Let a terminal that lacks a character show an escape instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def writing(path: Path, rest: str = "") -> Iterator[None]:
    """Turn a failure to write into a refusal that names the place."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or "the system refused"
        advice = "choose a place that can be written, or make room"
        raise ParameterError(f"--out: {path} cannot be written ({reason}); {advice}{rest}") from None


def write_text(path: Path, text: str) -> None:
    """Write a file that the user named."""
    with writing(path):
        path.write_text(text, encoding="utf-8")
