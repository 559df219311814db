"""What a finding says: the culprit, the power of what was tested, bits, and scripts that run."""

from __future__ import annotations

import functools
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.auditing import Attempt, Finding, GaussianNoise, audit, audit_accounting, clock, largest_epsilon
from sfumato.auditing.crew import Crew
from sfumato.auditing.events import Event
from sfumato.auditing.features import FeatureMap
from sfumato.auditing.running import Runner
from sfumato.auditing.scores import ColumnScore
from sfumato.auditing.sources import source_of
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, GaussianPrivacy, Pure, Renyi
from waiting import read_clock

REAL = frozenset({"real-arithmetic"})
SCALE = 0.25


def steps(scale: float, rng: Any) -> int:
    return round(rng.laplace(0.0, scale))


def counted(data: list[float], rng: Any) -> float:
    return len(data) + steps(1.0, rng)


# power is that of the tested events
def test_power_is_said_of_the_tested_event() -> None:
    said = str(Finding("f", Pure(1.0), None, (Attempt("event search", "3 pairs", 500, 1.5),)))
    assert "the best event tested could have shown an epsilon of 1.5 or more, and did not" in said
    assert "proves nothing" in said


def test_too_few_runs_are_said_to_show_nothing() -> None:
    calls: list[int] = []

    def rare(data: list[float], rng: Any) -> float:
        calls.append(1)
        return float(len(data)) + float(rng.integers(0, 2**40))

    finding = audit(rare, Approximate(8.0, 1e-3), pairs=[([1.0], [])], seconds=0.4, seed=1)
    assert not finding.refuted
    assert finding.power == math.inf
    assert "nothing could have been seen" in str(finding)
    assert "audit_accounting" in str(finding)


def test_looks_and_computations_claim_no_power() -> None:
    finding = audit_accounting([(Pure(0.5), 2)], Pure(1.0))
    assert finding.tried[0].power is None
    assert "no events were counted" in str(finding)


# floating point is named
def test_evidence_that_uses_low_bits_among_others_is_labeled() -> None:
    def textbook(data: list[float], rng: Any) -> float:
        return float(len(data)) + rng.laplace(0.0, 1.0)

    finding = audit(textbook, Pure(1.0), seconds=20, seed=2)
    assert finding.evidence is not None
    assert "lowest set bit" in finding.evidence.words
    assert finding.evidence.attack == "support and bits"
    assert any("low bits" in note and "real-arithmetic" in note for note in finding.notes)


# the culprit
def nan_raises(data: list[float], rng: Any) -> int:
    if any(x != x for x in data):
        raise ValueError("no such number")
    return len(data) + steps(3.0, rng)


def test_the_record_and_the_exception_are_named() -> None:
    finding = audit(nan_raises, Pure(1.0), inputs=[0.5, 1.0], adjacency="replace", seconds=20, seed=1)
    assert finding.evidence is not None
    assert "nan" in finding.evidence.relation
    assert "raises ValueError" in finding.evidence.words
    assert "nan" in str(finding)


def joined(data: list[float], rng: Any) -> list[bool]:
    pad = bool(rng.integers(2))
    return [pad, pad ^ (len(data) % 2 == 1)]


def test_joined_outputs_are_shown_as_values_not_as_a_code() -> None:
    finding = audit(joined, Pure(1.0), pairs=[([1.0], [])], seconds=10, seed=1)
    assert finding.evidence is not None
    assert "code" not in finding.evidence.words
    assert any(f"output[{k}]" in finding.evidence.words for k in (0, 1))


# sizes that are public
def amplified(data: list[float], rng: Any) -> int:
    """One row of a table of public size, drawn at random, with noise: the claim of four rows."""
    return int(data[rng.integers(len(data))] > 0.5) + steps(1.0, rng)


def test_sizes_are_held_on_request() -> None:
    claim = Pure(math.log1p((math.e - 1) / 4) * (1 + 1e-9))
    options: dict[str, Any] = {"inputs": [0.0, 1.0, 1.0, 0.0], "bounds": (0.0, 1.0), "adjacency": "replace", "seed": 1}
    assert audit(amplified, claim, seconds=20, **options).refuted
    assert not audit(amplified, claim, seconds=0.4, fixed_size=True, **options).refuted
    with pytest.raises(ParameterError, match="fixed_size"):
        audit(amplified, claim, fixed_size=True)


# time, cores, no claim
def test_all_of_the_time_is_used() -> None:
    finding = audit(counted, Pure(1.0), pairs=[([1.0], [])], seconds=1.0, seed=1)
    assert not finding.refuted
    assert finding.seconds > 0.9


def test_sharpening_shows_more_than_the_first_evidence() -> None:
    pairs = [([1.0], [])]
    first = audit(counted, Pure(0.2), pairs=pairs, seconds=3, seed=1)
    more = audit(counted, Pure(0.2), pairs=pairs, seconds=3, seed=1, sharpen=True)
    assert first.seconds < 2.5
    assert first.epsilon < more.epsilon <= 1.0
    assert more.epsilon > 0.8


def test_without_a_claim_the_largest_epsilon_is_shown_and_never_too_large() -> None:
    finding = largest_epsilon(counted, seconds=2, seed=3, pairs=[([1.0], [])])
    assert 0.8 < finding.epsilon <= 1.0
    assert finding.claim is None
    assert not finding.refuted
    assert "without a claim" in str(finding)
    assert "shown by" in str(finding)


def test_children_share_the_runs_and_none_repeats_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", read_clock)  # the children's time is not this process's
    finding = largest_epsilon(counted, seconds=1.5, seed=3, cores=2, pairs=[([1.0], [])])
    assert 0.0 < finding.epsilon <= 1.0
    runner = Runner(lambda data, rng: int(rng.integers(2**62)), np.random.default_rng, 1)
    runner.draw([], 10)
    runner.spent = 60.0  # slow enough for children
    features = FeatureMap(("output",), (), (("residue", (0,), 2, 0),))
    parity = Event(features, ColumnScore(1, 1), 1.0)
    crew = Crew(runner, 4)
    looks = np.stack([crew.look([], 400, parity) for _ in range(4)])
    assert looks.shape == (4, 400)
    parts = {part.tobytes() for look in looks for part in np.split(look, 4)}
    assert len(parts) == 16


def test_runs_on_several_cores_are_independent_or_made_on_one() -> None:
    generator = np.random.default_rng(1)

    def own_noise(data: list[float]) -> float:
        return len(data) + steps(1.0, generator)

    finding = audit(own_noise, Pure(1.0), pairs=[([1.0], [])], seconds=1.0, cores=2)
    assert any("one core" in note for note in finding.notes)


@pytest.mark.parametrize("options", [{"delta": 1.0}, {"delta": -0.1}, {"cores": 0}, {"nothing": 1}])
def test_refuses_wrong_options_without_a_claim(options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(options))):
        largest_epsilon(counted, **options)


# claims of every kind
@pytest.mark.parametrize("claim", [Renyi(4.0, 0.5, assumptions=REAL), GaussianPrivacy(0.5, assumptions=REAL)])
def test_renyi_and_gaussian_claims_are_attacked(claim: Claim) -> None:
    def noisy(deviation: float) -> Callable[..., float]:
        return lambda data, rng: len(data) + rng.normal(0.0, deviation)

    assert not audit(noisy(2.0), claim, pairs=[([1.0], [])], seconds=0.4, seed=1).refuted
    assert audit(noisy(0.5), claim, pairs=[([1.0], [])], seconds=10, seed=1).refuted
    assert not audit_accounting([GaussianNoise(1.0, 2.0)], claim).refuted
    assert audit_accounting([GaussianNoise(1.0, 0.5)], claim).refuted


def test_gaussian_parts_compose_and_renyi_parts_are_refused() -> None:
    assert not audit_accounting([(GaussianPrivacy(0.3), 4)], GaussianPrivacy(0.6001)).refuted
    assert audit_accounting([(GaussianPrivacy(0.3), 4)], GaussianPrivacy(0.58)).refuted
    assert audit_accounting([Concentrated(0.1)], GaussianPrivacy(0.4)).refuted
    with pytest.raises(ParameterError, match="parts"):
        audit_accounting([Renyi(2.0, 0.1)], Pure(1.0))  # type: ignore[list-item]


# scripts
def inside(factor: int) -> Callable[..., float]:
    def target(data: list[float], rng: Any) -> float:
        return factor * len(data) + steps(SCALE, rng)

    return target


@pytest.mark.parametrize(
    "target",
    [
        lambda data, rng: len(data) + steps(SCALE, rng),
        inside(3),
        functools.partial(counted),
        counted,
    ],
    ids=["lambda", "closure", "partial", "function"],
)
def test_scripts_bring_their_target_back(target: Any) -> None:
    room: dict[str, Any] = {}
    sys.path.insert(0, str(Path(__file__).parent))
    exec(source_of(target), room)
    drawn = [[f([1.0, 2.0], np.random.default_rng(k)) for k in range(20)] for f in (target, room["target"])]
    assert drawn[0] == drawn[1]


@pytest.mark.heavy
def test_the_script_of_a_lambda_runs_on_its_own(tmp_path: Path) -> None:
    finding = audit(lambda data, rng: len(data) + round(rng.laplace(0.0, 0.25)), Pure(1.0), seconds=10, seed=1)
    assert finding.evidence is not None
    (tmp_path / "evidence.py").write_text(finding.evidence.script)
    done = subprocess.run(
        [sys.executable, "evidence.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "claimed 1" in done.stdout


def test_a_script_that_cannot_run_says_why() -> None:
    generator = np.random.default_rng(1)
    text = source_of(lambda data: len(data) + steps(1.0, generator))
    assert "does not run alone, because 'generator' is a Generator" in text
    assert "len(data)" in text
