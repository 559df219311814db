"""Bounds on choices: figures, linear programs that do not beat them, and a planted bound that is beaten."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import norm

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds import certify
from sfumato.bounds.climb import divergence, least_steps, raised
from sfumato.bounds.selection import least_lead, least_rank_error
from sfumato.errors import ParameterError
from sfumato.planner import best
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind, quantiles, top
from sfumato.spaces import Categories, Integers, Subsets
from sfumato.spaces.schema import Schema


def popular(k, many, cap=None, unit=None, adjacency=None, size=None):
    labels = [f"i{place}" for place in range(many)]
    space = Categories(labels) if cap is None else Subsets(labels, cap=cap)
    return bind(top("h", k), Schema({"h": space}, unit or Row(), adjacency or AddRemove(), size=size))


def ranked(probabilities, high=1000, unit=None, adjacency=None, size=None):
    schema = Schema({"x": Integers(0, high)}, unit or Row(), adjacency or AddRemove(), size=size)
    return bind(quantiles("x", probabilities), schema)


# figures


@pytest.mark.parametrize(("many", "least", "flipped"), [(10, 4, 6), (50, 6, 7), (1000, 9, 10)])
def test_the_most_popular_item(many, least, flipped):
    question = popular(1, many)
    found = certify(question, best(question, Pure(1.0)))
    assert (found.bound, found.achieved) == (least, flipped)


def test_top_of_a_thousand_and_the_median_of_a_thousand_and_one_values():
    question = popular(1, 1000)
    assert certify(question, best(question, Pure(1.0))).factor <= 1.15
    question = ranked([0.5])
    found = certify(question, best(question, Pure(1.0)))
    assert found.bound == 4.5
    assert found.factor <= 2.25
    assert found.words() == (
        "within a factor 2.23 of the best possible rank error that is reached with probability 0.05 on the worst table "
        "(climbing from a table without a best answer; among pure mechanisms)"
    )


def test_ten_of_fifty_at_a_fifth_cannot_be_found_below_a_lead_of_27():
    question = popular(10, 50)
    found = certify(question, best(question, Pure(0.2)))
    assert found.bound == 27
    assert found.factor < 1.75


def test_every_guarantee_unit_and_relation_has_a_bound():
    for unit, adjacency, size in itertools.product((Row(), Person("id", 3)), (AddRemove(), Replace()), (5000,)):
        for target in (Pure(0.7), Concentrated(0.05), Approximate(0.7, 1e-7)):
            for question in (
                popular(1, 30, None, unit, adjacency, size), popular(4, 30, 3, unit, adjacency, size),
                ranked([0.3], 1000, unit, adjacency, size),
            ):  # fmt: skip
                found = certify(question, best(question, target))
                assert isinstance(found, Certificate)
                assert found.factor >= 1
    question = ranked([0.25, 0.5], 10**6)
    assert certify(question, best(question, Pure(1.0))).worst == "table without ties"


# attacks


def least_over_tables(many, most, lead, epsilon, delta=0.0):
    """The largest probability with which a private choice finds every item that leads by `lead`, counts 0 to `most`."""
    tables = list(itertools.product(range(most + 1), repeat=many))
    place = {table: at for at, table in enumerate(tables)}
    pairs = [
        (place[table], place[(*table[:i], table[i] + 1, *table[i + 1 :])])
        for table in tables for i in range(many) if table[i] < most
    ]  # fmt: skip
    pairs += [(b, a) for a, b in pairs]
    width = len(tables) * many
    slack = len(pairs) * many if delta else 0
    rows, limits = [], []

    def row(entries, limit):
        line = np.zeros(width + slack + 1)
        for at, value in entries:
            line[at] += value
        rows.append(line)
        limits.append(limit)

    for number, (a, b) in enumerate(pairs):
        for i in range(many):
            over = [(width + number * many + i, -1.0)] if delta else []
            row([(a * many + i, 1.0), (b * many + i, -math.exp(epsilon)), *over], 0.0)
        if delta:
            row([(width + number * many + i, 1.0) for i in range(many)], delta)
    for table in tables:
        for i in range(many):
            if table[i] >= lead + max(count for j, count in enumerate(table) if j != i):
                row([(place[table] * many + i, -1.0), (width + slack, 1.0)], 0.0)
    sums = np.zeros((len(tables), width + slack + 1))
    for at in range(len(tables)):
        sums[at, at * many : (at + 1) * many] = 1
    goal = np.zeros(width + slack + 1)
    goal[-1] = -1
    solved = linprog(goal, np.array(rows), limits, sums, np.ones(len(tables)), bounds=(0, 1), method="highs")
    return -solved.fun


@pytest.mark.parametrize(("many", "most", "epsilon", "delta"), [
    (2, 4, 0.9, 0.0), (3, 3, 1.3, 0.0), (2, 4, 0.6, 0.05), (3, 2, 1.5, 0.02)])  # fmt: skip
def test_no_private_choice_beats_the_bound(many, most, epsilon, delta):
    claim = Approximate(epsilon, delta) if delta else Pure(epsilon)
    for lead in range(1, most + 1):
        reached = least_over_tables(many, most, lead, epsilon, delta)
        for level in (0.6, 0.8, 0.95):
            if level > 1 / many and reached >= level:
                assert least_steps(claim, 1 / many, level) <= lead


def test_a_planted_bound_is_beaten():
    """ln((1 - beta)(D - 1) / beta) / epsilon would ask for a lead of 2.8 where a choice needs 2."""
    many, epsilon, beta = 3, 1.3, 0.05
    assert least_over_tables(many, 3, 2, epsilon) >= 1 - beta
    assert math.log((1 - beta) * (many - 1) / beta) / epsilon > 2.5
    assert least_steps(Pure(epsilon), 1 / many, 1 - beta) <= 2


@settings(deadline=None, max_examples=60)
@given(st.floats(0.001, 3), st.integers(2, 2000))
def test_normal_noise_never_beats_the_concentrated_bound(rho, many):
    """The largest of noisy counts, its law by quadrature."""
    steps = least_steps(Concentrated(rho), 1 / many, 0.95)
    sigma, lead = 1 / math.sqrt(2 * rho), steps - 1
    z = np.linspace(-9, 9, 4001)
    found = np.trapezoid(norm.pdf(z) * norm.cdf(z + lead / sigma) ** (many - 1), z)
    assert found < 0.95


@settings(deadline=None, max_examples=60)
@given(st.floats(0.05, 5), st.floats(0, 0.2), st.floats(0, 0.9), st.floats(0.91, 0.999))
def test_the_climb_is_the_largest_that_the_claim_allows(epsilon, delta, start, level):
    """A coin that climbs so satisfies the claim at every step, so that no larger number of steps is a bound."""
    claim, p, count = Approximate(epsilon, delta), start, 0
    steps = least_steps(claim, start, level)
    if not (start or delta):
        assert steps is None
        return
    while p < level:
        q = raised(p, epsilon, delta) * (1 - 1e-9)
        for a, b in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
            assert a <= math.exp(epsilon) * b + delta + 1e-9
        p, count = raised(p, epsilon, delta), count + 1
    assert steps == count


@pytest.mark.parametrize("epsilon", [1e-4, 3e-6])
def test_small_epsilons_are_taken_many_steps_at_a_time(epsilon):
    exact = math.log(0.5 / 0.02) / epsilon + math.log(0.5 / 0.05) / epsilon  # up to one half, and down to what is left
    steps = least_steps(Pure(epsilon), 0.02, 0.95)
    assert 0.998 * exact < steps < 1.001 * exact


def test_divergences_of_coins():
    assert divergence(0.5, 0.05, 1.0) == pytest.approx(0.5 * math.log(10) + 0.5 * math.log(0.5 / 0.95))
    assert divergence(0.5, 0.05, 2.0) == pytest.approx(math.log(0.25 / 0.05 + 0.25 / 0.95))
    assert divergence(0.3, 0.2, 1 + 1e-7) == pytest.approx(divergence(0.3, 0.2, 1.0), rel=1e-5)


# refusals


@pytest.mark.parametrize("cap", [None, 2])
@pytest.mark.parametrize("size", [1, 3, 6, 20])
def test_no_more_persons_are_replaced_than_there_are(cap, size):
    """Of so many persons with 5 rows each the best item leads by 5 size at most, and no choice ever loses more."""
    person = {"unit": Person("id", 5), "adjacency": Replace(), "size": size}
    question = popular(1, 10, cap, **person)
    assert (least_lead(question, Pure(0.1)) or 0) <= 5 * size + 1
    values = ranked([0.5], **person)
    assert least_rank_error(values, Pure(0.1), values.probabilities[0]) <= Fraction(5 * size, 2) + 1
    assert least_lead(popular(1, 10, cap, Person("id", 5), Replace(), 10**6), Pure(0.1)) > 100


def test_what_has_no_bound_says_why():
    question = popular(3, 3)
    assert isinstance(certify(question, best(question, Pure(1.0))), NoBoundKnown)
    question = popular(1, 50, adjacency=Replace(), size=60)
    assert "size" in certify(question, best(question, Pure(0.01))).words()
    question = ranked([0.25, 0.5], 100, adjacency=Replace(), size=5000)
    assert "ties" in certify(question, best(question, Pure(1.0))).words()
    with pytest.raises(ParameterError, match="start"):
        least_steps(Pure(1.0), 0.99, 0.95)


def test_a_bound_below_half_a_rank_is_none():
    """A third, as a double, has a denominator of 10^16: what rounding leaves of it is no bound."""
    for size, points, p in itertools.product((2, 3, 4, 6), (3, 9), (1 / 3, 2 / 3, 1 / 7)):
        question = ranked([p], points, adjacency=Replace(), size=size)
        for spend in (Pure(1.0), Concentrated(0.548), Pure(5.0)):
            found = certify(question, best(question, spend))
            assert isinstance(found, NoBoundKnown) or found.bound >= 0.5
