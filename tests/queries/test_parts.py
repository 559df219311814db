"""Sets and arrays as several columns of levels: taken apart exactly, put together with what their parts tell."""

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.queries.encoding import encoded
from sfumato.queries.parts import parts_of

ITEMS = ["chess", "judo", "opera", "golf"]
SETS = sf.Subsets(ITEMS, cap=3)
BOX = sf.Box(-1, 1, shape=(2, 3), step=0.25)
SCHEMA = {"who": sf.Categories(["f", "m"]), "hobbies": SETS, "image": sf.Box(-1, 1, shape=(1, 2), step=0.25)}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("space", [SETS, sf.Subsets([3, 1, 2], cap=3), BOX, sf.Box(0, 9, shape=4, step=1)])
def test_parts_of_real_rows_join_to_the_same_rows(space, seed):
    draw = np.random.default_rng(seed)
    parts = parts_of("c", space)
    rows = int(draw.integers(1, 40))
    if space.size is None:
        held = draw.integers(0, 1 << len(space.of), size=rows)
        held = np.where([int(bits).bit_count() <= space.cap for bits in held], held, 0)
        held[draw.random(rows) < 0.2] = -1
    else:
        held = draw.integers(0, space.entries.width + 1, size=(rows, space.size))
        held[draw.random(rows) < 0.2] = -1
    made = parts.split(held)
    assert list(made) == list(parts.spaces())
    values = parts.joined({name: indices.copy() for name, indices in made.items()})
    assert values.null_count == np.sum(held.reshape(rows, -1)[:, 0] < 0)
    again = parts.places(pa.chunked_array([values]))
    assert all((again[name] == made[name]).all() for name in made)
    assert all(space.coerce(value) is not None for value in values.to_pylist() if value is not None)


def test_made_sets_keep_sizes_exactly_and_items_that_are_flagged_before_others():
    draw, rows = np.random.default_rng(3), 4000
    parts = parts_of("h", SETS)
    sizes, flags = draw.integers(-1, 4, size=rows), draw.random((rows, 4)) < [0.6, 0.3, 0.1, 0.0]
    made = {"h size": sizes, **{f"h has {item}": flags[:, k].astype(np.int64) for k, item in enumerate(ITEMS)}}
    joined = parts.joined(made).to_pylist()
    assert [-1 if value is None else len(value) for value in joined] == sizes.tolist()
    for value, own, size in zip(joined, flags, sizes, strict=True):
        flagged = {item for item, flag in zip(ITEMS, own, strict=True) if flag}
        assert value is None or set(value) <= flagged or flagged <= set(value) or len(flagged) >= size
    assert all(value is None or len(set(value)) == len(value) for value in joined)


def test_missing_entries_make_missing_arrays_of_the_same_share():
    draw, rows = np.random.default_rng(4), 1000
    parts = parts_of("x", sf.Box(0, 9, shape=2, step=1))
    made = {name: np.where(draw.random(rows) < 0.3, -1, draw.integers(2, 5, rows)) for name in parts.spaces()}
    values = parts.joined(made)
    assert values.null_count == pytest.approx(0.3 * rows, abs=0.03 * rows)
    assert {entry for value in values.to_pylist() if value for entry in value} == {2.0, 3.0, 4.0}


def test_columns_are_counted_with_their_parts_and_told_apart():
    schema = sf.Schema(SCHEMA, dataset="mixed")
    columns = encoded(schema, None)
    assert [column.name for column in columns][:4] == ["who", "hobbies size", "hobbies has chess", "hobbies has judo"]
    assert len(columns) == 1 + 5 + 2
    assert bind(sf.synthetic(), schema).columns == ("who", "hobbies", "image")
    patient = sf.Schema({"patient": sf.Record({"age": sf.Integers(0, 9), "likes": SETS})}, dataset="records")
    assert bind(sf.synthetic(["patient"]), patient).columns == ("patient.age", "patient.likes")
    with pytest.raises(ParameterError, match=r"'image\[0\]\[0\]' twice"):
        encoded(schema, ["image", "image[0][0]"])
    with pytest.raises(UnsupportedQuery, match="63 items; sets of at most 62"):
        encoded(sf.Schema({"h": sf.Subsets(list(range(63)), cap=2)}, dataset="many"), None)
    with pytest.raises(UnsupportedQuery, match=r"401 columns \(each item of a set and each entry of an array is one\)"):
        encoded(sf.Schema({"x": sf.Box(0, 1, shape=401, step=1)}, dataset="many"), None)
    with pytest.raises(UnsupportedQuery, match="'curve' must hold numbers, dates, categories, texts, sets or arrays"):
        encoded(sf.Schema({"curve": sf.Curves([0.0, 1.0], 0, 1)}, dataset="curves"), None)


def test_a_table_of_sets_and_arrays_is_made_stored_and_read_again(tmp_path):
    draw, rows = np.random.default_rng(5), 800
    women = draw.random(rows) < 0.5
    likes = draw.random((rows, 4)) < np.where(women[:, None], [0.8, 0.1, 0.3, 0.0], [0.1, 0.6, 0.3, 0.0])
    hobbies = [[item for item, like in zip(ITEMS, own, strict=True) if like] for own in likes]
    entries = np.clip(np.round(draw.normal(np.where(women, 0.5, -0.5)[:, None], 0.2, (rows, 2)) * 4) / 4, -1, 1)
    images = [None if k % 5 == 0 else entry.tolist() for k, entry in enumerate(entries.reshape(rows, 1, 2))]
    frame = pa.table({"who": np.where(women, "f", "m"), "hobbies": hobbies, "image": images})
    table = sf.read(frame, schema=sf.Schema(SCHEMA, dataset="mixed", size=rows))
    session = sf.Session(table, budget=sf.Concentrated(9.0), ledger=tmp_path / "mixed.ledger")
    made = session.synthesize(spend=sf.Concentrated(4.0))
    kept = made.rows.to_pandas()
    of_women, of_men = (kept[kept["who"] == who] for who in "fm")
    chess = [own["hobbies"].dropna().map(lambda held: "chess" in held).mean() for own in (of_women, of_men)]
    assert chess == pytest.approx([0.8, 0.1], abs=0.1)
    assert kept["image"].isna().mean() == pytest.approx(0.2, abs=0.05)
    means = [np.mean([image[0][0] for image in own["image"].dropna()]) for own in (of_women, of_men)]
    assert means == pytest.approx([0.5, -0.5], abs=0.15)
    assert made.compare(table).columns["hobbies has golf"] < 0.03
    asked = made.ask(sf.mean("image[0][0]").by("who"))
    assert asked.value == pytest.approx([0.5, -0.5], abs=0.15)
    assert len(made.ask(sf.items("hobbies")).value) == len(ITEMS)
    for name in ("made.parquet", "made.csv"):
        made.save(tmp_path / name)
        assert sf.read(tmp_path / name, schema=SCHEMA, dataset="again").schema.held.keys() == SCHEMA.keys()
    assert sf.load(tmp_path / "made.parquet").rows.equals(made.rows)
