"""Plans that ask for curves: read, published, drawn and printed like any other."""

import io
import json

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.cli.answers import answer_table
from sfumato.plans import read_plan, write_plan
from thinned import thinned

SPENDS = {"approximate": {"epsilon": 1, "delta": 1e-6}, "pure": {"epsilon": 1}}
POINTS = [f"h{i}" for i in range(5)]
QUESTIONS = [
    {"query": "density", "columns": ["age"], "bandwidth": 4},
    {"query": "density", "columns": ["age", "h0"], "bandwidth": [30, 4]},
    {"query": "distribution", "columns": "age"}, {"query": "mean_curve", "columns": POINTS, "radius": 2, "waves": 2},
    {"query": "covariance", "columns": POINTS, "radius": 2, "waves": 1, "period": 5},
    {"query": "regression", "target": "h0", "columns": "age", "bandwidth": 20},
    {"query": "classification", "target": "ill", "columns": ["age"], "bandwidth": [20]},
]  # fmt: skip


def plan(tmp_path, questions, spend):
    columns = {
        "age": {"type": "interval", "low": 0, "high": 100, "step": 1},
        "ill": {"type": "categories", "values": ["n", "y"]},
    }
    columns |= {name: {"type": "interval", "low": -5, "high": 5, "step": 0.5} for name in POINTS}
    record = {
        "format": "sfumato-plan/1", "table": {"path": "t.parquet", "unit": "row", "size": 400}, "columns": columns,
        "budget": {"epsilon": 50, "delta": 1e-3}, "release": [{**one, "spend": spend} for one in questions],
    }  # fmt: skip
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(record))
    return read_plan(path)


@pytest.mark.parametrize("spend", thinned([SPENDS["pure"], SPENDS["approximate"]], 1), ids=["pure", "approximate"])
def test_a_plan_publishes_every_kind_of_curve(tmp_path, spend):
    from rich.console import Console

    rng = np.random.default_rng(1)
    values = {"age": rng.normal(40, 15, 400), "ill": rng.choice(["n", "y"], 400)}
    values |= {name: rng.normal(i, 1, 400) for i, name in enumerate(POINTS)}
    asked = plan(tmp_path, QUESTIONS if "delta" in spend else QUESTIONS[2:4], spend)
    assert read_plan(write_plan(asked, tmp_path / "again.json")).releases == asked.releases
    session = sf.Session(sf.read(pa.table(values), schema=asked.schema), budget=asked.budget, ledger=tmp_path / "l")
    releases = [session.release(one.query, spend=one.spend, name=one.name) for one in asked.releases]
    console = Console(file=io.StringIO(), width=160)
    console.print(answer_table(releases))
    assert releases[1].plot().to_dict()["title"]["text"] == releases[1].name
    for release in releases:
        assert release.name in console.file.getvalue()
        assert len(release.value) == release.table().num_rows
        assert sf.load(release.save(tmp_path / "saved.parquet")).to_bytes() == release.to_bytes()


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ({"query": "density", "columns": ["age"], "bandwidth": 0}, "bandwidth must be positive"),
        ({"query": "density", "bandwidth": 1}, "needs columns"),
        ({"query": "mean_curve", "columns": POINTS, "radius": 1, "points": [0, 1]}, "different lengths"),
        ({"query": "regression", "columns": ["age"]}, "needs target"),
        ({"query": "density", "columns": list("abcdefghij"), "bandwidth": 1}, "1 to 3 columns, got 10"),
    ],
)
def test_mistakes_are_found_when_the_plan_is_read(tmp_path, question, reason):
    with pytest.raises(sf.errors.SchemaError, match=reason):
        plan(tmp_path, [question], SPENDS["pure"])
