"""SQL over HTTP: one statement, its questions, and one spend that they share."""

import pytest

RELEASE, PREVIEW = "/api/v1/datasets/people/release", "/api/v1/datasets/people/preview"
STATEMENT = "SELECT state, count(*) AS n, stddev(salary) AS spread FROM people WHERE age >= 18 GROUP BY state"
ASKED = {"sql": STATEMENT, "spend": {"epsilon": 0.5}}


def test_the_questions_of_a_statement_share_its_spend_and_are_found_again(ana, house):
    seen = ana.post(PREVIEW, json=ASKED).json()
    assert [one["name"] for one in seen["questions"]] == ["n", "spread"]
    assert seen["questions"][1]["notes"]
    assert sum(one["cost"]["epsilon"] for one in seen["questions"]) == pytest.approx(seen["cost"]["epsilon"])
    assert 0.49 < seen["cost"]["epsilon"] <= 0.5
    assert house.desk.ledger.spent().epsilon == 0
    made = ana.post(RELEASE, json=ASKED).json()
    assert [one["name"] for one in made["releases"]] == ["n", "spread"]
    assert [one["release"] for one in made["releases"]] == [one["release"] for one in seen["questions"]]
    assert house.desk.ledger.spent().epsilon == pytest.approx(seen["cost"]["epsilon"])
    with house.client("bob") as bob:
        again = bob.post(RELEASE, json=ASKED).json()
    assert [one["charged"] for one in again["releases"]] == [None, None]
    assert [one["rows"] for one in again["releases"]] == [one["rows"] for one in made["releases"]]


def test_a_statement_of_which_not_all_fits_is_refused_and_nothing_is_charged(ana, house):
    refused = ana.post(RELEASE, json={"sql": STATEMENT, "spend": {"epsilon": 1.2}})
    assert refused.status_code == 409
    assert house.desk.ledger.spent().epsilon == 0


@pytest.mark.parametrize(
    "text", ["SELECT * FROM people", "DROP TABLE people", "SELECT max(age) FROM people", "", "(" * 9]
)
def test_what_is_not_supported_is_refused_in_words(ana, text):
    refused = ana.post(PREVIEW, json={"sql": text, "spend": {"epsilon": 0.1}})
    assert refused.status_code == 422
    assert refused.json()["error"] in ("UnsupportedQuery", "SchemaError")
