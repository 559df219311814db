"""Two counts of a public total, one of them noised: claims, laws, distribution, an audit, and refusals."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.auditing import audit
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.mechanisms import Complement, DiscreteGaussian, Laplace, SumZero, TruncatedLaplace
from sfumato.orders import preview
from sfumato.planner import best, options
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind
from sfumato.randomness import seeded


def schema(labels="ab", settled=True, **more):
    column = sf.Categories(list(labels), **({"other": "a", "missing": "a"} if settled else {}))
    return sf.Schema({"c": column}, **{"adjacency": sf.Replace(), "size": 2000, **more})


PAIR = bind(sf.histogram("c"), schema())


# claims


@pytest.mark.parametrize(("spend", "error"), [(Concentrated(0.01), 7.0711), (Approximate(1.0, 0.1), 0.8931)])
def test_two_cells_cost_what_one_count_costs(spend, error):
    """Pure noise of sum zero was taken, 9.98 and 1.357, and called the best possible."""
    for query in (sf.histogram("c"), sf.count().by("c"), sf.workload("c", ["each"])):
        found = preview(query, schema(), spend=spend)
        assert found.mechanism == "complement"
        assert found.ranking[0][1] == pytest.approx(error, abs=1e-4)
        assert found.certificate.factor < 1.04
        assert found.guarantee.implies(spend)
    alone = best(bind(sf.count().where("c == 'a'"), schema()), spend)
    assert alone.root_mean_square == pytest.approx(error, abs=1e-4)


def test_a_pure_spend_keeps_noise_of_sum_zero_and_more_cells_too():
    assert isinstance(best(PAIR, Pure(1.0)), SumZero)
    three = options(bind(sf.histogram("c"), schema("abc")), Concentrated(0.1))
    assert Complement not in {type(option.mechanism) for option in three}


# laws


def test_the_guarantee_is_that_of_one_number_at_every_distance():
    for spend, kind in ((Concentrated(0.1), DiscreteGaussian), (Approximate(0.5, 0.1), TruncatedLaplace)):
        mechanism = Complement.calibrate(PAIR, spend)
        assert isinstance(mechanism.counted, kind)
        assert mechanism.counted.query.sensitivity("l1") == 1
        for distance in (0, 1, 2):
            assert mechanism.guarantee(distance) == mechanism.counted.guarantee(distance)
        assert Complement.from_record(PAIR, mechanism.to_record()) == mechanism


# distribution


def test_the_total_is_exact_and_the_bars_cover():
    mechanism = Complement.calibrate(PAIR, Concentrated(0.02))
    truth, rng = np.array([1400, 600]), seeded(6)
    outputs = np.array([mechanism.release(truth, rng) for _ in range(4000)])
    assert (outputs.sum(axis=1) == 2000).all()
    assert np.std(outputs[:, 1] - 600) == pytest.approx(5.0, rel=0.06)
    assert (np.abs(outputs - truth).max(axis=1) <= mechanism.error(0.05)).mean() >= 0.94


# audit


def attacked(rho):
    mechanism = Complement.calibrate(PAIR, Concentrated(rho))
    return lambda data, rng: mechanism.release(np.array(data), rng).tolist()


def test_audit_does_not_refute_the_claim():
    pairs = [([1500, 500], [1499, 501])]
    assert not audit(attacked(0.5), Concentrated(0.5), pairs=pairs, seconds=0.4, generator=seeded).refuted


def test_audit_catches_a_third_of_the_noise():
    pairs = [([1500, 500], [1499, 501])]
    assert audit(attacked(4.5), Concentrated(0.5), pairs=pairs, seconds=4, generator=seeded).refuted


# refusals


@pytest.mark.parametrize("asked", [
    bind(sf.histogram("c"), schema("abc")),
    bind(sf.histogram("c"), schema(settled=False)),
    bind(sf.histogram("c"), schema(adjacency=sf.AddRemove())),
    bind(sf.histogram("c"), schema(unit=sf.Person("id", 2))),
])  # fmt: skip
def test_refuses_other_than_two_counts_of_a_public_total(asked):
    with pytest.raises(UnsupportedQuery, match="two counts of a public total"):
        Complement.calibrate(asked, Concentrated(0.1))
    assert Complement not in {type(option.mechanism) for option in options(asked, Concentrated(0.1))}


def test_refuses_a_pure_spend_and_noise_on_something_else():
    with pytest.raises(UnsupportedQuery, match="delta or a rho"):
        Complement.calibrate(PAIR, Pure(1.0))
    with pytest.raises(ParameterError, match="first of two counts"):
        Complement(PAIR, Laplace.calibrate(PAIR, Pure(1.0)))
    with pytest.raises(SchemaError, match="record of noise"):
        Complement.from_record(PAIR, {"type": "complement", "counted": {"type": "public"}})
