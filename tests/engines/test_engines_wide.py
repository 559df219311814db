"""A hundred and twenty columns of labels, some with short lists and some with long ones, are one query."""

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.engines.backends import executed
from sfumato.engines.positions import FEW
from sfumato.queries import bind, count
from sfumato.queries.aggregation import Rows

ROWS = 200
SHORT, LONG = ([f"label {i}" for i in range(size)] for size in (6, FEW + 1))
SPACES = {f"c{i}": sf.Categories(LONG if i % 6 == 0 else SHORT) for i in range(120)}


def test_a_hundred_and_twenty_columns_of_labels_are_read_and_bounded():
    draw = np.random.default_rng(5)
    held = {name: draw.choice([*space.values, "unknown"], ROWS) for name, space in SPACES.items()}
    frame = pa.table(held | {"id": np.arange(ROWS) // 2})
    table = sf.read(frame, schema=SPACES, dataset="wide")
    (batch,) = table.rows(list(SPACES))
    found = sorted(zip(*(batch[name].tolist() for name in SPACES), strict=True))
    places = {name: {label: place for place, label in enumerate(space.values)} for name, space in SPACES.items()}
    assert found == sorted(
        tuple(places[name].get(held[name][row], -1) for name in SPACES) for row in range(ROWS)
    )  # fmt: skip
    people = sf.read(frame, schema=SPACES, unit="id", rows=1, dataset="wide")
    assert people.answer(bind(count(), people.schema).statistic).tolist() == [[ROWS // 2]]


def test_long_and_strange_texts_are_no_labels_and_never_leave_the_engine():
    labels = ["a", "äöü", "", "two words"]
    strange = ["a" * 100_000, "äöu", " a", "A", None, "two words ", "\x00", "𝄞"]
    held = [*labels, *strange]
    space = sf.Categories(labels)
    table = sf.read(pa.table({"c": held}), schema={"c": space}, dataset="texts")
    (batch,) = table.rows(["c"])
    assert sorted(batch["c"].tolist()) == [-1] * len(strange) + [0, 1, 2, 3]
    handed = executed(table._expression(Rows(None, ("c",))))["value0"].to_pylist()
    assert max(len(text) for text in handed if text) == len("two words")
