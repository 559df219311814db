"""Arrays: every entry of a list, read by one rule from every source, and moved by one unit as far as is claimed."""

import csv
import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.answers.certificate import NoBoundKnown
from sfumato.errors import UnsupportedQuery
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.queries.binding import bind

BOX = sf.Box(-2, 4, shape=(2,), step=1, na=[99])
SPACES = {"x": BOX, "c": sf.Categories(["a", "b"])}
ODD = [None, math.nan, math.inf, -math.inf, 1e300, 99, 0.5, -0.5, 3.49, 2, 4, -2]
QUERIES = [sf.mean("x"), sf.sum("x"), sf.mean("x").by("c"), sf.sum("x").by("c"), sf.sum("x").where("c == 'a'")]


def exact(query, rows, schema):
    """The vector of rows that all count, by `Box.coerce` and plain sums."""
    question = bind(query, schema)
    cells = 2 if query.keys else 1
    totals = np.zeros((3, cells), dtype=object)
    for array, label in rows:
        point = BOX.coerce(array)
        if point is not None and (label == "a" or (query.condition is None and label == "b")):
            totals[:, "ab".index(label) if query.keys else 0] += np.array(
                [1, *(int(v) + 2 for v in point)], dtype=object
            )
    if query.condition is None and not query.keys:
        assert all(label in "ab" for _, label in rows)
    return question.vector(totals)


def drawn(rng, size):
    arrays = [[ODD[place] for place in rng.integers(0, len(ODD), rng.choice([0, 1, 2, 2, 2, 3]))] for _ in range(size)]
    return [(None if rng.random() < 0.1 else array, "ab"[rng.integers(2)]) for array in arrays]


def written(entry):
    return "" if entry is None else repr(float(entry))


@pytest.mark.parametrize("seed", range(3))
def test_frames_and_files_are_read_as_the_space_says(seed, tmp_path):
    rows = drawn(np.random.default_rng(seed), 40)
    arrays, labels = [array for array, _ in rows], [label for _, label in rows]
    schema = sf.Schema(SPACES, dataset="d")
    with open(tmp_path / "d.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["x", "c"])
        for place, (array, label) in enumerate(rows):
            text = "" if array is None else (", ", ";")[place % 2].join(map(written, array))
            lines.writerow([f"[{text}]" if place % 3 and array is not None else text, label])
    parquet = pa.table({"x": pa.array(arrays, pa.list_(pa.float64())), "c": labels})
    pq.write_table(parquet, tmp_path / "d.parquet")
    frame = pd.DataFrame({"x": pd.Series(arrays, dtype=object), "c": labels})
    for source in (parquet, frame, tmp_path / "d.parquet", tmp_path / "d.csv"):
        table = sf.read(source, schema=schema)
        for query in QUERIES:
            assert bind(query, schema).answer(table).tolist() == exact(query, rows, schema).tolist()
        first = bind(sf.sum("x[0]"), schema).answer(table).tolist()
        assert first == exact(sf.sum("x"), rows, schema).tolist()[:1]


CORNERS = [(None, "a"), *((list(corner), label) for corner in itertools.product((-2, 4), repeat=2) for label in "ab")]


@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()], ids=lambda relation: relation.name)
@pytest.mark.parametrize("unit", [Row(), Person("id", 2)], ids=lambda unit: f"{type(unit).__name__}{unit.rows}")
def test_no_neighbors_are_further_apart_than_claimed_and_some_are_that_far(unit, adjacency):
    size = 1 if isinstance(adjacency, Replace) and isinstance(unit, Row) else None
    schema = sf.Schema(SPACES, unit, adjacency, size=size)
    contents = [
        rows for most in range(unit.rows + 1) for rows in itertools.combinations_with_replacement(CORNERS, most)
    ]
    for query in QUERIES:
        question = bind(query, schema)
        vectors = np.array([exact(query, rows, schema) for rows in contents], dtype=object)
        others = vectors if isinstance(adjacency, Replace) else vectors[:1]
        moved = np.abs(vectors[:, None] - others[None]).reshape(-1, vectors.shape[1])
        assert moved.sum(axis=1).max() == question.sensitivity("l1"), query.name
        assert moved.max() == question.sensitivity("linf"), query.name
        squared = int((moved * moved).sum(axis=1).max())
        assert squared <= Fraction(question.sensitivity("l2")) ** 2, query.name
        assert math.sqrt(squared) == pytest.approx(question.sensitivity("l2"), rel=1e-12), query.name


def test_which_rows_of_a_person_count_depends_on_the_arrays_and_not_on_their_order():
    """Arrays of one sum, which only their entries tell apart, in several orders: the same two rows of each count."""
    rows = [{"id": who, "x": [first, 2 - first], "c": "a"} for who in range(30) for first in (-2, -1, 0, 2, 3)]
    schema = sf.Schema(SPACES, Person("id", 2), dataset="d")
    question, rng, found = bind(sf.sum("x"), schema), np.random.default_rng(1), set()
    for _ in range(4):
        rng.shuffle(rows)
        found.add(tuple(question.answer(sf.read(pd.DataFrame(rows), schema=schema)).tolist()))
    ((one, other),) = found
    assert one + other == 30 * 2 * 2
    changed = [row if row["id"] else {**row, "x": [4, 4]} for row in rows]
    moved = np.abs(
        question.answer(sf.read(pd.DataFrame(changed), schema=schema)) - np.array([one, other], dtype=object)
    )
    assert 0 < moved.sum() <= 2 * question.sensitivity("l1")


def test_means_are_previewed_released_and_opened_again(tmp_path):
    frame = pd.DataFrame({"x": [[1, 2], [3, 4]] * 200, "c": ["a", "b"] * 200})
    schema = sf.Schema(SPACES, size=400, dataset="d")
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Pure(100.0), ledger=str(tmp_path / "d.ledger"))
    expected = session.preview(sf.mean("x"), spend=sf.Pure(40.0))
    assert isinstance(expected.certificate, NoBoundKnown)
    release = session.release(sf.mean("x"), spend=sf.Pure(40.0))
    shown = release.to_pandas()
    assert list(shown.columns) == ["x", "estimate", "low", "high"]
    assert shown["estimate"].tolist() == pytest.approx([2, 3], abs=0.2)
    release.save(tmp_path / "means.json")
    assert sf.load(tmp_path / "means.json").to_pandas().equals(shown)
    assert sf.Schema.from_record(schema.to_record()) == schema


def test_entries_that_are_not_there_and_weights_are_refused():
    schema = sf.Schema({**SPACES, "w": sf.Integers(0, 3), "two": sf.Box(0, 1, shape=(2, 2))}, dataset="d")
    for query, said in (
        (sf.mean("x[2]"), "last entry"), (sf.mean("w[0]"), "no Box"), (sf.mean("x", weight="w"), "one entry"),
        (sf.median("x"), "numeric"), (sf.mean("two[0]"), "last entry"), (sf.mean("two[0][2]"), "last entry"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedQuery, match=said):
            bind(query, schema)


def test_arrays_of_several_axes_are_read_from_every_source_as_the_space_says(tmp_path):
    box = sf.Box(-2, 4, shape=(2, 1, 3), step=1, na=[99])
    schema = sf.Schema({"x": box, "c": sf.Categories(["a", "b"])}, dataset="d")
    rng = np.random.default_rng(2)

    def drawn(shape):
        if not shape:
            return ODD[rng.integers(len(ODD))]
        return None if rng.random() < 0.03 else [drawn(shape[1:]) for _ in range(shape[0] + (rng.random() < 0.05))]

    arrays = [drawn((2, 1, 3)) for _ in range(80)]
    labels = ["ab"[place % 2] for place in range(80)]
    kind = pa.list_(pa.list_(pa.list_(pa.float64())))
    arrow = pa.table({"x": pa.array(arrays, kind), "c": labels})
    pq.write_table(arrow, tmp_path / "d.parquet")
    points = [box.coerce(array) for array in arrays]
    assert 10 < sum(point is not None for point in points) < 80
    expected = sum(point.reshape(-1) for point in points if point is not None)
    flat = [None if point is None else point.reshape(-1).tolist() for point in points]
    texts = ["" if point is None else str(point.tolist()) for point in points]
    frame = pd.DataFrame({"x": pd.Series(arrays, dtype=object), "c": labels})
    for source in (arrow, frame, tmp_path / "d.parquet", frame.assign(x=flat), frame.assign(x=texts)):
        table = sf.read(source, schema=schema)
        assert bind(sf.sum("x"), schema).answer(table).tolist() == expected.tolist()
        one = bind(sf.sum("x[1][0][2]").where("x[0][0][1] >= -2"), schema).answer(table).tolist()
        assert one == expected.tolist()[-1:]
    session = sf.Session(table, budget=sf.Pure(9.0), ledger=str(tmp_path / "d.ledger"))
    assert session.release(sf.sum("x"), spend=sf.Pure(9.0)).to_pandas()["x"].tolist()[-1] == "[1][0][2]"
