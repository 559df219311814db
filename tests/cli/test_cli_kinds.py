"""A plan that asks every kind of question: published, drawn, printed, shown again, and loaded back equal."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.queries.kinds import DETAILS
from sfumato.queries.query import KINDS

CURVE = [f"h{i}" for i in range(4)]
ASKED = {
    "count": [{}, {"by": "sex"}, {"by": {"discovered": "city"}}, {"by": {"bins": "age", "edges": [0, 50, 100]}}],
    "sum": [{"column": "age"}],
    "mean": [{"column": "age", "by": ["sex", "ill"], "where": "age >= 18"}],
    "variance": [{"column": "age"}],
    "histogram": [{"by": ["sex", "ill"]}, {"by": "age"}],
    "quantiles": [{"column": "age", "probabilities": [0.25, 0.5]}],
    "median": [{"column": "age", "by": "sex"}],
    "top": [{"column": "hobbies", "k": 2}],
    "most_popular": [{"column": "hobbies", "by": "sex"}],
    "workload": [{"by": "sex", "workload": [{"rows": ["prefix"]}]}],
    "pca": [{"columns": ["age", *CURVE], "k": 2}],
    "thresholds": [{"column": "age", "points": 40, "rows": 10}, {"column": "age", "points": 3, "rows": 2}],
    "gaussian-mixture": [{"columns": ["age"], "centers": [[0.5]], "sigma": 2.0}],
    "smooth": [{"columns": ["age"], "degrees": [[1]], "coefficients": [1.0]}],
    "density": [{"columns": ["age"], "bandwidth": 10}],
    "distribution": [{"columns": "age", "bandwidth": 5}],
    "mean_curve": [{"columns": CURVE, "radius": 2, "waves": 2}],
    "covariance": [{"columns": CURVE, "radius": 2, "waves": 1}],
    "regression": [{"target": "h0", "columns": "age", "bandwidth": 20}],
    "classification": [{"target": "ill", "columns": ["age"], "bandwidth": [20]}],
}
PRIVATE_KEYS = {"epsilon": 1.0, "delta": 1e-6}


def plan(place, releases, size=200):
    """A table of everything, and a plan that asks it `releases`."""
    rng = np.random.default_rng(5)
    held = {
        "age": rng.normal(40, 15, 200), "sex": ["f", "m"] * 100, "ill": rng.choice(["n", "y"], 200),
        "city": ["Big", "Large"] * 100, "hobbies": [["chess"], ["judo", "opera"]] * 100,
    }  # fmt: skip
    held |= {name: rng.normal(i, 1, 200) for i, name in enumerate(CURVE)}
    pq.write_table(pa.table(held), place / "all.parquet")
    columns = {
        "age": {"type": "interval", "low": 0, "high": 100, "step": 1},
        "sex": {"type": "categories", "values": ["f", "m"]}, "ill": {"type": "categories", "values": ["n", "y"]},
        "city": {"type": "texts"}, "hobbies": {"type": "subsets", "of": ["chess", "judo", "opera"], "cap": 2},
    }  # fmt: skip
    columns |= {name: {"type": "interval", "low": -5, "high": 5, "step": 0.5} for name in CURVE}
    table = {"path": "all.parquet", "unit": "row"} | ({"size": size} if size else {})
    record = {
        "format": "sfumato-plan/1", "table": table, "columns": columns, "budget": {"epsilon": 100, "delta": 1e-3},
        "release": releases,
    }  # fmt: skip
    (place / "all.json").write_text(json.dumps(record))
    return place / "all.json"


def test_every_kind_is_asked():
    assert set(ASKED) == {*KINDS, *DETAILS, "median", "most_popular"}


@pytest.mark.parametrize("size", [200, None], ids=["size", "no size"])
def test_every_kind_is_published_and_shown(place, run, size):
    asked = [
        {"query": kind, **parts, "name": f"{kind} {number}", "spend": PRIVATE_KEYS}
        for kind, several in ASKED.items()
        if size or kind in ("thresholds", "density", "mean_curve", "gaussian-mixture", "pca")
        for number, parts in enumerate(several)
    ]
    path = plan(place, asked, size)
    done = run("publish", path, "--out", "out")
    assert done.code == 0, done.err
    files = sorted((place / "out" / "releases").glob("*.json"))
    assert len(files) == len(asked)
    for file in files:
        release = sf.load(file)
        assert release.name in done.out
        assert sf.load(file.with_suffix(".parquet")).to_bytes() == release.to_bytes()
        assert run("show", file).code == 0
