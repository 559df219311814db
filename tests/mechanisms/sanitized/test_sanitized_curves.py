"""Columns of curves, and arrays of several axes, in sanitized tables."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import losses
import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.curves import NoisedCurve
from sfumato.mechanisms.sanitized.plan import Sanitization
from sfumato.queries import bind
from sfumato.randomness import seeded
from sfumato.spaces.schema import Schema

POINTS = (0.0, 1.0, 2.5, 4.0, 6.0, 7.0)
DAY = sf.Curves(points=POINTS, low=-1, high=3, step=0.25)
SIZE = 12
NAN = float("nan")
CURVES = [[0.0, 1, 2, 3, 2, 1], None, [9.0] * 6, [1.0] * 5, [None, 0, NAN, 1, 1, 1], [None] * 4 + [1.0, 1.0]] * 2


def schema(**spaces):
    return Schema({"h": DAY, **spaces}, adjacency=sf.Replace(), size=SIZE)


def part_of(basis, spend):
    part = NoisedCurve.calibrate("h", DAY, basis, spend)
    subject = "h" if basis is None else sf.together("h", basis=basis)
    assert part.to_record() == NoisedCurve.from_record(part.to_record(), DAY).to_record()
    if isinstance(spend, sf.Pure):
        assert Sanitization.calibrate(bind(sf.sanitized([subject]), schema()), spend).parts == (part,)
    return part


@pytest.mark.parametrize("basis", [None, 3])
@pytest.mark.parametrize("spend", [sf.Pure(1.5), sf.Approximate(1.0, 1e-5)], ids=str)
def test_no_two_curves_are_told_apart_beyond_the_claim(basis, spend):
    """Extreme, random and missing ones; among them some that use much of the claim."""
    part = part_of(basis, spend)
    rng, width = np.random.default_rng(3), DAY.entries.width
    corners = [rng.choice([0, width], 6) for _ in range(8)]
    held = [np.full(6, -1), np.zeros(6), np.full(6, width), *corners, *rng.integers(-1, width + 1, (8, 6))]
    found = [
        losses.LOSSES[NoisedCurve](part, *(np.array([[one]], dtype=np.int64) for one in pair))
        for pair in itertools.combinations(held, 2)
    ]
    assert all(loss <= claim * (1 + 1e-9) for loss, claim in found)
    assert max(loss for loss, _ in found) > 0.5 * found[0][1]
    assert part.guarantee().implies(spend)


def test_a_claim_for_one_point_would_be_beaten():
    part = part_of(None, sf.Pure(1.0))
    wrong = NoisedCurve(
        part.column, part.space, Block(part.block.group, part.block.spaces, part.block.law, part.block.scale / 3)
    )
    low, high = (np.full((1, 1, 6), end, dtype=np.int64) for end in (0, DAY.entries.width))
    assert losses.LOSSES[NoisedCurve](wrong, low, high)[0] > part.guarantee().epsilon


def test_missing_points_are_read_as_the_space_reads_them():
    part = part_of(None, sf.Pure(1.0))
    rng = np.random.default_rng(5)
    values = rng.integers(-1, DAY.entries.width + 1, (60, 6))
    values[rng.random((60, 6)) < 0.4] = -1
    for row, whole in zip(values, part.coerced(values), strict=True):
        given = [None if one < 0 else DAY.entries.value(int(one) + DAY.entries.low) for one in row]
        meant = DAY.coerce(given)
        middle = DAY.entries.value(DAY.entries.width // 2 + DAY.entries.low)
        assert np.abs((whole + DAY.entries.low) * 0.25 - ([middle] * 6 if meant is None else meant)).max() <= 0.25


@pytest.mark.parametrize("basis", [None, 6])
def test_the_mean_distance_is_at_most_the_stated_one(basis):
    """Over 4,000 draws; with as many waves as points none is left out, and rounding adds half a step at most."""
    part = part_of(basis, sf.Pure(2.0))
    records = np.tile(np.array([0, 4, 8, 16, 2, 1]), (4000, 1, 1))
    gaps = part.points(part.release(records, seeded(4))) - DAY.entries.values(records[0, 0] + DAY.entries.low)
    distance = np.sqrt((gaps**2).mean(axis=1)).mean()
    assert 0.6 * part.mean_error < distance < 1.03 * part.mean_error
    assert np.abs(gaps.mean(axis=0)).max() < 5 * part.mean_error * 3 / np.sqrt(4000)


@pytest.mark.parametrize("subject", ["h", sf.together("h", basis=2)], ids=["points", "waves"])
def test_through_a_file_a_plan_and_stored(subject, tmp_path):
    table = pa.table({"h": pa.array(CURVES, pa.list_(pa.float64())), "n": [1] * SIZE})
    pq.write_table(table, tmp_path / "t.parquet")
    asked = subject if isinstance(subject, str) else {"together": ["h"], "basis": 2}
    plan = {
        "format": "sfumato-plan/2", "budget": {"epsilon": 900.0},
        "table": {"path": "t.parquet", "unit": "row", "adjacency": "replace", "size": SIZE},
        "columns": {"h": DAY.to_record(), "n": sf.Integers(0, 1).to_record()},
        "release": [{"query": "sanitized", "columns": [asked, "n"], "spend": {"epsilon": 600.0}}],
    }  # fmt: skip
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    session = sf.Session.from_plan(tmp_path / "plan.json")
    preview = session.preview(sf.sanitized([subject]), spend=1.0)
    assert ("no bound known" in preview.certificate.words()) == (subject != "h")
    assert "mean distance from the truth: h " in preview.accuracy
    near = session.sanitize([subject, "n"], spend=600.0)  # no noise to speak of
    rows = near.to_pandas()
    assert len(rows) == SIZE
    if subject == "h":
        kept = sorted(tuple(row) for row in rows.h)
        read = [DAY.coerce(one) for one in CURVES]
        assert kept == sorted((1.0,) * 6 if one is None else tuple(one.tolist()) for one in read)
    near.save(tmp_path / "near.csv")
    assert (tmp_path / "near.csv").read_text().splitlines()[1].count(";") == 5
    near.save(tmp_path / "near.parquet")
    again = sf.load(tmp_path / "near.parquet")
    assert again.question == near.question
    assert again.mechanism == near.mechanism
    assert again.certificate == near.certificate
    assert again.guarantee == near.guarantee
    found = again.estimate(sf.mean("n")).to_pydict()
    assert found["low"][0] <= 1 <= found["high"][0]
    assert session.sanitize([subject, "n"], spend=600.0).to_pandas().equals(rows)


def test_an_array_of_two_axes_is_published_by_its_entries(tmp_path):
    rows = [[[1.0, 2, 3], [4, 5, 6]], None, [[9.0] * 3] * 2, [[1.0]]] * 3
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(pa.list_(pa.float64())))}), tmp_path / "t.parquet")
    spaces = {"x": sf.Box(0, 6, shape=(2, 3), step=1)}
    held = sf.read(tmp_path / "t.parquet", schema=Schema(spaces, adjacency=sf.Replace(), size=SIZE, dataset="t"))
    session = sf.Session(held, budget=sf.Pure(600.0), ledger=tmp_path / "ledger")
    near = session.sanitize(spend=sf.Pure(600.0))
    entries = [f"x[{i}][{j}]" for i in range(2) for j in range(3)]
    assert near.to_pandas().columns.tolist() == entries
    expected = [[1, 2, 3, 4, 5, 6], [3] * 6, [6] * 6, [3] * 6] * 3
    assert sorted(near.to_pandas().to_numpy().tolist()) == sorted(expected)
    near.save(tmp_path / "near.parquet")
    again = sf.load(tmp_path / "near.parquet")
    assert again.question == near.question
    assert again.question.subjects == bind(sf.sanitized(["x"]), held.schema).subjects
    assert again.estimate(sf.mean("x[1][2]")).to_pydict()["estimate"] == [pytest.approx(4.5, abs=0.01)]


@pytest.mark.parametrize(("subject", "reason"), [
    (sf.together("h", basis=7), "number of points"), (sf.together("n", basis=1), "is for Curves"),
    (sf.together("h", "n"), "is no number"),
])  # fmt: skip
def test_what_is_no_curve_is_refused(subject, reason):
    with pytest.raises(SfumatoError, match=reason):
        Sanitization.calibrate(bind(sf.sanitized([subject]), schema(n=sf.Integers(0, 1))), sf.Pure(1.0))
    with pytest.raises(SfumatoError, match="basis must be from 1"):
        sf.together("h", basis=0)
