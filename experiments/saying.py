"""How experiments speak: one JSON object a line, and an end that fails if a figure does not hold."""

from __future__ import annotations

import json
import sys
from typing import Any

BROKEN: list[str] = []  # figures of this process that do not hold


def say(figure: str, value: Any, target: Any = None, holds: bool | None = None, **more: Any) -> None:
    """One line of the result."""
    verdict = None if holds is None else bool(holds)
    if verdict is False:
        BROKEN.append(figure)
    print(json.dumps({"figure": figure, "value": value, "target": target, "holds": verdict, **more}), flush=True)


def finish() -> None:
    """End with failure if a figure does not hold, and name it."""
    if BROKEN:
        sys.exit("these figures do not hold: " + "; ".join(BROKEN))
