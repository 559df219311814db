"""The modules of the benchmarks, for tests that use them; their folder on the path would hide the tests' own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["benchmarks"]

FOLDER = str(Path(__file__).parents[1] / "benchmarks")


@contextmanager
def benchmarks() -> Iterator[None]:
    """Import them inside."""
    sys.path.append(FOLDER)
    try:
        yield
    finally:
        sys.path.remove(FOLDER)
