"""One's own scores: how far a unit spreads them, what is stated of the choice, files, plans, refusals."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
import sfumato as sf
from sfumato import planner
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.queries import bind
from sfumato.queries.query import Query
from sfumato.queries.scored import Scored
from sfumato.randomness import seeded
from sfumato.spaces.schema import Schema

SPACES = {"x": sf.Integers(0, 4), "y": sf.Interval(-1, 2, 0.5), "c": sf.Categories(["a", "b"])}
COUNTS = {"a": sf.count().where("c == 'a'"), "b": sf.count().where("c == 'b'"), "both": sf.count().where("x >= 2")}
SUMS = {"x": sf.sum("x"), "x of a": sf.sum("x").where("c == 'a'"), "count": sf.count().where("x < 3")}
SIGNED = {"x": sf.sum("x"), "y": sf.sum("y"), "y of b": sf.sum("y").where("c == 'b'"), "n": sf.count().where("y > 0")}


class Held:
    """Rows that the slow engine answers about."""

    def __init__(self, rows, schema):
        self.rows, self.schema = rows, schema

    def answer(self, statistic):
        return [np.array(total, dtype=object) for total in reference.answer(self.rows, statistic, self.schema)]


def worst_spread(question, unit, adjacency):
    """Over all that one unit may hold, hostile values among them, beside three rows of others."""
    values = list(itertools.product([0, 4, None, 10**9], [-1, 2, float("nan")], ["a", "b", "?"]))
    many = [1] if unit == Row() else [1, 2, 3]
    rng = np.random.default_rng(5)
    own = [(one,) for one in values]
    own += [tuple(values[i] for i in rng.integers(0, len(values), n)) for n in many[1:] for _ in range(25)]
    fixed = unit == Row() and adjacency == Replace()
    own = own if fixed else [(), *own]
    found = []
    for rows in own:
        held = [*[(1, 0.5, "a"), (3, -1, "b"), (2, 2, "?")], *rows]
        names = ["p", "q", "r", *["me"] * len(rows)]
        table = [dict(zip("xyc", row, strict=True)) | {"id": who} for row, who in zip(held, names, strict=True)]
        found.append(question.answer(Held(table, question.schema))[0].astype(object))
    pairs = itertools.combinations(found, 2) if adjacency == Replace() else ((found[0], one) for one in found[1:])
    return max(max(one - other) - min(one - other) for one, other in pairs)


@pytest.mark.parametrize("unit", [Row(), Person("id", 2)], ids=["row", "person"])
@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()], ids=["add", "replace"])
@pytest.mark.parametrize("scores", [COUNTS, SUMS, SIGNED], ids=["counts", "sums", "signed"])
def test_no_unit_spreads_the_scores_more_than_claimed(scores, unit, adjacency):
    size = 4 if unit == Row() and adjacency == Replace() else None
    question = bind(sf.choose(scores), Schema(SPACES, unit, adjacency, size))
    worst = worst_spread(question, unit, adjacency)
    assert worst <= question.spread
    assert worst >= question.spread / 2


def test_a_direction_taken_for_granted_would_be_found():
    question = bind(sf.choose(SIGNED), Schema(SPACES))
    assert worst_spread(question, Row(), AddRemove()) > max(question.moves)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([1, 0.5, 0.25, 0.1, 3, 1e-3]), min_size=2, max_size=4), st.integers(1, 9))
def test_scores_of_different_steps_are_compared_in_one(steps, width):
    spaces = {f"v{i}": sf.Interval(0, float(width * Fraction(str(step))), step) for i, step in enumerate(steps)}
    question = bind(sf.choose({name: sf.sum(name) for name in spaces}), Schema(spaces))
    assert question.moves == tuple(Fraction(str(step)) * width / question.unit for step in steps)
    assert question.spread == max(question.moves)


def test_the_chosen_score_is_as_near_the_largest_as_stated():
    """On tables with a tie, a near tie and a clear best: 400 choices each, in units of the scores."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.integers(0, 5, 90), "y": rng.choice([-1, 0.5, 2], 90), "c": ["a", "b", "b"] * 30})
    table = sf.read(frame, schema=SPACES, dataset="d")
    for spend in (sf.Pure(0.5), sf.Pure(0.05), sf.Concentrated(0.01), sf.Approximate(0.1, 1e-6)):
        question = bind(sf.choose(SIGNED), table.schema)
        mechanism = planner.best(question, spend)
        exact = question.answer(table)
        scores, most = exact[0] * float(question.unit), question.accuracy(mechanism, 0.05).most
        places = [int(mechanism.release(exact, seeded(seed))[0, 0]) for seed in range(400)]
        assert sum(scores.max() - scores[place] > most for place in places) <= 41  # 20, and five deviations more
    assert scores.tolist() == [frame.x.sum(), frame.y.sum(), frame.y[frame.c == "b"].sum(), (frame.y > 0).sum()]


def test_through_files_and_a_plan_and_stored(tmp_path):
    frame = pd.DataFrame(
        {"x": [4, 4, 4, None, 1] * 40, "y": [2.0, -1, 0, 1, 9] * 40, "c": ["a", "b", "a", "?", None] * 40}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    scores = {
        "of a": {"query": "count", "where": "c == 'a'"},
        "of b": {"query": "sum", "column": "x", "where": "c == 'b'"},
    }
    plan = {
        "format": "sfumato-plan/2", "budget": {"epsilon": 60.0}, "table": {"path": "t.parquet", "unit": "row"},
        "columns": {name: space.to_record() for name, space in SPACES.items()},
        "release": [{"query": "choose", "scores": scores, "spend": {"epsilon": 20.0}, "where": "x >= 0"}],
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    query = Query.from_record({part: plan["release"][0][part] for part in ("query", "scores", "where")})
    assert query.columns == ("c", "x")
    opened = sf.Session.from_plan(tmp_path / "plan.json")
    preview = opened.preview(query, spend=sf.Pure(20.0))
    assert "no bound known" in preview.certificate.words()
    assert "below the largest" in preview.accuracy
    release = opened.release(query, spend=sf.Pure(20.0))
    assert release.value == "of b"
    release.save(tmp_path / "chosen.json")
    again = sf.load(tmp_path / "chosen.json")
    assert (again.value, again.table().to_pydict()) == ("of b", {"rank": [1], "item": ["of b"]})
    assert again.guarantee == sf.Pure(20.0)
    other = sf.Session(
        sf.read(tmp_path / "t.csv", schema=SPACES, dataset="t"), budget=sf.Pure(60.0), ledger=tmp_path / "other"
    )
    assert other.release(query, spend=sf.Pure(20.0)).value == "of b"
    assert [bind(query, other.schema).answer(sf.read(tmp_path / file, schema=SPACES, dataset="t")).tolist()
            for file in ("t.csv", "t.parquet")] == [[[80, 160]]] * 2  # fmt: skip


@pytest.mark.parametrize(("make", "reason"), [
    (lambda: sf.choose({"a": sf.count()}), "2 to 256 candidates"), (lambda: sf.choose({}), "at least one"),
    (lambda: sf.choose([sf.count()]), "mapping"), (lambda: sf.choose({"a": sf.mean("x"), "b": sf.count()}), "a count"),
    (lambda: sf.choose({"a": sf.count().by("c"), "b": sf.count()}), "several of it"),
    (lambda: sf.choose({"a": "x", "b": "y"}), "each score"),
    (lambda: sf.choose({1.5: sf.count(), 2.5: sf.count()}), "all texts or all whole numbers"),
    (lambda: sf.choose({"a": sf.count().per_person(rows=1), "b": sf.count()}), "per_person is said of the choice"),
    (lambda: bind(sf.choose(COUNTS).by("c"), Schema(SPACES)), "narrow it with where"),
    (lambda: bind(sf.choose({"a": sf.sum("x", weight="x"), "b": sf.count()}), Schema(SPACES)), "without weight"),
    (lambda: bind(sf.choose({"a": sf.sum("z"), "b": sf.count()}), Schema(SPACES)), "no column 'z'"),
    (lambda: bind(sf.choose({1: sf.count(), 2: sf.count()}), Schema(SPACES, Row(), Replace(), 4)), "is public"),
    (lambda: Query.from_record({"query": "choose", "scores": ["a"]}), "scores give each candidate"),
    (lambda: Query.from_record({"query": "choose", "scores": {"a": 1, "b": 2}}), "scores give each candidate"),
])  # fmt: skip
def test_what_is_no_choice_is_refused_before_anything_is_spent(make, reason):
    with pytest.raises(SfumatoError, match=reason) as refusal:
        make()
    assert isinstance(refusal.value, ParameterError | SchemaError | UnsupportedQuery)


def test_scores_beyond_sense_count_as_far_and_never_raise():
    wide = Schema({"v": sf.Integers(-(10**15), 10**15), "w": sf.Interval(0, 1, 1e-3)})
    question = bind(sf.choose({"v": sf.sum("v"), "w": sf.sum("w")}), wide)
    assert isinstance(question, Scored)
    assert question.spread == 10**18 + 1000
    rows = [{"v": 1e15, "w": 1, "id": None}] * 3000
    exact = question.answer(Held(rows, wide))
    assert exact.tolist() == [[2**60, 3000 * 1000]]
    assert planner.best(question, sf.Pure(50.0)).release(exact, seeded(1)).tolist() == [[0]]
