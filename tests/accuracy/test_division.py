"""A budget divided over releases: the least worst error that fits, the same again, and found again in the ledger."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accuracy.division import GOOD, Claimant, Curve, Division, Purse, curve_of, divide, divided
from sfumato.errors import BudgetExceeded, LedgerError, SchemaError, SfumatoError
from sfumato.ledger import Ledger
from sfumato.ledger.terms import Terms
from sfumato.plans import read_plan
from sfumato.plans.execution import carried_out
from sfumato.plans.outlook import fit, outlook
from sfumato.plans.writing import write_plan
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.queries import bind
from sfumato.release.verification import verify

SIZE = 3000
COLUMNS = {"age": {"type": "integers", "low": 0, "high": 99}, "state": {"type": "categories", "values": ["CA", "NY"]}}
ASKED = [
    {"name": "people", "query": "count"},
    {"name": "states", "query": "histogram", "by": "state"},
    {"name": "decades", "query": "histogram", "by": {"bins": "age", "edges": [*range(0, 90, 10), 99]}},
    {"name": "age", "query": "mean", "column": "age", "by": "state"},
]


def purse(budget, **given):
    terms = Terms("d", AddRemove(), Row(), budget)
    return Purse(terms, terms.nothing, **given)


@settings(max_examples=40, deadline=None)
@given(
    scales=st.lists(st.floats(-3, 3).map(lambda power: 10.0**power), min_size=1, max_size=6),
    powers=st.data(),
    budget=st.sampled_from([sf.Pure(1.0), sf.Concentrated(0.3)]),
)
def test_no_other_division_has_a_smaller_worst_error(scales, powers, budget):
    """Each spend is what the worst error needs, and all of them take the budget: one that falls lets another rise.

    Only what an equal spend brings to a good error keeps one.
    """
    slopes = [powers.draw(st.floats(0.4, 1.5)) for _ in scales]
    laws = [lambda a, s=s, p=p: s / a**p for s, p in zip(scales, slopes, strict=True)]
    curves = [curve_of(law, budget.amount) for law in laws]

    def spend(amounts):
        return [budget.with_parts({budget.names()[0]: amount}) for amount in amounts]

    equal = budget.amount / len(scales)
    amounts, worst = divide(curves, spend, purse(budget), equal)
    assert purse(budget).admits(spend(amounts))
    assert math.fsum(amounts) == pytest.approx(budget.amount, rel=0.003)
    for law, amount in zip(laws, amounts, strict=True):
        limit = GOOD if law(equal) < GOOD else math.inf
        assert law(amount) == pytest.approx(min(worst, limit), rel=0.01)
    even = max(law(budget.amount / len(laws)) for law in laws)
    assert worst <= even * 1.001


@given(st.floats(-3, 0.3).map(lambda power: 10.0**power))
def test_a_curve_and_its_inverse_agree(amount):
    curve = curve_of(lambda a: 3 / a + 1, 2.0)
    assert curve.needed(curve.at(amount)) == pytest.approx(amount, rel=1e-9)
    assert Curve((1.0, 2.0), (math.inf, 3.0)).needed(2.9) == math.inf


def plan(folder, budget=None, releases=ASKED, **table):
    rng = np.random.default_rng(2)
    if not (folder / "t.parquet").exists():
        pq.write_table(
            pa.table({"age": rng.integers(0, 100, SIZE), "state": rng.choice(["CA", "NY"], SIZE)}), folder / "t.parquet"
        )
    record = {
        "format": "sfumato-plan/2",
        "table": {"path": "t.parquet", "unit": "row", "size": SIZE, **table},
        "columns": COLUMNS,
        "budget": {"epsilon": 1.0, "split": "auto"} if budget is None else budget,
        "release": releases,
    }
    path = folder / "plan.json"
    path.write_text(json.dumps(record))
    return read_plan(path)


def publish(held, folder):
    seen = outlook(held)
    fit(held, seen)
    return carried_out(seen.plan, seen, folder / "out")


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.05}, {"epsilon": 1.0, "delta": 1e-6}])
def test_a_plan_divides_its_budget_and_publishing_again_finds_it(tmp_path, budget):
    held = plan(tmp_path, budget | {"split": "auto"})
    seen = outlook(held)
    assert seen.division.worst < 0.8 * seen.division.even
    assert outlook(held).division == seen.division
    relative = {one.name: one.spend.amount for one in seen.plan.releases}
    assert relative["people"] < relative["states"] < relative["decades"]
    done = publish(held, tmp_path)
    again = outlook(plan(tmp_path, budget | {"split": "auto"}))
    assert set(again.stored) == set(relative)
    assert again.division is None
    assert [one.spend for one in again.plan.releases] == [one.spend for one in done.releases]
    assert verify(done.ledger).holds


@pytest.mark.parametrize("budget", [{"epsilon": 30}, {"epsilon": 1e6}, {"rho": 500.0}, {"epsilon": 0.1, "delta": 0.5}])
def test_a_budget_at_which_no_error_is_left_is_divided(tmp_path, budget):
    held = plan(tmp_path, budget | {"split": "auto"}, [ASKED[0], ASKED[1]])
    seen = outlook(held)
    fit(held, seen)
    assert all(one.spend.amount > 0 for one in seen.plan.releases)


def test_what_is_added_later_shares_in_what_is_left(tmp_path):
    total = {"epsilon": 1.0, "split": "auto", "total": {"epsilon": 0.6}}
    first = publish(plan(tmp_path, total), tmp_path)
    assert sum(one.guarantee.epsilon for one in first.releases) == pytest.approx(0.6, rel=0.01)
    more = [*ASKED, {"name": "old", "query": "count", "where": "age >= 65"}]
    with pytest.raises(BudgetExceeded, match=r"the total epsilon 0\.6 is reached.*raise total$"):
        outlook(plan(tmp_path, total, more))
    seen = outlook(plan(tmp_path, {"epsilon": 1.0, "split": "auto"}, more))
    assert set(seen.stored) == {one["name"] for one in ASKED}
    assert seen.plan.release("old").spend.epsilon == pytest.approx(0.4, rel=0.02)


def interrupted(held, folder, names):
    """Publish a plan whose process ends between the charge and the storing of the releases of these names."""
    kept = Ledger.store

    def store(ledger, charge, content):
        if json.loads(content)["name"] in names:
            raise KeyboardInterrupt
        return kept(ledger, charge, content)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Ledger, "store", store)
        with pytest.raises(KeyboardInterrupt):
            publish(held, folder)


@pytest.mark.parametrize("limit", [{}, {"total": {"epsilon": 0.9}}])
def test_a_lost_release_is_named_and_a_new_name_shares_in_what_is_left(tmp_path, limit):
    budget = {"epsilon": 1.0, "split": "auto", **limit}
    asked = [ASKED[3], ASKED[0]]
    interrupted(plan(tmp_path, budget, asked), tmp_path, ["age"])
    with pytest.raises(BudgetExceeded, match=r"'people'.*\.  'age' was charged before and never stored.*a new name"):
        outlook(plan(tmp_path, budget, asked))
    done = publish(plan(tmp_path, budget, [{**ASKED[3], "name": "age, again"}, ASKED[0]]), tmp_path)
    assert [one.name for one in done.releases] == ["age, again", "people"]


def test_a_lost_release_of_a_settled_plan_is_named(tmp_path):
    spend = {"spend": {"epsilon": 0.6}}
    held = plan(tmp_path, {"epsilon": 1.0}, [{**ASKED[0], **spend}])
    interrupted(held, tmp_path, ["people"])
    with pytest.raises(BudgetExceeded, match=r"Lower the spends, or remove releases\.  'people' was charged before"):
        fit(held, outlook(held))
    session = sf.Session(sf.read(held.table.path, schema=held.schema), budget=held.budget, ledger=held.ledger.address)
    with pytest.raises(BudgetExceeded, match="'people' was charged before and never stored"):
        session.release_all([{"query": sf.count(), "spend": sf.Pure(0.6), "name": "people"}])


def test_what_a_batch_paid_for_is_no_more_to_be_paid(tmp_path):
    """A batch whose first release is lost leaves the others paid: they take nothing of what is left again."""
    budget = {"epsilon": 2.0, "delta": 1e-6, "split": "auto"}
    many = [{"name": f"people over {age}", "query": "count", "where": f"age >= {age}"} for age in range(20, 60)]
    spends = [{**one, "spend": {"epsilon": 0.05}} for one in many]
    first = many[0]["name"]
    interrupted(plan(tmp_path, budget, spends), tmp_path, [first])
    assert Ledger.existing(tmp_path / "t.ledger").entries()[1].batch is not None
    more = [*spends[1:], ASKED[1]]
    seen = outlook(plan(tmp_path, budget, more))
    fit(seen.plan, seen)
    assert seen.plan.release("states").spend.amount > 0


def test_a_name_of_something_else_is_refused_before_it_shares(tmp_path):
    publish(plan(tmp_path, {"epsilon": 1.0}, [{**ASKED[0], "spend": {"epsilon": 0.1}}]), tmp_path)
    changed = [{**ASKED[1], "name": "people"}, ASKED[2]]
    with pytest.raises(LedgerError, match="'people' is already used in this ledger for another specification: query"):
        outlook(plan(tmp_path, {"epsilon": 1.0, "split": "auto"}, changed))


def test_a_target_that_does_not_fit_is_what_is_to_change(tmp_path):
    held = plan(tmp_path, {"epsilon": 0.1}, [{**ASKED[0], "within": 2}])
    with pytest.raises(BudgetExceeded, match=r"Its error within 2 .*needs epsilon 1.*: ask for less accuracy"):
        fit(held, outlook(held))


def test_targets_and_spends_come_first_and_weights_count(tmp_path):
    releases = [
        {**ASKED[0], "within": "1%"},
        {**ASKED[1], "spend": {"epsilon": 0.2}},
        {**ASKED[2], "weight": 1},
        {**ASKED[3], "weight": 4},
    ]
    seen = outlook(plan(tmp_path, releases=releases))
    spends = {one.name: one.spend.epsilon for one in seen.plan.releases}
    assert spends["states"] == 0.2
    assert spends["people"] == pytest.approx(0.0998, abs=3e-3)
    assert sum(spends.values()) == pytest.approx(1.0, rel=0.01)
    light = outlook(plan(tmp_path, releases=[*releases[:3], ASKED[3]]))
    assert spends["age"] > 1.5 * light.plan.release("age").spend.epsilon
    written = write_plan(plan(tmp_path, releases=releases), tmp_path / "written.json")
    assert read_plan(written).releases == plan(tmp_path, releases=releases).releases


@pytest.mark.parametrize(
    ("budget", "release", "said"),
    [
        ({"epsilon": 1.0}, {}, "spend is missing"),
        ({"epsilon": 1.0, "split": "even"}, {}, "split must be 'auto'"),
        ({"epsilon": 1.0, "total": {"epsilon": 0.5}}, {"within": 50}, "budget.total"),
        ({"epsilon": 1.0, "split": "auto", "total": {"rho": 0.5}}, {}, "budget.total"),
        ({"epsilon": 1.0, "split": "auto"}, {"weight": 0}, "weight must be from 1e-06 to 1e"),
        ({"epsilon": 1.0, "split": "auto"}, {"weight": 1e300}, "weight must be from 1e-06 to 1e"),
        ({"epsilon": 1.0, "split": "auto"}, {"weight": math.nan}, "weight must be a finite number"),
        ({"epsilon": 1.0, "split": "auto"}, {"weight": 2, "within": 5}, "weight"),
        ({"epsilon": 1.0}, {"weight": 2, "spend": {"epsilon": 0.1}}, "weight"),
        ({"epsilon": 1.0}, {"within": "some"}, "within"),
        ({"epsilon": 1.0}, {"within": -1}, "within"),
        ({"epsilon": 1.0}, {"within": [1]}, "within"),
        ({"epsilon": 1.0}, {"within": 5, "level": 2}, "level"),
        ({"epsilon": 1.0}, {"within": 5, "level": 1e-18}, "level must lie strictly between 0 and 1"),
        ({"epsilon": 1.0}, {"within": 5, "level": 1 - 1e-18}, "level must lie strictly between 0 and 1"),
        ({"epsilon": 1.0}, {"spend": {"epsilon": 0.1}, "level": 0.9}, "level stands beside within"),
        ({"epsilon": 1.0, "split": "auto"}, {"query": "synthetic"}, "a divided budget; give it a spend: "),
        ({"epsilon": 1.0}, {"within": 1, "spend": {"epsilon": 0.01}}, "ceiling"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_spent(tmp_path, budget, release, said):
    with pytest.raises(SfumatoError, match=said):
        outlook(plan(tmp_path, budget, [{"query": "count", **release}]))


def test_a_former_format_knows_no_targets(tmp_path):
    path = tmp_path / "old.json"
    plan(tmp_path)
    record = json.loads((tmp_path / "plan.json").read_text()) | {"format": "sfumato-plan/1"}
    path.write_text(json.dumps(record))
    with pytest.raises(SchemaError, match="not known in sfumato-plan/1"):
        read_plan(path)


def test_deltas_go_to_those_that_need_one():
    schema = sf.Schema({"city": sf.Texts(8), "age": sf.Integers(0, 99)}, size=SIZE)
    asked = {"cities": sf.count().by(sf.discovered("city")), "people": sf.count()}
    found = divided([Claimant(n, bind(q, schema)) for n, q in asked.items()], purse(sf.Approximate(2.0, 1e-6)))
    assert found.spends["people"].parts().keys() == {"epsilon"}
    assert 0 < found.spends["cities"].delta < 5e-7


def session(folder, budget=None):
    rng = np.random.default_rng(2)
    held = pa.table({"age": rng.integers(0, 100, SIZE), "state": rng.choice(["CA", "NY"], SIZE)})
    declared = sf.Schema({"age": sf.Integers(0, 99), "state": sf.Categories(["CA", "NY"])}, size=SIZE, dataset="t")
    return sf.Session(sf.read(held, schema=declared), budget=budget or sf.Pure(1.0), ledger=folder / "t.ledger")


REQUESTS = [
    {"query": sf.count(), "within": "1%", "name": "people"},
    {"query": sf.histogram("state"), "name": "states"},
    {"query": sf.mean("age").by("state"), "name": "age", "weight": 3},
]


def test_requests_share_in_a_budget_and_are_found_again(tmp_path):
    held = session(tmp_path)
    division = held.divide(REQUESTS, total=sf.Pure(0.5))
    assert len(held.ledger.entries()) == 1
    done = held.release_all(REQUESTS, split="auto", total=sf.Pure(0.5))
    assert {one.name: one.spend for one in done[1:]} == dict(division.spends)
    assert held.spent.epsilon == pytest.approx(0.5, rel=0.01)
    later = session(tmp_path)
    assert later.divide(REQUESTS) is None
    again = later.release_all(REQUESTS, split="auto")
    assert [one.to_bytes() for one in again] == [one.to_bytes() for one in done]
    more = [*REQUESTS, {"query": sf.median("age")}]
    assert later.divide(more).spends[sf.median("age").name].epsilon > 0.45


@pytest.mark.parametrize(
    ("request_", "given", "said"),
    [
        ({"query": sf.count()}, {}, "no 'spend'"),
        ({"query": sf.count(), "weight": 2}, {}, "no 'spend'"),
        ({"query": sf.count(), "weight": 0}, {"split": "auto"}, "weight must be from 1e-06"),
        ({"query": sf.count(), "weight": 2, "within": 5}, {"split": "auto"}, "also holds weight"),
        ({"query": sf.count()}, {"split": "even"}, "split must be"),
        ({"query": sf.count(), "within": 50}, {"total": sf.Pure(0.1)}, "automatic split"),
        ({"query": sf.count()}, {"split": "auto", "total": sf.Concentrated(0.1)}, "total must be of the budget's kind"),
        ({"query": sf.synthetic()}, {"split": "auto"}, "cannot share"),
    ],
)
def test_requests_that_cannot_share_are_refused(tmp_path, request_, given, said):
    held = session(tmp_path)
    with pytest.raises(SfumatoError, match=said):
        held.release_all([request_], **given)
    assert len(held.ledger.entries()) == 1


def test_an_error_that_hardly_falls_takes_no_good_ones_away():
    """Before: the flat one took 99 %, and left the others with its own error."""
    laws = [lambda a: 1e-4 / a, lambda a: 1e-3 / a, lambda a: 0.3 / a**0.2]
    budget = sf.Pure(1.0)
    curves = [curve_of(law, 1.0) for law in laws]
    amounts, worst = divide(curves, lambda amounts: [sf.Pure(a) for a in amounts], purse(budget), 1 / 3)
    assert [law(amount) for law, amount in zip(laws, amounts, strict=True)] == pytest.approx(
        [GOOD, GOOD, worst], rel=0.01
    )
    assert worst <= 1.03 * laws[2](1.0)
    assert math.fsum(amounts) == pytest.approx(1.0, rel=0.003)


def test_a_division_says_who_takes_nearly_all():
    few = Division({"curve": sf.Pure(0.9), "states": sf.Pure(0.05), "age": sf.Pure(0.05)}, 0.3, 1.0)
    assert "'curve' takes 90% of it" in few.words()
    assert "takes" not in Division({"states": sf.Pure(0.5), "age": sf.Pure(0.5)}, 0.3, 1.0).words()
    assert "takes" not in Division({"states": sf.Pure(1.0)}, 0.3, 1.0).words()
