"""Histograms measured together: one charge, each under its own name, right, covered, found again, and read back."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.accuracy.division import Claimant, Division, Purse, divided
from sfumato.accuracy.together import Group, groups_of
from sfumato.errors import LedgerError
from sfumato.ledger.terms import Terms
from sfumato.planner import best
from sfumato.plans import read_plan
from sfumato.plans.execution import carried_out
from sfumato.plans.outlook import fit, outlook
from sfumato.plans.spends import _gains
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.queries import bind
from sfumato.randomness import seeded
from sfumato.release.parts import Part, Shared
from sfumato.release.verification import verify

SIZE = 5000
COLUMNS = {
    "origin": {"type": "categories", "values": ["E", "J", "L"], "other": "L", "missing": "L"},
    "hour": {"type": "integers", "low": 0, "high": 23, "missing": 12},
    "delay": {"type": "integers", "low": 0, "high": 99, "missing": 0},
    "loose": {"type": "categories", "values": ["a", "b"]},
}
HOURS = {"bins": "hour", "edges": [0, 8, 16, 24]}
DELAYS = {"bins": "delay", "edges": [0, 10, 30, 60, 99]}
ASKED = [
    {"name": "delays", "query": "histogram", "by": DELAYS},
    {"name": "delay by hour", "query": "histogram", "by": [DELAYS, HOURS]},
    {"name": "origin by hour", "query": "histogram", "by": ["origin", HOURS]},
    {"name": "origin by delay", "query": "histogram", "by": ["origin", DELAYS]},
    {"name": "alone", "query": "count", "by": "loose"},
]
RHO = {"rho": 0.05, "split": "auto"}


def frame():
    rng = np.random.default_rng(4)
    hours = rng.integers(0, 24, SIZE)
    columns = {
        "origin": rng.choice(["E", "J", "L"], SIZE, p=[0.5, 0.3, 0.2]),
        "hour": hours,
        "delay": np.minimum(99, rng.poisson(1 + 2 * hours)),
        "loose": rng.choice(["a", "b", "c"], SIZE),
    }
    return pa.table(columns)


def plan(folder, releases=ASKED, budget=None):
    pq.write_table(frame(), folder / "t.parquet")
    record = {
        "format": "sfumato-plan/2",
        "table": {"path": "t.parquet", "unit": "row", "size": SIZE},
        "columns": COLUMNS,
        "budget": budget or RHO,
        "release": releases,
    }
    (folder / "plan.json").write_text(json.dumps(record))
    return read_plan(folder / "plan.json")


def publish(held, folder):
    seen = outlook(held)
    fit(held, seen)
    return carried_out(seen.plan, seen, folder / "out")


def truth(query, schema):
    """The exact counts, in the order of the question's own cells."""
    question = bind(query, schema)
    return np.asarray(question.answer(sf.read(frame(), schema=schema)), dtype=float)


def test_a_plan_measures_overlapping_histograms_together(tmp_path):
    held = plan(tmp_path)
    seen = outlook(held)
    assert seen.division.worst <= 0.97 * seen.division.apart
    (group, alone) = seen.plan.releases
    assert [name for name, _ in group.members] == [one["name"] for one in ASKED[:4]]
    assert alone.name == "alone", "rows without a cell in the product would be missed"
    assert outlook(held).plan == seen.plan
    done = publish(held, tmp_path)
    assert [release.name for release in done.releases] == [group.name, *(one["name"] for one in ASKED)]
    assert sum(entry.kind == "charge" for entry in done.ledger.entries()) == 2
    assert verify(done.ledger).holds
    for release, asked in zip(done.releases[1:], ASKED, strict=True):
        exact = truth(held.release(asked["name"]).query, held.schema)
        low, high = release.interval(0.999999, joint=True)
        assert ((low <= exact) & (exact <= high)).all(), "each cell is the one that its labels say"
        wanted = ["estimate", "low", "high"]
        assert release.table().column_names[-3:] == wanted
    assert {"delay", "hour"} <= set(done.releases[2].table().column_names)


def test_publishing_again_and_adding_a_release_charge_nothing_for_what_is_stored(tmp_path):
    first = publish(plan(tmp_path), tmp_path)
    head = first.ledger.head
    again = publish(plan(tmp_path), tmp_path)
    assert again.unchanged
    assert [one.to_bytes() for one in again.releases] == [one.to_bytes() for one in first.releases]
    more = [*ASKED[1:], {"name": "hours", "query": "histogram", "by": HOURS, "spend": {"rho": 1e-9}}]
    seen = outlook(plan(tmp_path, more))
    assert list(seen.orders) == ["hours"]
    assert "delays" not in seen.asked
    assert again.ledger.head == head
    changed = [{**ASKED[0], "by": HOURS}, *ASKED[1:]]
    with pytest.raises(LedgerError, match="another question, measured as one of"):
        outlook(plan(tmp_path, changed))


@pytest.mark.parametrize("given", [{"spend": {"rho": 1e-4}}, {"within": 200}, {"within": 5}, {"mechanism": "laplace"}])
def test_a_part_is_not_released_again_by_itself_under_its_name(tmp_path, given):
    budget = {"rho": 0.05, "split": "auto", "total": {"rho": 0.04}}
    head = publish(plan(tmp_path, budget=budget), tmp_path).ledger.head
    for split in (budget, {"rho": 0.05}):
        releases = [{"spend": {"rho": 1e-4}, **one} if split != budget else one for one in ASKED]
        held = plan(tmp_path, [{**releases[0], **given}, *releases[1:]], split)
        with pytest.raises(LedgerError, match="already used in this ledger measured as one of"):
            publish(held, tmp_path)
    assert publish(plan(tmp_path, budget=budget), tmp_path).ledger.head == head


def test_a_session_does_not_use_the_name_of_a_part(tmp_path):
    held = plan(tmp_path, budget={"rho": 0.06, "split": "auto", "total": {"rho": 0.05}})
    publish(held, tmp_path)
    session = sf.Session(sf.read(held.table.path, schema=held.schema), budget=held.budget, ledger=held.ledger.address)
    spent = session.spent
    given = {"spend": sf.Concentrated(1e-3), "name": "delays"}
    for ask in (session.release, lambda query, **given: session.release_all([{"query": query, **given}])):
        with pytest.raises(
            LedgerError, match="'delays' is already used in this ledger, measured as one of 'together: "
        ):
            ask(sf.count(), **given)
    seen = session.preview(sf.count(), **given)
    assert not seen.fits
    assert "measured as one of" in str(seen)
    assert "budget  " not in str(seen)
    assert session.spent == spent
    session.release(sf.count(), spend=sf.Concentrated(1e-3))
    assert session.preview(sf.count(), spend=sf.Concentrated(1e-3)).fits


def test_files_of_parts_are_read_back(tmp_path):
    done = publish(plan(tmp_path), tmp_path)
    for release, name in zip(done.releases, done.names, strict=True):
        again = sf.load(tmp_path / "out" / f"{name}.json")
        assert again.to_bytes() == release.to_bytes()
        assert not again.disputed
        assert again.guarantee == release.guarantee
        assert (again.table() if len(release.table()) else None) == release.table()
    (tmp_path / "out" / f"{done.names[1]}.parquet").unlink()
    assert not publish(plan(tmp_path), tmp_path).unchanged
    assert (tmp_path / "out" / f"{done.names[1]}.parquet").exists()


def claimants(schema, **queries):
    return [Claimant(name, bind(query, schema)) for name, query in queries.items()]


def schema():
    return sf.Schema.from_record({"columns": COLUMNS, "size": SIZE, "dataset": "d"})


def test_a_joint_measurement_lowers_the_worst_error_and_covers_as_often_as_it_says():
    declared = schema()
    h, d = sf.bins("hour", 0, 8, 16, 24), sf.bins("delay", 0, 10, 30, 60, 99)
    asked = claimants(
        declared,
        one=sf.histogram(d, h),
        two=sf.histogram("origin", h),
        three=sf.histogram("origin", d),
        four=sf.histogram(d),
    )
    budget = sf.Concentrated(0.05)
    (group,) = groups_of(asked, budget)
    terms = Terms("d", AddRemove(), Row(), budget)
    purse = Purse(terms, terms.nothing)
    assert divided([group], purse).worst <= 0.87 * divided(asked, purse).worst
    mechanism = best(group.question, budget)
    table, rng = sf.read(frame(), schema=declared), seeded(8)
    held = mechanism.take(table)
    reading = [Part(Shared(one.question.query, declared), mechanism, place) for place, one in enumerate(group.members)]
    exact = [np.asarray(one.question.answer(table), dtype=float) for one in group.members]
    draws, misses, joint = 300, [0.0] * 4, [0] * 4
    for _ in range(draws):
        output = mechanism.release(held, rng)
        for place, part in enumerate(reading):
            answer = part.query.read(part.answers(output), part)
            low, high = answer.ends(0.05, False)
            misses[place] += float(((exact[place] < low) | (exact[place] > high)).mean()) / draws
            low, high = answer.ends(0.05, True)
            joint[place] += bool(((exact[place] < low) | (exact[place] > high)).any())
    assert max(misses) <= 0.05 + 4.8 * math.sqrt(0.05 * 0.95 / draws)
    assert min(misses) >= 0.03
    assert max(joint) / draws <= 0.05 + 4.8 * math.sqrt(0.05 * 0.95 / draws)


def test_what_is_cut_otherwise_filtered_otherwise_or_shares_nothing_stays_apart():
    declared = schema()
    asked = claimants(
        declared,
        cut=sf.histogram(sf.bins("hour", 0, 12, 24)),
        other=sf.histogram("origin", sf.bins("hour", 0, 6, 24)),
        filtered=sf.histogram("origin").where("delay > 10"),
        loose=sf.histogram("origin", "loose"),
        mean=sf.mean("delay").by("origin"),
    )
    assert groups_of(asked, sf.Pure(1.0)) == []
    pair = claimants(
        declared, a=sf.histogram("origin").where("delay > 10"), b=sf.count().by("origin").where("delay > 10")
    )
    (group,) = groups_of(pair, sf.Pure(1.0))
    assert group.question.query.condition is not None
    assert group.name == "together: a, b"


def test_what_is_measured_together_takes_less_also_where_another_has_the_worst_error():
    claimants = [Claimant(name, None) for name in "ab"]
    groups = [Group("both", tuple(claimants), None)]
    apart = Division({"a": sf.Pure(0.2), "b": sf.Pure(0.2), "flat": sf.Pure(0.6)}, 0.3, 0.5)
    for taken, worst, gains in ((0.3, 0.299, True), (0.395, 0.299, False), (0.3, 0.301, False), (0.4, 0.28, True)):
        together = Division({"both": sf.Pure(taken), "flat": sf.Pure(1 - taken)}, worst, 0.5)
        assert _gains(apart, together, groups) is gains
