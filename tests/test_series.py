"""Running counts through a session: announced once, published month by month, whatever happens in between."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from unittest.mock import patch

import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato import series
from sfumato.cli.app import app
from sfumato.ledger import Ledger, Member
from sfumato.ledger.entries import DESCRIPTION_BYTES
from sfumato.ledger.names import versioned
from sfumato.mechanisms import ContinualCounting
from sfumato.orders import order
from sfumato.plans import read_plan
from sfumato.plans.outlook import outlook
from sfumato.records import canonical_ascii
from sfumato.release.verification import verify
from sfumato.report.html import write_report

MONTHS = [f"2026-{month:02d}" for month in range(1, 13)]
COLUMNS = {"day": sf.Dates("2026-01-01", "2026-12-31"), "shop": sf.Categories(["north", "web"])}
DAYS = [f"2026-{month:02d}-{day:02d}" for month in range(1, 13) for day in range(1, 29) for _ in range(month)]
SHOPS = ["north" if i % 3 else "web" for i in range(len(DAYS))]
YEAR = sf.running("day", "2026-01-01", months=12)
MUCH = sf.Pure(50.0)  # noise far below one row: what is counted can be seen


def rows(month, apart=False):
    """The table as it stands when a month is over; with `apart` the month's own rows."""
    kept = [i for i, day in enumerate(DAYS) if (day[:7] == month if apart else day[:7] <= month)]
    return pd.DataFrame({"day": [DAYS[i] for i in kept], "shop": [SHOPS[i] for i in kept]})


def opened(month, folder, frame=None, budget=MUCH, allow=("fixed-dates",)):
    frame = rows(month) if frame is None else frame
    table = sf.read(frame, schema=COLUMNS, dataset="visits", version=month)
    return sf.Session(table, budget=budget, ledger=folder / "visits.ledger", allow=allow)


def totals(release):
    found = release.to_pandas()
    return found[found.counted == "up to the end"].estimate.round().astype(int).tolist()


def test_months_are_charged_once_and_published_in_turn(tmp_path):
    truth = [28 * month * (month + 1) // 2 for month in range(1, 13)]
    for place, month in enumerate(MONTHS[:4]):
        session = opened(month, tmp_path)
        found = session.release(YEAR, spend=MUCH)
        assert totals(found) == truth[: place + 1]
        assert found.name == f"running count by day, {month}"
        assert session.spent == MUCH
        assert found.guarantee.assumptions == {"fixed-dates"}
        assert "keeps its date" in found.words()
        assert session.preview(YEAR, spend=MUCH).fits
    held = verify(session.ledger)
    assert held.holds, held.words()
    by_itself = found.to_pandas()
    assert by_itself[by_itself.counted == "in the period"].estimate.round().tolist() == [28.0, 56.0, 84.0, 112.0]


def test_what_was_published_is_never_drawn_again(tmp_path):
    little, shown = sf.Pure(0.1), {}
    for month in MONTHS[:3]:
        shown[month] = opened(month, tmp_path).release(YEAR, spend=little)
    changed = rows("2026-02").iloc[:5]  # another file under the same version
    again = opened("2026-02", tmp_path, changed).release(YEAR, spend=little)
    assert again.to_bytes() == shown["2026-02"].to_bytes()
    for month in MONTHS[:3]:  # what later months repeat of earlier ones is what was shown
        assert shown["2026-03"].output[: len(shown[month].output)].tolist() == shown[month].output.tolist()
    with pytest.raises(sf.errors.LedgerError, match="another specification"):
        opened("2026-04", tmp_path).release(YEAR, spend=sf.Pure(0.2))


def test_a_month_that_was_skipped_is_made_up_by_the_next(tmp_path):
    first = opened("2026-01", tmp_path).release(YEAR, spend=MUCH)
    fourth = opened("2026-04", tmp_path).release(YEAR, spend=MUCH)
    names = list(opened("2026-04", tmp_path).releases)
    assert names == [versioned("running count by day", month) for month in MONTHS[:4]]
    second = opened("2026-02", tmp_path, rows("2026-02").iloc[:0]).release(YEAR, spend=MUCH)  # stored: no table counts
    assert totals(second) == totals(fourth)[:2]
    assert totals(first) == totals(fourth)[:1]
    assert verify(opened("2026-04", tmp_path).ledger).holds


def test_tables_of_single_months_count_their_own_rows(tmp_path):
    query = sf.running("day", "2026-01-01", months=12, apart=True)
    budget = sf.Concentrated(50.0)
    for month in MONTHS[:2]:
        found = opened(month, tmp_path, rows(month, apart=True), budget).release(query, spend=budget)
    assert totals(found) == [28, 84]
    assert found.mechanism.strategy == "each"
    late = opened("2026-04", tmp_path, rows("2026-04", apart=True), budget)
    with pytest.raises(sf.errors.LedgerError, match="publish version 2026-03 first"):
        late.release(query, spend=budget)
    assert late.spent == budget


def test_by_groups_and_under_conditions_through_files(tmp_path):
    query = YEAR.by("shop").where("day >= '2026-02-01'")
    budget = sf.Concentrated(2.0)
    for month, write in (("2026-01", "to_csv"), ("2026-02", "to_parquet")):
        file = tmp_path / f"visits.{write[3:]}"
        getattr(rows(month), write)(file, index=False)
        found = opened(month, tmp_path, file, budget).release(query, spend=budget)
    counts = [sum(day[:7] == "2026-02" and shop == name for day, shop in zip(DAYS, SHOPS, strict=True))
              for name in ("north", "web")]  # fmt: skip
    assert max(abs(a - b) for a, b in zip(totals(found), [0, 0, *counts], strict=True)) < 9  # ten deviations
    assert found.mechanism.strategy == "square-root"
    stored = sf.load(found.save(tmp_path / "found.json"))
    assert stored.to_pandas().equals(found.to_pandas())
    assert stored.to_bytes() == found.to_bytes()
    assert pq.read_table(found.save(tmp_path / "found.parquet")).column_names[:3] == ["day", "counted", "shop"]
    assert found.plot().to_dict()


def test_rows_before_and_after_the_periods_are_not_counted(tmp_path):
    query = sf.running("day", "2026-01-15", "2026-02-10", "2026-12-01")
    found = opened("2026-02-10", tmp_path, rows("2026-12")).release(query, spend=MUCH)
    first, second = (sum("2026-01-15" <= day < end for day in DAYS) for end in ("2026-02-10", "2026-12-01"))
    assert totals(found) == [first, second]


def test_announcing_charges_all_months_before_any_is_computed(tmp_path):
    session = opened("2026-01", tmp_path)
    assert session.announce(YEAR, spend=MUCH) == tuple(versioned("running count by day", month) for month in MONTHS)
    assert session.spent == MUCH
    assert not len(session.releases)
    assert session.announce(YEAR, spend=MUCH)[0] == "running count by day, 2026-01"  # again, and for nothing
    session.release(YEAR, spend=MUCH)
    assert session.spent == MUCH
    with pytest.raises(sf.errors.ParameterError, match="no series"):
        session.announce(sf.count(), spend=MUCH)


def test_a_charge_has_room_for_the_longest_series():
    edges = pd.date_range("2026-01-01", periods=401).strftime("%Y-%m-%d")
    schema = sf.Schema({"day": sf.Dates("2026-01-01", "2027-12-31")}, dataset="days", version="2026-01-01")
    days = order(sf.running("day", *edges), schema, spend=sf.Approximate(1.0, 1e-6), allow=["fixed-dates"])
    assert len(days.periods) == 400
    assert 400 * (len(canonical_ascii(days.described)) + 100) < DESCRIPTION_BYTES


def test_a_series_that_does_not_fit_is_refused_and_charges_nothing(tmp_path):
    session = opened("2026-01", tmp_path, budget=sf.Pure(1.0))
    with pytest.raises(sf.errors.BudgetExceeded):
        session.release(YEAR, spend=sf.Pure(1.5))
    assert session.spent == sf.Pure(0.0)
    assert not session.preview(YEAR, spend=sf.Pure(1.5)).fits
    strict = opened("2026-01", tmp_path, budget=sf.Pure(1.0), allow=())
    with pytest.raises(sf.errors.UnsupportedQuery, match="fixed-dates"):
        strict.release(YEAR, spend=sf.Pure(0.5))


def test_a_table_that_cannot_be_read_loses_nothing(tmp_path):
    """The year is paid for when the table is read, and no month is begun before its counts are at hand."""
    session = opened("2026-01", tmp_path)
    down = patch("sfumato.engines.table.Table.answer", side_effect=sf.errors.EngineError("down"))
    with down, pytest.raises(sf.errors.EngineError):
        session.release(YEAR, spend=MUCH)
    assert session.spent == MUCH
    assert totals(opened("2026-01", tmp_path).release(YEAR, spend=MUCH)) == [28]
    assert session.spent == MUCH


def test_a_month_that_was_begun_and_never_stored_is_charged_again(tmp_path):
    """Its noise may have been drawn: whoever asks again pays again, as for any release."""
    session = opened("2026-01", tmp_path, budget=sf.Pure(60.0))
    with patch.object(Ledger, "store", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        session.release(YEAR, spend=sf.Pure(25.0))
    with patch.object(series, "WAITS", 2):
        again = opened("2026-01", tmp_path, budget=sf.Pure(60.0))
        assert totals(again.release(YEAR, spend=sf.Pure(25.0))) == [28]
    assert again.spent == sf.Pure(50.0)
    assert totals(opened("2026-02", tmp_path, budget=sf.Pure(60.0)).release(YEAR, spend=sf.Pure(25.0))) == [28, 84]
    assert again.spent == sf.Pure(50.0)
    assert verify(again.ledger).holds


def test_what_could_not_be_stored_is_stored_when_asked_again(tmp_path):
    session = opened("2026-01", tmp_path)
    full = patch.object(Ledger, "store", side_effect=sf.errors.LedgerError("full"))
    with full, pytest.raises(sf.errors.LedgerError, match="could not be stored"):
        session.release(YEAR, spend=MUCH)
    assert totals(session.release(YEAR, spend=MUCH)) == [28]
    assert session.spent == MUCH


def test_two_publishers_pay_once_and_show_one_noise(tmp_path):
    """Both find nothing and begin together: the ledger lets one announce, and one draw each month."""
    little, gate = sf.Pure(0.5), threading.Barrier(2, timeout=300)
    sessions = [opened(month, tmp_path, budget=little) for month in MONTHS[1:3]]

    def published(session):
        gate.wait()
        return session.release(YEAR, spend=little).output.tolist()

    with ThreadPoolExecutor(2) as pool:
        outputs = sorted(pool.map(published, sessions), key=len)
    assert outputs[1][:2] == outputs[0]
    ledger = sessions[0].ledger
    assert ledger.spent() == little
    assert sum(entry.batch is not None for entry in ledger.entries()) == 1
    assert verify(ledger).holds


def test_what_is_stored_second_is_not_kept(tmp_path):
    """One publisher is held up for longer than another waits, who pays again: the first that is stored is shown."""
    little, store, shown = sf.Pure(0.1), Ledger.store, []
    slow, fast = (opened("2026-01", tmp_path, budget=sf.Pure(1.0)) for _ in range(2))

    def held_up(ledger, charge, content):
        if ledger is slow.ledger and not shown:
            shown.append(fast.release(YEAR, spend=little).to_bytes())
        return store(ledger, charge, content)

    elsewhere = patch.object(Ledger, "turn", return_value=nullcontext())  # on two machines, where no lock is shared
    with elsewhere, patch.object(Ledger, "store", held_up), patch.object(series, "WAITS", 1):
        shown.append(slow.release(YEAR, spend=little).to_bytes())
    shown.append(slow.release(YEAR, spend=little).to_bytes())
    assert len(set(shown)) == 1
    later = opened("2026-02", tmp_path, budget=sf.Pure(1.0))
    later.release(YEAR, spend=little)
    assert later.spent == sf.Pure(0.2)  # both paid
    assert verify(later.ledger).holds


def test_months_keep_the_mechanism_that_was_announced(tmp_path):
    """A later version of the software, or another machine, may choose other noise: the year has one."""
    little, calibrate = sf.Concentrated(0.02), ContinualCounting.calibrate.__func__
    first = opened("2026-01", tmp_path, budget=little).release(YEAR, spend=little)

    def otherwise(cls, query, target, strategy=None, law=None):
        made = calibrate(cls, query, target, "each", law)
        return replace(made, scale=made.scale * (1 + 1e-9))

    with patch.object(ContinualCounting, "calibrate", classmethod(otherwise)):
        session = opened("2026-02", tmp_path, budget=little)
        assert session.preview(YEAR, spend=little).fits
        second = session.release(YEAR, spend=little)
    assert second.mechanism.to_record() == first.mechanism.to_record()
    assert second.output[:1].tolist() == first.output.tolist()
    assert session.spent == little
    assert verify(session.ledger).holds


def test_a_lost_month_is_said_before_and_when_it_is_asked_for(tmp_path):
    """Nothing is left for it: also the months after it wait for it, and previews do not promise them."""
    opened("2026-01", tmp_path).release(YEAR, spend=MUCH)
    with patch.object(Ledger, "store", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        opened("2026-02", tmp_path).release(YEAR, spend=MUCH)
    session = opened("2026-03", tmp_path)
    assert not session.preview(YEAR, spend=MUCH).fits
    with (
        patch.object(series, "WAITS", 1),
        pytest.raises(sf.errors.BudgetExceeded, match="2026-02' was charged before and never stored"),
    ):
        session.release(YEAR, spend=MUCH)
    (tmp_path / "visits.toml").write_text(
        PLAN.replace("epsilon = 60.0", "epsilon = 50.0").split('[[release]]\nquery = "count')[0]
    )
    rows("2026-03").to_csv(tmp_path / "visits-2026-03.csv", index=False)
    run = CliRunner().invoke(app, ["preview", str(tmp_path / "visits.toml"), "--version", "2026-03"])
    assert run.exit_code == 1, run.output
    assert "2026-02' was charged before" in str(run.exception)


def test_what_was_paid_for_is_not_shown_as_a_new_cost(tmp_path):
    """February's claim was charged with January; the whole of the year is what the ledger has spent."""
    plan = tmp_path / "visits.toml"
    plan.write_text(PLAN.replace("epsilon = 60.0", "epsilon = 50.0").split('[[release]]\nquery = "count')[0])
    assert outlook(read_plan(plan, "2026-01")).free is None
    session = opened("2026-01", tmp_path)
    session.release(YEAR, spend=MUCH)
    seen = outlook(read_plan(plan, "2026-02"))
    assert seen.paid == {"running count by day, 2026-02"}
    assert seen.free == "everything was paid for before: nothing was charged"
    assert outlook(read_plan(plan, "2026-01")).free == "everything was stored: nothing was charged"
    run = CliRunner().invoke(app, ["preview", str(plan), "--version", "2026-02"])
    assert "paid before" in run.output
    assert "nothing was saved" not in run.output


def test_a_lost_month_is_named_where_several_releases_are_asked_for(tmp_path):
    opened("2026-01", tmp_path).release(YEAR, spend=MUCH)
    with patch.object(Ledger, "store", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        opened("2026-02", tmp_path).release(YEAR, spend=MUCH)
    with pytest.raises(sf.errors.BudgetExceeded, match="'running count by day, 2026-02' is the first that does not"):
        opened("2026-03", tmp_path).release_all([{"query": YEAR, "spend": MUCH}])


def test_the_page_promises_no_more_than_the_charges(tmp_path):
    """The promise about everything in the ledger names what its charges take for granted."""
    session = opened("2026-01", tmp_path)
    release = session.release(YEAR, spend=MUCH)
    page = write_report([release], session.ledger, tmp_path / "page.html").read_text()
    promise, section = page.split('<section id="r1">')
    assert "assuming that a row keeps its date" in promise
    assert "2 cells of day and counted" in section
    shown = CliRunner().invoke(app, ["ledger", "show", str(tmp_path / "visits.ledger")])
    assert "assuming that a row keeps its date" in " ".join(shown.output.split())


def test_a_series_is_announced_once_whoever_comes_second(tmp_path):
    """Both find nothing announced, and both announce: the ledger decides."""
    session = opened("2026-01", tmp_path)
    members = [
        Member(one.title, one.identity.digest, one.claim, one.described)
        for one in series.orders_of(session.order(YEAR, MUCH))
    ]
    first, second = (session.ledger.charge_series(members) for _ in range(2))
    assert first == second
    assert session.spent == MUCH
    with pytest.raises(sf.errors.ParameterError, match="one mechanism"):
        session.ledger.charge_series([members[0], Member("else", "0" * 64, sf.Pure(0.1), {})])


@pytest.mark.parametrize("fault", ["fresh noise", "another question", "too little"])
def test_verification_finds_releases_that_are_no_series(tmp_path, fault):
    """Charged as one series, but drawn anew, of something else, or for more than was charged."""
    budget = sf.Pure(200.0)
    session = opened("2026-02", tmp_path, budget=budget)
    orders = list(series.orders_of(session.order(YEAR, sf.Pure(0.5))))
    if fault == "another question":
        other = sf.Session(session._table, budget=budget, ledger=tmp_path / "other", allow=["fixed-dates"])
        orders[1] = series.orders_of(other.order(YEAR.where("shop == 'web'"), sf.Pure(0.5)))[1]
    claim = sf.Pure(0.1, assumptions=orders[0].claim.assumptions) if fault == "too little" else orders[0].claim
    session.ledger.charge_series([Member(one.title, one.identity.digest, claim, one.described) for one in orders])
    for one in orders[:2]:
        counts = one.mechanism.take(session._table.under(one.question.schema))
        session._published(one, partial(made_anew, session, one, counts))
    found = verify(session.ledger)
    assert not found.holds
    assert "batch" in found.words()


def made_anew(session, one, counts, provenance):
    """Every measurement drawn anew, whatever was published before."""
    output = one.mechanism.release(counts, session._rng)
    return sf.Release.of(one.title, one.question, one.mechanism, output, one.claim,
                         sf.bounds.certify(one.question, one.mechanism), provenance, one.spend)  # fmt: skip


PLAN = """
format = "sfumato-plan/2"
allow = ["fixed-dates"]
[table]
path = "visits-{version}.csv"
dataset = "visits"
unit = "row"
[columns.day]
type = "dates"
low = "2026-01-01"
high = "2026-12-31"
[columns.shop]
type = "categories"
values = ["north", "web"]
[budget]
epsilon = 60.0
[[release]]
query = "running"
column = "day"
edges = ["2026-01-01"]
months = 12
spend = { epsilon = 50.0 }
[[release]]
query = "count"
by = ["shop"]
spend = { epsilon = 1.0 }
"""


@pytest.mark.heavy
def test_a_plan_publishes_month_by_month(tmp_path):
    (tmp_path / "visits.toml").write_text(PLAN)
    for month in MONTHS[:2]:
        rows(month).to_csv(tmp_path / f"visits-{month}.csv", index=False)
    spent = []
    for month in ("2026-01", "2026-02", "2026-02"):
        run = CliRunner().invoke(app, ["publish", str(tmp_path / "visits.toml"), "--version", month, "--json"])
        assert run.exit_code == 0, run.output
        told = json.loads(run.stdout)
        spent.append(told["spent"]["epsilon"])
    assert spent == [51.0, 52.0, 52.0]
    running = next(one for one in told["releases"] if one["query"]["query"] == "running")
    assert [round(number) for number in running["table"]["estimate"]] == [28, 84, 28, 56]
    shown = CliRunner().invoke(app, ["preview", str(tmp_path / "visits.toml"), "--version", "2026-03"])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.split()[-2:] == ["--version", "2026-03"]  # of the command that would publish it
    assert CliRunner().invoke(app, ["ledger", "verify", str(tmp_path / "visits.ledger")]).exit_code == 0
