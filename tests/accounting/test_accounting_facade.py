"""The doors of sf.accounting: every name opens, and numbers agree with other routes."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import sfumato as sf
from sfumato.accounting.divergences.convex import f_divergence
from sfumato.accounting.laws import must_be_consistent
from sfumato.errors import ParameterError
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure, Renyi

accounting = sf.accounting
laws = st.lists(st.floats(0.01, 1.0), min_size=3, max_size=3).map(lambda w: np.array(w) / sum(w))
KINDS = {accounting.NormalDensity: stats.norm, accounting.LaplaceDensity: stats.laplace}


# claims
def test_every_name_opens_and_an_unknown_one_is_explained():
    assert set(accounting.__all__) <= set(dir(accounting))
    for name in accounting.__all__:
        assert callable(getattr(accounting, name)) or name == "Law", name
    with pytest.raises(AttributeError, match="compose"):
        accounting.composed  # noqa: B018


def test_the_facade_costs_nothing_before_it_is_used():
    code = "import sys, sfumato as sf; sf.accounting; assert 'scipy' not in sys.modules and 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_same_composition_through_laws_and_claims():
    plan = accounting.compose((accounting.pure(0.1), 30), (Pure(0.1), 10))
    assert len(plan.parts) == 1
    best = accounting.optimal(Pure(0.1), 40, 1e-6)
    assert plan.epsilon(1e-6).lower <= best.epsilon * (1 + 1e-12) <= plan.epsilon(1e-6).upper * (1 + 2e-12)
    assert best.epsilon < accounting.advanced(Pure(0.1), 40, 1e-6).epsilon


@pytest.mark.parametrize("order", [2, 4, 16, 64])
def test_renyi_curves_agree_with_another_library(order):
    events = {
        accounting.gaussian(0.5): dp_event.GaussianDpEvent(2.0),
        accounting.laplace(0.5): dp_event.LaplaceDpEvent(2.0),
        accounting.poisson(accounting.gaussian(0.5), 0.1): dp_event.PoissonSampledDpEvent(
            0.1, dp_event.GaussianDpEvent(2.0)
        ),
    }
    for law, event in events.items():
        other = rdp_privacy_accountant.RdpAccountant([order])
        other.compose(event, 7)
        assert accounting.compose((law, 7)).renyi(order) == pytest.approx(float(other._rdp[0]), rel=1e-6)


def test_a_trade_off_curve_lies_just_below_the_gaussian_one():
    plan = accounting.compose((accounting.gaussian(0.1), 100))
    exact = accounting.tradeoff_of(GaussianPrivacy(1.0))
    for alpha in (0.0, 0.01, 0.1, 0.5, 0.9, 1.0):
        assert exact(alpha) - 2e-3 <= plan.tradeoff(alpha) <= exact(alpha) + 1e-12


def test_a_plot_holds_the_curve():
    chart = accounting.compose((accounting.gaussian(0.1), 100)).plot([0.5, 1.0, 2.0])
    (rows,) = chart.to_dict()["datasets"].values()
    for row in rows:
        assert row["delta"] == pytest.approx(gaussian_delta(1.0, 1.0, row["epsilon"]), rel=1e-2)


@pytest.mark.parametrize("target", [Approximate(1.0, 1e-6), Pure(1.0), Concentrated(0.1)])
@pytest.mark.parametrize("noise", ["gaussian", "laplace", "discrete_laplace"])
def test_calibrated_noise_meets_its_target_and_five_percent_less_does_not(noise, target):
    if noise == "gaussian" and isinstance(target, Pure):
        with pytest.raises(ParameterError, match="rho"):
            accounting.calibrate(noise, target)
        return
    scale = accounting.calibrate(noise, target, 2, 10)

    def met(scale):
        law = {
            "gaussian": lambda: accounting.gaussian(2 / scale),
            "laplace": lambda: accounting.laplace(2 / scale),
            "discrete_laplace": lambda: accounting.discrete_laplace(scale, 2),
        }[noise]()
        if isinstance(target, Approximate):
            return accounting.compose((law, 10)).epsilon(target.delta).lower <= target.epsilon * (1 + 1e-9)
        if noise == "gaussian":
            return 10 * (2 / scale) ** 2 / 2 <= target.concentrated_within() * (1 + 1e-12)
        each = Pure(2 / scale)
        total = accounting.basic([each] * 10) if isinstance(target, Pure) else 10 * each.concentrated_rho
        return total.epsilon <= 1.0 + 1e-12 if isinstance(total, Pure) else total <= 0.1 + 1e-12

    assert met(scale)
    assert not met(0.95 * scale)


def test_conversions():
    assert accounting.convert(Pure(0.5), "approximate") == Approximate(0.5, 0.0)
    assert accounting.convert(Approximate(0.5, 0.0), "pure") == Pure(0.5)
    gauss = accounting.convert(GaussianPrivacy(1.0), "approximate", delta=1e-6)
    assert gaussian_delta(1.0, 1.0, gauss.epsilon) <= 1e-6 < gaussian_delta(1.0, 1.0, gauss.epsilon * 0.999)
    assert accounting.convert(Renyi(8.0, 0.5), "approximate", delta=1e-6).epsilon > 0.5


# laws
@settings(max_examples=30, deadline=None)
@given(laws, laws)
def test_ones_own_f_gives_the_named_divergences(p, q):
    own = {
        "kullback-leibler": lambda t: t * math.log(t) if t else 0.0,
        "total-variation": lambda t: abs(t - 1) / 2,
        "chi-square": lambda t: (t - 1) ** 2,
        "hellinger": lambda t: (math.sqrt(t) - 1) ** 2 / 2,
    }
    for kind, f in own.items():
        named = accounting.divergence(kind, p, q)
        assert accounting.divergence(f, p, q) == pytest.approx(named, rel=1e-9, abs=1e-12)


@pytest.mark.heavy
@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(sorted(KINDS, key=lambda kind: kind.__name__)),
    st.sampled_from(sorted(KINDS, key=lambda kind: kind.__name__)),
    st.floats(-2, 2), st.floats(0.5, 2), st.floats(-2, 2), st.floats(0.5, 2), st.floats(0.0, 1.0),
)  # fmt: skip
def test_any_two_densities_are_enclosed(first, second, a, s, b, t, epsilon):
    p, q = first(a, s), second(b, t)
    one, other = (KINDS[type(law)](law.center, law.scale).pdf for law in (p, q))
    points = sorted({a, b, *np.linspace(-30, 30, 61)})
    truth = sum(
        integrate.quad(lambda x: max(0.0, one(x) - math.exp(epsilon) * other(x)), low, high)[0]
        for low, high in itertools.pairwise(points)
    )
    enclosed = accounting.divergence("hockey-stick", p, q, order=epsilon)
    assert truth - 1e-6 <= enclosed <= truth + 2e-4
    law = accounting.densities(p, q)
    must_be_consistent(law)
    assert law.infinity + float(law.p.sum()) == pytest.approx(1.0, abs=1e-9)


def test_composed_densities_stay_above_and_close():
    law = accounting.densities(accounting.NormalDensity(0.1, 1.0), accounting.NormalDensity(0.0, 1.0))
    exact = accounting.compose((accounting.gaussian(0.1), 100)).epsilon(1e-6)
    upper = accounting.compose((law, 100)).epsilon(1e-6).upper
    assert exact.lower <= upper <= 1.001 * exact.upper


# refusals
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda t: -((t - 1) ** 2), "convex"),
        (lambda t: t**2, r"f\(1\) must be 0"),
        (lambda t: math.sin(t) - math.sin(1), "convex"),
        (lambda t: math.log(t - 0.5), "finite number"),
    ],
)
def test_refuses_what_is_no_convex_function(f, words):
    with pytest.raises(ParameterError, match=words):
        accounting.divergence(f, [0.5, 0.5], [0.25, 0.75])


def test_mass_without_a_partner_counts_by_the_slope():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert math.isinf(f_divergence(lambda t: abs(t - 1) / 2, p, q))
    assert f_divergence(lambda t: abs(t - 1) / 2, p, q, slope=0.5) == pytest.approx(0.5)
    assert math.isinf(f_divergence(lambda t: -math.log(t), np.array([1.0, 0.0]), np.array([0.5, 0.5])))
    with pytest.raises(ParameterError, match="slope"):
        f_divergence(lambda t: abs(t - 1) / 2, p, q, slope=0.1)


def test_refusals_name_what_there_is():
    with pytest.raises(ParameterError, match="total-variation"):
        accounting.divergence("energy", [1.0], [1.0])
    with pytest.raises(ParameterError, match="chi-square"):
        accounting.contraction("energy", 1.0)
    with pytest.raises(ParameterError, match="order="):
        accounting.divergence("renyi", [1.0], [1.0])
    with pytest.raises(ParameterError, match="both be densities"):
        accounting.divergence("hellinger", accounting.NormalDensity(0.0, 1.0), [1.0])
    with pytest.raises(ParameterError, match="tails"):
        accounting.divergence("chi_square", accounting.NormalDensity(0.0, 1.0), accounting.LaplaceDensity(0.0, 1.0))
    with pytest.raises(ParameterError, match="implies no pure claim"):
        accounting.convert(Concentrated(0.1), "pure")
    with pytest.raises(ParameterError, match="raise delta"):
        accounting.convert(Approximate(0.1, 1e-3), "approximate", delta=1e-6)
    with pytest.raises(ParameterError, match="noise must be one of"):
        accounting.calibrate("uniform", Pure(1.0))
    with pytest.raises(ParameterError, match="no Renyi divergence is known"):
        accounting.compose(accounting.without_replacement(accounting.gaussian(1.0), 0.1)).renyi(2)
    with pytest.raises(ParameterError, match="whole number"):
        accounting.compose(accounting.poisson(accounting.gaussian(1.0), 0.1)).renyi(2.5)


@pytest.mark.parametrize(
    "parts", [(accounting.laplace(0.1), 40), ([accounting.laplace(0.1)] * 2,), ("laplace",), (None,)]
)
def test_a_part_that_is_no_law_is_refused_in_words(parts):
    with pytest.raises(ParameterError, match="a pair of one with how often it is used"):
        accounting.compose(*parts)
