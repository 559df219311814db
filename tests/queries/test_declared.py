"""Scores by a program: steps, what becomes of failures, the declaration in all statements, refusals."""

import itertools
import json
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato import planner
from sfumato.errors import LedgerError, SchemaError, SfumatoError
from sfumato.queries import bind
from sfumato.queries.declared import FINE, DeclaredScores
from sfumato.queries.query import Query
from sfumato.randomness import seeded
from sfumato.spaces.schema import Schema

SPACES = {"x": sf.Integers(0, 4), "c": sf.Categories(["a", "b"]), "d": sf.Dates("2020-01-01", "2020-12-31")}
FRAME = pd.DataFrame({"x": [4, 4, 4, None, 9] * 40, "c": ["a", "b", "a", "?", None] * 40, "d": ["2020-03-01"] * 200})
ALLOWED = ["declared-sensitivity"]


def closeness(rows):
    return [-np.nansum(np.abs(rows["x"] - place)) for place in range(5)]


def asked(score=closeness, **given):
    parts = {"named": "closeness", "columns": ["x", "c"], "sensitivity": 4, "bounds": (-900, 0)}
    return sf.choose(range(5), score=score, **{**parts, **given})


def opened(folder, frame=FRAME, name="ledger", **given):
    table = sf.read(frame, schema=SPACES, dataset="t")
    return sf.Session(table, budget=sf.Pure(60.0), ledger=folder / name, **{"allow": ALLOWED, **given})


@cache
def read():
    return sf.read(FRAME, schema=SPACES, dataset="t")


def answered(score, **given):
    table = read()
    return bind(asked(score, **given), table.schema).answer(table)[0].tolist()


@pytest.mark.parametrize("seed", range(8))
def test_a_score_that_moves_as_declared_moves_by_as_many_steps(seed):
    rng = np.random.default_rng(seed)
    sensitivity, low = 10 ** rng.uniform(-3, 6), rng.normal() * 1e5
    high = low + 10 ** rng.uniform(-3, 5)
    question = bind(asked(sensitivity=sensitivity, bounds=(low, high)), Schema(SPACES))
    assert isinstance(question, DeclaredScores)
    assert question.spread == 2 * FINE
    for score in rng.uniform(low - sensitivity, high + sensitivity, 200).tolist():
        moved = score + sensitivity * rng.choice([-1, 1, rng.uniform(-1, 1)])
        if abs(Fraction(moved) - Fraction(score)) > Fraction(sensitivity):
            continue
        before, after = question.steps(score), question.steps(moved)
        assert abs(after - before) <= FINE
        assert (after - before) * (moved - score) >= 0
        clipped = min(max(Fraction(score), Fraction(low)), Fraction(high)) - Fraction(low)
        assert 0 <= clipped / question.details.unit - before < 1


def test_the_declaration_is_reached_and_a_smaller_spread_would_be_found():
    question = bind(asked(), Schema(SPACES))
    assert question.steps(-4.0) - question.steps(-8.0) == FINE
    assert bind(asked(monotone=True), Schema(SPACES)).spread == FINE


def test_the_program_gets_coerced_rows_that_meet_the_condition():
    held = []
    table = read()
    query = asked(lambda rows: held.append(rows) or [0] * 5, columns=["x", "c", "d"])
    for one in (query, query.where("x >= 4"), query.where("x < 0")):
        bind(one, table.schema).answer(table)
    assert [len(rows["x"]) for rows in held] == [200, 160, 0]
    assert {name: column.dtype.kind for name, column in held[0].items()} == {"x": "f", "c": "O", "d": "M"}
    assert [str(one) for one in held[0]["x"][:5]] == ["4.0", "4.0", "4.0", "nan", "4.0"]
    assert held[0]["c"][:5].tolist() == ["a", "b", "a", None, None]
    assert all(rows[name].dtype == held[0][name].dtype for rows in held for name in ("x", "c", "d"))


class Odd(BaseException):
    def __float__(self):
        raise ValueError(FRAME.x.sum())


def failing(error):
    def score(rows):
        print("secret", rows)
        np.log(rows["x"] * 0)
        raise error(rows["x"].sum())

    return score


@pytest.mark.parametrize("score", [
    failing(ValueError), failing(KeyError), failing(SystemExit), failing(MemoryError), lambda rows: None,
    lambda rows: 3, lambda rows: [1, 2], lambda rows: [1] * 6, lambda rows: itertools.repeat(2.0),
    lambda rows: ["x"] * 5,
    lambda rows: [Odd()] * 5, lambda rows: np.zeros((5, 5)), lambda rows: rows["nothing"], lambda rows: 1 / 0,
    lambda: [0] * 5, lambda rows: [math.nan] * 5, lambda rows: [-math.inf] * 5,
])  # fmt: skip
def test_what_fails_gives_every_candidate_the_lowest_score_and_says_nothing(score, capfd):
    assert answered(score) == [0] * 5
    assert capfd.readouterr() == ("", "")


def test_what_is_no_number_is_the_lowest_and_the_rest_is_clipped():
    assert answered(lambda rows: [math.nan, -1e300, math.inf, 10**400, -450]) == [0] * 5
    assert answered(lambda rows: [math.nan, -1e300, math.inf, 5.0, -450]) == [0, 0, 225_000, 225_000, 112_500]


def test_asked_in_a_session_it_states_its_declaration_and_is_charged_once(tmp_path):
    session = opened(tmp_path)
    preview = session.preview(asked(), spend=20.0)
    assert "no bound known" in preview.certificate.words()
    release = session.release(asked(), spend=20.0)
    assert release.value == 4
    for said in (str(preview), str(release), release.accuracy()):
        assert "moves a score by at most 4 was declared by the steward and is not checked" in said
    assert release.guarantee == sf.Pure(20.0, assumptions=frozenset(ALLOWED))
    again = session.release(asked(lambda rows: [5, 0, 0, 0, 0]), spend=20.0)  # the name stands for the program
    assert (again.value, session.spent) == (4, sf.Pure(20.0))
    for other in (asked(named="another"), asked(sensitivity=5), asked(bounds=(-800, 0)), asked(columns=["x"])):
        with pytest.raises(LedgerError, match="another specification"):
            session.release(other, spend=20.0, name=release.name)
    release.save(tmp_path / "chosen.json")
    kept = sf.load(tmp_path / "chosen.json")
    assert (kept.value, kept.guarantee) == (4, release.guarantee)
    assert "declared by the steward" in kept.accuracy()
    failed = session.release(asked(failing(ValueError), named="failing"), spend=1.0)
    assert failed.value in range(5)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_through_files(kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    FRAME.to_csv(path, index=False) if kind == "csv" else FRAME.to_parquet(path)
    assert opened(tmp_path, path).release(asked().where("c == 'a'"), spend=20.0).value == 4


def test_the_chosen_score_is_as_near_the_largest_as_stated():
    table = read()
    question = bind(asked(sensitivity=8.0, columns=["x"]), table.schema)
    exact = np.array(closeness({"x": FRAME.x.clip(0, 4).to_numpy()}))
    for spend in (sf.Pure(0.05), sf.Concentrated(0.001), sf.Approximate(0.05, 1e-6)):
        mechanism = planner.best(question, spend, frozenset(ALLOWED))
        most, answer = question.accuracy(mechanism, 0.05).most, question.answer(table)
        places = [int(mechanism.release(answer, seeded(seed))[0, 0]) for seed in range(200)]
        assert sum(exact.max() - exact[place] > most for place in places) <= 25  # 10, and five deviations more


@pytest.mark.parametrize(("make", "reason"), [
    (lambda: sf.choose(["a", "b"], score=closeness), "named=, columns=, sensitivity= and bounds="),
    (lambda: sf.choose({"a": sf.count(), "b": sf.count()}, sensitivity=1), "beside score= only"),
    (lambda: asked(columns=[]), "that the score reads"), (lambda: asked(columns=["x", "x"]), "each once"),
    (lambda: asked(sensitivity=0), "must be positive"), (lambda: asked(sensitivity=math.nan), "sensitivity"),
    (lambda: asked(bounds=(1, 1)), "lowest and the highest"), (lambda: asked(bounds=(0, 1, 2)), "got 3"),
    (lambda: asked(bounds=(0, 1e30)), "sensitivities apart"), (lambda: asked(3), "a function of the rows"),
    (lambda: asked(monotone=1), "True or False"), (lambda: asked(named=""), "named"),
    (lambda: bind(asked().by("c"), Schema(SPACES)), "narrow it with where"),
    (lambda: bind(asked(columns=["z"]), Schema(SPACES)), "no column 'z'"),
    (lambda: bind(asked(columns=["s"]), Schema({"s": sf.Subsets(["a", "b"], 1)})), "reads numbers"),
    (lambda: Query.from_record({"query": "choose", "score": "s", "columns": ["x"]}), "needs candidates, sensitivity"),
])  # fmt: skip
def test_what_is_no_choice_is_refused(make, reason):
    with pytest.raises(SfumatoError, match=reason):
        make()


def test_nobody_is_charged_without_the_assumption_or_the_program(tmp_path):
    strict, session = opened(tmp_path, name="strict", allow=()), opened(tmp_path)
    for mechanism in (
        None,
        "exponential",
        planner.best(bind(asked(), Schema(SPACES)), sf.Pure(1.0), frozenset(ALLOWED)),
    ):
        given = type(mechanism) if mechanism is not None and not isinstance(mechanism, str) else mechanism
        with pytest.raises(SfumatoError, match=r"declare|assum|allow"):
            strict.release(asked(), spend=1.0, mechanism=given)
    stored = Query.from_record(json.loads(json.dumps(asked().to_record())))
    assert stored.to_record() == asked().to_record()
    with pytest.raises(SfumatoError, match="a Python function, which no plan or file holds"):
        session.release(stored, spend=1.0)
    assert (strict.spent, session.spent) == (sf.Pure(0.0), sf.Pure(0.0))
    plan = {
        "format": "sfumato-plan/2", "budget": {"epsilon": 1.0}, "table": {"path": "t.csv", "unit": "row"},
        "allow": ALLOWED, "columns": {name: space.to_record() for name, space in SPACES.items()},
        "release": [{**asked().to_record(), "spend": {"epsilon": 1.0}}],
    }  # fmt: skip
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(SchemaError, match="a Python function, which no plan or file holds"):
        sf.Session.from_plan(tmp_path / "plan.json")
