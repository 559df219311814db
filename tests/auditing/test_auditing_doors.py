"""The doors beside `audit`: exact laws, sensitivities, declared parts, reconstruction, membership, tables."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from corpus import channels, floats, sums
from scipy import stats

from sfumato.auditing import (
    GaussianNoise,
    LaplaceNoise,
    Law,
    Target,
    audit,
    audit_accounting,
    audit_law,
    audit_membership,
    audit_reconstruction,
    audit_rowwise,
    audit_sensitivity,
    audit_table,
    clock,
    render,
)
from sfumato.auditing.accounting import composed_delta
from sfumato.auditing.enumeration import exact_delta, exact_epsilon
from sfumato.auditing.reconstruction import consistent, differencing, least_squares, programming
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure

# enumeration


def test_law_at_its_exact_epsilon_is_not_refuted_and_below_it_is() -> None:
    laws = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3]]
    epsilon = max(math.log(2), math.log(3))
    assert not audit_law(laws, Pure(epsilon)).refuted
    finding = audit_law(laws, Pure(epsilon - 1e-6))
    assert finding.evidence is not None
    assert finding.evidence.epsilon == pytest.approx(epsilon, abs=1e-9)


def test_exact_curve_agrees_with_its_inverse() -> None:
    a, b = np.array([0.5, 0.5, 0.0]), np.array([0.2, 0.3, 0.5])
    for epsilon in (0.1, 0.4, 0.7):
        assert exact_epsilon(a, b, exact_delta(a, b, epsilon)) == pytest.approx(epsilon, abs=1e-9)
    assert exact_epsilon(b, a, 0.4) == math.inf


def test_law_refuses_what_is_no_law() -> None:
    with pytest.raises(ParameterError, match="laws"):
        audit_law([[0.5, 0.2]], Pure(1.0))


# accounting


def test_composed_delta_of_gaussians_is_below_the_exact_one_and_close() -> None:
    mu = math.sqrt(30) / 20
    for epsilon in (0.1, 0.5, 1.0):
        exact = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        below = composed_delta([(GaussianNoise(1.0, 20.0), 30)], epsilon)
        assert exact * 0.99 - 1e-9 <= below <= exact


def test_composed_delta_of_pure_parts_is_the_optimal_composition() -> None:
    k, epsilon = 20, 0.1
    high = 1 / (1 + math.exp(-epsilon))
    for total in (0.2, 0.6, 1.0):
        ways = np.arange(k + 1)
        a = stats.binom.pmf(ways, k, high)
        b = stats.binom.pmf(ways, k, 1 - high)
        exact = np.maximum(a - math.exp(total) * b, 0).sum()
        assert composed_delta([(Pure(epsilon), k)], total) == pytest.approx(exact, rel=1e-6, abs=1e-10)


def test_one_laplace_part_has_its_closed_form() -> None:
    for epsilon in (0.0, 0.25, 0.9):
        exact = 1 - math.exp((epsilon - 1) / 2)
        assert composed_delta([(LaplaceNoise(1.0, 1.0), 1)], epsilon) == pytest.approx(exact, rel=1e-3)


def test_accounting_of_mixed_parts() -> None:
    law = Law((0.75, 0.25), (0.25, 0.75))
    assert not audit_accounting([Pure(0.5), law], Pure(0.5 + math.log(3) + 1e-9)).refuted
    assert audit_accounting([Pure(0.5), law], Pure(1.5)).refuted
    assert audit_accounting([Concentrated(0.1), Concentrated(0.1)], Concentrated(0.15)).refuted
    assert not audit_accounting([Concentrated(0.1), Concentrated(0.1)], Concentrated(0.2)).refuted
    with pytest.raises(ParameterError, match="parts"):
        audit_accounting([], Pure(1.0))


def test_laplace_two_has_the_delta_of_the_errata() -> None:
    scale = math.sqrt(2 * 1000 * math.log(1e3)) / 10
    assert composed_delta([(LaplaceNoise(1.0, scale), 1000)], 10.0) == pytest.approx(3.4e-3, rel=0.01)
    assert composed_delta([(Pure(1 / scale), 1000)], 10.0) == pytest.approx(4.2e-3, rel=0.01)


# sensitivity and rows


def test_sensitivity_finds_the_corner_of_the_box() -> None:
    finding = audit_sensitivity(lambda rows: [sum(rows), len(rows)], 3.0, "l1", bounds=(-2.0, 3.0))
    assert finding.evidence is not None
    assert finding.evidence.epsilon == pytest.approx(4.0)
    assert "claimed 3" in str(finding)
    assert not audit_sensitivity(lambda rows: [sum(rows), len(rows)], 4.0, "l1", bounds=(-2.0, 3.0)).refuted


def test_a_crash_on_one_row_is_an_infinite_move() -> None:
    finding = audit_sensitivity(lambda rows: sum(math.sqrt(r) for r in rows), 10.0, inputs=[1.0, 2.0])
    assert finding.evidence is not None
    assert finding.evidence.epsilon == math.inf
    with pytest.raises(ParameterError, match="norm"):
        audit_sensitivity(sum, 1.0, "l3")


def test_rowwise_finds_scaling_by_the_data() -> None:
    assert audit_rowwise(lambda rows: [r / max(rows) for r in rows], [1.0, 2.0, 4.0]).refuted
    assert not audit_rowwise(lambda rows: [r / 4 for r in rows], [1.0, 2.0, 4.0]).refuted


# reconstruction and membership


def _sums(queries: np.ndarray, scale: float) -> Any:
    return lambda bits, rng: queries @ bits + rng.laplace(0, scale, len(queries))


@pytest.mark.parametrize("decoder", [consistent, least_squares, programming])
def test_any_consistent_database_is_within_four_alpha(decoder: Any) -> None:
    rng = np.random.default_rng(2)
    size, alpha = 10, 0.4
    queries = np.array([[k >> i & 1 for i in range(size)] for k in range(2**size)], dtype=float)[::3]
    bits = rng.integers(0, 2, size).astype(float)
    answers = queries @ bits + rng.uniform(-alpha, alpha, len(queries))
    assert np.abs(decoder(queries, answers) - bits).sum() <= 4 * alpha


def test_reconstruction_refutes_answers_that_are_too_accurate() -> None:
    queries = (np.random.default_rng(0).random((200, 40)) < 0.5).astype(float)
    finding = audit_reconstruction(_sums(queries, 1.0), queries, Pure(1.0), seconds=3)
    assert finding.evidence is not None
    assert finding.evidence.epsilon > 2
    assert not audit_reconstruction(_sums(queries, 200.0), queries, Pure(1.0), seconds=1).refuted


def test_prefix_sums_give_one_person_away_by_differencing() -> None:
    queries = np.tril(np.ones((12, 12)))
    bits = np.array([1.0, 0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1])
    assert np.array_equal(differencing(queries, queries @ bits), bits)
    exact = audit_reconstruction(_sums(queries, 0.05), queries, Approximate(1.0, 1e-6), seconds=3)
    assert exact.refuted
    assert not audit_reconstruction(_sums(queries, 12.0), queries, Approximate(1.0, 1e-6), seconds=1).refuted


PEOPLE = pd.DataFrame({"age": [30.0, 40.0, 50.0, 60.0], "city": ["a", "b", "a", "b"]})


def bootstrap(table: pd.DataFrame, rng: Any) -> pd.DataFrame:
    """Synthetic rows drawn from the rows themselves."""
    return table.iloc[rng.integers(0, len(table), 8)]


def marginals(table: pd.DataFrame, rng: Any) -> pd.DataFrame:
    """Synthetic rows that do not look at the table."""
    return pd.DataFrame({"age": rng.integers(0, 10, 8) * 10.0, "city": rng.choice(["a", "b"], 8)})


@pytest.mark.heavy
def test_membership_is_told_from_copied_rows() -> None:
    finding = audit_membership(bootstrap, Pure(1.0), inputs=PEOPLE, seconds=10)
    assert finding.refuted, str(finding)
    assert not audit_membership(marginals, Pure(1.0), inputs=PEOPLE, seconds=1).refuted


# tables, scripts, words


def test_table_shows_claim_evidence_and_what_was_tried() -> None:
    targets = [
        Target("a count without noise", lambda data: float(len(data)), Pure(1.0)),
        Target("a noisy sum", channels.noisy_sum, Pure(1.0)),
        Target("a channel", lambda: None, Pure(1.0), by=lambda run, claim, **_: audit_law([[0.5, 0.5]] * 2, claim)),
    ]
    text = render(audit_table(targets, seconds=1.0))
    first, second, third = text.splitlines()[2:]
    assert "epsilon >=" in first
    assert "none found" in second
    assert "enumeration" in third
    assert "passed" not in text


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (floats.holes, {}),
        *(
            pytest.param(target, options, marks=pytest.mark.heavy)
            for target, options in (
                (sums.twice_spent, {}),
                (channels.exits, {}),
                (channels.own_generator, {"forks": True}),
            )
        ),
    ],
)
def test_script_reproduces_the_evidence(target: Any, options: dict[str, Any]) -> None:
    finding = audit(target, Pure(1.0), seconds=20, seed=3, **options)
    assert finding.evidence is not None, str(finding)
    head = f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    run = subprocess.run(
        [sys.executable, "-c", head + finding.evidence.script], capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    shown = float(run.stdout.split("epsilon >= ")[1].split(" ")[0])
    assert shown > 1.0


def test_event_of_the_evidence_can_be_run_again() -> None:
    finding = audit(sums.missing_bound, Pure(1.0), seconds=10, seed=1)
    assert finding.evidence is not None
    first, second = finding.evidence.neighbors
    rng = np.random.default_rng(0)
    assert finding.evidence.event(sums.missing_bound(first, rng))
    assert not finding.evidence.event(sums.missing_bound(second, rng))


def test_finding_nothing_says_what_was_tried_and_its_power() -> None:
    finding = audit(channels.noisy_sum, Pure(1.0), seconds=2, seed=1)
    assert not finding.refuted
    assert 1.0 < finding.power < 3.0  # how much is tried in that time is the machine's
    assert "proves nothing" in str(finding)
    assert "could have shown an epsilon of" in str(finding)


@pytest.mark.parametrize("seconds", [5.0, 30.0])
def test_a_target_that_takes_most_of_a_second_keeps_to_the_time(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = itertools.count()
    spent = [0.0]
    monkeypatch.setattr(clock, "now", lambda: spent[0] + 1e-6 * next(passed))

    def slow(rows: list[float], rng: np.random.Generator) -> float:
        spent[0] += 0.7
        return len(rows) + rng.laplace()

    pairs = [([1.0] * k, [1.0] * (k + 1)) for k in range(1, 9)]
    finding = audit(slow, Pure(1.0), pairs=pairs, seconds=seconds, seed=1)
    assert finding.seconds < seconds + 10
    assert not finding.refuted
    assert any(attempt.attack == "event search" and attempt.runs for attempt in finding.tried)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"claim": 1.0}, "claim"),
        ({"seconds": 0.0}, "seconds"),
        ({"alpha": 2.0}, "alpha"),
        ({"adjacency": "twin"}, "adjacency"),
        ({"inputs": 3.0}, "inputs"),
        ({"pairs": [1]}, "pairs"),
    ],
)
def test_refuses_bad_arguments(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ParameterError, match=match):
        audit(channels.noisy_sum, **{"claim": Pure(1.0), **options})
