"""Choosing by plain scores: claims, exact laws, rounding, refusals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.randomness import seeded

scores = st.lists(st.floats(-50, 50), min_size=2, max_size=6)


@given(first=scores, moves=st.lists(st.floats(-1, 1), min_size=6, max_size=6), epsilon=st.floats(0.1, 3))
def test_probabilities_of_neighbors_stay_within_the_claim(first, moves, epsilon):
    """The exponential mechanism's exact probabilities on the rounded scores."""
    second = [a + b for a, b in zip(first, moves, strict=False)]
    found = sf.reference.exponential(range(len(first)), sensitivity=1.0, epsilon=epsilon).mechanism
    laws = []
    for values in (first, second):
        steps = np.array([math.floor(v / found.step) for v in values], dtype=float)
        weights = np.exp(found.rate * (steps - steps.max()))
        laws.append(weights / weights.sum())
    assert np.abs(np.log(laws[0] / laws[1])).max() <= found.guarantee().epsilon * (1 + 1e-9)
    assert epsilon * (1 - 1e-9) <= found.guarantee().epsilon <= epsilon


@pytest.mark.parametrize("law", ["exponential", "permute_and_flip"])
def test_the_choice_has_its_law(law):
    found = getattr(sf.reference, law)(list("abc"), sensitivity=1, epsilon=2.0, step=1)
    rng = seeded(3)
    picks = [found.draw([0, 1, 2], rng) for _ in range(3000)]
    best = picks.count("c") / 3000
    exact = {"exponential": math.e**2 / (1 + math.e + math.e**2)}.get(law)
    if exact is not None:
        assert best == pytest.approx(exact, abs=0.04)
    else:  # never worse than the exponential mechanism
        assert best > 0.665


def test_a_monotone_score_costs_half():
    plain = sf.reference.exponential(["a", "b"], 1, 1.0).error()
    half = sf.reference.exponential(["a", "b"], 1, 1.0, monotone=True).error()
    assert half == pytest.approx(plain / 2, rel=0.01)


def test_scores_that_are_no_numbers_do_not_raise():
    found = sf.reference.permute_and_flip(["x", "y", "z"], sensitivity=0.5, epsilon=1.0)
    assert found.release([math.nan, math.inf, -math.inf], seeded(1)).value in ("x", "y", "z")


@pytest.mark.parametrize(
    ("candidates", "sensitivity", "epsilon", "word"),
    [([], 1, 1.0, "empty"), ("ab", 0, 1.0, "positive"), ("ab", 1, -1.0, "positive"), ("ab", "1", 1.0, "sensitivity")],
)
def test_bad_public_input_is_refused(candidates, sensitivity, epsilon, word):
    with pytest.raises(ParameterError, match=word):
        sf.reference.exponential(list(candidates), sensitivity, epsilon)


def test_scores_of_another_number_are_refused_without_their_values():
    with pytest.raises(ParameterError, match="one a candidate") as caught:
        sf.reference.exponential(["a", "b"], 1, 1.0).release([123456.0], seeded(1))
    assert "123456" not in str(caught.value)


def test_scores_may_be_given_by_name():
    chosen = sf.reference.exponential(["a", "b"], 1, 1.0)
    for run in range(20):
        by_name = chosen.release({"b": 1.0, "a": 0.0}, seeded(run))
        assert by_name.value == chosen.release([0.0, 1.0], seeded(run)).value
    for wrong in ({"a": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 1.0, "c": 2.0}):
        with pytest.raises(ParameterError, match="every candidate once"):
            chosen.release(wrong, seeded(1))
