"""Certificates: 1.00 where optimal, never below 1, and none where a better mechanism is possible."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from sfumato import discovered, marginals, prefix, smooth, workload
from sfumato.answers.certificate import Certificate, NoBoundKnown, certificate_from
from sfumato.bounds import certify
from sfumato.errors import BoundBroken, ParameterError, UnsupportedQuery
from sfumato.mechanisms import Laplace
from sfumato.planner import best, options
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind, bins, col, count, histogram, mean, sum, variance
from sfumato.queries.keys import Keys
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace
from sfumato.spaces import Categories, Integers, Interval, Subsets, Texts
from sfumato.spaces.schema import Schema
from strategies import guarantees, queries, schemas

COLUMNS = {
    "age": Integers(0, 120),
    "debt": Integers(-50, 20),
    "height": Interval(100, 250, 0.5),
    "full": Integers(0, 9, missing=0),
    "few": Integers(0, 5),
    "work": Integers(18, 90),
    "eight": Integers(0, 7),
    "sixty": Integers(0, 63),
    "thousand": Integers(0, 1023),
    "three": Categories(["x", "y", "z"]),
    "five": Categories(list("pqrst")),
    "state": Categories(["CA", "NY"]),
    "hobbies": Subsets(["chess", "judo"], cap=2),
}


def schema(adjacency=None, unit=None, size=1000):
    return Schema(COLUMNS, unit or Row(), adjacency or AddRemove(), size)


def certificate(query, spend=None, **declared):
    question = bind(query, schema(**declared))
    return certify(question, best(question, spend or Pure(1.0)))


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("query", [count(), count().by("state"), histogram("state", bins("age", 0, 18, 65, 120)),
                                   count().where("age >= 18").by("state"), sum("age"), sum("debt")])  # fmt: skip
def test_counts_histograms_and_whole_sums_are_certified_optimal(query, epsilon):
    """Counts exactly; sums but for the quarter that answers between the integers might gain."""
    found = certificate(query, Pure(epsilon))
    assert isinstance(found, Certificate)
    assert 1 <= found.factor < (1 + 1e-9 if query.kind != "sum" else 1 + 1e-5 * math.exp(epsilon))
    assert "within a factor 1.0" in found.words()
    assert "whole answers" not in found.among


@pytest.mark.parametrize(("query", "spend", "most"), [
    (count(), Concentrated(0.1), 1.005), (count().by("state"), Concentrated(0.1), 1.005),
    (count(), Approximate(1.0, 1e-6), 1.005), (count().by("state"), Approximate(1.0, 1e-6), 1.005),
    (sum("few"), Pure(1.0), 1.01), (sum("few"), Concentrated(0.1), 1.01), (sum("few"), Approximate(1.0, 1e-6), 1.01),
    (sum("work"), Pure(1.0), 1.03), (sum("work"), Concentrated(0.1), 1.03), (sum("work"), Approximate(1.0, 1e-6), 1.03),
    (prefix("eight"), Pure(1.0), 1.45), (prefix("eight"), Concentrated(0.1), 1.03),
    (marginals(["eight", "three", "five"], 2), Pure(1.0), 1.45),
    (marginals(["eight", "three", "five"], 2), Concentrated(0.1), 1.03),
    (prefix("thousand"), Pure(1.0), 2.75), (prefix("thousand"), Concentrated(0.1), 1.03),
    (marginals(["eight", "sixty", "three"], 1), Pure(1.0), 1.70),
    (marginals(["eight", "sixty", "three"], 1), Concentrated(0.1), 1.03),
], ids=lambda value: getattr(value, "name", None) or str(value))  # fmt: skip
def test_daily_questions_are_certified_near_the_best(query, spend, most):
    found = certificate(query, spend)
    assert 1 <= found.factor <= most
    assert "unbounded size" in found.among


@pytest.mark.parametrize("spend", [Pure(1.0), Concentrated(0.1), Approximate(1.0, 1e-6)])
@pytest.mark.parametrize(
    "query", [sum("full"), mean("full"), count().where("age >= 18"), sum("age")], ids=lambda q: q.name
)
def test_numbers_of_declared_sizes_are_certified_near_the_best(query, spend):
    found = certificate(query, spend, adjacency=Replace(), size=10**4)
    assert 1 <= found.factor <= 1.05
    assert "of the declared size" in found.among


def test_persons_with_several_rows_have_the_staircase_bound():
    found = certificate(count(), unit=Person("id", 4))
    assert "staircase" in found.bound_name
    assert 1 <= found.factor < 1.005
    grouped = certificate(count().by("state"), unit=Person("id", 4))
    assert 1 < grouped.factor < 1.1  # Laplace noise in several dimensions, against the staircase of each number


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_every_count_and_workload_has_a_bound_whoever_is_protected(data):
    """Persons or rows, added, removed or replaced, under every guarantee."""
    unit = data.draw(st.sampled_from([Row(), Person("id", 1), Person("id", 3)]))
    adjacency = data.draw(st.sampled_from([AddRemove(), Replace()]))
    sizes = [1000, 10**5] if isinstance(unit, Row) else [None, 1000, 10**5]
    query = data.draw(st.sampled_from([count().by("state"), histogram("state", "three"), sum("age").by("three"),
                                       prefix("eight"), marginals(["eight", "three"], 1)]))  # fmt: skip
    spend = data.draw(st.sampled_from([Pure(1.0), Concentrated(0.1), Approximate(0.5, 1e-3)]))
    found = certificate(query, spend, unit=unit, adjacency=adjacency, size=data.draw(st.sampled_from(sizes)))
    assert isinstance(found, Certificate)
    assert 1 <= found.factor < 4


def test_fewer_units_are_certified_no_better():
    """A bound of few units is never above that of many, nor above that of any number."""
    for query in (histogram("state", "three"), prefix("eight"), sum("age").by("three")):
        found = [certificate(query, Pure(1.0), unit=Person("id", 2), adjacency=Replace(), size=size).bound
                 for size in (10, 100, 1000, 10**5, None)]  # fmt: skip
        assert all(few <= many * 1.02 for few, many in itertools.pairwise(found))


@pytest.mark.parametrize(("query", "declared", "reason"), [
    (mean("age"), {"size": None}, "number of rows"),
    (variance("age").by(bins("age", 0, 18, 120)), {}, "restrict the column"),
    (sum("age").by(bins("age", 0, 18, 120)), {}, "restrict the column"),
    (sum("age").where("age >= 60"), {}, "restricts"),
    (count().where("state == 'CA'").by("state"), {}, "restricts"),
    (count().where("age > 200"), {}, "every row, or none"),
    (count().where((col("age") < 10) & (col("age") > 20)), {}, "every row, or none"),
    (count().where("full >= 0"), {"adjacency": Replace()}, "every row, or none"),
    (histogram(bins("age", 0, 60, 130, 200)), {}, "no row can fall"),
    (count(), {"adjacency": Replace()}, "public"),
])  # fmt: skip
def test_no_bound_is_known_elsewhere_and_the_reason_is_said(query, declared, reason):
    found = certificate(query, **declared)
    assert isinstance(found, NoBoundKnown)
    assert reason in found.reason
    assert found.words() == f"{found.brief()}: {found.reason}"
    assert found.brief() == found.short() == "no bound known"


def test_conditions_on_other_columns_keep_the_bound():
    for condition in ("state == 'CA'", "not age >= 0", "'chess' in hobbies and 'judo' in hobbies"):
        assert isinstance(certificate(sum("debt").where(condition)), Certificate)
    assert isinstance(certificate(count().where("full >= 0")), Certificate)  # always true, but rows come and go


def test_a_set_too_small_for_the_condition_is_noticed():
    narrow = Schema({"h": Subsets(["a", "b"], cap=1)})
    question = bind(count().where(col("h").contains("a") & col("h").contains("b")), narrow)
    assert isinstance(certify(question, best(question, Pure(1.0))), NoBoundKnown)


@pytest.mark.parametrize("epsilon", [30.0, 100.0, 800.0, 5000.0])
def test_enormous_losses_do_not_break_the_plan(epsilon):
    for query, adjacency in ((count(), AddRemove()), (sum("age"), AddRemove()), (sum("full"), Replace())):
        found = certificate(query, Pure(epsilon), adjacency=adjacency)
        assert isinstance(found, NoBoundKnown) or found.factor >= 1
    assert certificate(count(), Concentrated(epsilon)).words()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_planned_mechanism_is_ever_below_its_bound(data):
    declared = data.draw(schemas())
    query, spend = data.draw(queries(declared)), data.draw(guarantees())
    try:
        question = bind(query, declared)
        planned = [] if isinstance(question, Keys) else options(question, spend)
    except (ParameterError, UnsupportedQuery):
        assume(False)
    for option in planned:
        found = certify(question, option.mechanism)
        assert found == certificate_from(found.to_record())
        assert isinstance(found, NoBoundKnown) or (found.factor >= 1 and math.isfinite(found.factor))


def test_a_certificate_follows_the_mechanism_and_not_the_plan():
    """Twice the scale is certified as twice as far, so a certificate cannot be had for nothing."""
    question = bind(count(), schema())
    twice = certify(question, Laplace(question, 20.0)).factor
    assert twice == pytest.approx(1.0, abs=1e-6)  # at its own, smaller, privacy loss it is optimal again
    wide = certify(bind(sum("age"), schema()), Laplace(bind(sum("age"), schema()), 40.0))
    assert wide.factor > 1.01  # Laplace is not the staircase at epsilon 3


def test_words_round_the_factor_up():
    assert "factor 1.26" in Certificate(1.2501, 1.0, "error", "b", "m").words()
    assert "factor 1.00" in Certificate(1.0 + 1e-12, 1.0, "error", "b", "m").words()
    with pytest.raises(ParameterError, match="positive"):
        Certificate(1.0, 0.0, "error", "b", "m")


def test_the_worst_case_is_named():
    assert "on the worst table (" in certificate(count()).words()
    assert Certificate(2.0, 1.0, "error", "b", "m", "population").short().endswith("on the worst population")


# what explicit mechanisms reach is never below what is claimed to be the best


def column_lattice_mean_square(d: int, epsilon: float) -> float:
    """Noise proportional to e^{-epsilon |z|_inf} on the vectors of one parity: pure for columns of signs.

    The box {-r, -r + 2, ..., r}^d has (r + 1)^d points of mean square (r^2 + 2 r) / 3 a coordinate; a shell is a box
    less the one two steps smaller.
    """
    total = square = 0.0
    for r in range(int(60 * d / epsilon) + 20):
        points = float(r + 1) ** d
        moment = points * (r * r + 2 * r) / 3
        if r >= 2:
            points -= float(r - 1) ** d
            moment -= float(r - 1) ** d * ((r - 2) ** 2 + 2 * (r - 2)) / 3
        weight = math.exp(-epsilon * r)
        total, square = total + weight * points, square + weight * moment
    return d * square / total


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(2, 5), cells=st.integers(6, 30), epsilon=st.floats(0.5, 6.0))
def test_noise_on_the_lattice_of_the_columns_beats_no_certificate(seed, d, cells, epsilon):
    signs = np.where(np.random.default_rng(seed).random((d, cells)) < 0.5, 1, -1)
    signs[0] = 1
    declared = Schema({"b": Categories([str(i) for i in range(cells)])})
    question = bind(workload("b", signs.tolist()), declared)
    found = certify(question, Laplace.calibrate(question, Pure(epsilon)))
    assert isinstance(found, Certificate)
    assert "real tables" not in found.among
    assert found.bound <= math.sqrt(column_lattice_mean_square(d, epsilon) / d) * (1 + 1e-9)


def best_on_the_plane(matrix, epsilon: float, reach: int) -> float:
    """The least mean square of pure noise on F Z^2 that stays within `reach`, by linear programming."""
    side = np.arange(-reach, reach + 1)
    n, decay = len(side), math.exp(-epsilon)
    place = np.arange(n * n).reshape(n, n)
    pairs = np.concatenate([np.stack([place[:-1].ravel(), place[1:].ravel()]).T,
                            np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()]).T])  # fmt: skip
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    rows = np.repeat(np.arange(len(pairs)), 2)
    values = np.tile([decay, -1.0], len(pairs))
    less = sparse.csr_matrix((values, (rows, pairs.ravel())), shape=(len(pairs), n * n))
    points = np.stack([part.ravel() for part in np.meshgrid(side, side, indexing="ij")])
    cost = ((np.asarray(matrix) @ points) ** 2).sum(axis=0)
    solved = linprog(cost, A_ub=less, b_ub=np.zeros(len(pairs)), A_eq=np.ones((1, n * n)), b_eq=[1.0], bounds=(0, None))
    return float(solved.fun)


@settings(max_examples=8, deadline=None)
@given(entries=st.lists(st.integers(-3, 3), min_size=4, max_size=6), epsilon=st.floats(1.5, 4.0))
def test_the_best_noise_on_the_plane_beats_no_certificate(entries, epsilon):
    matrix = np.array(entries[: len(entries) // 2 * 2]).reshape(-1, 2)
    assume(np.linalg.matrix_rank(matrix) == 2)
    question = bind(workload("b", matrix.tolist()), Schema({"b": Categories(["y", "n"])}))
    found = certify(question, Laplace.calibrate(question, Pure(epsilon)))
    assert isinstance(found, Certificate)
    best = best_on_the_plane(matrix, epsilon, int(12 / epsilon) + 1)  # the plane is cut, which lowers it by up to 1e-4
    assert found.bound <= math.sqrt(best / len(matrix)) * (1 + 1e-3)


@settings(max_examples=40, deadline=None)
@given(size=st.integers(1, 10**6), epsilon=st.floats(0.01, 10.0), imputed=st.booleans(), edge=st.integers(121, 500))
def test_a_cell_that_takes_every_row_needs_no_noise(size, epsilon, imputed, edge):
    """Under replacement the only cell of such a histogram holds the declared number of rows, whatever the table."""
    column = Integers(0, 120, missing=7) if imputed else Integers(0, 120)
    declared = Schema({"age": column, "one": Categories(["a"], other="a", missing="a")}, adjacency=Replace(), size=size)
    for query in (count().by(bins("age", 0, edge)), count().by(bins("age", -3, edge), "one")):
        question = bind(query, declared)
        chosen = best(question, Pure(epsilon))
        found = certify(question, chosen)
        if imputed:
            assert (chosen.guarantee(), found.reason) == (Pure(0.0), "the answer is public, its error is zero")
            assert question.vector(np.array([[5]])).tolist() == [size]
        else:
            assert isinstance(chosen.guarantee(), Pure)
            assert chosen.guarantee().epsilon > 0


@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()])
@pytest.mark.parametrize("epsilon", [120.0, 699.0, 1400.0, 6637.0, 1e6])
@pytest.mark.parametrize("delta", [1e-300, 1e-50, 1e-6])
def test_keys_found_with_much_epsilon_beat_no_bound(adjacency, epsilon, delta):
    """A chance of 1e-323 becomes certain in one step of epsilon 1,000: it is not cut off where doubles end."""
    question = bind(count().by(discovered("t")), Schema({"t": Texts()}, Person("id", 1), adjacency, 10**9))
    for option in options(question, Approximate(epsilon, delta)):
        assert certify(question, option.mechanism).factor >= 1 - 1e-6


@pytest.mark.parametrize("spend", [Pure(1e6), Concentrated(7e5), Approximate(3419.0, 1e-300), Pure(1e-9)])
@pytest.mark.parametrize(
    "query", [count(), sum("work"), prefix("eight"), marginals(["eight", "three"], 1), mean("age")]
)
def test_any_amount_that_can_be_spent_has_its_certificate_or_a_reason(query, spend):
    found = certificate(query, spend)
    assert isinstance(found, NoBoundKnown) or 0 < found.bound <= found.achieved * (1 + 1e-6)


def test_tables_of_many_replaced_cells_are_planned_without_listing_every_difference():
    """480 cells and 271 answers: the differences of columns would have 31 million entries."""
    wide = Schema({"a": Integers(0, 31), "b": Integers(0, 4), "c": Integers(0, 2)}, Row(), Replace(), 225)
    question = bind(marginals(["a", "b", "c"], 2), wide)
    with pytest.raises(UnsupportedQuery, match="too many differences to list"):
        _ = question.vertices
    assert isinstance(certify(question, best(question, Concentrated(1e-2))), Certificate)


MANY = [f"c{i}" for i in range(1500)]
MEASURED = {"g": Categories(MANY, missing="c0", other="c0"), "v": Interval(0, 50, 0.25, missing=0.0)}


@pytest.mark.parametrize(
    ("query", "adjacency", "exact"),
    [(histogram("g"), AddRemove(), [9] * 1500), (histogram("g"), Replace(), [9] * 1500),
     (sum("v").by("g"), AddRemove(), [9] * 1500), (sum("v"), AddRemove(), [9]), (mean("v"), Replace(), [10**8]),
     (prefix("v"), AddRemove(), [9] * 201), (smooth(["v"], {(1,): 1.0}), Replace(), [10**12])],
)  # fmt: skip
@pytest.mark.parametrize("spend", [Pure(0.5), Approximate(0.2, 0.02)])
def test_the_achieved_error_is_the_measured_one_in_the_units_of_the_answer(query, adjacency, exact, spend):
    """The root of the mean square over the released numbers, of a mean not of its sum, whatever the steps."""
    question = bind(query, Schema(MEASURED, Row(), adjacency, 10**6))
    mechanism, rng = best(question, spend), seeded(5)
    found = certify(question, mechanism)
    assert isinstance(found, Certificate)
    released = [mechanism.release(np.array(exact), rng) for _ in range(250 + 1000 // len(exact))]
    shown = np.array([question.read(output, mechanism).estimates for output in released])
    assert found.achieved == pytest.approx(math.sqrt(np.mean((shown[1:] - shown[:-1]) ** 2) / 2), rel=0.15)


# an error below a proven bound is evidence


@settings(max_examples=40, deadline=None)
@given(epsilon=st.floats(0.1, 3.0), share=st.floats(0.1, 0.95))
def test_less_noise_than_claimed_is_refused_by_its_certificate(epsilon, share):
    """A mechanism that draws a smaller scale than it states: the cheapest audit there is."""
    question = bind(count(), schema())
    honest = Laplace.calibrate(question, Pure(epsilon))

    class Thin:
        noise = DiscreteLaplace(share * honest.scale)

        @staticmethod
        def guarantee():
            return honest.guarantee()

    assert certify(question, honest).factor < 1 + 1e-9
    with pytest.raises(BoundBroken, match="the privacy claim, the stated error or the bound is false"):
        certify(question, Thin())


def test_a_stored_certificate_below_one_is_not_shown_as_one():
    record = certificate(count()).to_record()
    found = certificate_from({**record, "achieved": record["achieved"] / 2})
    assert isinstance(found, NoBoundKnown)
    assert "one of the two is false" in found.reason
    del record["worst"]
    assert certificate_from(record) == certificate(count())


def test_no_loss_however_large_breaks_a_bound():
    """Squares of errors underflow: a prefix at epsilon 680 was said to err less than is possible."""
    for k, adjacency in ((2, AddRemove()), (8, AddRemove()), (2, Replace())):
        held = Schema({"x": Integers(0, k - 1)}, size=1000, adjacency=adjacency)
        for query in (prefix("x"), count(), sum("x"), histogram("x"), marginals(["x"], 1)):
            for epsilon in (620.0, 660.0, 745.0, 1500.0):
                question = bind(query, held)
                for option in options(question, Pure(epsilon)):
                    found = certify(question, option.mechanism)
                    assert isinstance(found, NoBoundKnown) or found.factor >= 1 - 1e-6
