"""Who asked what, when: one line of JSON for each request that is let in or refused; never an answer, never data."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from sfumato.storage import PRIVATE

__all__ = ["Audit"]


class Audit:
    """A file that is only appended to; several processes may share it, since each line is one write."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, PRIVATE)

    def write(self, **said: object) -> None:
        """Add a line."""
        line = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **said}
        os.write(self._handle, json.dumps(line, default=str).encode("ascii") + b"\n")
