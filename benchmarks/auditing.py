"""Figures of the auditor: `python benchmarks/auditing.py --json [--quick | --full]`.

One JSON object per line (figure, value, target, holds), then the table of the audits.  Seconds are wall
time on this machine; an audit stops at its first evidence.  `--quick` takes the documents' claims and the
two fine bugs only, `--full` gives every twin a minute.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "auditing"))

from corpus import channels, documents, floats, precision, sparse, sums
from corpus.case import Case

from sfumato.auditing import Finding, Target, audit, render
from sfumato.auditing.accounting import composed_delta

CASES = [*precision.CASES, *documents.CASES, *floats.CASES, *sparse.CASES, *sums.CASES, *channels.CASES]
LIMIT = 60.0
Row = tuple[Target, Finding]


def attack(case: Case, target: Any, seconds: float, alpha: float) -> tuple[Finding, float]:
    """One audit and its wall time."""
    start = time.perf_counter()
    finding = case.by(target, case.claim, **{"seconds": seconds, "alpha": alpha, "seed": 1, **case.options})
    return finding, time.perf_counter() - start


def figure(name: str, value: Any, target: Any, holds: bool) -> dict[str, Any]:
    """One line of output."""
    return {"figure": name, "value": value, "target": target, "holds": holds}


def figures(cases: list[Case], twin_seconds: float, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Every bug found in time, no twin accused, and the numbers of the documents."""
    alpha = 1e-6 / (2 * len(cases))
    slowest = alarms = found = 0.0
    for case in cases:
        finding, seconds = attack(case, case.faulty, LIMIT, alpha)
        rows.append((Target(case.name, lambda: None, finding.claim), finding))  # type: ignore[arg-type]
        within = finding.refuted and seconds <= LIMIT
        yield figure(f"seconds to refute: {case.name}", round(seconds, 2), f"<= {LIMIT:.0f}", within)
        found += finding.refuted
        slowest = max(slowest, seconds)
    for case in cases:
        finding, _ = attack(case, case.correct, twin_seconds, alpha)
        rows.append((Target(f"twin of {case.name}", lambda: None, finding.claim), finding))  # type: ignore[arg-type]
        alarms += finding.refuted
    yield figure("planted bugs found", int(found), len(cases), found == len(cases))
    yield figure("slowest refutation, seconds", round(slowest, 2), f"<= {LIMIT:.0f}", slowest <= LIMIT)
    yield figure("twins accused, total error rate 1e-6", int(alarms), 0, alarms == 0)
    yield from exact()


def exact() -> Iterator[dict[str, Any]]:
    """What is computed rather than sampled, and the clock."""
    parts = [(documents.LaplaceNoise(1.0, documents.PRINTED), documents.K)]
    delta = composed_delta(parts, documents.EPSILON)
    yield figure("delta of Laplace II at k=1000, eps=10", float(f"{delta:.4g}"), "3.4e-3, claimed 1e-3", delta > 3.3e-3)
    timed = audit(channels.TIMED.faulty, channels.TIMED.claim, seconds=5.0)
    yield figure("timing of a looping sampler", timed.timing, "reported apart", timed.timing is not None)


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true")
    size.add_argument("--full", action="store_true")
    chosen = parser.parse_args()
    cases = [*precision.CASES, *documents.CASES] if chosen.quick else CASES
    rows: list[Row] = []
    held = True
    for line in figures(cases, 60.0 if chosen.full else 2.0, rows):
        held = held and line["holds"]
        words = f"{line['figure']}: {line['value']} (asked: {line['target']})"
        print(json.dumps(line) if chosen.json else words, flush=True)
    print(render(rows), file=sys.stderr if chosen.json else sys.stdout)
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
