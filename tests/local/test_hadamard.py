"""Hadamard response: the transform, exact channels with any number of blocks, draws."""

from fractions import Fraction

import numpy as np
import pytest
from exact import check_claim, check_draws, check_estimates
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import hadamard as matrix

from sfumato.errors import ParameterError
from sfumato.local.protocols import HadamardResponse
from sfumato.local.protocols.transforms import hadamard
from sfumato.privacy.guarantees import Pure


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_the_transform_is_the_matrix(size):
    rows = np.arange(3 * size).reshape(3, size) ** 2
    np.testing.assert_array_equal(hadamard(rows), rows @ matrix(size))


@pytest.mark.parametrize("k", [2, 3, 7, 20])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_claim_is_the_exact_channels(k, epsilon):
    protocol = HadamardResponse.calibrate(k, Pure(epsilon))
    check_claim(protocol, Pure(epsilon))
    check_estimates(protocol, np.eye(k), np.eye(k))


@pytest.mark.parametrize("blocks", [1, 2, 4, 8])
def test_any_number_of_blocks_is_exact(blocks):
    protocol = HadamardResponse(11, blocks, Fraction(3, 8))
    check_claim(protocol, Pure(50.0))
    check_estimates(protocol, np.eye(11), np.eye(11))


def test_variance_depends_on_who_shares_the_block():
    protocol = HadamardResponse(4, 2, Fraction(1, 2))
    together, apart = protocol.variance(1, [0, 0, 1, 0]), protocol.variance(1, [0, 1, 0, 0])
    assert together[0] > apart[0]  # 0 and 2 share a block


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 5000), st.floats(1e-4, 45))
def test_calibrate_never_exceeds_its_target(k, epsilon):
    assert HadamardResponse.calibrate(k, Pure(epsilon)).guarantee().implies(Pure(epsilon))


@pytest.mark.parametrize("blocks", [1, 2])
def test_reports_follow_the_channel(blocks):
    protocol, other = HadamardResponse(5, blocks, Fraction(1, 2)), HadamardResponse(5, blocks, Fraction(7, 16))
    check_draws(protocol, other, range(5), 541)


def test_refuses_blocks_that_are_no_power_of_two():
    with pytest.raises(ParameterError, match="power of two"):
        HadamardResponse(11, 3, Fraction(1, 2))
