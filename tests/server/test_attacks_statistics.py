"""Attacks by asking much, in numbers: averaging, spelling a question anew, and differences around one row."""

import math
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from houses import PLAN, House, people
from sfumato.publishing import Publisher

RELEASE, PREVIEW = "/api/v1/datasets/people/release", "/api/v1/datasets/people/preview"
SPEND = {"epsilon": 0.05}
SPELLINGS = [  # one question
    {"query": {"query": "count", "where": "age >= 18 and state != 'TX'"}},
    {"query": {"query": "count", "where": "age>=18 AND state <> 'TX'"}},
    {"query": {"query": "count", "where": "(age >= 18) & (state != 'TX')"}},
    {"query": {"where": {"all": [{"column": "age", "is": ">=", "constant": 18},
                                 {"column": "state", "is": "!=", "constant": "TX"}]}, "query": "count"}},
    {"sql": "SELECT count(*) FROM people WHERE age >= 18 AND state <> 'TX'"},
    {"sql": "select COUNT(1) AS n from PEOPLE p where NOT p.age < 18 and not (state = 'TX') -- again"},
    {"sql": "FROM people SELECT count(*) FILTER (WHERE age >= 18 AND state <> 'TX')"},
]  # fmt: skip


def test_a_question_has_one_noise_however_it_is_spelled_and_whoever_asks(house):
    answers = []
    for number, spelling in enumerate(SPELLINGS * 6):
        with house.client(("ana", "bob")[number % 2]) as client:
            sent = {**spelling, "spend": SPEND, "request": f"r{number}", "name": f"n{number}"}
            answers.append(client.post(RELEASE, json=sent).json())
    assert len(answers) == 42
    assert len({(one["release"], one["rows"][0]["value"]) for one in answers}) == 1
    assert sum(one["charged"] is not None for one in answers) == 1
    assert house.desk.ledger.spent().epsilon == 0.05


@pytest.mark.heavy
def test_averaging_varied_questions_buys_less_than_asking_once(house):
    """Of k questions at a k-th of the budget the mean errs by a factor of the root of k more than one at all of it."""
    truth = 2000.0
    values = []
    for name, most in (("ana", 20), ("bob", 20)):  # they collude: the dataset's budget ends both
        with house.client(name) as client:
            for number in range(40):
                sent = {"query": {"query": "count", "where": f"salary >= -{number + 1}00"}, "spend": SPEND}
                if name == "bob":
                    sent["query"]["where"] = f"age >= -{number + 1}"
                answer = client.post(RELEASE, json=sent)
                if answer.status_code == 200 and answer.json()["charged"] is not None:
                    values.append(answer.json()["rows"][0]["value"])
        assert len(values) <= 20 + most
    charges = [line for line in house.desk.index.refresh().lines if line.kind == "charge"]
    assert len(values) == len(charges) == 40  # every fresh noise was paid for, and 40 x 0.05 is all there is
    assert house.desk.ledger.remaining().epsilon == 0
    scale = math.sqrt(2) / SPEND["epsilon"]  # of the noise of one answer
    deviation = abs(np.mean(values) - truth) / (scale / math.sqrt(len(values)))
    assert deviation < 6  # the noises are those that were paid for, and they are independent
    assert np.std(values) > 0.4 * scale  # none of them is a copy, or smaller
    assert scale / math.sqrt(len(values)) > math.sqrt(2) / 2.0  # what averaging reaches, over one question at 2.0


@contextmanager
def told():
    """What fails while answers are made, which is withheld otherwise: a test that fails shows it."""
    causes, made = [], Publisher._made

    def telling(self, key, charge, make):
        def tried(provenance):
            try:
                return make(provenance)
            except Exception:
                causes.append(traceback.format_exc())
                raise

        return made(self, key, charge, tried)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Publisher, "_made", telling)
        yield causes


def answered(client, sent, causes):
    """The answer; where the service could not make it, it is asked again, as it says."""
    for _ in range(3):
        answer = client.post(RELEASE, json=sent)
        if answer.status_code != 503:
            break
    assert answer.status_code == 200, (answer.text, *causes)
    return answer.json()


def guesses(folder, there, epsilon, pairs):
    """How often the sign of a difference of two counts, with and without one row, tells whether that row is there."""
    plan = PLAN.replace("epsilon = 2.0", "epsilon = 5000.0").replace(
        "budget = { epsilon = 1.0 }", "budget = { epsilon = 4000.0 }"
    )
    path = people(folder, plan)
    held = pq.read_table(path.parent / "people.parquet")
    others = held.filter(pa.compute.field("age") != 77)
    target = pa.table({"age": [77], "salary": [100.0], "state": ["CA"]}).cast(held.schema)
    pq.write_table(pa.concat_tables([others, target]) if there else others, path.parent / "people.parquet")
    with House(path) as house, told() as causes:

        def pair(number):
            """All, and all but those of that age, among the same rows: the spends make each pair a new one."""
            with house.client("ana") as client:
                spend = {"epsilon": epsilon * (1 + number / 1000)}
                both = [{"query": {"query": "count"}, "spend": spend},
                        {"query": {"query": "count", "where": "age != 77"}, "spend": spend}]  # fmt: skip
                whole, rest = (answered(client, one, causes)["rows"][0]["value"] for one in both)
                return (whole - rest > 0.5) == there

        with ThreadPoolExecutor(4) as pool:
            return sum(pool.map(pair, range(pairs)))


PAIRS = 40


@pytest.mark.heavy
@pytest.mark.parametrize("there", [False, True])
def test_differences_tell_no_more_of_one_row_than_the_spend_allows(tmp_path, there):
    """Two answers at epsilon are 2 epsilon together, and no guess is right more often than e^2eps / (1 + e^2eps)."""
    epsilon = 0.1
    most = 1 / (1 + math.exp(-2 * epsilon * 1.04))
    allowed = PAIRS * most + 4.9 * math.sqrt(PAIRS * most * (1 - most))  # one in a million, were it so
    assert guesses(tmp_path, there, epsilon, PAIRS) <= allowed
    assert allowed < PAIRS  # so that certain guesses would be noticed


@pytest.mark.heavy
def test_differences_do_tell_where_the_spend_is_large(tmp_path):
    assert guesses(tmp_path, True, 20.0, PAIRS) == PAIRS  # the attack has teeth
