"""`python -m sfumato.auditing module:LIST [--seconds S]`: audit a list of targets, print the table."""

from __future__ import annotations

import argparse
import importlib
import sys

from sfumato.auditing.table import audit_table, render


def main(arguments: list[str] | None = None) -> int:
    """Audit the targets that a module lists; the exit code is 1 when a claim is refuted or not audited at all."""
    parser = argparse.ArgumentParser(prog="python -m sfumato.auditing", description=__doc__)
    parser.add_argument("targets", help="module:NAME of a list of sfumato.auditing.Target")
    parser.add_argument("--seconds", type=float, default=None, help="time for each target")
    chosen = parser.parse_args(arguments)
    module, _, name = chosen.targets.partition(":")
    sys.path.insert(0, "")
    targets = getattr(importlib.import_module(module), name or "TARGETS")
    rows = audit_table(targets() if callable(targets) else targets, seconds=chosen.seconds)
    print(render(rows))
    return 1 if any(finding.refuted or not finding.audited for _, finding in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
