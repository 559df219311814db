"""What is said of a guarantee is checked against the exact laws of our own mechanisms, over random parameters."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import sfumato as sf
from sfumato.mechanisms import DiscreteGaussian, Gaussian, Laplace, Staircase
from sfumato.numeric import shown_down, shown_up
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure, Renyi
from sfumato.privacy.statements import STATED_DELTA, EveryEvent, HardToTell, doubt_budget
from sfumato.queries import bind
from sfumato.sampling import RoundedNormal
from sfumato.spaces.schema import Schema

UNIT = "adding or removing any one row"
ROUNDING = 1e-12  # of sums of a hundred thousand probabilities

epsilons = st.floats(0.05, 4.0)
deltas = st.floats(-9.0, -2.0).map(lambda power: 10.0**power)


def question(bound: int = 1):
    return bind(sf.sum("x"), Schema({"x": sf.Integers(0, bound)}))


def hockey_stick(p, q, factor: float) -> float:
    """The largest P(E) - factor Q(E) over all events E."""
    return math.fsum(np.maximum(p - factor * q, 0.0).tolist())


def laws(noise, shift: int):
    """The laws of the noise and of the shifted noise, where they are not negligible."""
    reach = noise.quantile(1e-14) + shift + 1
    mass = np.array([noise.pmf(z) for z in range(-reach - shift, reach + 1)])
    return mass[shift:], mass[: len(mass) - shift]


def holds(said: EveryEvent, p, q) -> bool:
    """Whether the *printed* numbers hold for every event, both ways round."""
    factor, delta = float(said.factor), float(shown_up(said.delta, 3))
    return max(hockey_stick(p, q, factor), hockey_stick(q, p, factor)) <= delta + ROUNDING


@settings(max_examples=25, deadline=None)
@given(epsilon=epsilons, bound=st.integers(1, 4))
def test_pure_statements_hold_for_every_event(epsilon, bound):
    for kind in (Laplace, Staircase):
        mechanism = kind.calibrate(question(bound), Pure(epsilon))
        for shift in range(1, bound + 1):
            assert holds(mechanism.guarantee().statement(), *laws(mechanism.noise, shift))
    p, q = laws(mechanism.noise, bound)
    assert not holds(EveryEvent(0.95 * epsilon), p, q), "a smaller factor must be refused"


@settings(max_examples=20, deadline=None)
@given(epsilon=epsilons, delta=deltas)
def test_approximate_statements_hold_for_every_event(epsilon, delta):
    for kind in (Gaussian, DiscreteGaussian, Laplace):
        mechanism = kind.calibrate(question(), Approximate(epsilon, delta))
        assert holds(mechanism.guarantee().statement(), *laws(mechanism.noise, 1))
    tight = Laplace.calibrate(question(), Approximate(epsilon, delta))
    assert not holds(EveryEvent(0.9 * epsilon - 0.01, delta), *laws(tight.noise, 1)), "a smaller factor must be refused"


@settings(max_examples=20, deadline=None)
@given(rho=st.floats(0.005, 2.0))
def test_concentrated_statements_hold_for_every_event_also_of_pure_mechanisms(rho):
    said = Concentrated(rho).statement()
    assert said.delta == STATED_DELTA
    for kind in (Gaussian, DiscreteGaussian):
        mechanism = kind.calibrate(question(), Concentrated(rho))
        assert holds(said, *laws(mechanism.noise, 1))
    from sfumato.privacy.conversions import pure_for

    pure = Laplace.calibrate(question(), Pure(pure_for(rho)))  # what a concentrated ledger also takes
    assert holds(said, *laws(pure.noise, 1))


@settings(max_examples=15, deadline=None)
@given(order=st.floats(2.0, 30.0), rho=st.floats(0.01, 0.5))
def test_renyi_statements_hold_for_every_event(order, rho):
    mechanism = DiscreteGaussian.calibrate(question(), Concentrated(rho))
    assert holds(Renyi(order, order * rho).statement(), *laws(mechanism.noise, 1))


@settings(max_examples=20, deadline=None)
@given(mu=st.floats(0.05, 2.0))
def test_gaussian_statements_bound_every_test(mu):
    """Rounded normal noise of standard deviation 1 / mu: its trade-off curve lies above that of the normal laws."""
    said = GaussianPrivacy(mu).statement()
    assert isinstance(said, HardToTell)
    p, q = laws(RoundedNormal(1 / mu), 1)
    shown = float(shown_up(said.mu, 4))
    for one, other in ((p[::-1], q[::-1]), (q, p)):  # the likelihood ratio rises along the lattice
        refused, kept = np.cumsum(one), 1 - np.cumsum(other)
        inside = (refused > 1e-9) & (refused < 1 - 1e-9)
        least = stats.norm.cdf(stats.norm.isf(refused[inside]) - shown)
        assert (kept[inside] >= least - 1e-9).all()
        easier = stats.norm.cdf(stats.norm.isf(refused[inside]) - 0.8 * mu)
        assert (kept[inside] < easier).any(), "a smaller mu must be refused"


def test_the_sentence_about_events_of_probability_delta_would_be_false():
    """Why delta is added to a probability: the loss itself exceeds epsilon far more often than delta."""
    mechanism = Gaussian.calibrate(question(), Approximate(1.0, 1e-6))
    p, q = laws(mechanism.noise, 1)
    exceeded = float(p[p > math.e * q].sum())
    assert exceeded > 5e-6
    assert holds(Approximate(1.0, 1e-6).statement(), p, q)


CLAIMS = (Pure(0.1), Approximate(0.50000049, 3.6849e-7), Concentrated(0.1), Renyi(8.0, 0.1), GaussianPrivacy(0.5))


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: type(claim).__name__)
def test_a_claim_reads_as_its_statement(claim):
    words = claim.words().format(unit=UNIT)
    assert words.count(claim.statement().words(UNIT)) == 1
    assert "changes by" not in words
    assert "apart from events" not in words


def test_assumptions_are_said():
    words = Pure(1.0, assumptions=frozenset({"mixing"})).words()
    assert "assuming that" in words
    assert "{unit}" in words


@given(value=st.floats(1e-300, 1e300), digits=st.integers(1, 12))
def test_shown_numbers_are_rounded_outward(value, digits):
    up, down, true = Decimal(shown_up(value, digits)), Decimal(shown_down(value, digits)), Decimal(repr(value))
    assert down <= true <= up
    assert up - down <= true * Decimal(10) ** (1 - digits) * Decimal("1.0001")


@given(epsilon=st.floats(0.0, 1500.0))
def test_the_factor_is_rounded_up(epsilon):
    shown = EveryEvent(epsilon).factor
    if shown.startswith("e^"):
        assert Decimal(shown[2:]) >= Decimal(repr(epsilon))
    else:
        assert Decimal(shown) >= Decimal(epsilon).exp()


def test_no_loss_changes_nothing():
    assert EveryEvent(0.0).factor == "1"
    assert Concentrated(0.0).statement() == Renyi(4.0, 0.0).statement() == EveryEvent(0.0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "size", "words"),
    [
        (1.0, 1e-9, 60_000, None),
        (10.0, 0.0, None, None),
        (500.0, 0.0, None, "epsilon 500 hardly protects anybody (the probability"),
        (1.0, 0.01, 60_000, "delta 0.01 is not below one over the declared size 60,000"),
        (1.0, 0.01, None, None),
        (1.0, 1 / 100, 100, "publishing all that is known of somebody"),
    ],
)
def test_an_absurd_budget_is_doubted_in_one_line(epsilon, delta, size, words):
    """Whoever publishes one row of n, drawn at random, meets a delta of 1/n with an epsilon of 0."""
    said = doubt_budget(epsilon, delta, size)
    assert (said is None) == (words is None)
    if words is not None:
        assert words in said
        assert "\n" not in said


def test_sessions_and_plans_show_the_doubt(tmp_path):
    table = sf.read(pa.table({"x": [1, 2]}), schema={"x": sf.Integers(0, 9)}, dataset="d", size=100)
    absurd = sf.Session(table, budget=Approximate(500.0, 0.05), ledger=tmp_path / "a")
    assert "this budget hardly protects anybody: it is epsilon 500 at delta 0.05" in str(absurd)
    assert "hardly protects anybody" in str(absurd.preview(sf.count(), spend=Pure(1.0)))
    rho = sf.Session(table, budget=Concentrated(50.0), ledger=tmp_path / "c")
    assert "it is epsilon 100.7 at delta 1e-06" in str(rho), "a rho has no factor for every event"
    assert "delta 0.05 is not below one over the declared size 100" in str(absurd)
    assert "doubt" not in str(sf.Session(table, budget=Pure(1.0), ledger=tmp_path / "b"))
