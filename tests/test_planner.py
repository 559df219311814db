"""The planner: every option meets the target, the best is first, public answers are free."""

import dataclasses
import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sfumato.answers.certificate import Certificate
from sfumato.bounds import certify
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms import (
    MECHANISMS,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    Public,
    Staircase,
    Strategy,
)
from sfumato.planner import REAL_GAIN, best, chosen, options
from sfumato.privacy.adjacency import AddRemove, Person, Replace
from sfumato.privacy.guarantees import Approximate, Concentrated, GaussianPrivacy, Pure
from sfumato.queries import bind, count, histogram, mean, most_popular, sum, variance
from sfumato.queries.linear.doors import marginals, weighted, workload
from sfumato.spaces import Categories, Integers, Subsets
from sfumato.spaces.schema import Schema
from strategies import guarantees, queries, schemas

COLUMNS = {"age": Integers(0, 120), "state": Categories(range(50)), "hobbies": Subsets(["a", "b"], cap=2)}
PEOPLE = Schema(COLUMNS, size=1000)


def price(option):
    """What delta costs in error: a few percent."""
    claim = option.mechanism.guarantee()
    return REAL_GAIN if isinstance(claim, Approximate) and claim.delta > 0 else 1.0


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_option_meets_the_target_and_the_best_comes_first(data):
    declared = data.draw(schemas())
    query, spend = data.draw(queries(declared)), data.draw(guarantees())
    try:
        found = options(bind(query, declared), spend)
    except (ParameterError, UnsupportedQuery):
        assume(False)
    assert all(option.mechanism.guarantee().implies(spend) for option in found)
    assert found[0].predicted <= 1.01 * min(option.predicted * price(option) for option in found)
    assert all(option.stored in MECHANISMS for option in found)


@pytest.mark.parametrize(("query", "spend", "kind"), [
    (count(), Pure(1.0), (Laplace, Staircase)),
    (sum("age"), Pure(3.0), Staircase),
    (histogram("state"), Pure(1.0), Laplace),
    (histogram("state"), Approximate(1.0, 1e-6), Laplace),
    (mean("age"), Approximate(0.5, 1e-6), Laplace),
    (histogram("state"), Concentrated(0.5), (Gaussian, DiscreteGaussian)),
    (most_popular("hobbies"), Approximate(1.0, 1e-6), PermuteAndFlip),
])  # fmt: skip
def test_the_least_error_wins(query, spend, kind):
    assert isinstance(best(bind(query, PEOPLE), spend), kind)


def test_gaussian_noise_wins_where_delta_is_large():
    people = Schema(COLUMNS, adjacency=Replace(), size=1000)
    chosen = best(bind(count().by("age", "state"), people), Approximate(0.1, 0.3))
    assert isinstance(chosen, Gaussian | DiscreteGaussian)


@pytest.mark.parametrize("rows", [1, 3, 10**6 + 1])
@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()])
def test_sensitivities_beyond_the_exact_floats_round_up(rows, adjacency):
    widest = 2**30 - 1
    schema = Schema({"x": Integers(0, widest)}, Person("id", rows), adjacency)
    moved = widest**2 * rows * (2 if adjacency == Replace() else 1)
    assert Fraction(bind(variance("x"), schema).sensitivity("l1")) >= moved
    assert bind(variance("x"), schema).sensitivity("l1") <= moved * (1 + 1e-15)


def test_a_declared_size_is_released_for_nothing():
    mechanism = best(bind(count(), Schema(COLUMNS, adjacency=Replace(), size=7)), Pure(1.0))
    assert isinstance(mechanism, Public)
    assert mechanism.guarantee() == Pure(0.0)


def test_delta_never_makes_the_plan_worse():
    for query in (count(), sum("age"), mean("age"), histogram("state")):
        question = bind(query, PEOPLE)
        pure, loose = (options(question, spend)[0].predicted for spend in (Pure(0.5), Approximate(0.5, 0.01)))
        assert loose <= pure


@pytest.mark.heavy
@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.02, 3.0), power=st.floats(-9.0, -1.0), rows=st.integers(1, 3))
def test_delta_is_spent_only_for_a_real_gain(epsilon, power, rows):
    people = Schema(COLUMNS, Person("id", rows), size=1000)
    for query in (count(), sum("age"), histogram("state")):
        question = bind(query, people)
        found = options(question, Approximate(epsilon, 10.0**power))
        pure = min(option.predicted for option in found if price(option) == 1.0)
        if price(found[0]) > 1.0:
            assert found[0].predicted * REAL_GAIN <= pure * 1.01
        elif query.kind == "count":
            assert isinstance(certify(question, found[0].mechanism), Certificate)


def test_a_count_with_a_small_delta_stays_pure_and_certified():
    question = bind(count(), PEOPLE)
    chosen = best(question, Approximate(1.0, 1e-6))
    assert chosen.guarantee() == Pure(1.0)
    assert certify(question, chosen).factor < 1 + 1e-9


@pytest.mark.parametrize("spend", [Pure(0.0), Approximate(0.0, 0.1), Concentrated(0.0)])
def test_refuses_to_spend_nothing(spend):
    with pytest.raises(ParameterError, match="> 0, got 0; choose how much"):
        best(bind(count(), PEOPLE), spend)


def test_refuses_other_guarantees_and_assumptions():
    with pytest.raises(ParameterError, match="spend must be"):
        best(bind(count(), PEOPLE), GaussianPrivacy(1.0))
    with pytest.raises(UnsupportedQuery, match="assumptions"):
        best(bind(count(), PEOPLE), Pure(1.0, assumptions=frozenset({"mixing"})))


# candidates that fail
BITS = Schema({f"b{i}": Categories(["x", "y"]) for i in range(5)})
LETTERS = Schema({"b": Categories(list("abcdef"))})
HARD = {
    "one contrast": (workload("b0", [[1, -1]]), BITS),
    "pair differences": (workload("b", [[1, -1, 0, 0, 0, 0], [0, 0, 1, -1, 0, 0]]), LETTERS),
    "tables of four": (marginals([f"b{i}" for i in range(4)], k=2), BITS),
    "a heavy total": (workload("b", weighted("total", 2e10), [[1, 0, 0, 0, 0, 0]]), LETTERS),
    "a very heavy total": (workload("b", weighted("total", 1e15), ["each"]), LETTERS),
}


@pytest.mark.parametrize("allow", [frozenset(), frozenset({"real-arithmetic", "mixing"})], ids=["exact", "allowed"])
@pytest.mark.parametrize(
    "target", [Pure(1.0), Concentrated(0.1), Approximate(1.0, 1e-6)], ids=lambda t: type(t).__name__
)
@pytest.mark.parametrize("name", HARD)
def test_hard_workloads_are_planned(name, target, allow):
    query, schema = HARD[name]
    found = options(bind(query, schema), target, allow)
    assert all(option.mechanism.guarantee().implies(target) or allow for option in found)
    assert all(math.isfinite(option.predicted) for option in found)


entries = st.integers(-2, 2) | st.sampled_from([0, 1])


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.lists(entries, min_size=4, max_size=4).filter(any), min_size=1, max_size=4),
    st.floats(-6, 6),
    st.sampled_from([AddRemove(), Replace()]),
    st.sampled_from([Pure(0.3), Concentrated(0.01), Approximate(0.3, 1e-5)]),
)
def test_any_listed_workload_is_planned(rows, power, adjacency, target):
    schema = Schema({"b": Categories(list("abcd"), other="a", missing="a")}, adjacency=adjacency, size=100)
    question = bind(workload("b", rows, weighted("total", float(f"{10**power:.2g}"))), schema)
    for option in options(question, target, frozenset({"real-arithmetic", "mixing"})):
        claim = option.mechanism.guarantee()
        assert dataclasses.replace(claim, assumptions=frozenset()).implies(target), option.name


def refusing(error):
    def calibrate(*arguments):
        raise error

    return calibrate


@pytest.mark.parametrize("refusal", [ParameterError("too far"), UnsupportedQuery("too flat")])
def test_a_candidate_that_is_refused_is_left_out(monkeypatch, refusal):
    query, schema = HARD["pair differences"]
    monkeypatch.setattr(Strategy, "calibrate", refusing(refusal))
    assert not any(option.name.startswith("strategy") for option in options(bind(query, schema), Pure(1.0)))


@pytest.mark.parametrize("mistake", [KeyError("x"), AssertionError(), TypeError("y"), ZeroDivisionError()])
def test_a_mistake_of_ours_is_not_hidden(monkeypatch, mistake):
    query, schema = HARD["pair differences"]
    monkeypatch.setattr(Strategy, "calibrate", refusing(mistake))
    with pytest.raises(type(mistake)):
        options(bind(query, schema), Pure(1.0))


def test_if_no_candidate_is_left_the_error_gives_every_reason():
    with pytest.raises(UnsupportedQuery, match=r"no mechanism.*scale must be.*coarser.*or: 1 / epsilon"):
        options(bind(count(), LETTERS), Pure(1e-16))
    with pytest.raises(ParameterError, match=r"^scale must be .* coarser lattice"):
        options(bind(histogram("b"), LETTERS), Pure(1e-16))


class Rounded:
    """Laplace noise whose claim is a rounding above what it was calibrated to, as -log(exp(-x)) may be."""

    more = 1e-15

    def __init__(self, inner, epsilon):
        self.inner, self.epsilon = inner, epsilon

    @classmethod
    def calibrate(cls, question, target):
        return cls(Laplace.calibrate(question, target), target.epsilon * (1 + cls.more))

    def guarantee(self, distance=1):
        return Pure(self.epsilon)

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Unread:
    """A question of one's own that says nothing of the accuracy of its answers."""

    name, sensitivity, dimension = "mine", staticmethod(lambda norm: 1.0), 1


def test_what_an_own_mechanism_lacks_is_said_of_the_right_part():
    question = bind(sum("age"), PEOPLE)
    with pytest.raises(UnsupportedQuery, match="by rounding alone"):
        chosen(question, Pure(0.7), Rounded)
    with pytest.raises(UnsupportedQuery, match=r"session allows$"):
        chosen(question, Pure(0.7), type("Loose", (Rounded,), {"more": 0.5}))
    exact = type("Exact", (Rounded,), {"more": 0.0})
    assert chosen(question, Pure(0.7), exact)
    with pytest.raises(UnsupportedQuery, match="the question has no 'accuracy'"):
        chosen(Unread(), Pure(0.7), exact)
