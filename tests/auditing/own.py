"""Our own mechanisms as targets of the auditor: `python -m sfumato.auditing own:TARGETS` in this folder.

Each entry is a `Target(name, run, claim, options)`; `run(data, rng)` may have `batch(data, count, rng)`.
The error rate 1e-6 is shared by the whole list.
"""

from __future__ import annotations

from sfumato.auditing import Target

TARGETS: list[Target] = []
