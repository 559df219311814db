"""Every planted bug is found and no twin is accused.

Power: each of these faulty mechanisms is found in 1 to 6 s of processor time (the audit stops at the first
evidence); they may take 20 s.  Twins get 0.2 s, in heavy runs 2 s.  The error rate of each audit is ALPHA over the
number of audits, so a false alarm in the whole file has probability at most 1e-6.  Seeds are fixed, and limits
count processor time, so that a busy machine changes nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from corpus import channels, documents, floats, grids, precision, sparse, sums
from corpus.case import Case

from sfumato.auditing import audit, clock

CASES = [*floats.CASES, *grids.CASES, *sparse.CASES, *sums.CASES, *channels.CASES, *documents.CASES, *precision.CASES]
ALPHA = 1e-6 / (2 * len(CASES))
ROWS = range(1, 25)
FORKING = {"process ends on one row", "fork repeats the noise"}  # a fork a run: slow in a process as large as ours


def attack(case: Case, target: Any, seconds: float) -> Any:
    return case.by(target, case.claim, **{"seconds": seconds, "alpha": ALPHA, "seed": 1, **case.options})


def forking() -> str:
    """For each planted bug that takes forks, whether it is found and how to see it again."""
    clock.now = time.process_time
    cases = [case for case in CASES if case.name in FORKING]
    findings = {case.name: attack(case, case.faulty, 20.0) for case in cases}
    return json.dumps({name: found.refuted and bool(found.evidence.script) for name, found in findings.items()})


def named(cases: list[Case], heavy: bool) -> list[Any]:
    return [pytest.param(case, id=case.name) for case in cases if case.heavy == heavy]


@pytest.mark.parametrize("case", named([case for case in CASES if case.name not in FORKING], heavy=False))
def test_planted_bug_is_found_in_seconds(case: Case) -> None:
    finding = attack(case, case.faulty, 20.0)
    assert finding.refuted, str(finding)
    assert finding.evidence.script


def test_planted_bugs_that_take_forks_are_found_in_a_small_process() -> None:
    command = [sys.executable, "-c", "import test_auditing_corpus as corpus; print(corpus.forking())"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(FORKING, True)


@pytest.mark.parametrize("case", named(CASES, heavy=False))
def test_twin_is_not_accused(case: Case) -> None:
    finding = attack(case, case.correct, 0.2)
    assert not finding.refuted, str(finding)
    assert "passed" not in str(finding)


@pytest.mark.heavy
@pytest.mark.parametrize("case", named(CASES, heavy=True))
def test_fine_bug_is_found_within_a_minute(case: Case) -> None:
    assert attack(case, case.faulty, 60.0).refuted


@pytest.mark.heavy
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_twin_is_not_accused_in_a_long_audit(case: Case) -> None:
    finding = attack(case, case.correct, 2.0)
    assert not finding.refuted, str(finding)


@pytest.mark.heavy
def test_time_of_a_sampler_is_reported_apart() -> None:
    faulty = audit(channels.TIMED.faulty, channels.TIMED.claim, seconds=3.0, seed=1)
    assert faulty.timing is not None
    assert not faulty.refuted
    assert audit(channels.TIMED.correct, channels.TIMED.claim, seconds=1.0, seed=1).timing is None


def test_every_row_of_the_list_has_a_planted_bug() -> None:
    assert {case.row for case in CASES} | {channels.TIMED.row} >= set(ROWS)
