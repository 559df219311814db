"""Every type of error has one status, and every call is described and answers as it is described."""

import inspect
import json

import pytest

from sfumato import errors
from sfumato.server import models
from sfumato.server.statuses import GENERIC, STATUSES, Refused, shown

RAISED = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SfumatoError)]


def test_every_type_of_error_has_a_status():
    assert set(STATUSES) == set(RAISED)


@pytest.mark.parametrize("kind", RAISED)
def test_what_may_hold_data_is_told_in_one_sentence(kind):
    status, name, message = shown(kind("the secret 4711"))
    assert status == STATUSES[kind]
    assert (message == GENERIC[status]) if status >= 500 else (message == "the secret 4711" and name == kind.__name__)


def test_errors_that_nobody_raises_on_purpose_tell_nothing():
    assert shown(RuntimeError("the secret 4711")) == (500, "ServiceError", GENERIC[500])
    assert shown(Refused(404, "not there")) == (404, "NotFound", "not there")


def test_the_document_describes_every_call_and_its_refusals(house, ana):
    document = ana.get("/openapi.json").json()
    calls = {(path, method) for path, ways in document["paths"].items() for method in ways}
    assert {path for path, _ in calls} >= {
        "/api/v1/me", "/api/v1/datasets/{dataset}/preview", "/api/v1/datasets/{dataset}/release", "/api/v1/jobs/{job}",
        "/api/v1/datasets/{dataset}/ledger", "/health", "/metrics",
    }  # fmt: skip
    for path, method in calls:
        described = document["paths"][path][method]
        assert described.get("description"), (path, method)
        statuses = set(described["responses"])
        assert "200" in statuses, (path, method)
        if described.get("security"):
            assert "401" in statuses, (path, method)
        assert "HTTPValidationError" not in str(described), (path, method)


def test_what_stewards_see_is_as_described(house, ana):
    asked = {"query": {"query": "count"}, "spend": {"epsilon": 0.25}}
    ana.post("/api/v1/datasets/people/release", json=asked)
    with house.client("sam") as sam:
        about = "/api/v1/datasets/people"
        ledger = models.Entry.model_validate(sam.get(f"{about}/ledger").json())
        assert (ledger.entries, ledger.lines[0].kind, ledger.lines[1].analyst) == (3, "release", "ana")
        assert ledger.head == house.desk.ledger.head
        people = [models.Analyst.model_validate(one) for one in sam.get(f"{about}/analysts").json()]
        assert {one.analyst: one.account and one.account.spent.epsilon for one in people} == {
            "ana": 0.25, "bob": 0.0, "sam": None,
        }  # fmt: skip
        spending = models.Spending.model_validate(sam.get(f"{about}/spending").json())
        assert [(point["analyst"], point["spent"]["epsilon"]) for point in spending.points] == [("ana", 0.25)]
        assert [one["analyst"] for one in sam.get(f"{about}/releases").json()] == ["ana"]
        assert models.Budgets.model_validate(sam.get(f"{about}/budget").json()).analyst is None
        assert sam.post(f"{about}/release", json=asked).status_code == 403
    assert models.Dataset.model_validate(ana.get(about).json()).tick == 0.05
    assert models.Me.model_validate(ana.get("/api/v1/me").json()).role == "analyst"
    assert models.Health.model_validate(ana.get("/health").json()).datasets == 1
    with house.client("sam") as sam:
        assert 'status="200"' in sam.get("/metrics").text
    page = ana.get("/docs")
    assert "POST /api/v1/datasets/{dataset}/release" in page.text
    assert "<script" not in page.text


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"spend": {"epsilon": 0.1}}, "one of query and sql"),
        ({"query": {"query": "count"}}, "give spend"),
        ({"query": {"query": "count", "spend": {"epsilon": 1}}, "spend": {"epsilon": 0.1}}, "stands beside"),
        ({"query": {"query": "counts"}, "spend": {"epsilon": 0.1}}, "counts"),
        ({"query": {"query": "mean", "column": "salry"}, "spend": {"epsilon": 0.1}}, "salry"),
        ({"query": {"query": "count", "by": {"a": 1}}, "spend": {"epsilon": 0.1}}, ""),
        ({"query": {"query": "count"}, "spend": {"epsilon": -1}}, "epsilon"),
        ({"query": {"query": "count"}, "spend": {"rho": 0.1}}, ""),
        ({"query": {"query": "count"}, "spend": {"epsilon": 0.1}, "level": 0.9}, "level stands beside within"),
        ({"query": {"query": "count"}, "within": "many"}, ""),
        ({"query": {"query": "count"}, "spend": {"epsilon": 10**400}}, ""),
        ({"query": {"query": "count", "where": "\ud800 = 1"}, "spend": {"epsilon": 0.1}}, ""),
        ({"query": {"query": "quantiles", "column": "age", "probabilities": [10**30]}, "spend": {"epsilon": 0.1}}, ""),
        ({"sql": "DROP TABLE people", "spend": {"epsilon": 0.1}}, ""),
        ({"query": {"query": "count"}, "spend": {"epsilon": 0.1}, "surprise": 1}, "surprise"),
    ],
)
def test_what_is_wrong_in_public_is_refused_in_words_and_costs_nothing(ana, house, ask, words):
    for way in ("preview", "release"):
        sent = json.dumps(ask).encode()
        refused = ana.post(f"/api/v1/datasets/people/{way}", content=sent, headers={"Content-Type": "application/json"})
        assert refused.status_code in (409, 422), refused.text
        assert words in models.Problem.model_validate(refused.json()).message
    assert len(house.desk.ledger.entries()) == 1
