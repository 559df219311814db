"""Exact selection: the law, the settled remainder, sizes, and what cannot go wrong."""

from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.sampling import choose, exponentials, permute_and_flip, selection
from sfumato.sampling.fixedpoint import LazyUniform
from statistical import ALPHA, pooled_pvalue

PENALTIES = np.array([3, 1, 5, 2, 8, 1])
RATE = 0.7
DRAWS = 40_000


def softmax(rate, multiplicities=None):
    weights = np.exp(-rate * PENALTIES) * (1 if multiplicities is None else multiplicities)
    return weights / weights.sum()


def first_heads(rate):
    """Permute-and-flip by its definition: all orders, the first coin that shows heads."""
    heads = np.exp(-rate * (PENALTIES - PENALTIES.min()))
    law = np.zeros(PENALTIES.size)
    orders = list(permutations(range(PENALTIES.size)))
    for order in orders:
        left = 1.0
        for i in order:
            law[i] += left * heads[i] / len(orders)
            left *= 1 - heads[i]
    return law


def assert_selection(found, law, wrong) -> None:
    """Chi-square; a rate 10 % off moves it by about 40,000 * 0.006 = 240, the critical value is 36."""
    counts = np.bincount(found, minlength=law.size).astype(np.float64)
    assert pooled_pvalue(counts, law * len(found)) >= ALPHA
    assert pooled_pvalue(counts, wrong * len(found)) < ALPHA


# claims: numbers
def test_enclosures_of_the_remainder_hold_the_weights():
    """Words owned and fractional parts add up to the weight, in exact arithmetic."""
    import mpmath

    distance = (PENALTIES - 1).astype(np.uint64)
    rest = selection._Remainder(distance, Fraction(RATE), None, np.zeros(6, np.int64), Fraction(2**60), 2**62)
    with mpmath.workdps(150):
        for d, (low, high) in zip(distance.tolist(), rest.enclosures(300), strict=True):
            truth = mpmath.exp(-mpmath.mpf(RATE) * d) * mpmath.mpf(2) ** 360
            assert low <= truth <= high
            assert high - low <= 2


def test_weights_are_far_inside_their_band():
    """Measured against enclosures, 1,000 points up to the clamp."""
    from sfumato.sampling.fixedpoint import exp_minus

    distance = np.arange(0, 700_000, 700, dtype=np.uint64)
    found = selection._weights(distance, 1e-3)
    for d, value in zip(distance.tolist(), found.tolist(), strict=True):
        low, high = exp_minus(Fraction(1e-3) * d, 1200)
        middle = Fraction(low + high, 2 << 1200)
        assert abs(Fraction(value) / middle - 1) < Fraction(2) ** -42


def test_the_exponential_is_as_near_as_its_proof_says():
    """Against 200 digits: random points, tiny ones, the clamp, and both sides of every cut between table entries."""
    rng = np.random.default_rng(11)
    cuts = (rng.integers(0, 64_000, 3000) + 0.5) * exponentials.HIGH
    points = [rng.uniform(0, 700, 6000), rng.exponential(1e-3, 500), cuts, np.nextafter(cuts, 0), [0, 5e-324, 700.0]]
    x = -np.minimum(np.concatenate(points), 700.0)
    found = x.copy()
    exponentials.exp_in_place(found)
    with mpmath.workdps(200):
        off = [
            abs(value / mpmath.exp(mpmath.mpf(at)) - 1) for at, value in zip(x.tolist(), found.tolist(), strict=True)
        ]
        assert max(off) < mpmath.mpf(2) ** -49
        assert abs(exponentials.HIGH + mpmath.mpf(exponentials.LOW) - mpmath.log(2) / 64) < mpmath.mpf(2) ** -93
        for j, root in enumerate(exponentials.ROOTS.tolist()):
            assert abs(root / mpmath.mpf(2) ** (mpmath.mpf(j) / 64) - 1) < 1.01 * mpmath.mpf(2) ** -53


def test_no_library_exponential_decides_a_choice(monkeypatch):
    """With numpy's own exponential broken, choices are the same."""
    penalties = np.random.default_rng(12).integers(0, 50, 3000)
    before = [kind(penalties, 0.3, seeded(3)) for kind in (selection.choose, selection.permute_and_flip)]
    monkeypatch.setattr(np, "exp", lambda *_, **__: (_ for _ in ()).throw(AssertionError("np.exp was called")))
    assert [kind(penalties, 0.3, seeded(3)) for kind in (selection.choose, selection.permute_and_flip)] == before


def test_locate_finds_each_part():
    owned = np.array([5, 3, 0], dtype=np.int64)
    rest = selection._Remainder(
        np.array([0, 1, 2], dtype=np.uint64), Fraction(1), None, owned, Fraction(8), 4
    )  # parts 3, 8/e - 3 = -0.06 (none, for a floor is never above), 8/e^2 = 1.08
    assert rest.locate(LazyUniform(1 << 126, 128)) == (True, 0)  # at 1 of 4
    assert rest.locate(LazyUniform((1 << 128) - 1, 128)) == (True, 2)


# distribution
def test_choose_follows_the_exponential_weights():
    rng = seeded(201)
    found = [choose(PENALTIES, RATE, rng) for _ in range(DRAWS)]
    assert_selection(found, softmax(RATE), softmax(RATE * 1.1))


def test_choose_counts_multiplicities():
    rng, counts = seeded(202), np.array([1, 2, 50, 1, 400, 1])
    found = [choose(PENALTIES, RATE, rng, counts) for _ in range(DRAWS)]
    assert_selection(found, softmax(RATE, counts), softmax(RATE))


def test_permute_and_flip_follows_its_definition():
    rng = seeded(203)
    found = [permute_and_flip(PENALTIES, RATE, rng) for _ in range(DRAWS)]
    assert_selection(found, first_heads(RATE), softmax(RATE))


def test_the_settled_paths_follow_the_same_laws(monkeypatch):
    """A band of a tenth sends a tenth of the choices and a fifth of the coins to the enclosures."""
    monkeypatch.setattr(selection, "BAND", 0.1)
    rng = seeded(204)
    found = [choose(PENALTIES, RATE, rng) for _ in range(DRAWS // 4)]
    assert_selection(found, softmax(RATE), softmax(RATE * 1.3))
    found = [permute_and_flip(PENALTIES, RATE, rng) for _ in range(DRAWS // 4)]
    assert_selection(found, first_heads(RATE), first_heads(RATE * 1.3))


@pytest.mark.heavy
def test_a_million_candidates():
    """Penalty k for a block of candidates: its law is geometric; less than half the rate is refused."""
    penalties, rng = np.repeat(np.arange(100), 10_000), seeded(205)
    right, wrong = np.exp(-0.5 * np.arange(100)), np.exp(-0.2 * np.arange(100))
    blocks = [choose(penalties, 0.5, rng) // 10_000 for _ in range(150)]
    counts = np.bincount(blocks, minlength=100).astype(np.float64)
    assert pooled_pvalue(counts, right / right.sum() * 150) >= ALPHA
    assert pooled_pvalue(counts, wrong / wrong.sum() * 150) < ALPHA
    flips = [permute_and_flip(penalties, 3.0, rng) // 10_000 for _ in range(50)]
    assert flips.count(0) > 30  # of 50 at 95 %: fewer has probability 1e-12; a rate near zero gives one


# laws: any integers, any rate
@given(
    penalties=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30),
    rate=st.floats(min_value=5e-324, max_value=1.7e308),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=200, deadline=None)
def test_no_value_is_refused_and_the_answer_is_an_index(penalties, rate, seed):
    values = np.array(penalties, dtype=np.int64)
    with np.errstate(all="raise", under="ignore"):
        assert 0 <= choose(values, rate, seeded(seed)) < values.size
        assert 0 <= permute_and_flip(values, rate, seeded(seed)) < values.size
    assert values.tolist() == penalties


def test_a_huge_rate_takes_the_least_penalty():
    assert {choose(PENALTIES, 1e6, seeded(i)) for i in range(50)} == {1, 5}
    assert {permute_and_flip(PENALTIES, 1e6, seeded(i)) for i in range(50)} == {1, 5}


def test_huge_multiplicities_do_not_overflow():
    counts = np.full(1000, 2**62)
    assert len({choose(np.zeros(1000, np.int64), 1.0, seeded(i), counts) for i in range(40)}) > 30


# refusals
@pytest.mark.parametrize(
    ("penalties", "rate", "message"),
    [
        (np.array([]), 1.0, "penalties"),
        (np.array([1.5]), 1.0, "penalties"),
        (np.zeros((2, 2), np.int64), 1.0, "penalties"),
        (PENALTIES, 0.0, "rate"),
        (PENALTIES, np.inf, "rate"),
        (PENALTIES, np.nan, "rate"),
    ],
)
def test_refuses(penalties, rate, message):
    for select in (choose, permute_and_flip):
        with pytest.raises(ParameterError, match=message):
            select(penalties, rate, seeded(1))


@pytest.mark.parametrize("counts", [np.zeros(6, np.int64), np.ones(5, np.int64), np.ones(6)])
def test_refuses_bad_multiplicities(counts):
    with pytest.raises(ParameterError, match="multiplicities"):
        choose(PENALTIES, RATE, seeded(1), counts)
