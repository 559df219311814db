"""The claim of a batch: against another library, against exact composition, and never above the plain sum."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from clocks import count_calls
from sfumato.accounting.batch import Batch
from sfumato.accounting.batch_claim import batch_claim
from sfumato.accounting.composition import optimal_epsilon
from sfumato.accounting.divergences import hockey_stick
from sfumato.accounting.lattice import discrete_gaussian_law, discrete_laplace_law
from sfumato.accounting.laws import FiniteLaw, GaussianLaw, LaplaceLaw, approximate_law, must_be_consistent, pure_law
from sfumato.accounting.profiles import concentrated_law, profile_law
from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.gauges import LAPLACE
from sfumato.privacy.conversions import concentrated_delta, concentrated_to_approximate
from sfumato.privacy.gaussian import gaussian_delta, gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure, Renyi


def other_library(parts, delta, pessimistic):
    """The epsilon of (kind, parameter, count) parts by dp-accounting."""

    def one(kind, parameter):
        grid = {"value_discretization_interval": 1e-4, "pessimistic_estimate": pessimistic}
        if kind == "pure":
            return privacy_loss_distribution.from_randomized_response(2 / (1 + math.exp(parameter)), 2, **grid)
        if kind == "laplace":
            return privacy_loss_distribution.from_laplace_mechanism(1 / parameter, **grid)
        return privacy_loss_distribution.from_gaussian_mechanism(1 / parameter, **grid)

    composed = [one(kind, parameter).self_compose(count) for kind, parameter, count in parts]
    return functools.reduce(lambda a, b: a.compose(b), composed).get_epsilon_for_delta(delta)


def members(parts):
    laws = {"pure": pure_law, "laplace": LaplaceLaw, "gaussian": GaussianLaw}
    return [(Approximate(90.0, 0.9), laws[kind](parameter)) for kind, parameter, count in parts for _ in range(count)]


# claims: the numbers
@pytest.mark.parametrize("law", [None, discrete_laplace_law(10.0, 1), pure_law(0.1)])
def test_forty_counts_cost_a_quarter_less(law):
    claim = batch_claim([(Pure(0.1), law)] * 40, 1e-6)
    assert claim.epsilon <= 0.75 * 4.0
    assert claim.epsilon == pytest.approx(optimal_epsilon(Pure(0.1), 40, 1e-6), rel=1e-6)
    assert claim.epsilon >= optimal_epsilon(Pure(0.1), 40, 1e-6) * (1 - 1e-12)


@pytest.mark.parametrize("delta", [8e-7, 1e-6])
def test_eight_gaussian_releases_cost_less_than_half(delta):
    law = GaussianLaw(1 / gaussian_sigma(1.0, 0.25, 1e-7))
    claim = batch_claim([(Approximate(0.25, 1e-7), law)] * 8, delta)
    assert claim.epsilon <= 0.45 * 2.0
    assert gaussian_delta(1.0, math.sqrt(8) * law.mu, claim.epsilon) <= delta  # eight compose to one, exactly
    assert gaussian_delta(1.0, math.sqrt(8) * law.mu, claim.epsilon * 0.998) > delta


def test_integer_gaussian_noise_composes_as_well():
    law = discrete_gaussian_law(40.0, 1)
    claim = batch_claim([(Concentrated(1 / 3200), law)] * 8, 1e-6)
    assert claim.epsilon == pytest.approx(
        batch_claim([(Concentrated(1.0), GaussianLaw(1 / 40))] * 8, 1e-6).epsilon, rel=1e-3
    )


def test_the_work_of_a_batch_grows_no_faster_than_its_charges():
    alike = [
        count_calls(lambda n=n: batch_claim([(Pure(0.1), discrete_laplace_law(10.0, 1))] * n, 1e-6))
        for n in (40, 40, 400)  # the first one loads what it needs
    ]
    assert alike[2] < 15 * alike[1] < 1_000_000  # a hundred times, were every pair looked at
    amounts = np.random.default_rng(5).uniform(0.001, 0.03, 100)
    apart = [
        count_calls(lambda n=n: batch_claim([(Pure(float(epsilon)), None) for epsilon in amounts[:n]], 1e-6))
        for n in (25, 100)
    ]
    assert apart[1] < 8 * apart[0] < 2_000_000


# laws
@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["pure", "laplace", "gaussian"]), st.floats(0.05, 0.6), st.integers(1, 9)),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([1e-4, 1e-6, 1e-9]),
)
def test_another_library_brackets_the_claim(parts, delta):
    claim = batch_claim(members(parts), delta)
    assert other_library(parts, delta, pessimistic=False) <= claim.epsilon * (1 + 1e-9)
    assert claim.epsilon <= other_library(parts, delta, pessimistic=True) * 1.01 + 1e-4


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 1e-8)), max_size=12), st.sampled_from([1e-6, 1e-5]))
def test_never_above_the_plain_sum(amounts, delta):
    claim = batch_claim([(Approximate(epsilon, own), None) for epsilon, own in amounts], delta)
    assert claim.epsilon <= math.fsum(epsilon for epsilon, _ in amounts) * (1 + 1e-12)
    assert claim.delta == delta


@settings(max_examples=25, deadline=None)
@given(st.floats(0.001, 0.5), st.integers(1, 6), st.floats(0.01, 0.5), st.integers(0, 20))
def test_concentrated_claims_cover_gaussian_noise(rho, count, epsilon, pures):
    """Gaussian noise attains its rho, so its exact composition is below whatever is claimed for the rho."""
    both = [(Concentrated(rho), None)] * count + [(Pure(epsilon), None)] * pures
    truth = Batch(((GaussianLaw(math.sqrt(2 * rho) * (1 - 1e-12)), count), *[(pure_law(epsilon), pures)] * (pures > 0)))
    claim = batch_claim(both, 1e-6)
    assert claim.epsilon >= truth.epsilon(1e-6).lower
    if not pures:
        assert claim.epsilon <= concentrated_to_approximate(count * rho * (1 + 1e-12), 1e-6)


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-4, 20.0), st.integers(0, 199))
def test_the_law_of_a_concentrated_claim_follows_its_profile(rho, place):
    law = concentrated_law(rho, 1e-10)
    must_be_consistent(law)
    epsilon = float(law.losses[len(law.losses) // 2 + 1 :][place])
    delta = float(law.infinity + np.sum(law.p * -np.expm1(np.minimum(epsilon - law.losses, 0.0))))
    if epsilon >= np.abs(law.losses[law.p > 1e-9]).min():  # below, two losses already carry all the mass
        assert delta >= concentrated_delta(rho, epsilon) * (1 - 1e-13)
    assert delta >= gaussian_delta(1.0, math.sqrt(2 * rho), epsilon) * (1 - 1e-13)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=8), st.lists(st.floats(0.01, 1.0), min_size=8, max_size=8))
def test_a_profile_law_dominates_what_has_the_profile(p, q):
    """Any finite pair is dominated by the law of its own profile, also between the points and in compositions."""
    first, second = np.array(p), np.array(q[: len(p)])
    first, second = first / first.sum(), second / second.sum()

    def profile(epsilon):
        return max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon))

    top = float(np.abs(np.log(first / second)).max()) + 1e-3
    law = profile_law(profile, top, 16)
    must_be_consistent(law)
    for epsilon in np.linspace(0, top, 37):
        delta = float(law.infinity + np.sum(law.p * -np.expm1(np.minimum(epsilon - law.losses, 0.0))))
        assert delta >= profile(float(epsilon)) * (1 - 1e-12)
    pair = FiniteLaw.of(first, second)
    assert Batch(((law, 3),)).epsilon(1e-3).upper >= Batch(((pair, 3),)).epsilon(1e-3).lower


def test_equal_laws_are_equal():
    assert pure_law(0.5) == pure_law(0.5)
    assert len({pure_law(0.5), pure_law(0.5), approximate_law(0.5, 1e-9), pure_law(0.25)}) == 3


# refusals and edges
def test_nothing_costs_nothing_and_free_claims_are_free():
    free = [(Pure(0.0), None), (Concentrated(0.0), None), (Approximate(0.0, 0.0), None), (GaussianPrivacy(0.0), None)]
    assert batch_claim([], 1e-6) == Approximate(0.0, 1e-6) == batch_claim(free, 1e-6)


def test_delta_zero_adds_up_pure_claims():
    assert batch_claim([(Pure(0.5), None), (Pure(0.25), pure_law(0.25))], 0.0) == Approximate(0.75, 0.0)


def test_assumptions_are_united():
    claims = [(Pure(0.1, assumptions={"mixing"}), None), (Pure(0.1, assumptions={"real-arithmetic"}), pure_law(0.1))]
    assert batch_claim(claims, 1e-6).assumptions == {"mixing", "real-arithmetic"}


def test_refuses_a_delta_that_is_revealed_outright():
    with pytest.raises(ParameterError, match="raise delta"):
        batch_claim([(Approximate(0.1, 1e-6), None)] * 3, 1e-6)


def test_refuses_a_claim_without_a_worst_pair():
    with pytest.raises(ParameterError, match="worst pair"):
        batch_claim([(Renyi(4.0, 0.1), None)], 1e-6)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 2), st.integers(1, 200), st.booleans()), min_size=2, max_size=4))
def test_losses_whose_exponentials_are_no_numbers_are_added_up(drawn):
    members = [(LAPLACE.claim(steps, 10**size), LAPLACE.loss(steps, 10**size)) for size, steps, known in drawn if known]
    members += [(LAPLACE.claim(steps, 10**size), None) for size, steps, known in drawn if not known]
    total = math.fsum(claim.epsilon for claim, _ in members)
    assert batch_claim(members, 1e-6).epsilon <= total * (1 + 1e-9)
