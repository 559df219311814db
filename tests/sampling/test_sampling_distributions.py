"""Draws against their laws: at least 10^7 for the chi-square tests, and a law 1 % off is refused."""

import numpy as np
import pytest
from scipy import stats

from sfumato.randomness import secure, seeded
from sfumato.sampling import (
    CubeNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Geometric,
    RoundedNormal,
    Staircase,
    bernoulli,
    bernoulli_exp,
    drawing,
    exponential,
    gamma,
    normal,
    rounded_gamma,
    uniform_integers,
)
from sfumato.sampling import laplace as laplace_module
from sfumato.sampling import rounded_normal as normal_module
from statistical import ALPHA, assert_law, assert_probability, binned_pvalue, pooled_pvalue

DRAWS = 10**7
OFF = 1.01


def cdf(law):
    """P(Z <= z) of a symmetric law, from its two-sided tail."""

    def at(points):
        return np.array([1 - law.tail(int(z)) / 2 if z >= 0 else law.tail(-int(z) - 1) / 2 for z in points])

    return at


def assert_wide_law(draws, law, wrong) -> None:
    """Chi-square in 200 cells of about equal probability; see `assert_law` for the power."""
    reach = law.quantile(1e-3)
    edges = np.unique(np.linspace(-reach, reach, 200).astype(np.int64))
    p = binned_pvalue(draws, edges, cdf(law))
    assert p >= ALPHA, p
    p = binned_pvalue(draws, edges, cdf(wrong))
    assert p < ALPHA, p


# distribution: narrow laws, one cell an integer
@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (DiscreteLaplace(10.0), DiscreteLaplace(10.0 * OFF)),
        (DiscreteLaplace(1.5), DiscreteLaplace(1.5 * OFF)),
        (DiscreteLaplace(20.0), DiscreteLaplace(20.0 / OFF)),
        (DiscreteGaussian(10.0), DiscreteGaussian(10.0 * OFF)),
        (DiscreteGaussian(35.0), DiscreteGaussian(35.0 / OFF)),
        (RoundedNormal(0.7), RoundedNormal(0.7 * OFF)),
        (RoundedNormal(20.0), RoundedNormal(20.0 / OFF)),
        (Staircase(4, 0.5, 2), Staircase(4, 0.5 * OFF, 2)),
        (Staircase(3, 0.04, 1), Staircase(3, 0.04 / OFF, 1)),
        (Geometric(25.0), Geometric(25.0 * OFF)),
    ],
    ids=str,
)
def test_narrow_laws(law, wrong):
    assert_law(law.sample(DRAWS, seeded(101)), law.pmf, wrong.pmf)


# distribution: wide laws, and their low digits
@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (DiscreteLaplace(1e6), DiscreteLaplace(1e6 * OFF)),
        (DiscreteLaplace(1e15), DiscreteLaplace(1e15 / OFF)),
        (DiscreteGaussian(1e6), DiscreteGaussian(1e6 * OFF)),
        (RoundedNormal(1e6), RoundedNormal(1e6 / OFF)),
        (Staircase(10**6, 1.0, 300_000), Staircase(10**6, OFF, 300_000)),
    ],
    ids=str,
)
def test_wide_laws(law, wrong):
    draws = law.sample(DRAWS, seeded(102))
    assert_wide_law(draws, law, wrong)
    digits = np.bincount(draws & 1023, minlength=1024).astype(np.float64)
    assert pooled_pvalue(digits, np.full(1024, DRAWS / 1024)) >= ALPHA  # uniform to 1e-5 at these scales


def test_the_secure_generator_gives_the_same_law():
    law = DiscreteLaplace(10.0)
    assert_law(law.sample(DRAWS, secure()), law.pmf, DiscreteLaplace(10.0 * OFF).pmf)


def test_single_draws_follow_the_law():
    """20,000 draws: a scale 10 % off moves the chi-square by 200 against a critical 150."""
    rng = seeded(103)
    for law, wrong in [
        (DiscreteLaplace(2.0), DiscreteLaplace(2.4)),
        (DiscreteGaussian(2.0), DiscreteGaussian(2.4)),
        (RoundedNormal(2.0), RoundedNormal(2.4)),
        (Staircase(2, 1.0, 1), Staircase(2, 1.3, 1)),
    ]:
        assert_law([law.sample((), rng) for _ in range(20_000)], law.pmf, wrong.pmf)


@pytest.mark.parametrize(
    "module_and_law", [(laplace_module, DiscreteLaplace(40.0)), (normal_module, RoundedNormal(40.0))]
)
def test_the_undecided_path_follows_the_law(module_and_law, monkeypatch):
    """The band is widened so that a tenth of all attempts is settled by enclosures."""
    _, law = module_and_law
    monkeypatch.setattr(drawing, "BAND", 0.05)
    draws = law.sample(60_000, seeded(104))
    wrong = type(law)(40.0 * 1.15)
    assert_law(
        draws // 8,
        lambda k: sum(law.pmf(8 * k + i) for i in range(8)),
        lambda k: sum(wrong.pmf(8 * k + i) for i in range(8)),
    )


def test_the_remainder_follows_the_law():
    """Draws from the remainder alone have the law of the fractional parts: mostly the far tail."""
    table, rng = laplace_module._plan(0.5).table, seeded(105)
    spare = 2**64 - sum(table.owned)
    own = dict(zip(table.outcomes, table.owned, strict=True))
    expected = {
        outcome: ((low << 64 + 160) // table.whole - (own.get(outcome, 0) << 400)) / 2**400 / spare
        for outcome, low, _, _ in table.weigh(400)
    }
    names = [*expected, None]
    found = [names.index(table.remainder(rng)) for _ in range(4000)]
    due = np.array([*expected.values(), max(1 - sum(expected.values()), 0.0)]) * 4000
    assert pooled_pvalue(np.bincount(found, minlength=len(names)).astype(float), due) >= ALPHA
    assert pooled_pvalue(np.bincount(found, minlength=len(names)).astype(float), due[::-1].copy()) < ALPHA


# distribution: coins, uniforms, the cube, lazy reals
def test_coins():
    rng = seeded(106)
    assert_probability(int(bernoulli_exp(0.3, 10**6, rng).sum()), 10**6, float(np.exp(-0.3)))
    assert_probability(int(bernoulli(1 / 3, 10**6, rng).sum()), 10**6, 1 / 3)
    assert_probability(sum(bernoulli_exp(2.0, (), rng) for _ in range(20_000)), 20_000, float(np.exp(-2)))
    assert bernoulli_exp(0, (2, 3), rng).all()
    assert bernoulli(1, 5, rng).all()
    assert not bernoulli(0, 5, rng).any()
    assert not bernoulli_exp(1e9, 5, rng).any()


def test_uniform_integers():
    """The control reduces 12 bits modulo 1000: cells differ by a quarter."""
    for high in (6, 1000):
        draws = uniform_integers(high, 10**6, seeded(107))
        assert draws.max() == high - 1
        assert stats.chisquare(np.bincount(draws, minlength=high)).pvalue >= ALPHA
    biased = (uniform_integers(4096, 10**6, seeded(107))) % 1000
    assert stats.chisquare(np.bincount(biased, minlength=1000)).pvalue < ALPHA


@pytest.mark.parametrize(("scale", "dimension"), [(1.5, 2), (0.8, 3), (20.0, 1)])
def test_the_cube_is_uniform_on_shells(scale, dimension):
    law, wrong = CubeNoise(scale, dimension), CubeNoise(scale * 1.02, dimension)
    draws = law.sample(10**6, seeded(108))
    norm = np.abs(draws).max(axis=1)

    def shells(which):
        return lambda r: 0.0 if r < 0 else which.pmf([r]) * ((2 * r + 1) ** dimension - max(2 * r - 1, 0) ** dimension)

    assert_law(norm, shells(law), shells(wrong))
    at = draws[norm == 1]
    code = ((at + 1) * 3 ** np.arange(dimension)).sum(axis=1)
    counts = np.bincount(code, minlength=3**dimension)
    assert counts[3**dimension // 2] == 0
    assert stats.chisquare(np.delete(counts, 3**dimension // 2)).pvalue >= ALPHA


def test_lazy_reals_follow_their_laws():
    """Kolmogorov-Smirnov on 4,000: critical distance 0.043; a scale 20 % off is 0.067 to 0.08 away."""
    rng = seeded(109)
    for draw, truth in [
        (exponential, stats.expon()),
        (normal, stats.norm()),
        (lambda r: gamma(3, r), stats.gamma(3)),
    ]:
        values = np.array([float(draw(rng)) for _ in range(4000)])
        assert stats.kstest(values, truth.cdf).pvalue >= ALPHA
        assert stats.kstest(values * 1.25, truth.cdf).pvalue < ALPHA


def test_rounded_gamma_is_the_gamma_of_each_cell():
    draws = np.array([rounded_gamma(2, 3, seeded(110 + i)) for i in range(4000)])
    edges = np.arange(0, 25)
    assert binned_pvalue(draws, edges, lambda z: stats.gamma(2, scale=3).cdf(z + 0.5)) >= ALPHA
    assert binned_pvalue(draws, edges, lambda z: stats.gamma(2, scale=3).cdf(z)) < ALPHA
