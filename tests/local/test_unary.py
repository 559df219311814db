"""Unary encodings and RAPPOR: exact channels, what is kept and what is sent, draws, sums of bits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.local.protocols import OptimizedUnary, Rappor, SymmetricUnary
from sfumato.local.protocols.bitmaps import column_sums, random_bits, unpack
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import assert_law, assert_probability

KINDS = [OptimizedUnary, SymmetricUnary]

# claims


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 5, 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_claim_is_the_exact_channels(kind, k, epsilon):
    protocol = kind.calibrate(k, Pure(epsilon))
    check_claim(protocol, Pure(epsilon))
    check_estimates(protocol, np.eye(k), np.eye(k))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_variances_are_those_of_the_literature(epsilon):
    """Optimized 4 e^a/(e^a - 1)^2 and symmetric e^(a/2)/(e^(a/2) - 1)^2 at frequency 0, up to the digits of q."""
    zero = [1.0] + [0.0] * 15
    optimized = OptimizedUnary.calibrate(16, Pure(epsilon)).variance(1, zero)[1]
    assert optimized == pytest.approx(4 * math.exp(epsilon) / math.expm1(epsilon) ** 2, rel=0.02)
    symmetric = SymmetricUnary.calibrate(16, Pure(epsilon)).variance(1, zero)[1]
    assert symmetric == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon / 2) ** 2, rel=0.002)


def test_few_digits_cost_nearly_nothing_in_total():
    for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0, 5.0):
        ideal = 1023 * 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
        ideal += 0.25 / (0.5 - 1 / (math.exp(epsilon) + 1)) ** 2
        assert OptimizedUnary.calibrate(1024, Pure(epsilon)).risk(1) <= 1.001 * ideal


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_rappor_is_private_in_one_report_and_in_all_together(k, epsilon):
    rappor = Rappor.calibrate(k, Pure(epsilon))
    check_claim(rappor, Pure(epsilon))
    check_estimates(rappor, np.eye(k), np.eye(k))
    kept = SymmetricUnary(k, rappor.flip)  # whatever is made of the kept bitmap costs at most what it costs
    assert rappor.forever() == kept.guarantee()
    assert rappor.guarantee().epsilon < rappor.forever().epsilon <= epsilon


def test_three_reports_of_one_kept_bitmap_cost_at_most_forever():
    """The joint law of three reports, enumerated: sum over kept bitmaps of P(kept | x) times the product."""
    rappor = Rappor.calibrate(2, Pure(1.0))
    kept = SymmetricUnary(2, rappor.flip).channel()
    bit = {1: rappor.p, 0: rappor.q}
    maps = [(a, b) for b in (0, 1) for a in (0, 1)]  # the order of `outputs`: the lowest bit first

    def report(z, m):
        return math.prod((bit[b] if a else 1 - bit[b] for a, b in zip(z, m, strict=True)), start=Fraction(1))

    worst = Fraction(0)
    for first in maps:
        for second in maps:
            for third in maps:
                laws = [
                    sum(row[i] * report(first, m) * report(second, m) * report(third, m) for i, m in enumerate(maps))
                    for row in kept
                ]
                worst = max(worst, laws[0] / laws[1], laws[1] / laws[0])
    assert rappor.guarantee().epsilon < math.log(worst) <= rappor.forever().epsilon


# distribution


@pytest.mark.parametrize("kind", KINDS)
def test_reports_follow_the_channel(kind):
    check_draws(kind.calibrate(3, Pure(1.0)), kind.calibrate(3, Pure(0.8)), range(3), 511)


def test_rappor_reports_follow_the_channel():
    check_draws(Rappor.calibrate(3, Pure(3.0)), Rappor.calibrate(3, Pure(2.4)), range(3), 512)


def test_fresh_copies_are_made_from_what_is_kept():
    """From all ones kept, a bit is one with probability p; from all zeros, with q.  120,000 bits each."""
    rappor = Rappor.calibrate(12, Pure(2.0))
    for kept, p in ((255, rappor.p), (0, rappor.q)):
        rows = np.full((10_000, 2), kept, dtype=np.uint8) & np.array([255, 15], dtype=np.uint8)
        sent = rappor.fresh(rows, seeded(513))
        assert rappor.valid(sent).all()
        assert_probability(int(np.bitwise_count(sent).sum()), 120_000, float(p))


def test_random_bits_are_independent_coins_of_exactly_their_probability():
    """The number of ones in rows of 20 is binomial; a probability 5 % off is refused."""
    p = Fraction(11, 32)
    ones = unpack(random_bits(p, 100_000, 20, seeded(514)), 20).sum(axis=1, dtype=np.int64)

    def binomial(rate):
        return lambda z: math.comb(20, z) * rate**z * (1 - rate) ** (20 - z) if 0 <= z <= 20 else 0.0

    assert_law(ones, binomial(float(p)), (binomial(float(p) * 0.95), binomial(float(p) * 1.05)))


# laws


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 700), st.integers(1, 300), st.integers(0, 2**32))
def test_sums_of_columns_are_sums(n, k, seed):
    rows = random_bits(Fraction(1, 2), n, k, seeded(seed))
    np.testing.assert_array_equal(column_sums(rows, k), unpack(rows, k).sum(axis=0, dtype=np.int64))


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 3000), st.floats(1e-4, 45))
def test_calibrate_never_exceeds_its_target(k, epsilon):
    for kind in KINDS:
        assert kind.calibrate(k, Pure(epsilon)).guarantee().implies(Pure(epsilon))
    assert Rappor.calibrate(k, Pure(epsilon)).forever().implies(Pure(epsilon))


# refusals


def test_refuses_a_true_bit_that_is_not_the_likelier():
    with pytest.raises(ParameterError, match="q must be below p"):
        OptimizedUnary(4, Fraction(1, 4), Fraction(1, 2))
    with pytest.raises(ParameterError, match="flip must be below 1/2"):
        Rappor(4, Fraction(1, 2), Fraction(3, 4), Fraction(1, 4))
    with pytest.raises(ParameterError, match="use a smaller domain"):
        OptimizedUnary.calibrate(64, Pure(1.0)).channel()
