"""Subset selection: exact channels, exactly uniform sets, both layouts of reports, refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.local.protocols import GeneralizedResponse, SubsetSelection
from sfumato.local.protocols.bitmaps import unpack
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import pooled_pvalue

# claims


@pytest.mark.parametrize("k", [2, 5, 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_claim_is_the_exact_channels(k, epsilon):
    protocol = SubsetSelection.calibrate(k, Pure(epsilon))
    check_claim(protocol, Pure(epsilon))
    check_estimates(protocol, np.eye(k), np.eye(k))


@pytest.mark.parametrize(("k", "size"), [(6, 2), (6, 3), (200, 1), (300, 2)])
def test_every_size_and_both_layouts_are_exact(k, size):
    protocol = SubsetSelection(k, size, Fraction(1, 2) + Fraction(1, 8))
    if k == 6:
        check_claim(protocol, Pure(50.0))
        check_estimates(protocol, np.eye(k), np.eye(k))
    reports = protocol.randomize(np.arange(500) % k, seeded(521))
    assert protocol.listed is (k > 6)
    assert protocol.valid(reports).all()
    assert protocol.tally(reports).sum() == 500 * size


def test_estimates_sum_to_one():
    protocol = SubsetSelection.calibrate(50, Pure(1.0))
    reports = protocol.randomize(np.zeros(1000, dtype=int), seeded(522))
    assert protocol.estimate(protocol.tally(reports), 1000).sum() == pytest.approx(1.0)


def test_one_of_two_is_randomized_response():
    sets, response = SubsetSelection.calibrate(2, Pure(1.0)), GeneralizedResponse.calibrate(2, Pure(1.0))
    assert sets.risk(1) == pytest.approx(response.risk(1))


# laws


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 4096), st.floats(1e-4, 45))
def test_calibrate_never_exceeds_its_target(k, epsilon):
    protocol = SubsetSelection.calibrate(k, Pure(epsilon))
    assert protocol.guarantee().implies(Pure(epsilon))
    assert protocol.size <= max(1, k // 2)


# distribution


@pytest.mark.parametrize(("k", "epsilon"), [(6, 1.0), (5, 2.5)])
def test_sets_follow_the_channel(k, epsilon):
    protocol = SubsetSelection.calibrate(k, Pure(epsilon))
    other = SubsetSelection(k, protocol.size, protocol.inclusion - Fraction(1, 32))
    check_draws(protocol, other, range(2), 523)


def test_lists_follow_the_channel():
    """The path of short lists: 190 pairs of 20 categories."""
    protocol = SubsetSelection(20, 2, Fraction(1, 2))
    assert protocol.listed
    check_draws(protocol, SubsetSelection(20, 2, Fraction(15, 32)), range(2), 525)


def test_pairs_of_members_are_uniform_in_large_sets():
    """40,000 sets of 27 of 100, started from coins: pairs (3, j) occur equally often for all j but the true one."""
    protocol = SubsetSelection(100, 27, Fraction(1, 2))
    rows = unpack(protocol.randomize(np.full(40_000, 50), seeded(524)), 100)
    together = rows[rows[:, 3] == 1].sum(axis=0, dtype=np.int64)
    others = np.delete(together, [3, 50]).astype(float)
    q, holding = 26.5 / 99, 40_000 * 26.5 / 99
    pair = (0.5 * math.comb(97, 24) / math.comb(99, 26) + 0.5 * math.comb(97, 25) / math.comb(99, 27)) / q
    assert pooled_pvalue(np.append(others, 0), np.append(np.full(98, holding * pair), 0)) >= 1e-6
    lame = np.full(98, holding * pair)
    lame[:49] *= 1.05  # power: halves 5 % apart are refused
    lame *= others.sum() / lame.sum()
    assert pooled_pvalue(others, lame) < 1e-6


# refusals


def test_refuses_sets_that_say_nothing_and_reports_that_are_no_sets():
    with pytest.raises(ParameterError, match="inclusion must exceed"):
        SubsetSelection(10, 5, Fraction(1, 2))
    with pytest.raises(ParameterError, match="size must be"):
        SubsetSelection(10, 10, Fraction(1, 2))
    bitmap = SubsetSelection(10, 2, Fraction(1, 2))
    assert bitmap.valid(np.array([[3, 0], [7, 0], [1, 128], [1, 1]], dtype=np.uint8)).tolist() == [
        True, False, False, True,
    ]  # fmt: skip
    listed = SubsetSelection(300, 2, Fraction(1, 2))
    assert listed.valid(np.array([[1, 2], [2, 1], [4, 4], [0, 300]], dtype=np.uint16)).tolist() == [
        True, False, False, False,
    ]  # fmt: skip
