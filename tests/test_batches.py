"""Releases fixed in advance, charged as one batch: what is saved, what a failure costs, and what verifying finds."""

import contextlib
import hashlib
import json
import math
import re
import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting.batch_claim import batch_claim
from sfumato.cli.ledger import show
from sfumato.errors import BudgetExceeded, EngineError, LedgerError, ParameterError
from sfumato.ledger import Ledger, Member
from sfumato.ledger.memory import MemoryLedger
from sfumato.ledger.offers import LEAST, offer
from sfumato.ledger.terms import Terms
from sfumato.mechanisms import Gaussian
from sfumato.mechanisms.noise.additive import Vector
from sfumato.orders import order
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.release.verification import verify
from sfumato.report.html import write_report

BUDGET = sf.Approximate(4.0, 1e-6)
SCHEMA = sf.Schema({"age": sf.Integers(0, 100)}, dataset="people")
AGES = pa.table({"age": np.random.default_rng(5).integers(0, 101, 300)})
TERMS = Terms("people", AddRemove(), Row(), BUDGET)


def in_a_file(directory):
    return directory / "people.ledger"


def in_memory(directory):
    return MemoryLedger(TERMS)


@pytest.fixture(params=[in_a_file, in_memory])
def ledger(request, tmp_path):
    return request.param(tmp_path)


def opened(ledger, budget=BUDGET):
    return sf.Session(sf.read(AGES, schema=SCHEMA), budget=budget, ledger=ledger)


def counts(number, epsilon=0.1):
    return [
        {"query": sf.count().where(sf.col("age") <= age), "spend": sf.Pure(epsilon), "name": f"up to {age}"}
        for age in range(number)
    ]


# what is saved


def test_forty_counts_cost_a_quarter_less_at_the_same_noise(ledger):
    session = opened(ledger)
    releases = session.release_all(counts(40))
    assert session.spent.epsilon <= 0.75 * 40 * 0.1
    assert {release.guarantee for release in releases} == {sf.Pure(0.1)}
    assert {release.provenance.batch for release in releases} == {40}
    assert {release.mechanism.scale for release in releases} == {10.0}
    assert verify(session.ledger).holds
    again = session.release_all(counts(40))
    assert [one.to_bytes() for one in again] == [one.to_bytes() for one in releases]
    assert len(session.ledger.entries()) == 2 + 2 * 40


def test_eight_gaussian_releases_cost_half_or_less():
    spend = sf.Approximate(0.25, 1e-7)
    mechanism = Gaussian.calibrate(Vector("sums", dimension=50, l1=50, l2=8, linf=1), spend)
    members = [(mechanism.guarantee(), mechanism.loss())] * 8
    found = offer(TERMS, TERMS.nothing, None, members)
    assert found.saved >= 0.55
    assert found.epsilon <= 0.45 * found.apart == pytest.approx(0.45 * 2.0)


def test_eight_gaussian_releases_of_a_session_cost_half_or_less(ledger):
    session = opened(ledger)
    spend = sf.Approximate(0.25, 1e-7)
    releases = session.release_all(request | {"spend": spend, "mechanism": "gaussian"} for request in counts(8))
    assert {release.mechanism.to_record()["type"] for release in releases} == {"gaussian"}
    assert {release.provenance.batch for release in releases} == {8}
    assert session.spent.epsilon <= 0.45 * 8 * 0.25
    assert verify(session.ledger).holds


@pytest.mark.parametrize(
    ("budget", "number", "reason"),
    [
        (sf.Pure(4.0), 4, "no delta"),
        (sf.Concentrated(1.0), 4, "rhos add up"),
        (BUDGET, 1, "not two releases"),
        (BUDGET, 2, "not 5% less"),
        (sf.Approximate(4.0, 0.0), 4, "leave none"),
    ],
)
def test_where_nothing_is_saved_each_is_charged_by_itself_and_the_reason_is_told(tmp_path, budget, number, reason):
    session = opened(tmp_path / "people.ledger", budget)
    releases = session.release_all(counts(number))
    assert {release.provenance.batch for release in releases} == {None}
    assert all(entry.batch is None for entry in session.ledger.entries())
    claims = [(sf.Pure(0.1), None)] * number
    terms = session.ledger.terms
    assert reason in offer(terms, terms.nothing, None, claims).words()


@settings(max_examples=40, deadline=None)
@given(
    epsilons=st.lists(st.floats(1e-3, 0.5), min_size=1, max_size=40),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
    before=st.floats(0, 0.5),
)
def test_an_offer_never_costs_more_and_takes_no_more_than_the_budget(epsilons, delta, before):
    budget = sf.Approximate(6.0, delta)
    terms = Terms("people", AddRemove(), Row(), budget)
    ledger = MemoryLedger(terms)
    ledger.charge("before", "0" * 64, sf.Pure(before), {})
    members = [(sf.Pure(epsilon), None) for epsilon in epsilons]
    found = offer(terms, *ledger.totals(), members)
    assert found.epsilon <= found.apart
    if found.claim is None:
        return
    assert found.saved >= LEAST or not offer(terms, *ledger.totals(), members[:1]).fits
    assert found.claim.epsilon >= batch_claim(members, found.claim.delta).epsilon
    ledger.charge_batch([Member(f"{i}", "0" * 64, claim, {}) for i, (claim, _) in enumerate(members)], found.claim)
    assert ledger.spent() == found.spent
    assert ledger.spent().epsilon == pytest.approx(min(before + found.epsilon, found.spent.epsilon))
    assert ledger.verify().holds


def test_a_batch_leaves_the_sum_of_rhos_open_to_later_charges():
    """Forty pure releases of 0.1 have a small rho together, and the batch is not counted as one large epsilon there."""
    ledger = MemoryLedger(TERMS)
    members = [(sf.Pure(0.05), None)] * 40
    found = offer(TERMS, *ledger.totals(), members)
    ledger.charge_batch([Member(f"{i}", "0" * 64, claim, {}) for i, (claim, _) in enumerate(members)], found.claim)
    ledger.charge("later", "1" * 64, sf.Concentrated(0.01), {})
    assert ledger.verify().holds


# failures


def test_what_was_not_begun_stays_paid_for_and_what_was_begun_is_charged_again(tmp_path, monkeypatch):
    path = tmp_path / "people.ledger"
    first = opened(path)
    fails = first._table.answer
    calls = []

    def failing(statistic):
        calls.append(statistic)
        if len(calls) == 3:
            raise RuntimeError("a value of the data")
        return fails(statistic)

    monkeypatch.setattr(type(first._table), "answer", lambda self, statistic: failing(statistic))
    with pytest.raises(EngineError, match="charge, which is spent"):
        first.release_all(counts(40))
    paid = first.spent
    second = opened(path)
    stored = second.release_all(counts(40)[:2])  # as they were
    rest = second.release_all(counts(40)[3:])
    assert second.spent == paid
    assert {release.provenance.batch for release in (*stored, *rest)} == {40}
    lost = second.release_all(counts(40)[2:3])[0]
    assert lost.provenance.batch is None
    assert second.spent.epsilon == pytest.approx(paid.epsilon + 0.1)
    assert verify(second.ledger).holds


def test_a_batch_that_does_not_fit_is_refused_before_anything_is_charged(ledger):
    session = opened(ledger)
    with pytest.raises(BudgetExceeded, match=r"'up to 20' is the first .* nothing was charged"):
        session.release_all(counts(80, 0.2))
    assert session.spent.epsilon == 0


def test_names_of_a_batch_are_different_and_stand_for_one_question(ledger):
    session = opened(ledger)
    with pytest.raises(ParameterError, match="occurs 2 times"):
        session.release_all([*counts(3), counts(1)[0]])
    session.release_all(counts(4))
    with pytest.raises(LedgerError, match="up to 3"):
        session.release(sf.count(), spend=sf.Pure(0.1), name="up to 3")


# verifying


def test_a_batch_that_was_charged_too_little_is_disputed_with_the_true_total(tmp_path):
    session = opened(tmp_path / "people.ledger")
    orders = [order(schema=SCHEMA, **request) for request in counts(40)]
    members = [Member(one.title, one.identity.digest, one.claim, one.described) for one in orders]
    session.ledger.charge_batch(members, sf.Approximate(2.0, 1e-7))
    session.release_all(counts(40))
    found = verify(Ledger.existing(tmp_path / "people.ledger"))
    assert not found.holds
    assert found.true.epsilon > 2.7 > 2.0 == found.spent.epsilon
    assert "epsilon 2, delta 1e-07" in found.words()
    assert "Approximate(" not in found.words()


def test_a_batch_is_checked_from_the_description_of_its_format_alone(tmp_path, capsys):
    """With SQLite, JSON and SHA-256, as docs/formats/ledger.md says that anyone can."""
    path = tmp_path / "people.ledger"
    session = opened(path)
    session.release_all(counts(40))
    with contextlib.closing(sqlite3.connect(path)) as file:
        rows = file.execute("select body, hash from entries order by sequence").fetchall()
    entries, previous = [json.loads(body) for body, _ in rows], "0" * 64
    for entry, (body, digest) in zip(entries, rows, strict=True):
        assert entry["previous"] == previous
        previous = hashlib.sha256(body.encode()).hexdigest()
        assert previous == digest
    whole = entries[1]
    pairs = json.dumps(whole["batch"], separators=(",", ":"))
    assert (whole["name"], whole["digest"]) == ("batch", hashlib.sha256(pairs.encode()).hexdigest())
    assert whole["description"].keys() == {"claims", "releases"}
    begun = [entry for entry in entries[2:] if entry["kind"] == "charge"]
    assert [[entry["name"], entry["digest"]] for entry in begun] == whole["batch"]
    for entry in begun:
        assert entry["description"] == {"batch": 1}
        assert entry["guarantee"] == {"type": "pure", "epsilon": 0.0, "assumptions": []}
        assert not any(entry["amounts"])
    show(path, as_json=False)
    assert capsys.readouterr().out.count("paid by 1") == 40


def test_the_report_of_a_batch_is_written_from_any_ledger(ledger, tmp_path):
    session = opened(ledger)
    releases = session.release_all(counts(40))
    page = write_report(releases[:3], session.ledger, tmp_path / "report.html").read_text()
    assert session.ledger.head in page
    found = re.search(r"40 releases charged together cost epsilon ([0-9.]+) instead of 4: (\d+)% saved\.", page)
    assert float(found[1]) == pytest.approx(session.spent.epsilon, rel=1e-3)
    assert int(found[2]) >= 25
    assert str(tmp_path) not in page
    assert math.isfinite(session.remaining.epsilon)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (sf.count(), "request 2 is a Query"),
        ({"query": sf.count()}, "request 2 has no 'spend'"),
        ({"spend": sf.Pure(0.1)}, "request 2 has no 'query'"),
        ({"query": sf.count(), "spend": sf.Pure(0.1), "epsilon": 1}, "request 2 also holds epsilon"),
    ],
)
def test_a_request_that_is_none_is_refused_in_words_before_any_charge(ledger, asked, words):
    session = opened(ledger)
    with pytest.raises(ParameterError, match=words):
        session.release_all([*counts(1), asked])
    assert session.spent.epsilon == 0


def test_the_report_says_that_nothing_was_saved_and_why(ledger, tmp_path):
    session = opened(ledger)
    orders = [session.order(**request) for request in counts(2)]
    found = session.prepay(orders)
    releases = [session.fulfill(settled) for settled in orders]
    page = write_report(releases, session.ledger, tmp_path / "report.html", found.words()).read_text()
    assert "Nothing was saved by charging releases together: together they would cost epsilon" in page
    assert "each was charged by itself" in write_report(releases, session.ledger, tmp_path / "two.html").read_text()
