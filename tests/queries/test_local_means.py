"""Regression and classification by smoothed means of cells: what a row moves, files, groups, plans, stored releases."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.answers.certificate import Certificate
from sfumato.bounds import certify
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.planner import best
from sfumato.queries.binding import bind
from sfumato.queries.query import Query
from sfumato.randomness import seeded

X, Y = sf.Interval(0, 3, step=1), sf.Interval(-1, 2, step=1)
GROUPS, LABEL = sf.Categories(["a", "b"]), sf.Categories(["no", "yes"])


def schema_of(size=2000, **more):
    columns = {"x": sf.Interval(0, 10, step=0.01), "y": sf.Interval(0, 5, step=0.1), "g": GROUPS, "c": LABEL}
    return sf.Schema(columns, size=size, dataset="t", **more)


def made(rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    x, g = rng.uniform(0, 10, rows), rng.choice(["a", "b"], rows)
    y = 2 + np.sin(x / 2) + (g == "b") + rng.normal(0, 0.3, rows)
    return pd.DataFrame({"x": x, "y": y, "g": g, "c": np.where(rng.random(rows) < x / 10, "yes", "no")})


def session(tmp_path, frame, schema, budget=None):
    return sf.Session(sf.read(frame, schema=schema), budget=budget or sf.Pure(20), ledger=tmp_path / "l")


KINDS = [  # of rows: ends of ranges, both groups and labels, values beyond the bounds, missing and unknown ones
    (0, -1, "a", "no"), (0, 2, "a", "yes"), (3, 2, "b", "yes"), (3, -1, "a", "no"), (1.4, 0.4, "b", "no"),
    (99, -50, "a", "yes"), (None, 2, "a", "yes"), (0, None, "b", "?"), (2, 1, "?", None),
]  # fmt: skip


@pytest.mark.parametrize(
    "query",
    [
        sf.regression("y", "x", bandwidth=1.0),
        sf.regression("y", ["x"], bandwidth=2.0).by("g"),
        sf.classification("c", "x", bandwidth=1.0).by("g"),
    ],
)
def test_no_pair_of_neighbors_moves_the_numbers_farther_than_stated(query):
    base = [KINDS[1], KINDS[4]]

    def answer(rows):
        frame = pd.DataFrame(rows, columns=["x", "y", "g", "c"]).astype({"x": float, "y": float})
        question = bind(query, schemas[0])
        return np.asarray(question.answer(sf.read(frame, schema=schemas[0])), dtype=float)

    columns = {"x": X, "y": Y, "g": GROUPS, "c": LABEL}
    schemas = [sf.Schema(columns, size=3, adjacency=one) for one in (sf.AddRemove(), sf.Replace())]
    without, answers = answer(base), [answer([*base, row]) for row in KINDS]
    added = [one - without for one in answers]
    replaced = [a - b for a, b in itertools.combinations(answers, 2)]
    for schema, moves in zip(schemas, (added, replaced), strict=True):
        for norm, order in (("l1", 1), ("l2", 2), ("linf", np.inf)):
            largest, stated = max(np.linalg.norm(move, order) for move in moves), bind(query, schema).sensitivity(norm)
            assert 0.99 * stated <= largest <= stated * (1 + 1e-12)  # and it is reached


@pytest.mark.parametrize("writer", ["csv", "parquet"])
def test_through_files_a_plan_and_a_stored_release(tmp_path, writer):
    frame, path = made(), tmp_path / f"t.{writer}"
    frame.to_csv(path, index=False) if writer == "csv" else frame.to_parquet(path)
    query = Query.from_record({"query": "regression", "target": "y", "columns": "x", "by": "g"})
    held = session(tmp_path, path, schema_of())
    assert query == sf.regression("y", "x").by("g")
    assert Query.from_record(query.to_record()) == query
    assert "penalty" not in query.to_record()
    release = held.release(query, spend=sf.Pure(2.0))
    assert set(release.curves) == {"a", "b"}
    for group, more in (("a", 0.0), ("b", 1.0)):
        points = np.linspace(1, 9, 9)
        assert np.abs(release.curves[group].at(points) - 2 - np.sin(points / 2) - more).max() < 0.45
    release.save(tmp_path / "r.json")
    again = sf.load(tmp_path / "r.json")
    assert (again.curves["b"].at([3.0]) == release.curves["b"].at([3.0])).all()
    table = release.to_pandas()
    assert list(table.columns) == ["g", "x", "estimate", "low", "high"]
    assert table.x.between(0, 10).all()
    assert (release.table(joint=True)["low"].to_numpy() <= table.low + 1e-9).all()
    with pytest.raises(UnsupportedQuery, match="each group"):
        release.curve  # noqa: B018
    assert release.plot().to_dict()


def test_scores_are_twice_a_chance_less_one_and_certified(tmp_path):
    held = session(tmp_path, made(20_000), schema_of(20_000))
    query = sf.classification("c", "x")
    preview = held.preview(query, spend=sf.Pure(1.0))
    assert isinstance(preview.certificate, Certificate)
    assert 1 <= preview.certificate.factor < 2
    release = held.release(query, spend=sf.Pure(1.0))
    assert np.abs(release.curve.at([2, 5, 8]) - np.array([-0.6, 0.0, 0.6])).max() < 0.1
    assert "simulated, not proven" in release.accuracy()
    with pytest.raises(UnsupportedQuery, match="not a curve by groups"):
        release.curves  # noqa: B018


@pytest.mark.parametrize("query", [sf.regression("y", "x").by("g"), sf.classification("c", "x")])
def test_a_certificate_is_about_the_noisy_means_of_cells(query):
    """Their error over draws is at most what is certified, and nearly that where rows lie close to an end."""
    question = bind(query, schema_of(20_000))
    mechanism = best(question, sf.Pure(1.0))
    found, cells, k = certify(question, mechanism), question.cells.count, question.coordinates
    each = 20_000 // cells
    assert "root mean square error of the noisy means of its cells, before they are smoothed, on" in found.words()
    assert f"on the worst table with {each} rows in each cell, or up to" in found.words()
    for t, least in ((0.0, 0.6), (0.04, 0.9), (0.5, 0.4)):
        row = [1 - t, t] if k == 2 else [(1 - t) ** 2, 2 * t * (1 - t), t**2]
        truth = np.tile(np.array(row) * each * question.coordinate_sensitivity(), cells)
        draws = mechanism.noise.sample((400, cells * k), seeded(7))
        off = [question.estimate(truth + one) - question.estimate(truth) for one in draws]
        assert least < np.sqrt(np.mean(np.square(off))) / found.achieved < 1.01


def test_two_columns(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.random(8000), "b": rng.random(8000)})
    frame["y"] = frame.a - frame.b
    columns = {name: sf.Interval(0, 1, step=0.001) for name in "ab"} | {"y": sf.Interval(-1, 1, step=0.001)}
    held = session(tmp_path, frame, sf.Schema(columns, size=8000))
    curve = held.release(sf.regression("y", ["a", "b"]), spend=sf.Pure(1.0)).curve
    points = rng.uniform(0.1, 0.9, (50, 2))
    assert np.abs(curve.at(points) - points[:, 0] + points[:, 1]).max() < 0.12
    assert curve.plot().to_dict()


def test_public_mistakes_are_refused():
    schema = schema_of()
    with pytest.raises(ParameterError, match="penalty= too"):
        sf.classification("c", "x", loss="hinge")
    with pytest.raises(ParameterError, match="other columns"):
        bind(sf.classification("c", "x").by("c"), schema)
    with pytest.raises(UnsupportedQuery, match="two categories"):
        bind(sf.classification("y", "x"), schema)
    with pytest.raises(SchemaError, match="size="):
        bind(sf.regression("y", "x"), schema_of(None))
    wide = sf.Schema({"x": X, "y": sf.Interval(0, 2**31, step=1)}, size=10)
    with pytest.raises(UnsupportedQuery, match="larger step"):
        bind(sf.regression("y", "x"), wide)
    with pytest.raises(UnsupportedQuery, match="no `by`"):
        bind(sf.regression("y", "x", penalty=0.1).by("g"), schema)
