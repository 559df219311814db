"""Seeds: fixed in each test, or all moved by one fresh offset with `make test-fresh`, which is printed."""

from __future__ import annotations

import os
import secrets

import pytest

from sfumato.randomness import SeededRng

FRESH = "SFUMATO_FRESH_SEEDS"

collect_ignore_glob = ["*conftest.py"]  # they hold no doctests, and share a name


def pytest_configure(config: pytest.Config) -> None:
    """Move every seed by the offset; `SFUMATO_FRESH_SEEDS=1` draws one, another number repeats a run."""
    wanted = os.environ.get(FRESH)
    if wanted is None:
        return
    if wanted == "1":
        os.environ[FRESH] = wanted = str(secrets.randbits(40) + 2)  # workers inherit it
    offset, original = int(wanted), SeededRng.__init__

    def moved(self: SeededRng, seed: int) -> None:
        original(self, seed + offset)

    SeededRng.__init__ = moved  # type: ignore[method-assign]


def pytest_report_header(config: pytest.Config) -> str | None:
    """How to repeat a run with fresh seeds."""
    wanted = os.environ.get(FRESH)
    return None if wanted is None else f"seeds moved by {wanted}; repeat with {FRESH}={wanted}"
