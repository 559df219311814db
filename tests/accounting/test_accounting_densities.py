"""Divergences of Laplace and normal laws: against quadrature, known values and the inequalities between them."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from sfumato.accounting.channels import Channel
from sfumato.accounting.divergences import FINITE, LaplaceDensity, NormalDensity, output_divergence
from sfumato.errors import ParameterError
from sfumato.privacy.gaussian import gaussian_delta

KINDS = {NormalDensity: stats.norm, LaplaceDensity: stats.laplace}
kinds = st.sampled_from(sorted(KINDS, key=lambda kind: kind.__name__))
centers, scales = st.floats(-2, 2), st.floats(0.4, 2.5)


def by_quadrature(first, second, integrand) -> float:
    family = KINDS[type(first)]
    p, q = (family(law.center, law.scale) for law in (first, second))
    points = sorted({first.center, second.center, *first.crossings(second, 0.0), *first.crossings(second, 0.3)})
    edges = [-60.0, *(point for point in points if -60 < point < 60), 60.0]
    pieces = itertools.pairwise(edges)
    return sum(integrate.quad(lambda x: integrand(p.pdf(x), q.pdf(x)), a, b, limit=200)[0] for a, b in pieces)


def kl(p: float, q: float) -> float:
    return p * math.log(p / q) if p > 1e-300 and q > 1e-300 else 0.0


# claims
@pytest.mark.parametrize("shift", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_equal_scales_give_the_known_profiles(shift, epsilon):
    normal = NormalDensity(0.0, 2.0).hockey_stick(NormalDensity(2 * shift, 2.0), epsilon)
    assert normal == pytest.approx(gaussian_delta(1.0, shift, epsilon), abs=1e-11)
    laplace = LaplaceDensity(0.0, 2.0).hockey_stick(LaplaceDensity(2 * shift, 2.0), epsilon)
    assert laplace == pytest.approx(max(0.0, 1 - math.exp((epsilon - shift) / 2)), abs=1e-11)


def test_a_law_is_at_distance_zero_from_itself_and_heavy_tails_are_infinitely_far():
    for kind in KINDS:
        law = kind(0.5, 1.5)
        found = (law.kullback_leibler(law), law.total_variation(law), law.squared_hellinger(law), law.chi_square(law))
        assert max(found) <= 1e-11
    assert NormalDensity(0, 1.5).chi_square(NormalDensity(0, 1.0)) == math.inf
    assert LaplaceDensity(0, 2.0).chi_square(LaplaceDensity(0, 1.0)) == math.inf


# laws
@given(kinds, centers, scales, centers, scales)
@settings(max_examples=8, deadline=None)
def test_closed_forms_agree_with_quadrature(kind, a, s, b, t):
    first, second = kind(a, s), kind(b, t)
    assert first.kullback_leibler(second) == pytest.approx(by_quadrature(first, second, kl), rel=1e-6, abs=1e-7)
    variation = by_quadrature(first, second, lambda p, q: abs(p - q) / 2)
    assert first.total_variation(second) == pytest.approx(variation, abs=1e-6)
    stick = by_quadrature(first, second, lambda p, q: max(0.0, p - math.exp(0.3) * q))
    assert first.hockey_stick(second, 0.3) == pytest.approx(stick, abs=1e-6)
    half = by_quadrature(first, second, lambda p, q: (math.sqrt(p) - math.sqrt(q)) ** 2 / 2)
    assert first.squared_hellinger(second) == pytest.approx(half, abs=1e-6)
    if first.chi_square(second) < 100 and s < 1.2 * t:
        square = by_quadrature(first, second, lambda p, q: (p - q) ** 2 / q if q > 1e-250 else 0.0)
        assert first.chi_square(second) == pytest.approx(square, rel=1e-5, abs=1e-6)


@given(kinds, centers, scales, centers, scales)
def test_the_divergences_are_ordered(kind, a, s, b, t):
    first, second = kind(a, s), kind(b, t)
    variation, information = first.total_variation(second), first.kullback_leibler(second)
    hellinger = first.squared_hellinger(second)
    assert hellinger <= variation + 1e-9
    assert variation <= math.sqrt(hellinger * (2 - hellinger)) + 1e-6
    assert variation <= math.sqrt(information / 2) + 1e-6  # Pinsker
    assert information <= math.log1p(first.chi_square(second)) + 1e-9


@pytest.mark.parametrize("kind", FINITE)
def test_outputs_of_a_channel_are_closer_than_its_inputs(kind):
    channel = Channel([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    first, second = [0.6, 0.3, 0.1], [0.1, 0.4, 0.5]
    assert 0 < output_divergence(kind, channel, first, second) <= FINITE[kind](first, second)


# refusals
def test_refuses_what_is_no_law():
    with pytest.raises(ParameterError, match="scale"):
        NormalDensity(0.0, 0.0)
    with pytest.raises(ParameterError, match="center"):
        LaplaceDensity(math.nan, 1.0)
    with pytest.raises(ParameterError, match="kind"):
        output_divergence("energy", Channel([[1]]), [1.0], [1.0])


@pytest.mark.parametrize("kind", ["kullback_leibler", "chi_square", "squared_hellinger", "total_variation"])
@given(center=st.floats(-3, 3), scale=st.floats(0.2, 5))
@settings(max_examples=15, deadline=None)
def test_laws_of_different_families_are_refused(kind, center, scale):
    """The formulas of one family between two families are wrong: N(0, 1) and Lap(0, 1) are 0.1175 apart, not 0."""
    normal, laplace = NormalDensity(0.0, 1.0), LaplaceDensity(center, scale)
    for one, other in ((normal, laplace), (laplace, normal)):
        with pytest.raises(ParameterError, match=r"two laws of one family, got (Normal|Laplace)Density and"):
            getattr(one, kind)(other)
        with pytest.raises(ParameterError, match="two laws of one family"):
            one.hockey_stick(other, 0.5)
        with pytest.raises(ParameterError, match="bin both"):
            one.log_ratio(other, 0.0)
        with pytest.raises(ParameterError, match="bin both"):
            one.crossings(other, 0.0)
