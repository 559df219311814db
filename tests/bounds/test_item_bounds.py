"""The counts of every item of a set: the bound against all sets, against what is released, and its figures."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import planner
from sfumato.answers.certificate import Certificate
from sfumato.bounds.certificates import certify
from sfumato.bounds.items import families_of_sets
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind
from sfumato.queries.linear.ellipsoid import least_ellipsoid
from sfumato.spaces.schema import Schema


def moves(items, cap, apart):
    """Every move of one row."""
    sets = [some for size in range(cap + 1) for some in itertools.combinations(range(items), size)]
    points = np.array([[float(item in some) for item in range(items)] for some in sets])
    found = np.array([a - b for a in points for b in points]) if apart else points
    return found[found.any(axis=1)].T


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("items", "cap"), [(1, 1), (2, 1), (3, 2), (4, 1), (4, 2), (5, 3), (6, 2), (6, 6)])
def test_no_family_exceeds_the_norm_of_all_moves(items, cap, apart):
    most = least_ellipsoid(moves(items, cap, apart)).trace
    found = families_of_sets(items, cap, 1, True, apart, 10**6 if apart else None)
    assert 0.4 * most <= max(family.exact() for family in found) <= most * (1 + 1e-6)
    assert all(family.exact() <= most * (1 + 1e-6) for family in found)


@settings(max_examples=25)
@given(
    items=st.integers(1, 40), cap=st.integers(1, 40), rows=st.integers(1, 3), grouped=st.booleans(),
    claim=st.sampled_from([Pure(0.3), Pure(3.0), Concentrated(0.02), Concentrated(2.0), Approximate(0.5, 1e-3)]),
    adjacency=st.sampled_from([AddRemove(), Replace()]), size=st.sampled_from([None, 3, 200, 10**5]),
)  # fmt: skip
def test_nothing_that_is_released_beats_the_bound(items, cap, rows, grouped, claim, adjacency, size):
    spaces = {"h": sf.Subsets(range(items), cap=min(cap, items)), "c": sf.Categories(["a", "b", "c"])}
    if rows == 1 and size is None and adjacency == Replace():
        size = 50
    schema = Schema(spaces, Person("id", rows) if rows > 1 else Row(), adjacency, size)
    question = bind(sf.items("h").by("c") if grouped else sf.items("h"), schema)
    found = certify(question, planner.best(question, claim))
    if isinstance(found, Certificate):
        assert found.achieved >= found.bound > 0


def test_gaussian_noise_is_as_near_as_on_one_count_and_laplace_noise_is_not():
    schema = Schema({"h": sf.Subsets(range(1000), cap=16)})
    question = bind(sf.items("h"), schema)
    gaussian, laplace = (certify(question, planner.best(question, claim)) for claim in (Concentrated(0.1), Pure(1.0)))
    assert gaussian.factor == pytest.approx(1.005, abs=0.005)
    assert laplace.factor == pytest.approx(math.sqrt(16), rel=0.05)
