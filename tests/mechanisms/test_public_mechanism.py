"""Public answers: free, exact, and refused where a unit can move the answer."""

import numpy as np
import pytest

from sfumato.auditing import audit
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms import Public, Vector
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Pure
from sfumato.queries import bind, count
from sfumato.randomness import seeded
from sfumato.spaces import Integers
from sfumato.spaces.schema import Schema

SIZE = Vector("size", 1, 0.0, 0.0, 0.0)

# claims


def test_costs_nothing_at_any_distance_and_errs_by_nothing():
    assert Public(SIZE).guarantee(7) == Pure(0.0)
    assert Public(SIZE).error() == 0.0
    assert Public(SIZE).noise.variance == Public(SIZE).noise.mean_absolute == Public(SIZE).noise.quantile(0.5) == 0


# laws


def test_a_public_count_is_the_declared_size_whatever_the_table_holds():
    question = bind(count(), Schema({"x": Integers(0, 1)}, adjacency=Replace(), size=70))
    assert [question.vector(np.array([[held]]))[0] for held in (0, 69, 71)] == [70, 70, 70]


# distribution


def test_the_answer_comes_back_as_a_copy():
    answer = np.array([70])
    released = Public(SIZE).release(answer, seeded(1))
    assert released.tolist() == [70]
    assert released is not answer


# audit


def test_audit_does_not_refute_a_size_that_is_public():
    def target(data, rng):
        return int(Public(SIZE).release(np.array([len(data)]), rng)[0])

    assert not audit(target, Pure(0.0), pairs=[([1, 2], [1, 9])], seconds=0.4, generator=seeded).refuted


def test_audit_catches_a_size_that_is_not():
    def target(data, rng):
        return int(Public(SIZE).release(np.array([len(data)]), rng)[0])

    assert audit(target, Pure(0.0), pairs=[([1, 2], [1])], seconds=1, generator=seeded).refuted


# refusals


def test_refuses_a_query_that_a_unit_can_move():
    with pytest.raises(UnsupportedQuery, match="needs noise"):
        Public(Vector("count", 1, 1.0, 1.0, 1.0))
