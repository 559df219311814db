"""The service under requests that its own OpenAPI document describes, and under questions that were changed at random.

No answer is a failure, none is unlike what the document says, none holds a value of the table, and none is uncharged.
`make test-fuzz` runs it with the extra `fuzz`.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))

from houses import PLAN, House
from sfumato.numeric import exact

pytestmark = pytest.mark.fuzz

EXAMPLES = 40  # requests of each operation
MUTATED = 1_500  # questions that were changed
CANARIES = ("canary-of-the-table", "31415926", "27182818")  # what stands in the table and in no declaration
JSON = {"Content-Type": "application/json"}
RELEASE, PREVIEW = "/api/v1/datasets/people/release", "/api/v1/datasets/people/preview"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A service of a table that holds canaries."""
    folder = tmp_path_factory.mktemp("fuzzed")
    rng = np.random.default_rng(5)
    rows = {
        "age": [*rng.integers(0, 100, 1997), 31415926, 3, 4],
        "salary": [*(rng.integers(0, 2000, 1997) * 100.0), 2.0, 27182818.0, 100.0],
        "state": [*rng.choice(["CA", "NY", "TX"], 1997), "CA", "NY", CANARIES[0]],
    }
    pq.write_table(pa.table(rows), folder / "people.parquet")
    plan = PLAN.replace("epsilon = 2.0", "epsilon = 50.0").replace("epsilon = 1.0 }", "epsilon = 30.0 }")
    (folder / "people.toml").write_text(plan.replace("rate = 1000", "rate = 10000"))
    with House(folder / "people.toml") as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def _charged(house):
    """Whatever was asked: everything stored was charged, within both budgets."""
    yield
    index, terms = house.desk.index.refresh(), house.desk.ledger.terms
    charges = [line for line in index.lines if line.kind == "charge"]
    paid = {line.digest for line in charges}
    assert {line.digest for line in index.releases} <= paid
    assert sum(exact(line.guarantee.epsilon) for line in charges) <= exact(terms.budget.epsilon)
    for analyst in house.desk.plan.service.analysts.values():
        own = sum(exact(line.guarantee.epsilon) for line in charges if line.account == analyst.name)
        assert own <= exact(analyst.budget.epsilon if analyst.budget else 0.0)
    assert house.desk.ledger.verify().holds


def harmless(response):
    """No failure, and no value of the table."""
    assert response.status_code < 500, (response.status_code, response.text[:300])
    assert not any(canary in response.text for canary in CANARIES), response.text[:300]


def operations(house):
    """Each operation of the document."""
    import schemathesis

    schema = schemathesis.openapi.from_url(f"{house.url}/openapi.json")
    return [found.ok() for found in schema.get_all_operations()]


@pytest.mark.parametrize("who", [None, "ana", "sam"])
def test_requests_that_the_document_describes_are_answered_as_it_says(house, who):
    from schemathesis import checks

    judged = [
        checks.not_a_server_error,
        checks.load_all_checks() or checks.CHECKS.get_one("status_code_conformance"),
        checks.CHECKS.get_one("content_type_conformance"),
        checks.CHECKS.get_one("response_schema_conformance"),
    ]
    headers = {} if who is None else {"Authorization": f"Bearer {house.tokens[who]}"}
    found = operations(house)
    assert len(found) > 12
    for operation in found:

        @given(case=operation.as_strategy())
        @settings(
            max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        def ask(case):
            if "dataset" in (case.path_parameters or {}) and hash(str(case.body)) % 4:
                case.path_parameters["dataset"] = "people"
            response = case.call(headers=headers, timeout=300)
            harmless(response)
            case.validate_response(response, checks=judged)

        ask()


# questions that were changed

QUESTIONS = [
    {"query": {"query": "mean", "column": "salary", "by": ["state"], "where": "age >= 18"}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "quantiles", "column": "age", "probabilities": [0.1, 0.5]}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "histogram", "by": [{"bins": "age", "edges": [0, 18, 65, 100]}]}, "spend": {"epsilon": 0.01}},
    {"query": {"query": "share", "condition": "salary > 100"}, "within": "5%", "level": 0.9, "name": "n"},
    {"query": {"query": "top", "column": "state", "k": 2}, "spend": {"epsilon": 0.01}, "mechanism": "permute-and-flip"},
    {"query": {"query": "difference", "of": {"query": "mean", "column": "age"}, "across": "state",
               "between": ["CA", "NY"]}, "spend": {"epsilon": 0.01}, "request": "r"},
    {"sql": "SELECT state, count(*), avg(salary) FROM people WHERE age > 9 GROUP BY state", "spend": {"epsilon": 0.01}},
    {"query": {"query": "choose", "scores": {"a": {"query": "count"}, "b": {"query": "sum", "column": "age"}}},
     "spend": {"epsilon": 0.01}},
    {"query": {"query": "ratio", "numerator": "age", "denominator": "salary", "bounds": [0, 2]},
     "spend": {"epsilon": 0.01}},
]  # fmt: skip
ODD = [
    None, True, False, 0, -1, 1e-320, 1e308, 10**400, 0.5, "", "age", "salary", "state", "people", "\x00", "\ud800",
    "' OR 1=1 --", "../../etc/passwd", "${7*7}", "{0}", "%s", "<script>", "count", "mean", "keys", "extent",
    "rows_per_person", "correlation", "items", "variance", [], {}, [[]], {"a": {}}, ["age", "age"], "age >= 18",
    "age / 0 > 1", "not " * 300 + "age > 1", "(" * 300, "a" * 5000, "31", [0.5] * 500, {"epsilon": 0}, {"rho": 1},
    {"epsilon": 1, "delta": 1e-6}, {"epsilon": -1}, {"epsilon": "1"}, "1%", "-3%", "NaN",
    {"column": "age", "is": ">=", "constant": 3}, {"all": []}, {"discovered": "state"},
]  # fmt: skip

PARTS = ["query", "column", "by", "where", "weight", "k", "spend", "per_person", "bars", "x"]


def changed(draw, value):
    """A value of JSON with some parts replaced, removed or doubled."""
    if draw.random() < 0.12:
        return draw.choice(ODD)
    if isinstance(value, dict):
        kept = {name: changed(draw, part) for name, part in value.items() if draw.random() > 0.04}
        if draw.random() < 0.06:
            kept[draw.choice(["query", "column", "by", "where", "weight", "k", "spend", "per_person", "bars", "x"])] = (
                draw.choice(ODD)
            )
        return kept
    if isinstance(value, list):
        return [changed(draw, part) for part in value for _ in range(draw.choice([1, 1, 1, 1, 0, 2]))]
    return value


def test_questions_that_were_changed_are_answered_or_refused(house):
    answered = 0
    with house.client("ana") as client:
        for seed in range(MUTATED):
            draw = random.Random(seed)
            sent = changed(draw, draw.choice(QUESTIONS))
            call = RELEASE if seed % 6 == 0 else PREVIEW
            body = json.dumps(sent).encode("ascii")
            response = client.post(call, content=body, headers=JSON)
            harmless(response)
            assert response.status_code in (200, 202, 403, 409, 422), (response.status_code, sent)
            answered += response.status_code == 200
    assert answered > MUTATED / 20  # some of them are still questions


def test_bodies_that_are_no_json_are_refused(house):
    draw = random.Random(3)
    with house.client("ana") as client:
        for _ in range(150):
            whole = json.dumps(draw.choice(QUESTIONS)).encode()
            at = draw.randrange(len(whole))
            body = (
                whole[:at]
                + bytes(draw.randrange(256) for _ in range(draw.randrange(4)))
                + whole[at + draw.randrange(3) :]
            )
            response = client.post(PREVIEW, content=body, headers=JSON)
            harmless(response)
            assert response.status_code in (200, 400, 403, 409, 422)
        for body in (b"[" * 100_000, b'{"query":' * 5_000, b"\xff\xfe", b"NaN", b'{"a":1}' * 9, b"1e999", b'"' * 7):
            assert client.post(PREVIEW, content=body, headers=JSON).status_code in (
                400,
                413,
                422,
            )
