"""Where output goes: tables for people, JSON for programs."""

from __future__ import annotations

import json
import sys
from typing import Any

__all__ = ["console", "print_json", "progress_console"]

WIDE = 110  # where the output is not a terminal


def console() -> Any:
    """The console for results."""
    from rich.console import Console

    return Console(soft_wrap=False, highlight=False, width=None if sys.stdout.isatty() else WIDE)


def progress_console() -> Any:
    """The console for progress, beside the results."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(value, indent=2, ensure_ascii=False))
