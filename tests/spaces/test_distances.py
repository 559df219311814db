"""Distances declared for categories: a metric or refused, known to the space, a plan and the digest of a question."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.spaces import space_from


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 7), st.integers(0, 2**32), st.sampled_from([1, 2, np.inf]))
def test_distances_of_points_are_a_metric_and_kept_as_declared(many, seed, order):
    points = np.random.default_rng(seed).normal(size=(many, 2))
    table = np.linalg.norm(points[:, None] - points, ord=order, axis=2)
    space = sf.Categories(range(many), distances=table)
    assert space.diameter == table.max()
    assert [[space.distance(one, other) for other in range(many)] for one in range(many)] == table.tolist()
    assert space_from(space.to_record(), "c") == space
    assert hash(space) != hash(sf.Categories(range(many)))
    spoiled = table.copy()
    spoiled[0, 1] = spoiled[1, 0] = 3 * table.max() + 1
    if many > 2:
        with pytest.raises(ParameterError, match="further apart than going by"):
            sf.Categories(range(many), distances=spoiled)


@pytest.mark.parametrize(("distances", "reason"), [
    ([[0, 1]], "2 rows of 2 numbers"), ([[0, 1], [1]], "2 rows of 2 numbers"), ([[0, 1], [2, 0]], "the same both ways"),
    ([[0, 0], [0, 0]], "above 0 between any two"), ([[1, 1], [1, 0]], "0 from a value to itself"),
    ([[0, -1], [-1, 0]], "above 0"), ([[0, float("nan")], [1, 0]], "finite number"), ("0110", "must be a list"),
    ([[0, "1"], ["1", 0]], "finite number"), (7, "must be a list"),
])  # fmt: skip
def test_what_is_no_metric_is_refused(distances, reason):
    with pytest.raises(ParameterError, match=reason):
        sf.Categories(["a", "b"], distances=distances)


def test_other_and_missing_have_their_rows_and_plans_say_the_same():
    line = [[abs(i - j) for j in range(3)] for i in range(3)]
    space = sf.Categories(["a", "b"], other="z", distances=line)
    assert space.distance("a", "z") == 2
    declared = {"type": "categories", "values": ["a", "b"], "other": "z", "distances": line}
    assert space_from(declared, "c") == space
    with pytest.raises(SchemaError, match=r"column 'c'.*3 rows of 3 numbers"):
        space_from({**declared, "distances": [[0, 1], [1, 0]]}, "c")
    with pytest.raises(ParameterError, match="at least two values"):
        sf.Categories(["a"], distances=[[0]])


def test_a_column_without_distances_is_stored_as_before():
    assert "distances" not in sf.Categories(["a", "b"]).to_record()
