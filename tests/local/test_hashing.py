"""Local hashing: fields, exact pairwise independence, exact channels, the fast count of supports."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.local.protocols import LocalHashing
from sfumato.local.protocols.fields import ORDERS, field
from sfumato.local.protocols.hashing import _inner
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

# fields and hashes


@pytest.mark.parametrize("order", [2, 3, 4, 5, 8, 9, 16, 25, 27, 49, 64, 128, 243, 256])
def test_fields_are_fields(order):
    f = field(order)
    every = np.arange(order)
    for table in (f.plus, f.times):
        assert np.array_equal(table, table.T)
    assert np.array_equal(np.sort(f.times[1:, 1:], axis=1), np.broadcast_to(every[1:], (order - 1, order - 1)))
    assert np.array_equal(f.plus[f.minus[every[:, None], every], every], np.broadcast_to(every[:, None], (order,) * 2))
    a, b, c = np.array(list(itertools.product(every[: min(order, 16)], repeat=3))).T
    assert np.array_equal(f.times[a, f.plus[b, c]], f.plus[f.times[a, b], f.times[a, c]])
    assert np.array_equal(f.times[f.times[a, b], c], f.times[a, f.times[b, c]])


def test_the_orders_are_the_prime_powers():
    assert ORDERS[:12] == (2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19)
    with pytest.raises(ParameterError, match="prime power"):
        field(6)


@pytest.mark.parametrize(("k", "g"), [(4, 2), (9, 3), (7, 4), (5, 5), (11, 9)])
def test_the_family_is_exactly_pairwise_independent(k, g):
    """Over all hash functions, the hashes of two categories take each pair of values equally often."""
    protocol = LocalHashing(k, g, Fraction(1, 2))
    functions = np.arange(g ** (protocol.digits + 1))
    table = field(g)
    hashes = [table.plus[_inner(table, functions // g, np.array(x), protocol.digits), functions % g] for x in range(k)]
    for x, y in itertools.combinations(range(k), 2):
        pairs = np.bincount(hashes[x] * g + hashes[y], minlength=g * g)
        assert np.all(pairs == len(functions) // (g * g))


# claims


@pytest.mark.parametrize("k", [2, 5, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_the_claim_is_the_exact_channels(k, epsilon):
    protocol = LocalHashing.calibrate(k, Pure(epsilon))
    check_claim(protocol, Pure(epsilon))
    check_estimates(protocol, np.eye(k), np.eye(k))


def test_reports_are_short():
    assert LocalHashing.calibrate(1024, Pure(1.0)).report_bytes == 2
    assert LocalHashing.calibrate(1 << 20, Pure(1.0)).report_bytes == 4


# laws


@settings(deadline=None, max_examples=25)
@given(st.sampled_from([2, 3, 4, 5, 8, 9, 11]), st.integers(2, 200), st.integers(0, 2**32))
def test_fast_counts_are_counts(g, k, seed):
    """The digit-by-digit transform, and the direct count below its threshold, against the definition."""
    protocol = LocalHashing(k, g, Fraction(1, 4))
    reports = protocol.randomize(seeded(seed).bits64(2_000) % np.uint64(k), seeded(seed + 1))
    many = np.tile(reports, -(-(1 << 21) // (reports.size * k)) + 1)  # enough for the transform
    wide = reports.astype(np.int64)
    table = field(g)
    target = table.minus[wide % g, wide // g % g]
    direct = [int((_inner(table, wide // g**2, np.array(x), protocol.digits) == target).sum()) for x in range(k)]
    assert protocol.tally(reports).tolist() == direct
    assert (protocol.tally(many) * reports.size).tolist() == (np.array(direct) * many.size).tolist()


@settings(deadline=None, max_examples=15)
@given(st.integers(2, 4096), st.floats(1e-4, 12))
def test_calibrate_never_exceeds_its_target(k, epsilon):
    assert LocalHashing.calibrate(k, Pure(epsilon)).guarantee().implies(Pure(epsilon))


# distribution


def test_reports_follow_the_channel():
    protocol = LocalHashing(3, 3, Fraction(1, 2))
    check_draws(protocol, LocalHashing(3, 3, Fraction(7, 16)), range(3), 531)


# refusals


def test_refusals():
    with pytest.raises(ParameterError, match="g must be a prime power"):
        LocalHashing(10, 6, Fraction(1, 2))
    with pytest.raises(ParameterError, match="take a smaller g"):
        LocalHashing(1 << 20, 251, Fraction(1, 2))
