"""A column whose entries are curves: read like the same points in columns of their own, whatever the lists hold."""

import math

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError
from sfumato.queries import bind

POINTS = (0.0, 1.0, 2.5, 4.0)
SPACE = sf.Curves(points=POINTS, low=-1, high=2, step=0.01)
LISTS = [
    [0.1, 0.2, 0.3, 0.4], [math.nan, 5.0, -math.inf, 1e300], [None, 1.0, None, 0.5], [0.1, 0.2], [], None, [None] * 4,
    [0.0, 0.0, 0.0, 0.0, 0.0], [1.999, 0.005, 0.015, -0.0],
]  # fmt: skip
CURVES = sf.Schema({"load": SPACE}, dataset="homes")
WIDE = sf.Schema({f"p{i}": sf.Interval(-1, 2, 0.01) for i in range(4)}, dataset="homes")
ASKED = {"radius": 1.5, "waves": 2, "points": POINTS}


def held():
    return sf.read(pa.table({"load": pa.array(LISTS, pa.list_(pa.float64()))}), schema=CURVES)


def wide():
    """The same curves, those of another length missing at every point."""
    rows = [row if row is not None and len(row) == 4 else [None] * 4 for row in LISTS]
    table = pa.table({f"p{i}": pa.array([row[i] for row in rows], pa.float64()) for i in range(4)})
    return sf.read(table, schema=WIDE)


def test_points_are_coerced_as_numbers_in_columns_are():
    (lists,), (columns,) = held().rows(["load"]), wide().rows(list(WIDE.columns))
    assert np.array_equal(lists["load"], np.stack(list(columns.values()), axis=1))
    assert lists["load"].shape == (len(LISTS), 4)


@pytest.mark.parametrize("door", [sf.mean_curve, sf.covariance])
def test_answers_and_sensitivities_are_those_of_columns(door):
    by_list = bind(door("load", **ASKED), CURVES)
    by_column = bind(door(list(WIDE.columns), **ASKED), WIDE)
    assert np.array_equal(by_list.answer(held()), by_column.answer(wide()))
    assert by_list.sensitivity("l2") == by_column.sensitivity("l2")


def test_a_release_is_stored_and_read_back(tmp_path):
    session = sf.Session(held(), budget=sf.Approximate(5, 1e-5), ledger=tmp_path / "ledger")
    release = session.release(sf.mean_curve("load", **ASKED), spend=sf.Approximate(1, 1e-6))
    again = sf.load(release.save(tmp_path / "curve.json"))
    assert again.curve.at([0.3, 3.0]) == pytest.approx(release.curve.at([0.3, 3.0]))
    assert release.name == "mean curve of load"


def test_integers_are_numbers_too_and_empty_tables_pass():
    for entries in ([[0, 1, 2, 1]], []):
        table = sf.read(pa.table({"load": pa.array(entries, pa.list_(pa.int64()))}), schema=CURVES)
        assert bind(sf.mean_curve("load", **ASKED), CURVES).answer(table).shape == (4,)


def test_public_mistakes_are_told():
    with pytest.raises(ParameterError, match="points are missing"):
        sf.mean_curve("load", radius=1.0)
    with pytest.raises(SchemaError, match="points must be those of the curves"):
        bind(sf.mean_curve("load", radius=1.0, waves=1, points=(0, 1, 2, 3)), CURVES)
    with pytest.raises(SchemaError, match="'load' is declared as Curves, but the table holds"):
        sf.read(pa.table({"load": ["1;2"]}), schema=CURVES)
    people = sf.Schema({"load": SPACE}, unit=sf.Person("id", 1))
    table = sf.read(pa.table({"load": pa.array([[0.0] * 4]), "id": [1]}), schema=people)
    with pytest.raises(SchemaError, match="one row a unit"):
        next(table.rows(["load"]))
