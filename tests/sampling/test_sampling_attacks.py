"""Attacks that break textbook floating-point noise, run against it and against ours.

The hole test asks which outputs an answer can produce at all; the trailing-bits test compares the lowest set
bit of outputs on the answers 0 and 2^k (Mironov2012, and CasacubertaEtAl2022 for sums);
the work test asks whether the randomness taken tells the size of the draw
(JinEtAl2022).
"""

import math

import numpy as np
import pytest
from scipy import stats
from scripted import Counting

from sfumato.randomness import seeded
from sfumato.sampling import DiscreteGaussian, DiscreteLaplace, RoundedNormal, Staircase
from statistical import ALPHA

DRAWS = 200_000
OURS = [DiscreteLaplace(1000.0), DiscreteGaussian(1000.0), RoundedNormal(1000.0), Staircase(500, 0.5, 200)]


def textbook_laplace(scale: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Inversion of a 53-bit uniform, as in every textbook."""
    u = rng.random(count)
    return np.where(u < 0.5, scale * np.log(2 * u), -scale * np.log(2 - 2 * u))


def reachable(noise: np.ndarray, scale: float) -> np.ndarray:
    """Whether some 53-bit uniform maps to exactly this double: try the neighbors of the inverse."""
    with np.errstate(over="ignore"):
        lower = noise < 0
        middle = np.where(lower, np.exp(noise / scale) / 2, 1 - np.exp(-noise / scale) / 2)
    ticks = np.rint(middle * 2.0**53)
    found = np.zeros(noise.shape, dtype=bool)
    for step in range(-4, 5):
        u = (ticks + step) * 2.0**-53
        inside = (u > 0) & (u < 1)
        u = np.where(inside, u, 0.5)
        again = np.where(u < 0.5, scale * np.log(2 * u), -scale * np.log(2 - 2 * u))
        found |= inside & (again == noise)
    return found


def lowest_bits(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest set bit of each double, clipped to a table's range."""
    mantissa, exponent = np.frexp(np.where(values == 0, 1.0, values))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    trailing = np.rint(np.log2(whole & -whole)).astype(np.int64)
    return np.clip(np.where(values == 0, 20, exponent - 53 + trailing), -60, 20)


def differ(first: np.ndarray, second: np.ndarray) -> float:
    """p-value of a chi-square test that two samples of small integers have one law."""
    low = min(first.min(), second.min())
    size = max(first.max(), second.max()) - low + 1
    table = np.array([np.bincount(x - low, minlength=size) for x in (first, second)])
    table = table[:, table.sum(axis=0) > 0]
    rare = table.sum(axis=0) < 20
    if rare.any():
        table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table).pvalue)


# audit: holes
def test_textbook_noise_has_holes_that_tell_the_answer():
    """Every output on answer 0 is reachable from 0; of those on answer 1, hardly half are."""
    rng = np.random.default_rng(301)
    on_zero = textbook_laplace(1.0, DRAWS, rng)
    on_one = 1.0 + textbook_laplace(1.0, DRAWS, rng)
    assert reachable(on_zero, 1.0).mean() > 0.999
    assert reachable(on_one, 1.0).mean() < 0.9


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(10.0), DiscreteLaplace(33.0), DiscreteGaussian(12.0), RoundedNormal(11.0)], ids=str
)
def test_ours_has_no_holes(law):
    """Every integer that expects 40 hits is hit, from both answers; missing one has probability e**-40."""
    reach = law.quantile(1e-3)
    due = np.array([z for z in range(-reach, reach + 1) if 10**6 * law.pmf(z) >= 40])
    assert due.size > 50
    for k, answer in enumerate((0, 1, 2**40)):
        found = np.unique(answer + law.sample(10**6, seeded(310 + k)))
        assert np.isin(answer + due, found).all()


# audit: trailing bits
@pytest.mark.parametrize("k", [4, 10, 20])
def test_textbook_noise_shows_the_answer_in_its_trailing_bits(k):
    rng = np.random.default_rng(303)
    zero = 0.0 + textbook_laplace(1.0, DRAWS, rng)
    power = 2.0**k + textbook_laplace(1.0, DRAWS, rng)
    assert differ(lowest_bits(zero), lowest_bits(power)) < ALPHA


@pytest.mark.parametrize("k", [4, 10, 20])
@pytest.mark.parametrize("law", OURS, ids=str)
def test_ours_does_not(law, k):
    """Lowest set bits up to 2^k, where both answers must agree exactly; also the low digits jointly."""
    zero = law.sample(DRAWS, seeded(304))
    power = 2**k + law.sample(DRAWS, seeded(305))
    below = 2 ** min(k, 8)
    assert differ(zero % below, power % below) >= ALPHA
    bits = [np.minimum(lowest_bits(x.astype(np.float64)), k) for x in (zero, power)]
    assert differ(*bits) >= ALPHA


def test_the_trailing_bits_test_sees_one_percent():
    """Power: with one output in a hundred rounded to a multiple of 16 on one side, the test refuses."""
    law = DiscreteLaplace(1000.0)
    zero, other = law.sample(DRAWS, seeded(306)), law.sample(DRAWS, seeded(307))
    other[::100] &= ~15
    assert differ(zero % 16, other % 16) < ALPHA


# audit: the work of a draw does not tell its size
def coin_by_coin(scale: float, rng) -> int:
    """The textbook exact sampler: one coin for each unit of the draw."""
    heads = math.floor(2**64 * math.exp(-1 / scale))
    z = 0
    while rng.word() < heads:
        z += 1
    return z if rng.word() & 1 else -z


def work_and_size(draw, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = Counting(seeded(seed))
    work, size = [], []
    for _ in range(count):
        before = rng.taken
        size.append(abs(draw(rng)))
        work.append(rng.taken - before)
    return np.array(work), np.array(size)


@pytest.mark.parametrize("law", [*OURS, DiscreteLaplace(5.0), DiscreteGaussian(1e12)], ids=str)
def test_the_words_taken_do_not_tell_the_size(law):
    work, size = work_and_size(lambda rng: law.sample((), rng), 20_000, 308)
    large = size > np.median(size)
    assert differ(work[large], work[~large]) >= ALPHA


def test_the_work_test_catches_coin_by_coin_sampling():
    work, size = work_and_size(lambda rng: coin_by_coin(20.0, rng), 2000, 309)
    large = size > np.median(size)
    assert differ(work[large], work[~large]) < ALPHA
