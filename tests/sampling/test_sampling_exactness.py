"""The laws sampled, computed from the sampler's own decisions, equal the mathematical ones to 1e-30."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scripted import Scripted

from sfumato.randomness import seeded
from sfumato.sampling import DiscreteGaussian, DiscreteLaplace, Geometric, Staircase, cube, drawing, uniform
from sfumato.sampling import gaussian as gaussian_module
from sfumato.sampling import geometric as geometric_module
from sfumato.sampling import laplace as laplace_module
from sfumato.sampling import rounded_normal as normal_module
from sfumato.sampling import staircase as staircase_module
from sfumato.sampling.alias import alias_table
from sfumato.sampling.cube import _eulerian_table, eulerian
from sfumato.sampling.fixedpoint import LazyUniform, exp_minus

BITS = 512
RELATIVE = mpmath.mpf(10) ** -30


@pytest.fixture(autouse=True)
def _precision():
    with mpmath.workdps(120):
        yield


def words_owned(table) -> list[int]:
    """How many of the 2**64 words lead to each outcome, counted from the alias layout itself."""
    capacity = 1 << (64 - table.alias.bits)
    owned = [0] * (1 << table.alias.bits)
    for column, (threshold, other) in enumerate(
        zip(table.alias.threshold.tolist(), table.alias.other.tolist(), strict=True)
    ):
        owned[column] += threshold
        owned[other] += capacity - threshold
    return owned


def outcome_probabilities(table) -> dict:
    """P(outcome) of one attempt: words owned, plus its share of the remainder."""
    owned = words_owned(table)
    assert owned[: len(table.outcomes)] == list(table.owned)
    listed = dict(zip(table.outcomes, owned, strict=False))
    spare = owned[len(table.outcomes)]
    total, probabilities = mpmath.mpf(0), {}
    for outcome, low, high, _ in table.weigh(BITS):
        mass = mpmath.mpf(low + high) / 2 / mpmath.mpf(2) ** BITS  # of the weight, to 1e-100
        words = mass * mpmath.mpf(2) ** (64 + 160) / table.whole
        part = words - listed.get(outcome, 0)
        assert -(RELATIVE) < part <= spare
        total += part
        probabilities[outcome] = (listed.get(outcome, 0) + part) / mpmath.mpf(2) ** 64
    assert total <= spare  # what is left of the remainder rejects
    return probabilities


def value_probabilities(law) -> dict[int, mpmath.mpf]:
    """P(z) by enumerating cells, places in the cell, and the acceptance of each, normalized."""
    weights: dict[int, mpmath.mpf] = {}
    for cell, p in outcome_probabilities(law.table).items():
        places = 1 if law.words == 1 else 1 << law.envelope.exponent
        slope, curve = law.envelope.fall(cell)
        for k in range(places):
            second = k << law.shift if law.words == 3 else 0
            t = Fraction(k, places)
            low, high = exp_minus(t * (slope + curve * t), BITS)
            accept = mpmath.mpf(low + high) / 2 / mpmath.mpf(2) ** BITS
            z = law.value(cell, second)
            weights[z] = weights.get(z, mpmath.mpf(0)) + p * accept / places
    total = mpmath.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


# claims: enumerated over the decision tree
@pytest.mark.parametrize("scale", [0.05, 0.7, 3.0, 17.3, 40.0])
def test_discrete_laplace_is_exact(scale):
    rate = 1 / mpmath.mpf(scale)
    total = mpmath.coth(rate / 2)
    found = value_probabilities(laplace_module._plan(scale))
    for z in range(-int(60 * scale) - 1, int(60 * scale) + 2):  # far beyond the listed cells
        truth = mpmath.exp(-abs(z) * rate) / total
        assert abs(found[z] - truth) <= RELATIVE * truth
    off = mpmath.exp(-1 / (mpmath.mpf(scale) * (1 + mpmath.mpf(2) ** -52))) / mpmath.coth(
        1 / (2 * mpmath.mpf(scale) * (1 + mpmath.mpf(2) ** -52))
    )
    assert abs(found[1] - off) > RELATIVE * off  # even a scale one ulp off would be noticed


@pytest.mark.parametrize("scale", [0.3, 5.0, 33.0])
def test_geometric_is_exact(scale):
    q = mpmath.exp(-1 / mpmath.mpf(scale))
    found = value_probabilities(geometric_module._plan(scale))
    for z in range(int(60 * scale)):
        truth = (1 - q) * q**z
        assert abs(found[z] - truth) <= RELATIVE * truth


@pytest.mark.parametrize("sigma", [0.1, 1.0, 7.5, 32.5, 70.0])
def test_discrete_gaussian_is_exact(sigma):
    variance = mpmath.mpf(sigma) ** 2
    total = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * variance)))
    found = value_probabilities(gaussian_module._plan(sigma))
    for z in range(-int(12 * sigma), int(12 * sigma) + 1):
        truth = mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * variance)) / total
        assert abs(found[z] - truth) <= RELATIVE * truth


@pytest.mark.parametrize(("sensitivity", "epsilon", "width"), [(3, 0.5, 2), (1, 2.0, 1), (50, 0.03, 7)])
def test_staircase_levels_are_exact(sensitivity, epsilon, width):
    """The place on a level is uniform by construction; the level's law is the irrational part."""
    found = value_probabilities(staircase_module._levels(Staircase(sensitivity, epsilon, width)))
    r = mpmath.exp(-mpmath.mpf(epsilon))
    total = 2 * width - 1 + 2 * sensitivity * r / (1 - r)
    for level in range(int(60 / epsilon)):
        truth = (2 * sensitivity if level else 2 * width - 1) * r**level / total
        assert abs(found[level] - truth) <= RELATIVE * truth


@pytest.mark.parametrize("sigma", [0.4, 3.0, 40.0])
def test_rounded_normal_cells_are_exact(sigma):
    """Cells have the envelope's weight to 1e-30; inside, acceptance and rounding make the normal law.

    The integral over the place u of exp(-phi(u)), cell by cell, must give Phi's differences.
    """
    law = normal_module._plan(sigma)
    probabilities = outcome_probabilities(law.table)
    weights: dict[int, mpmath.mpf] = {}
    root = mpmath.mpf(sigma) * mpmath.sqrt(2)
    for cell, p in probabilities.items():
        place, h = law.envelope.place(cell), law.envelope.length
        if place > 14 * sigma:
            continue
        start, length = (
            mpmath.mpf(place.numerator) / place.denominator,
            mpmath.mpf(h.numerator) / h.denominator,
        )
        pieces = 1 << max(law.envelope.exponent + 1, 0)  # half-integers cut the cell
        for k in range(pieces):
            second = k * (1 << 64) // pieces
            a, b = start + length * k / pieces, start + length * (k + 1) / pieces
            area = (mpmath.erf(b / root) - mpmath.erf(a / root)) * root * mpmath.sqrt(mpmath.pi) / 2
            accepted = area * mpmath.exp((start / root) ** 2) / length
            z = law.value(cell, second)
            weights[z] = weights.get(z, mpmath.mpf(0)) + p * accepted
    total = mpmath.fsum(weights.values())
    for z in range(-int(9 * sigma), int(9 * sigma) + 1):
        truth = (mpmath.erf((z + 0.5) / root) - mpmath.erf((z - 0.5) / root)) / 2
        assert abs(weights[z] / total - truth) <= RELATIVE * truth  # cut at 14 sigma: 1e-43


@pytest.mark.parametrize(("scale", "dimension"), [(2.0, 1), (0.3, 3), (50.0, 12), (0.01, 100)])
def test_the_cube_radius_has_its_generating_function(scale, dimension):
    table = _eulerian_table(scale, dimension)
    found = outcome_probabilities(table)
    q = mpmath.exp(-1 / mpmath.mpf(scale))
    numbers = eulerian(dimension)
    total = mpmath.fsum(number * q**j for j, number in enumerate(numbers))
    whole = mpmath.fsum(found.values())
    for j, number in enumerate(numbers):
        truth = number * q**j / total
        assert abs(found[j, 0] / whole - truth) <= RELATIVE * truth + mpmath.mpf(2) ** (8 - BITS)
    x = Fraction(1, 7)  # sum (2R+1)^d x^R (1-x)^(d+1) is the polynomial
    series = sum((2 * r + 1) ** dimension * x**r for r in range(1200)) * (1 - x) ** (dimension + 1)
    polynomial = sum(number * x**j for j, number in enumerate(numbers))
    assert abs(series / polynomial - 1) < Fraction(1, 10**100)


@pytest.mark.parametrize(("scale", "dimension"), [(2.0, 12), (0.3, 40), (50.0, 200), (0.01, 300), (0.001, 700)])
def test_the_cube_weights_in_doubles_are_within_their_bound(scale, dimension):
    """Also where exp(-1 / scale) is no double and neighbors differ by thousands of bits."""
    near, top = cube._tilted(scale, dimension)
    low, high = cube._exact_weights(scale, dimension, top, 2000)
    relied = 0
    for w, less, more in zip(near.tolist(), low, high, strict=True):
        truth = Fraction(less + more, 2 << 2000)
        if w:
            relied += 1
            assert abs(Fraction(w) / truth - 1) < cube.STEP * dimension
        else:
            assert truth < cube.TINY
    assert relied >= 2


@pytest.mark.parametrize("x", ["0", "1", "1/3", "40", "1/1000000007", "700", "12345/7", "3/1152921504606846976"])
@pytest.mark.parametrize("bits", [16, 64, 200, 700])
def test_exponentials_are_enclosed_tightly(x, bits):
    value = Fraction(x)
    low, high = exp_minus(value, bits)
    with mpmath.workdps(600):
        truth = mpmath.exp(-mpmath.mpf(value.numerator) / value.denominator) * mpmath.mpf(2) ** bits
        assert low <= truth <= high
    assert high - low <= 3


def test_integer_alias_tables_own_exactly_their_weights():
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 17, 300):
        weights = [int(w) for w in rng.integers(0, 2**50, size)]
        weights[0] += 2**64 - sum(weights)
        table = alias_table(weights)
        owned = [0] * (1 << table.bits)
        for column in range(1 << table.bits):
            owned[column] += int(table.threshold[column])
            owned[int(table.other[column])] += (1 << (64 - table.bits)) - int(table.threshold[column])
        assert owned[:size] == weights
        assert not any(owned[size:])


# laws: one decision, however it is reached
PLANS = {
    "laplace": lambda: laplace_module._plan(1e6),
    "small laplace": lambda: laplace_module._plan(3.0),
    "gaussian": lambda: gaussian_module._plan(1234.5),
    "normal": lambda: normal_module._plan(20.0),
    "narrow normal": lambda: normal_module._plan(0.2),
    "largest": lambda: gaussian_module._plan(1e15),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_exact_path_agrees_with_the_fast_path_word_by_word(name, monkeypatch):
    """With the band wide open every attempt is settled by enclosures; no decision changes."""
    law, count = PLANS[name](), 3000
    words = seeded(11).bits64(law.words * count)
    fast = drawing.attempts(law, words, seeded(12))
    settled = [
        drawing.settle(law, *(int(words[i + k * count]) for k in range(law.words)), rng=seeded(13))
        for i in range(count)
    ]
    assert fast.tolist() == [value for value in settled if value is not None]
    assert law.words == 1 or 0.9 < fast.size / count < 1


@pytest.mark.parametrize("name", PLANS)
def test_single_draws_agree_with_vectors_word_by_word(name):
    law, count = PLANS[name](), 3000
    words = seeded(14).bits64(law.words * count)
    vector = drawing.attempts(law, words, seeded(15))
    in_turn = Scripted(words.reshape(law.words, count).T.reshape(-1), seeded(16))
    single = [drawing.attempt(law, in_turn) for _ in range(count)]
    assert vector.tolist() == [value for value in single if value is not None]


def test_a_position_in_the_remainder_finds_its_own_part():
    """Walk the fractional parts with exact rationals and ask `locate` at the middle of each."""
    table = laplace_module._plan(2.0).table
    spare = 2**64 - sum(table.owned)
    own = dict(zip(table.outcomes, table.owned, strict=True))
    end = Fraction(0)
    for outcome, low, high, _ in list(table.weigh(BITS))[:200]:
        part = Fraction(low + high << 63 + 160, table.whole << BITS) - own.get(outcome, 0)
        middle = (end + part / 2) / spare
        end += part
        position = LazyUniform(int(middle * 2**384), 384)
        assert table.locate(position) == (True, outcome)
    assert table.locate(LazyUniform(2**384 - 1, 384)) == (True, None)
    assert table.locate(LazyUniform(int(end / spare * 2**64), 64))[0] is False  # too few bits to say


def test_the_taylor_polynomial_is_within_half_the_band():
    coefficients = drawing.taylor_exp_minus(drawing.PHI)
    phi = np.linspace(0, drawing.PHI, 20_001)
    found = drawing.exp_minus_near(phi, coefficients)
    worst = max(
        abs(mpmath.exp(-mpmath.mpf(p)) - mpmath.mpf(f)) for p, f in zip(phi.tolist(), found.tolist(), strict=True)
    )
    assert worst < drawing.BAND / 2


@pytest.mark.parametrize("high", [1, 2, 3, 10, 2**31 + 11, 2**62 + 1, 2**63])
def test_uniform_integers_are_the_floor_of_an_exact_product(high):
    words = seeded(17).bits64(2000)
    words[0], words[1000] = 2**64 - 1, 2**64 - 1
    words[1], words[1001] = 0, 0
    found = uniform.uniform_integers(high, 1000, Scripted(words, seeded(18)))
    for k, (a, b) in enumerate(zip(words[:1000].tolist(), words[1000:].tolist(), strict=True)):
        assert int(found[k]) == (a << 64 | b) * high >> 128 or (k == 0 and int(found[k]) == high - 1)


def test_every_scale_in_the_range_has_a_plan():
    for exponent in range(-3, 16):
        for scale in (10.0**exponent, min(7.3 * 10.0**exponent, 1e15)):
            for law in (DiscreteLaplace(scale), DiscreteGaussian(scale), Geometric(scale)):
                assert abs(law.sample((), seeded(19))) <= 60 * scale + 1
