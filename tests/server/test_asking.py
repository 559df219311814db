"""Asking over HTTP: previews, releases, repeats, budgets, jobs, downloads."""

import json

import pytest

from houses import PLAN, people
from sfumato.plans import read_plan
from sfumato.server import models
from sfumato.server.desk import Desk
from waiting import wait_until

MEAN = {
    "query": {"query": "mean", "column": "salary", "by": ["state"], "where": "age >= 18"},
    "spend": {"epsilon": 0.1},
}
COUNT = {"query": {"query": "count"}, "spend": {"epsilon": 0.25}}


def test_a_preview_says_cost_error_certificate_and_how_many_more(ana):
    seen = ana.post("/api/v1/datasets/people/preview", json=MEAN)
    assert seen.status_code == 200, seen.text
    found = models.Outlook.model_validate(seen.json())
    assert (found.cost.epsilon, found.fits, found.stored, found.more, found.cells) == (0.1, True, False, 10, 3)
    assert found.error.half_width is None, "it depends on how many rows the condition selects"
    widths = found.error.half_widths
    assert [one.rows for one in widths] == sorted({one.rows for one in widths}, reverse=True)
    assert 0 < widths[0].half_width < widths[-1].half_width
    whole = {**MEAN, "query": {"query": "mean", "column": "salary"}}
    plain = models.Outlook.model_validate(ana.post("/api/v1/datasets/people/preview", json=whole).json()).error
    assert (plain.half_width > 0, plain.half_widths) == (True, None)
    assert found.left.analyst.left.epsilon == 1.0
    assert found.left.dataset.left.epsilon == 2.0


def test_a_release_is_charged_once_and_the_same_question_again_costs_nothing_whoever_asks(house, ana):
    first = ana.post("/api/v1/datasets/people/release", json=MEAN)
    assert first.status_code == 200, first.text
    found = models.Answers.model_validate(first.json())
    assert found.charged.epsilon == 0.1
    assert found.left.analyst.left.epsilon == 0.9
    assert [row["keys"]["state"] for row in found.rows] == ["CA", "NY", "TX"]
    assert all(row["low"] <= row["value"] <= row["high"] for row in found.rows)
    with house.client("bob") as bob:
        again = bob.post("/api/v1/datasets/people/release", json={**MEAN, "name": "mine"}).json()
    assert again["charged"] is None
    assert again["rows"] == first.json()["rows"]
    assert again["name"] == "mine"
    assert again["left"]["analyst"]["left"]["epsilon"] == 1.5
    assert house.desk.ledger.verify().holds


def test_an_account_that_is_used_up_is_refused_and_nothing_is_charged(ana, house):
    for number in range(4):
        asked = {**COUNT, "query": {"query": "count", "where": f"age >= {number + 1}"}}
        assert ana.post("/api/v1/datasets/people/release", json=asked).status_code == 200
    seen = ana.post("/api/v1/datasets/people/preview", json=COUNT).json()
    assert (seen["fits"], seen["more"]) == (False, 0)
    refused = ana.post("/api/v1/datasets/people/release", json=COUNT)
    assert refused.status_code == 409
    assert refused.json()["error"] == "BudgetExceeded"
    assert house.desk.ledger.spent().epsilon == 1.0


def test_long_work_is_a_job_whose_release_is_found_when_it_is_done(ana):
    asked = {"query": {"query": "density", "column": "age"}, "spend": {"epsilon": 0.5}, "request": "one"}
    started = ana.post("/api/v1/datasets/people/release", json=asked)
    assert started.status_code == 202, started.text
    job = started.json()["job"]
    assert ana.post("/api/v1/datasets/people/release", json=asked).json().get("job") in (job, None)

    def ended():
        found = models.Job.model_validate(ana.get(f"/api/v1/jobs/{job}").json())
        return found if found.state in ("done", "failed") else None

    seen = wait_until(ended)
    assert seen.state == "done", seen
    assert seen.charged.epsilon == 0.5
    answer = ana.get(f"/api/v1/datasets/people/releases/{seen.releases[0]}")
    found = models.Answer.model_validate(answer.json())
    assert len(found.curve["x"]) == len(found.curve["low"])


def test_releases_are_listed_and_downloaded(ana):
    release = ana.post("/api/v1/datasets/people/release", json={**MEAN, "name": "pay"}).json()["release"]
    listed = ana.get("/api/v1/datasets/people/releases").json()
    assert [(one["release"], one["name"]) for one in listed] == [(release, "pay")]
    for form, beginning in (("csv", b'"state"'), ("json", b"{"), ("parquet", b"PAR1")):
        got = ana.get(f"/api/v1/datasets/people/releases/{release}", params={"format": form})
        assert got.status_code == 200
        assert got.content.startswith(beginning)
        assert got.headers["content-disposition"] == f'attachment; filename="pay.{form}"'


def test_a_statement_in_sql_asks_several_questions_for_one_spend(ana):
    sql = "SELECT state, count(*) AS adults, avg(salary) FROM people WHERE age >= 18 GROUP BY state"
    seen = ana.post("/api/v1/datasets/people/preview", json={"sql": sql, "spend": {"epsilon": 0.5}})
    assert seen.status_code == 200, seen.text
    found = models.Outlook.model_validate(seen.json())
    assert [one.name for one in found.questions] == ["adults", "mean of salary by state where age >= 18"]
    assert found.cost.epsilon <= 0.5
    made = ana.post("/api/v1/datasets/people/release", json={"sql": sql, "spend": {"epsilon": 0.5}})
    assert made.status_code == 200, made.text
    answers = models.Answers.model_validate(made.json())
    assert len(answers.releases) == 2
    assert abs(1.0 - answers.left.analyst.left.epsilon - sum(one.charged.epsilon for one in answers.releases)) < 1e-9
    picture = ana.get(f"/api/v1/datasets/people/releases/{answers.release}/picture")
    assert "encoding" in picture.text


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"query": {"query": "mean", "column": "age"}, "spend": 0.1}, 'spend is an object such as {"epsilon": 0.1}'),
        ({"query": "mean", "spend": {"epsilon": 0.1}}, 'query is an object such as {"query": "mean"'),
        ({"query": {"query": "count"}, "spend": {"eps": 0.1}}, "spend.eps is not known here; known are epsilon"),
        ({"query": {"query": "count"}, "budget": {"epsilon": 0.1}}, "budget is not known here; GET /docs says what is"),
        ({"query": {"query": "mean", "columns": ["age"]}, "spend": {"epsilon": 0.1}}, "known are query, "),
        ({"query": {"query": "average"}, "spend": {"epsilon": 0.1}}, "query 'average' is unknown; choose one of count"),
        ({"sql": "SELECT count(*) FROM persons", "spend": {"epsilon": 0.1}}, "no table 'persons'; write FROM people"),
    ],
)
def test_a_body_of_another_form_is_refused_with_what_to_write(ana, body, said):
    refused = ana.post("/api/v1/datasets/people/release", json=body)
    assert refused.status_code == 422
    assert said in refused.json()["message"]
    assert not refused.json()["message"].startswith(" ")


def test_a_body_of_another_content_type_is_told_which_one_to_send(ana):
    for said in ("application/x-www-form-urlencoded", "text/plain"):
        headers = {"Content-Type": said}
        refused = ana.post("/api/v1/datasets/people/preview", content=json.dumps(COUNT), headers=headers)
        assert refused.status_code == 422
        assert refused.json()["message"].startswith(f"send Content-Type: application/json, not '{said}'")


def test_what_does_not_fit_names_the_budget_what_is_left_and_what_that_buys(house, ana):
    said = (
        "epsilon 1.2 was asked for, and of the budget of analyst 'ana', epsilon 1, epsilon 1 is left; nothing was "
        "charged; what is left buys an error of 3"
    )
    asked = {"query": {"query": "count"}, "spend": {"epsilon": 1.2}}
    assert ana.post("/api/v1/datasets/people/preview", json=asked).json()["refusal"] == said
    refused = ana.post("/api/v1/datasets/people/release", json=asked)
    assert (refused.status_code, refused.json()["message"]) == (409, said)
    with house.client("bob") as bob:
        for epsilon in (1.1, 0.3):
            bob.post("/api/v1/datasets/people/release", json={**COUNT, "spend": {"epsilon": epsilon}})
    later = ana.post("/api/v1/datasets/people/release", json={**asked, "spend": {"epsilon": 0.9}}).json()
    assert "of the dataset's budget, epsilon 2, epsilon 0.6 is left" in later["message"]


def test_a_job_that_cannot_fit_is_refused_at_once(ana):
    asked = {"query": {"query": "density", "columns": ["age"], "bandwidth": 20}, "spend": {"epsilon": 1.2}}
    refused = ana.post("/api/v1/datasets/people/release", json=asked)
    assert (refused.status_code, refused.json()["error"]) == (409, "BudgetExceeded")


def test_a_free_repeat_is_listed_as_free_and_names_nobody(house, ana):
    ana.post("/api/v1/datasets/people/release", json=COUNT)
    with house.client("bob") as bob:
        bob.post("/api/v1/datasets/people/release", json=COUNT)
        (free,) = bob.get("/api/v1/datasets/people/releases").json()
    assert (free["cost"], free["analyst"]) == (None, None)
    (paid,) = ana.get("/api/v1/datasets/people/releases").json()
    assert (paid["cost"]["epsilon"], paid["analyst"]) == (0.25, "ana")
    with house.client("sam") as sam:
        assert sam.get("/api/v1/datasets/people/releases").json()[0]["analyst"] == "ana"


def test_a_dataset_says_whether_persons_are_protected_or_rows(tmp_path, ana):
    assert ana.get("/api/v1/datasets/people").json()["persons"] is False
    columns = '[columns.age]\ntype = "interval"\nlow = 0\nhigh = 100\nstep = 1\n'
    plan = PLAN.replace('unit = "row"', 'unit = { column = "age", rows = 2 }').replace(columns, "")
    desk = Desk(read_plan(people(tmp_path, plan.replace('dataset = "people"', 'dataset = "visits"'))))
    assert desk.described()["persons"] is True


def test_a_body_that_is_not_json_is_told_so(ana):
    refused = ana.post("/api/v1/datasets/people/release", content="hello", headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.json()["message"]) == (400, "the body cannot be read as JSON")


def test_the_half_width_of_an_answer_reaches_both_ends_of_its_interval(ana):
    ask = {"query": {"query": "mean", "column": "age"}, "spend": {"epsilon": 0.02}}
    answer = ana.post("/api/v1/datasets/people/release", json=ask).json()
    (row,) = answer["rows"]
    reach = max(row["high"] - row["value"], row["value"] - row["low"])
    assert answer["error"]["half_width"] == pytest.approx(reach)
    assert answer["error"]["words"].startswith(f"± {reach:.4g}")


def test_an_answer_without_intervals_has_no_half_width(ana):
    ask = {"query": {"query": "median", "column": "salary"}, "spend": {"epsilon": 0.1}}
    answer = ana.post("/api/v1/datasets/people/release", json=ask)
    assert answer.status_code == 200
    assert answer.json()["error"]["half_width"] is None
