"""More rows of a synthetic table: the joint shares of its bags, values of its columns, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.release.more_rows import more_rows

COLUMNS = {
    "a": sf.Categories(["x", "y", "z"]), "b": sf.Integers(0, 9), "c": sf.Categories(["u", "v"]),
    "d": sf.Integers(0, 500),
}  # fmt: skip
QUESTION: Any = bind(sf.synthetic(), sf.Schema(COLUMNS))


def more(rows: pa.Table, measured: list[list[str]], count: int, chance: np.random.Generator) -> pa.Table:
    made = more_rows(QUESTION.indices(rows), QUESTION.levels, measured, count, chance)
    return pa.table({column.name: column.decoded(made[column.name]) for column in QUESTION.levels})


def released(rows: int = 4000) -> pa.Table:
    """Four columns, each tied to the one before it; some values are missing."""
    rng = np.random.default_rng(3)
    a = rng.integers(0, 3, rows)
    b = np.clip(3 * a + rng.integers(0, 4, rows), 0, 9)
    c = np.where(rng.random(rows) < b / 10, "u", "v")
    d = np.where(c == "u", rng.integers(0, 200, rows), rng.integers(150, 500, rows))
    missing = rng.random(rows) < 0.1
    return pa.table(
        {"a": np.array(["x", "y", "z"])[a], "b": b, "c": c, "d": pa.array(d, mask=missing, type=pa.int64())}
    )


def gap(one: Any, other: Any, pair: list[str]) -> float:
    """The total variation of a pair, the wide numbers in cells of 60."""
    shares = [
        side[pair]
        .assign(**{name: side[name] // 60 for name in pair if name == "d"})
        .value_counts(normalize=True, dropna=False)
        for side in (one, other)
    ]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def test_measured_pairs_keep_their_shares_and_others_are_what_the_tree_implies() -> None:
    """A chain a, b, c, d: at 40,000 rows a pair of 30 cells is off by 0.01; without the tree by ten times as much."""
    rows = released()
    chain = [["a", "b"], ["b", "c"], ["c", "d"]]
    made = more(rows, chain, 40_000, np.random.default_rng(1)).to_pandas()
    real = rows.to_pandas()
    for pair in [*chain, ["a", "c"]]:
        assert gap(real, made, pair) < 0.03
    apart = more(rows, [], 40_000, np.random.default_rng(1)).to_pandas()
    assert gap(real, apart, ["a", "b"]) > 0.3
    triple = more(rows, [["a", "b", "c"], ["c", "d"]], 40_000, np.random.default_rng(1)).to_pandas()
    assert gap(real, triple, ["a", "b", "c"]) < 0.03
    assert len(made.drop_duplicates()) > len(real.drop_duplicates())  # rows that were not released as such


@pytest.mark.parametrize("rows", [1, 2, 50])
def test_few_rows_and_random_trees(rows: int) -> None:
    rng = np.random.default_rng(rows)
    names = list(COLUMNS)
    for _ in range(8):
        measured = [
            rng.choice(names, int(rng.integers(2, 4)), replace=False).tolist() for _ in range(int(rng.integers(5)))
        ]
        made = more(released(rows), measured, 70, rng)
        assert made.num_rows == 70
        assert made.schema.types == released(rows).schema.types
        for name in names:
            assert set(made[name].to_pylist()) <= set(released(rows)[name].to_pylist())


def test_a_stored_table_gives_more_rows_for_nothing(tmp_path: Path) -> None:
    old = sf.load(Path(__file__).parent / "fixtures" / "v0_2_0" / "tables" / "synthetic.parquet")
    made = old.more(321)
    assert made.num_rows == 321
    assert made.schema.equals(old.rows.schema)
    assert isinstance(made.to_pandas(), pd.DataFrame)
    for wrong in (0, -1, 1.5, 10**12):
        with pytest.raises(ParameterError, match="rows"):
            old.more(wrong)


def kept_rows(count: int = 900) -> pa.Table:
    """Rows that keep low <= high, with their gap and a key."""
    rng = np.random.default_rng(8)
    low = rng.integers(0, 60, count)
    high = low + rng.integers(0, 40, count)
    return pa.table(
        {
            "id": np.arange(count),
            "low": low,
            "high": high,
            "gap": high - low,
            "side": np.where(low > 30, "east", "west"),
        }
    )


RULED = {
    "id": sf.Integers(0, 2000), "low": sf.Integers(0, 99, missing=0), "high": sf.Integers(0, 99, missing=0),
    "gap": sf.Integers(0, 60), "side": sf.Categories(["east", "west"], missing="west"),
}  # fmt: skip
KEEP = ["low <= high", "gap == high - low", "unique(id)"]


@pytest.fixture(scope="module")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table that keeps rules; its budget is far above what noise shows at."""
    place = tmp_path_factory.mktemp("ruled")
    table = sf.read(kept_rows(), schema=sf.Schema(RULED, size=900))
    session = sf.Session(table, budget=sf.Concentrated(50), ledger=place / "some.ledger")
    made = session.synthesize(spend=sf.Concentrated(50), keep=KEEP, good_for="marginals")
    made.save(place / "made.parquet")
    return sf.load(place / "made.parquet")


def test_more_rows_keep_the_rules_and_number_on(ruled: Any) -> None:
    more = ruled.more(700).to_pandas()
    assert (more["low"] <= more["high"]).all()
    assert (more["gap"] == more["high"] - more["low"]).all()
    assert more["id"].tolist() == list(range(len(ruled), len(ruled) + 700))
    again = ruled.more(50, after=700)["id"].to_pylist()
    assert again == list(range(len(ruled) + 700, len(ruled) + 750))
    with pytest.raises(ParameterError, match="rows"):
        ruled.more(2001 - len(ruled) + 1)
    with pytest.raises(UnsupportedQuery, match="all 2,001 numbers of 'id' are taken"):
        ruled.more(1, after=2001 - len(ruled))
    with pytest.raises(ParameterError, match="after"):
        ruled.more(1, after=-1)


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ("side == 'east' and gap >= 20", lambda rows: (rows["side"] == "east") & (rows["gap"] >= 20)),
        ("low + 10 < high", lambda rows: rows["low"] + 10 < rows["high"]),
        (sf.col("high") < 20, lambda rows: rows["high"] < 20),
    ],
)
def test_a_condition_holds_in_all_rows_that_are_given_it(ruled: Any, given: Any, holds: Any) -> None:
    more = ruled.more(300, given).to_pandas()
    assert len(more) == 300
    assert holds(more).all()
    assert (more["low"] <= more["high"]).all()


def test_rows_given_a_condition_have_the_shares_that_rows_with_it_have(ruled: Any) -> None:
    """Of 1,000 rows shares scatter by 0.016 and means by 0.6; six times as much is left."""
    wanted = ruled.to_pandas().query("low > 30")
    more = ruled.more(1000, "low > 30").to_pandas()
    assert abs((more["side"] == "east").mean() - (wanted["side"] == "east").mean()) < 0.1
    assert abs(more["low"].mean() - wanted["low"].mean()) < 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("low > high", "of 200,000 rows drawn, 0 are such"),
        ("id > 4", "made up"),
        ("sides == 'east'", "no column of the synthetic table"),
        ("side == 'north'", "north"),
        ("low +", "cannot read the condition"),
        ("low", "is a number"),
        (5, "given must be a condition"),
    ],
)
def test_conditions_that_give_no_rows_are_refused_in_words(ruled: Any, given: Any, words: str) -> None:
    with pytest.raises(SfumatoError, match=words):
        ruled.more(10, given)


def test_a_table_of_an_unknown_mechanism_is_not_taken_for_another(tmp_path: Path) -> None:
    """One that a later version writes may cost more than the mechanism that it would be taken for."""
    old = sf.load(Path(__file__).parent / "fixtures" / "v0_2_0" / "tables" / "synthetic.parquet")
    strange = replace(old, method={**old.method, "type": "later-synthesis"})
    (tmp_path / "strange.parquet").write_bytes(strange.to_bytes())
    with pytest.raises(SchemaError, match=r"no mechanism 'later-synthesis'.*another version"):
        sf.load(tmp_path / "strange.parquet")
    with pytest.raises(UnsupportedQuery, match="no rows"):
        replace(old, rows=old.rows.slice(0, 0)).more(3)


def test_more_rows_of_numbers_keep_the_relations_that_moments_told(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    numbers = np.clip(50 + 12 * chance.normal(size=(20_000, 3)) @ np.linalg.cholesky(0.1 * np.eye(3) + 0.9).T, 0, 100)
    frame = pd.DataFrame(numbers.round(), columns=list("abc"))
    schema = sf.Schema({name: sf.Integers(0, 100) for name in "abc"}, adjacency=sf.Replace(), size=len(frame))
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Pure(0.5), ledger=tmp_path / "n.ledger")
    made = session.synthesize(spend=sf.Pure(0.5), good_for="smooth")
    rows, more = made.to_pandas(), made.more(20_000).to_pandas()
    assert rows.corr().loc["a", "b"] > 0.4
    assert more.corr().loc["a", "b"] == pytest.approx(rows.corr().loc["a", "b"], abs=0.05)
    assert "independent" not in str(made)
