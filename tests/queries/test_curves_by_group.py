"""Densities and mean curves by groups: what a unit moves, each group as if asked alone, files, plans, stored ones."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.answers.certificate import Certificate
from sfumato.bounds import certify
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.planner import best
from sfumato.plans import read_plan, write_plan
from sfumato.queries.binding import bind
from sfumato.randomness import seeded

X, G = sf.Interval(0, 4, step=1), sf.Categories(["a", "b"])
COLUMNS = {"x": X, "y": X, "z": sf.Integers(0, 3), "g": G}
CURVE = sf.mean_curve(["x", "y"], radius=1.0, center=2.0, waves=1)
ASKED = [
    sf.density("x", bandwidth=2.0).by("g"), sf.distribution("x", bandwidth=1.5).by("z"), CURVE.by("g"),
    sf.density("x", "y", bandwidth=3.0).by("g"), CURVE.by(sf.bins("z", 0, 1, 3), "g").where("z <= 2"),
]  # fmt: skip
KINDS = [  # of rows: ends of ranges, groups, values beyond the bounds, missing and unknown ones
    (0, 4, 0, "a"), (4, 0, 3, "b"), (4, 4, 1, "a"), (0, 0, 2, "b"), (99, -9, 0, "b"), (2, None, 1, "a"),
    (None, None, 1, "a"), (1, 3, None, "b"), (3, 1, 2, "?"), (0, 4, 7, None),
]  # fmt: skip


def frame(rows, **more):
    return pd.DataFrame(rows, columns=["x", "y", "z", "g"]).astype({"x": float, "y": float, "z": float}).assign(**more)


def exact(question, table):
    return np.asarray(question.answer(sf.read(table, schema=question.schema)), dtype=np.float64)


def length(vector, norm):
    return float(np.linalg.norm(vector, {"l1": 1, "l2": 2, "linf": np.inf}[norm]))


@pytest.mark.parametrize("query", ASKED, ids=lambda query: query.name)
def test_no_pair_of_neighbors_moves_the_numbers_farther_than_stated(query):
    base = [KINDS[0], KINDS[3]]
    asked = {name: bind(query, sf.Schema(COLUMNS, adjacency=one, size=3)) for name, one in
             (("add", sf.AddRemove()), ("swap", sf.Replace()))}  # fmt: skip
    without = exact(asked["add"], frame(base))
    moved = [exact(asked["add"], frame([*base, kind])) - without for kind in KINDS]
    for norm in ("l1", "l2", "linf"):
        alone = max(length(one, norm) for one in moved)
        apart = max(length(one - other, norm) for one, other in itertools.combinations(moved, 2))
        assert 0.4 * asked["add"].sensitivity(norm) <= alone <= asked["add"].sensitivity(norm)
        assert 0.4 * asked["swap"].sensitivity(norm) <= apart <= asked["swap"].sensitivity(norm)


@pytest.mark.parametrize("query", [ASKED[0], ASKED[2]], ids=lambda query: query.name)
def test_a_person_in_two_groups_moves_no_more_than_stated(query):
    rng = np.random.default_rng(5)
    schema = sf.Schema(COLUMNS, unit=sf.Person("id", 2), size=4)
    question, nobody = bind(query, schema), frame([KINDS[0]], id=[1])
    before = exact(question, nobody)
    for _ in range(4):
        own = [KINDS[i] for i in rng.integers(0, len(KINDS), 4)]  # two of which count
        both = pd.concat([nobody, frame(own, id=[2] * 4)])
        for norm in ("l1", "l2"):
            assert length(exact(question, both) - before, norm) <= question.sensitivity(norm)


@pytest.mark.parametrize("query", [ASKED[0], ASKED[1], ASKED[2], ASKED[4]], ids=lambda query: query.name)
def test_each_group_is_what_its_rows_alone_answer(query):
    rng = np.random.default_rng(3)
    table = frame([KINDS[i] for i in rng.integers(0, len(KINDS), 40)])
    question = bind(query, sf.Schema(COLUMNS, size=40))
    found = exact(question, table).reshape(question.groups.count, -1)
    for labels, own in zip(question.groups.labels(), found, strict=True):
        kept = table
        for key, label in zip(question.groups.keys, labels, strict=True):
            inside = {"[0, 1)": kept.z.between(0, 0), "[1, 3]": kept.z.between(1, 3) | (kept.z > 3)}.get(label)
            values = kept[key.column].clip(0, 3) if key.column == "z" else kept[key.column]
            kept = kept[values == label] if inside is None else kept[inside]
        alone = bind(sf.Query(query.details, query.condition), sf.Schema(COLUMNS, size=40))
        assert exact(alone, kept).tolist() == own.tolist()


def test_the_sensitivity_of_one_curve_alone_would_be_exceeded():
    schema = sf.Schema(COLUMNS, adjacency=sf.Replace(), size=2)
    question = bind(sf.density("x", bandwidth=20.0).by("g"), schema)
    one, other = (exact(question, frame([KINDS[1], kind])) for kind in (KINDS[0], KINDS[3]))
    assert length(one - other, "l2") > 1.3 * max(question.part.apart("l2"), question.part.alone("l2"))


PLAN = """format = "sfumato-plan/2"
table = { path = "t.parquet", unit = "row", size = 500 }
budget = { epsilon = 2.0 }
[columns]
x = { type = "interval", low = 0, high = 4, step = 1 }
y = { type = "interval", low = 0, high = 4, step = 1 }
g = { type = "categories", values = ["a", "b"] }
[[release]]
query = "density"
columns = ["x"]
bandwidth = 2.0
spend = { epsilon = 1.0 }
by = ["g"]
[[release]]
query = "mean_curve"
columns = ["x", "y"]
radius = 1
center = 2
spend = { epsilon = 1.0 }
by = ["g"]
"""


def made(rows=3000, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.choice(["a", "b"], rows)
    x = np.where(g == "a", rng.normal(1, 0.5, rows), rng.normal(3, 0.5, rows)).clip(0, 4)
    return pd.DataFrame({"x": x, "y": 4 - x, "z": rng.integers(0, 4, rows), "g": g})


def test_curves_of_groups_are_shown_stored_and_drawn(tmp_path):
    schema = sf.Schema(COLUMNS, size=3000, dataset="t")
    session = sf.Session(sf.read(made(), schema=schema), budget=sf.Pure(20), ledger=tmp_path / "l")
    for query, column in ((ASKED[0], "x"), (CURVE.by("g"), "point")):
        preview, release = session.preview(query, spend=sf.Pure(2.0)), session.release(query, spend=sf.Pure(2.0))
        assert isinstance(preview.certificate, Certificate)
        assert "2 groups of 1,500" in preview.certificate.words()
        assert "in each group" in str(preview)
        assert list(release.curves) == ["a", "b"]
        table = release.to_pandas()
        assert {"g", column, "estimate", "low", "high"} <= set(table.columns)
        low, high = (release.curves[name].at([1.0, 3.0]) for name in "ab")
        assert (low[0] > low[1]) == (query is ASKED[0])
        assert not np.allclose(low, high)
        release.save(tmp_path / "stored.json")
        again = sf.load(tmp_path / "stored.json")
        assert again.to_pandas().equals(table)
        release.plot().to_dict()


def test_bands_of_groups_cover_the_curves_without_noise():
    points = np.linspace(0, 4, 21)
    for query in (ASKED[0], CURVE.by("g")):
        question = bind(query, sf.Schema(COLUMNS, size=3000))
        mechanism, answer = best(question, sf.Pure(1.0)), None
        answer = mechanism.take(sf.read(made(), schema=question.schema))
        asked = mechanism.query
        truths = [asked.part.curve(own).at(points) for own in np.asarray(answer).reshape(2, -1)]
        held = []
        for seed in range(60):
            found = question.read(mechanism.release(answer, seeded(seed)), mechanism)
            bands = [part.curve.interval(points, 0.9) for part in found.parts]
            held.append([(low <= truth) & (truth <= high) for (low, high), truth in zip(bands, truths, strict=True)])
        assert 0.8 <= np.mean(held) <= 0.99


def test_groups_of_curves_are_asked_for_by_plans_over_files(tmp_path):
    made(500).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = read_plan(tmp_path / "plan.toml")
    assert read_plan(write_plan(plan, tmp_path / "again.json")).releases == plan.releases
    session = sf.Session.from_plan(tmp_path / "plan.toml")
    found = [session.release(one.query, spend=one.spend) for one in plan.releases]
    assert [list(one.curves) for one in found] == [["a", "b"]] * 2


def test_certificates_are_those_of_one_group_with_its_share_of_the_rows():
    for query in (ASKED[0], ASKED[2]):
        grouped = bind(query, sf.Schema(COLUMNS, size=2000))
        alone = bind(sf.Query(query.details), sf.Schema(COLUMNS, size=1000))
        found = [certify(one, best(one, sf.Concentrated(0.1))) for one in (grouped, alone)]
        assert all(isinstance(one, Certificate) for one in found)
        assert found[0].bound == pytest.approx(found[1].bound, rel=1e-9)
        assert found[0].achieved == pytest.approx(found[1].achieved, rel=1e-9)


def test_what_cannot_be_asked_by_groups_is_said():
    schema = sf.Schema(COLUMNS, size=100)
    for query, error, words in (
        (sf.density("x", bandwidth="private").by("g"), UnsupportedQuery, "has no `by`"),
        (sf.covariance(["x", "y"], radius=1.0, waves=1).by("g"), UnsupportedQuery, "has no `by`"),
        (sf.density("x", bandwidth=1.0).by("x"), ParameterError, "groups of other columns"),
        (CURVE.by(sf.bins("y", 0, 2, 4)), ParameterError, "groups of other columns"),
        (sf.density("x", "y", bandwidth=0.2).by("z", "g"), UnsupportedQuery, "fewer groups"),
    ):
        with pytest.raises(error, match=words):
            bind(query, schema)
