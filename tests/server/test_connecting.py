"""The service from Python: the names of a session, and releases that are the very ones stored."""

from dataclasses import replace

import pytest

import sfumato as sf
from houses import PLAN, House, people
from sfumato.errors import BudgetExceeded, ParameterError, UnsupportedQuery
from sfumato.release.archive import read
from waiting import wait_until


def test_a_remote_session_previews_releases_and_knows_what_is_left(house):
    session = sf.connect(house.url, house.tokens["ana"])
    assert session.schema == house.desk.plan.schema
    seen = session.preview(sf.mean("salary").by("state"), spend=0.25)
    assert (seen.fits, seen.stored, seen.more, seen.guarantee) == (True, False, 4, sf.Pure(0.25))
    release = session.release(sf.mean("salary").by("state"), spend=0.25)
    assert isinstance(release, sf.Release)
    assert release.table().column_names == ["state", "estimate", "low", "high"]
    assert session.remaining == sf.Pure(0.75)
    again = session.release(sf.mean("salary").by("state"), spend=0.25)
    assert again.to_bytes() == release.to_bytes()
    assert "asking again costs nothing" in str(session.preview(sf.mean("salary").by("state"), spend=0.25))
    stored = read(house.desk.ledger.find(release.name, release.provenance.digest).content)
    place = release.provenance
    assert (stored.provenance.charge, place.charge, place.head) == (1, None, None)
    assert replace(stored, provenance=place).to_bytes() == release.to_bytes()  # the same elsewhere
    assert "the steward finds its charge" in release.words()
    assert "#" in release.name  # by which the ledger tells it from the same words at another spend
    assert release.title == sf.mean("salary").by("state").name
    assert not any("#" in text for text in (repr(release), str(release), release.words()))
    assert session.remaining == sf.Pure(0.75)
    assert session.spent == sf.Pure(0.25)


def test_a_remote_session_lists_what_it_asked_and_has_it_again_for_nothing(house):
    session = sf.connect(house.url, house.tokens["ana"])
    assert session.history() == []
    release = session.release(sf.count(), spend=0.125, name="how many")
    (listed,) = session.history()
    assert (listed["name"], listed["cost"], listed["analyst"]) == ("how many", sf.Pure(0.125), "ana")
    assert session.stored(listed["release"]).to_bytes() == release.to_bytes()
    assert session.spent == sf.Pure(0.125)
    assert sf.connect(house.url, house.tokens["bob"]).history() == []
    for wrong in ("nothing", "../../me", "", None):
        with pytest.raises(sf.errors.SfumatoError):
            session.stored(wrong)


def test_sql_and_long_work_and_whole_tables_come_back_as_releases(house):
    session = sf.connect(house.url, house.tokens["bob"], "people")
    counted, mean = session.sql("SELECT count(*), avg(age) FROM people", spend={"epsilon": 0.2})
    assert counted.interval()[0] < 2000 < counted.interval()[1]
    assert 0 < float(mean) < 100
    table = session.release(sf.synthetic(["age", "state"], rows=200), spend=0.5)
    assert table.table().num_rows == 200
    assert set(table.table().column_names) == {"age", "state"}


def test_refusals_are_the_types_of_the_library(house):
    session = sf.connect(house.url, house.tokens["ana"])
    with pytest.raises(BudgetExceeded):
        session.release(sf.count(), spend=1.5)
    with pytest.raises(sf.errors.SchemaError, match="salry"):
        session.preview(sf.mean("salry"), spend=0.1)
    with pytest.raises(UnsupportedQuery):
        session.sql("SELECT * FROM people", spend=0.1)
    with pytest.raises(ParameterError, match="budget is not known here"):
        session.preview(sf.count(), budget=1)


def test_a_token_is_not_sent_in_the_clear_nor_to_where_a_redirect_leads(house):
    with pytest.raises(ParameterError, match="in the clear"):
        sf.connect("http://data.example.org", "token")
    with pytest.raises(ParameterError, match="address of a service"):
        sf.connect("file:///etc/passwd", "token")
    with pytest.raises(ParameterError, match="not known here"):
        sf.connect(house.url, "sfumato_wrong")
    with pytest.raises(ParameterError, match="no dataset 'other'"):
        sf.connect(house.url, house.tokens["ana"], "other")


def test_a_statement_of_several_questions_is_previewed_one_by_one_and_as_a_sum(house):
    session = sf.connect(house.url, house.tokens["ana"])
    seen = session.preview("SELECT state, count(*), avg(salary) FROM people GROUP BY state", spend=0.5)
    assert [one.name for one in seen.questions] == ["count by state", "mean of salary by state"]
    assert sum(one.guarantee.epsilon for one in seen.questions) == pytest.approx(seen.guarantee.epsilon)
    said = str(seen)
    for one in seen.questions:
        assert one.record["cost"]["words"] in said
        assert one.accuracy in said
        assert one.certificate in said
    assert "together     epsilon 0.4999\n" in said


def test_a_kind_of_spend_stands_beside_a_target_as_in_sessions(house):
    session = sf.connect(house.url, house.tokens["ana"])
    assert isinstance(session.preview(sf.count(), within=50, spend=sf.Pure).guarantee, sf.Pure)
    with pytest.raises(ParameterError, match="a pure budget takes only pure charges"):
        session.preview(sf.count(), within=50, spend=sf.Concentrated)
    with pytest.raises(ParameterError, match="is a kind, which stands beside within="):
        session.preview(sf.count(), spend=sf.Pure)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda v: v.release([sf.count()], spend=0.1), "query must be one question"),
        (lambda v: v.preview(sf.count(), spend="much"), "spend must be an epsilon such as 0.1"),
        (lambda v: v.left, "what is left is .remaining"),
        (lambda v: v.tables, "no 'tables'"),
    ],
)
def test_what_a_service_has_not_is_said_in_words(house, ask, said):
    with pytest.raises((ParameterError, AttributeError), match=said):
        ask(sf.connect(house.url, house.tokens["ana"]))


def test_stored_releases_are_found_by_a_line_a_digest_or_themselves_and_budgets_by_their_names(house):
    session = sf.connect(house.url, house.tokens["ana"])
    release = session.release(sf.count(), spend=0.125)
    (line,) = session.history()
    for given in (line, line["release"], release):
        assert session.stored(given).to_bytes() == release.to_bytes()
    assert session.budget == sf.Pure(1.0)


def test_a_preview_takes_the_body_of_its_release(ana):
    body = {"query": {"query": "count"}, "spend": {"epsilon": 0.1}, "request": "one"}
    assert ana.post("/api/v1/datasets/people/preview", json=body).status_code == 200


def test_words_tell_bandwidths_and_bins(ana):
    asked = {
        "density of age, bandwidth 4": {"query": "density", "columns": ["age"], "bandwidth": 4},
        "count by age, age in 8 equal bins": {"query": "count", "by": [{"bins": "age", "count": 8}]},
        "count by age, age in bins at 0 18 100": {"query": "count", "by": [{"bins": "age", "edges": [0, 18, 100]}]},
        "count by state": {"query": "count", "by": ["state"]},
    }
    for words, query in asked.items():
        seen = ana.post("/api/v1/datasets/people/preview", json={"query": query, "spend": {"epsilon": 0.5}}).json()
        assert (seen["question"], seen["name"]) == (words, words)
    released = ana.post("/api/v1/datasets/people/release", json={"query": query, "spend": {"epsilon": 0.5}}).json()
    assert released["question"] == "count by state"


def test_budgets_say_once_at_which_delta_they_hold(tmp_path):
    plan = PLAN.replace("epsilon = 2.0", "epsilon = 2.0\ndelta = 1e-6").replace(
        "budget = { epsilon = 1.0 }", "budget = { epsilon = 1.0, delta = 1e-6 }"
    )
    plan = plan.replace("budget = { epsilon = 1.5 }", "budget = { epsilon = 1.5, delta = 1e-6 }")
    with House(people(tmp_path, plan)) as house, house.client("ana") as ana:
        curve = {"query": {"query": "density", "columns": ["age"], "bandwidth": 20}}
        desk, who = house.desk, house.desk.plan.service.analysts["ana"]
        desk.account(who).charge("some", "0" * 64, sf.Approximate(0.1, 2e-7), curve)
        wait_until(lambda: desk.budgets(who)["analyst"]["spent"]["epsilon"])  # at the next tick
        held = desk.budgets(who)["analyst"]
        assert held["words"].startswith("spent epsilon 0.1 of epsilon 1, both at delta 1e-6; left epsilon 0.9")
        assert "one tenth is kept back" in held["note"]
        assert ana.get("/api/v1/datasets/people/budget").json()["dataset"]["note"] == held["note"]
