"""Asking the columns near 1 alone leads over the same facets as asking all of them."""

import copy

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.sampling.bodies import Hull, facets, pricing
from sfumato.sampling.bodies.facets import advance, aim, locate, point
from sfumato.sampling.bodies.pricing import workroom

KINDS = {
    "signs": lambda rng, d, n: rng.choice([-1.0, 1.0], size=(d, n)),
    "normal": lambda rng, d, n: rng.normal(size=(d, n)),
    "small integers": lambda rng, d, n: rng.integers(-2, 3, size=(d, n)).astype(float),
    "of all lengths": lambda rng, d, n: rng.normal(size=(d, n)) * 10 ** rng.uniform(-3, 1, size=n),
    "zeros and ones": lambda rng, d, n: (rng.random((d, n)) < 0.2).astype(float),
}


def walk(columns, state, target, listed):
    """The state after a straight walk to the target."""
    room, here = workroom(columns), np.empty(len(columns))
    if not listed:
        room[9][0] = -1.0
    point(columns, state, here)
    aim(state, target - here)
    assert advance(columns, state, 1.0, room)
    return state, room


@pytest.mark.parametrize("kind", KINDS)
def test_lists_lead_over_the_same_facets(kind):
    rng = np.random.default_rng(len(kind))
    for _ in range(6):
        d = int(rng.integers(2, 14))
        columns = Hull(KINDS[kind](rng, d, int(rng.integers(9 * d, 60 * d)))).frame.columns
        if columns.shape[1] <= pricing.MANY * columns.shape[0]:
            continue  # few columns are left once twins are dropped
        one = locate(columns, rng.normal(size=len(columns)))
        other = copy.deepcopy(one)
        for target in rng.normal(size=(5, len(columns))):
            one, room = walk(columns, one, target, listed=True)
            other, full = walk(columns, other, target, listed=False)
            assert room[9][0] >= 0  # listing was on
            assert full[9][0] < 0
            assert np.abs(one[4] @ columns).max() <= 1 + 1e-9  # the normal of a facet of the whole hull
            assert one[6].sum() == pytest.approx(other[6].sum(), rel=1e-9)


def test_lists_are_short_and_last():
    """Of two thousand columns in thirty dimensions a list holds few, and serves several pivots."""
    rng = np.random.default_rng(3)
    columns = Hull(rng.normal(size=(30, 2000))).frame.columns
    state = locate(columns, rng.normal(size=30))
    before = int(state[1][1])
    state, room = walk(columns, state, rng.normal(size=30), listed=True)
    assert int(state[1][1]) - before > 50
    assert 30 <= room[9][0] < 800


def test_a_program_over_some_columns_is_one_over_all():
    rng = np.random.default_rng(5)
    for _ in range(8):
        d = int(rng.integers(2, 8))
        columns = rng.normal(size=(d, int(rng.integers(7 * d, 90 * d)))) * rng.uniform(0.1, 3, size=d)[:, None]
        z = rng.normal(size=d)
        basis, signs, weights = facets._program(columns, z)
        assert (columns[:, basis] * signs) @ weights == pytest.approx(z)
        assert weights.sum() == pytest.approx(Hull(columns).gauge_by_program([z])[0], rel=1e-8)


def test_columns_that_do_not_span_are_refused():
    columns = np.vstack([np.random.default_rng(1).normal(size=(2, 40)), np.zeros((1, 40))])
    with pytest.raises(ParameterError, match="span"):
        locate(columns, np.array([0.1, 0.2, 0.3]))
