"""Compiled tallies: the same counts as the protocols' own, for every shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.local.protocols import (
    GeneralizedResponse,
    LocalHashing,
    OptimizedUnary,
    Rappor,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.local.tallying import column_sums, tally
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

KINDS = (GeneralizedResponse, LocalHashing, OptimizedUnary, SymmetricUnary, SubsetSelection)


@given(st.integers(0, 70), st.integers(1, 20), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_columns_are_counted_as_unpacked_bits(height, width, seed):
    rows = np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)
    plain = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
    assert np.array_equal(column_sums(rows, 8 * width), plain)


def test_full_bytes_do_not_overflow():
    """255 groups of 15 rows of ones fill every lane; one row more starts again."""
    rows = np.full((255 * 15 * 2 + 16, 9), 255, dtype=np.uint8)
    assert set(column_sums(rows, 72).tolist()) == {len(rows)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(("k", "epsilon"), [(5, 1.0), (16, 3.0), (64, 0.5), (200, 4.0)])
def test_the_tally_is_the_protocols_own(kind, k, epsilon):
    protocol = kind.calibrate(k, Pure(epsilon))
    reports = protocol.randomize(np.arange(3000) % k, seeded(k))
    assert np.array_equal(tally(protocol, reports), protocol.tally(reports))


def test_rappor_and_slices_of_reports_are_counted_alike():
    protocol = Rappor.calibrate(50, Pure(2.0))
    reports = protocol.randomize(np.arange(1000) % 50, seeded(5))
    assert np.array_equal(tally(protocol, reports[::2]), protocol.tally(reports[::2]))
