"""Where output goes: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError

__all__ = ["console", "print_json", "progress_console", "write_text", "writing"]

WIDE = 110  # where the output is not a terminal


def console() -> Any:
    """The console for results."""
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False, width=None if sys.stdout.isatty() else WIDE)


def progress_console() -> Any:
    """The console for progress, beside the results."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


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


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
