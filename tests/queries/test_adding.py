"""Tables that add up: whole numbers, margins that agree, intervals that hold."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import sfumato as sf
from sfumato.cli.publish import run as publish
from sfumato.cli.show import run as show
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.plans import read_plan, write_plan
from sfumato.queries.adding import added_up, added_up_together, sum_margin, whole_cells
from sfumato.queries.grouping import Cells, Key
from sfumato.sampling import DiscreteLaplace, RoundedNormal

BETA = 0.1


@settings(max_examples=60)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 10**7))
def test_cells_are_whole_not_negative_and_sum_to_the_total(noisy, total):
    found = whole_cells(np.array(noisy), total)
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert found.sum() == total


def cells(*shape: int) -> Cells:
    return Cells(tuple(Key(f"k{i}", tuple(range(n))) for i, n in enumerate(shape)))


def laplace(rng: np.random.Generator, scale: float, count: int) -> np.ndarray:
    p = 1 - np.exp(-1 / scale)
    return (rng.geometric(p, count) - rng.geometric(p, count)).astype(float)


def margins_agree(table: dict[str, list], keys: list[str]) -> None:
    """Every row is the sum of the cells that it stands for."""
    rows = list(zip(*(table[key] for key in keys), table["estimate"], strict=True))
    inner = [row for row in rows if None not in row[:-1]]
    for row in rows:
        held = [one[-1] for one in inner if all(a in (None, b) for a, b in zip(row[:-1], one[:-1], strict=True))]
        assert row[-1] == sum(held) >= 0


@pytest.mark.parametrize(("scale", "normal"), [(0.7, False), (6.0, False), (4.0, True)])
def test_margins_agree_and_intervals_hold(scale, normal):
    """Each row's interval misses at most as often as it says, all of them together as well."""
    rng = np.random.default_rng(20)
    public = cells(3, 4)
    truth = rng.poisson(3, (3, 4)).astype(float)
    exact = np.concatenate([truth.reshape(-1), truth.sum(0), truth.sum(1), [truth.sum()]])
    noise = RoundedNormal(scale) if normal else DiscreteLaplace(scale)
    runs, missed, any_missed = 500, np.zeros(len(exact)), 0
    for run in range(runs):
        drawn = np.rint(rng.normal(0, scale, 12)) if normal else laplace(rng, scale, 12)
        noisy = truth.reshape(-1) + drawn
        one = added_up(public, noisy, noise, BETA, False, None)
        out = (exact < one["low"]) | (exact > one["high"])
        missed += out
        both = added_up(public, noisy, noise, BETA, True, None)
        any_missed += bool(((exact < both["low"]) | (exact > both["high"])).any())
        if run < 5:
            margins_agree(one, ["k0", "k1"])
            assert all(a <= b <= c for a, b, c in zip(one["low"], one["estimate"], one["high"], strict=True))
    allowed = BETA + 5 * np.sqrt(BETA * (1 - BETA) / runs)
    assert (missed / runs).max() <= allowed
    assert any_missed / runs <= allowed
    assert missed[12:].sum() / (8 * runs) > BETA / 5  # and is not far wider than it must be


def test_the_noise_of_a_sum_is_far_below_the_sum_of_the_noise():
    for noise in (DiscreteLaplace(5.0), RoundedNormal(5.0)):
        margin = sum_margin(noise, 400, 0.05)
        deviation = np.sqrt(400 * noise.variance)
        assert 1.9 * deviation < margin < 2.2 * deviation


def test_a_public_total_is_exact_and_its_margins_agree():
    noisy = np.array([4.0, -3.0, 9.0, 0.0])
    found = added_up(cells(2, 2), noisy, DiscreteLaplace(2.0), 0.05, False, 10)
    assert (found["estimate"][-1], found["low"][-1], found["high"][-1]) == (10, 10, 10)
    margins_agree(found, ["k0", "k1"])


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    rng = np.random.default_rng(2)
    data = pa.table({"sex": rng.choice(["=F", "M"], 300), "rooms": rng.integers(0, 4, 300)})
    schema = sf.Schema({"sex": sf.Categories(["=F", "M"]), "rooms": sf.Integers(0, 3)}, dataset="homes", size=300)
    table = sf.read(data, schema=schema)
    return sf.Session(table, budget=9.0, ledger=tmp_path_factory.mktemp("adding") / "ledger")


def test_a_release_is_published_as_a_table_that_adds_up_and_costs_nothing_more(session):
    release = session.release(sf.histogram("sex", "rooms"), spend=0.2)
    before = session.spent
    table = release.adding_up(0.9)
    assert table.schema.field("estimate").type == pa.int64()
    assert table.num_rows == 8 + 4 + 2 + 1
    margins_agree(table.to_pydict(), ["sex", "rooms"])
    wide = release.adding_up(0.9, joint=True).to_pydict()
    assert all(a >= b for a, b in zip(wide["high"], table["high"].to_pylist(), strict=True))
    assert session.spent == before
    again = sf.load(release.save(session.ledger.path.parent / "a.json"))
    assert again.adding_up(0.9).equals(table)


def covered(found: dict[str, list], truth: np.ndarray) -> bool:
    """Whether every interval holds the true sum of its row."""
    for place in range(len(found["estimate"])):
        label = [found[key][place] for key in list(found)[:-3]]
        exact = truth[tuple(slice(None) if one is None else one for one in label)].sum()
        if not found["low"][place] <= exact <= found["high"][place]:
            return False
    return True


def test_errors_that_depend_on_one_another_are_covered_by_the_sum_of_their_distances():
    """One noise on all cells alike, the worst there is: the total errs by as many times as there are cells."""
    rng = np.random.default_rng(8)
    truth = rng.poisson(200, (2, 3)).astype(float)
    missed, runs = 0, 400
    for _ in range(runs):
        noisy = truth.reshape(-1) + rng.normal(0, 20)
        one = added_up_together(cells(2, 3), noisy, lambda beta: np.full(6, 20 * norm.isf(beta / 2)), BETA, False)
        margins_agree(one, ["k0", "k1"])
        missed += not one["low"][-1] <= truth.sum() <= one["high"][-1]
    assert missed / runs <= BETA / 6 + 5 * np.sqrt(BETA / 6 / runs)  # with one noise, beta / 6 is what it misses by


@pytest.mark.parametrize(
    "query", [sf.crosstab("a", "b"), sf.marginals(["a", "b"], k=1), sf.workload(("a", "b"), ["each", "each"])],
    ids=["cross-table", "margins alone", "cells alone"],
)  # fmt: skip
def test_workloads_of_cells_and_sums_add_up_and_their_intervals_hold(query):
    data = {"a": [0, 0, 1, 2, 2, 2] * 9, "b": [0, 1, 1, 0, 0, 1] * 9}
    truth = np.zeros((3, 2))
    np.add.at(truth, (data["a"], data["b"]), 1)
    schema = {"a": sf.Integers(0, 2), "b": sf.Integers(0, 1)}
    table = sf.read(pa.table(data), schema=schema, dataset="t", size=54)
    session = sf.reference.lab(table, budget=100.0, seed=4)
    held, runs = 0, 30
    for run in range(runs):
        release = session.release(query, spend=0.5, name=str(run))
        found = release.adding_up(0.9, joint=True).to_pydict()
        held += covered(found, truth)
        inner = {(a, b): n for a, b, n, *_ in zip(*found.values(), strict=True) if a is not None and b is not None}
        for a, b, n, *_ in zip(*found.values(), strict=True):
            assert n >= 0
            if inner:
                assert n == sum(m for (x, y), m in inner.items() if a in (None, x) and b in (None, y))
        sums = [sum(n for a, b, n, *_ in zip(*found.values(), strict=True) if (a is None, b is None) == kind)
                for kind in ((True, False), (False, True))]  # fmt: skip
        assert sums[0] == sums[1]
    assert held >= 21  # 27 are expected at least


def test_a_plan_writes_the_table_that_adds_up_and_the_command_shows_it(tmp_path, capsys):
    rng = np.random.default_rng(3)
    pq.write_table(
        pa.table({"sex": rng.choice(["F", "M"], 300), "rooms": rng.integers(0, 4, 300)}), tmp_path / "h.parquet"
    )
    (tmp_path / "plan.toml").write_text("""
format = "sfumato-plan/2"
table = { path = "h.parquet", unit = "row", size = 300 }
budget = { epsilon = 2, split = "auto" }
columns.sex = { type = "categories", values = ["F", "M"], other = "F", missing = "F" }
columns.rooms = { type = "integers", low = 0, high = 3, missing = 0 }
release = [
  { query = "histogram", by = ["sex", "rooms"], name = "both", adding_up = true },
  { query = "histogram", by = "sex", name = "one", adding_up = true },
  { query = "crosstab", by = ["sex", "rooms"], name = "crossed", adding_up = true, spend = { epsilon = 0.5 } },
  { query = "mean", column = "rooms" },
]
""")
    plan = read_plan(tmp_path / "plan.toml")
    assert (
        read_plan(write_plan(plan, tmp_path / "again.json")).adding_up == plan.adding_up == {"both", "one", "crossed"}
    )
    for _ in range(2):  # the second time everything is stored
        publish(tmp_path / "plan.toml", tmp_path / "out", False, True)
        for name in ("both", "one", "crossed"):
            written = tmp_path / "out" / "releases" / f"{name}.csv"
            rows = pacsv.read_csv(written).to_pydict()
            assert min(rows["estimate"]) >= 0
            assert sf.load(written.with_suffix(".json")).adding_up()["estimate"].to_pylist() == rows["estimate"]
            written.unlink()
    show(tmp_path / "out" / "releases" / "both.json", False, True)
    assert "total" in capsys.readouterr().out
    with pytest.raises(UnsupportedQuery, match="add up"):
        show(tmp_path / "out" / "releases" / "mean-of-rooms.json", True, True)
    text = (tmp_path / "plan.toml").read_text()
    (tmp_path / "no.toml").write_text(text.replace('column = "rooms" }', 'column = "rooms", adding_up = true }'))
    with pytest.raises(SchemaError, match=r"release 4.*adding_up.*add up"):
        read_plan(tmp_path / "no.toml")


def test_what_does_not_add_up_says_so(session):
    for question in (
        sf.mean("rooms").by("sex"),
        sf.median("rooms"),
        sf.density("rooms", bandwidth=1.0),
        sf.prefix("rooms"),
    ):
        with pytest.raises(UnsupportedQuery, match="add up"):
            session.release(question, spend=0.2).adding_up()


def test_a_text_file_of_a_release_runs_no_formula(session, tmp_path):
    release = session.release(sf.count().by("sex"), spend=0.2, name="by sex")
    with release.save(tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["sex"] for row in rows] == ["'=F", "M"]
    assert [float(row["estimate"]) for row in rows] == release.table()["estimate"].to_pylist()
    with pytest.raises(ParameterError, match=r"\.csv"):
        release.save(tmp_path / "a.txt")
