"""Rules imposed on rows: they hold in every row, whatever the rows, and columns keep the shares that rules allow."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.synthetic import keeping
from sfumato.mechanisms.synthetic.joined import JoinedSynthesis
from sfumato.mechanisms.synthetic.keeping import imposed
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis
from sfumato.mechanisms.synthetic.numeric import NumericSynthesis
from sfumato.queries import bind, synthetic
from sfumato.queries.mending import possible
from sfumato.randomness import seeded
from views import view_of

Holds = Callable[[dict[str, Any]], bool]
SIGNS = {"<": operator.lt, "<=": operator.le, "!=": operator.ne, ">=": operator.ge}


def random_schema(chance: np.random.Generator) -> sf.Schema:
    spaces: dict[str, Any] = {"k0": sf.Categories(["x", "y", "z"]), "k1": sf.Categories([1, 2, 3, 4])}
    for place in range(4):
        low, width = int(chance.integers(-50, 50)), int(chance.choice([7, 60, 100_000]))
        missing = None if chance.random() < 0.6 else low + width // 2
        spaces[f"n{place}"] = sf.Integers(low, low + width, missing=missing)
    for place in range(2):
        spaces[f"d{place}"] = sf.Dates("2020-01-01", "2021-06-30")
    return sf.Schema({**spaces, "made": sf.Integers(-300, 200_300), "id": sf.Integers(5, 100_000)})


def random_rules(schema: sf.Schema, chance: np.random.Generator) -> list[tuple[str, Holds]]:
    """Rules, each with what it means of a row of plain values; where one of them is missing it holds."""
    one, other, third = (f"n{place}" for place in chance.permutation(4)[:3])
    sign = str(chance.choice(list(SIGNS)))
    middle = (schema.lattice(one).low + schema.lattice(one).high) // 2
    last = schema.lattice(third).high
    gap = int(chance.integers(0, 90))
    offered: list[tuple[str, Holds]] = [
        (f"{one} {sign} {middle}", lambda row: SIGNS[sign](row[one], middle)),
        (f"d0 <= d1 and d1 - d0 <= {gap}", lambda row: 0 <= (row["d1"] - row["d0"]).days <= gap),
        ("k0 != 'x' or k1 == 2", lambda row: row["k0"] != "x" or row["k1"] == 2),
        (f"k0 != 'y' or {third} = {last}", lambda row: row["k0"] != "y" or row[third] == last),
        (f"made == {one} + {other}", lambda row: row["made"] == row[one] + row[other]),
        ("not (k1 == 3 and month(d0) > 6)", lambda row: not (row["k1"] == 3 and row["d0"].month > 6)),
        (f"{other} - {third} <= 40 or {one} is null", lambda row: row[other] - row[third] <= 40),
        ("unique(id)", lambda row: True),
    ]
    return [offered[place] for place in chance.permutation(len(offered))[: int(chance.integers(1, 6))]]


def skewed(question: Any, count: int, chance: np.random.Generator) -> dict[str, Any]:
    """Rows that need not keep any rule: values bunched anywhere, some missing."""
    rows = {}
    for column in question.levels:
        at = chance.integers(column.points)
        held = np.clip(at + chance.normal(0, 1 + column.points / 8, count).astype(np.int64), 0, column.points - 1)
        held = np.where(chance.random(count) < 0.3, chance.integers(column.points, size=count), held)
        rows[column.name] = np.where(column.nullable & (chance.random(count) < 0.1), -1, held)
    return rows


def plain(value: Any) -> Any:
    return value.date() if isinstance(value, datetime.datetime) else value


@pytest.mark.parametrize("seed", range(25))
def test_rules_hold_in_every_row_of_random_tables(seed: int) -> None:
    """Whether rules can be kept is found before: those that cannot are refused; the others hold in all rows."""
    chance = np.random.default_rng([seed, 16])
    schema = random_schema(chance)
    rules = random_rules(schema, chance)
    try:
        question: Any = bind(sf.synthetic(keep=[text for text, _ in rules]), schema)
    except UnsupportedQuery:  # bounds that lie apart
        return
    count = int(chance.choice([1, 7, 300]))
    rows = imposed(skewed(question, count, chance), question.levels, question.rules, [("k0", "k1")], chance)
    made = question.read(Synthesis(rows), None).value.to_pylist()
    assert len(made) == count
    for row in made:
        held = {name: plain(value) for name, value in row.items()}
        for text, holds in rules:
            named = [name for name in held if name in text and not text.startswith("unique")]
            assert any(held[name] is None for name in named) or holds(held), text
    if any(text == "unique(id)" for text, _ in rules):
        assert sorted(row["id"] for row in made) == list(range(5, 5 + count))


def test_no_valid_row_among_those_drawn_is_no_obstacle() -> None:
    schema = sf.Schema({"a": sf.Integers(0, 10_000, missing=0), "b": sf.Integers(0, 10_000, missing=0)})
    question: Any = bind(sf.synthetic(keep=["a + b == 12345", "a > 100"]), schema)
    rows = {name: np.zeros(50, dtype=np.int64) for name in ("a", "b")}
    made = imposed(rows, question.levels, question.rules, [], np.random.default_rng(1))
    assert (made["a"] + made["b"] == 12345).all()


def test_what_stands_in_was_found_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    """Invented rows are drawn by one seed, column by column: in another order none might be found, and all be lost."""
    drawn: list[list[str]] = []

    def invented(rules: Any, columns: Any) -> Any:
        drawn.append([column.name for column in columns])
        return possible(rules, columns)

    for module in (keeping, synthetic):
        monkeypatch.setattr(module, "possible", invented)
    monkeypatch.setattr(keeping, "mended", lambda rows, *_: (rows, np.zeros(50, dtype=bool)))
    schema = sf.Schema({name: sf.Integers(0, 10_000, missing=0) for name in "bac"})
    question: Any = bind(sf.synthetic(keep=["a + b == 12345", "c > 4", "a > 100"]), schema)
    rows = {name: np.zeros(50, dtype=np.int64) for name in "cab"}
    imposed(rows, question.levels, question.rules, [], np.random.default_rng(1))
    before, after = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    assert sorted(before) == sorted(after) == [["b", "a"], ["c"]]


def start_and_end(count: int, chance: np.random.Generator) -> dict[str, Any]:
    """Columns with shares of their own, and no relation: half of the rows or so break start <= end."""
    return {
        "start": chance.binomial(60, 0.45, count), "end": chance.binomial(60, 0.55, count),
        "kind": (chance.random(count) < 0.3).astype(np.int64),
    }  # fmt: skip


def gap(one: Any, other: Any, size: int) -> float:
    shares = [np.bincount(side, minlength=size) / len(side) for side in (one, other)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def test_columns_keep_their_shares_as_far_as_rules_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 rows an eighth is broken; with weights that are all alike the columns are off several times as much."""
    spaces = {"start": sf.Integers(0, 60), "end": sf.Integers(0, 60), "kind": sf.Categories(["u", "v"])}
    question: Any = bind(sf.synthetic(keep=["start <= end"]), sf.Schema(spaces))
    drawn = start_and_end(20_000, np.random.default_rng(5))
    drawn["end"] = np.where(drawn["kind"] == 1, drawn["end"], drawn["end"] - 2)
    found = []
    for _ in range(2):
        made = imposed(drawn, question.levels, question.rules, [("end", "kind")], np.random.default_rng(6))
        assert (made["start"] <= made["end"]).all()
        found.append({name: gap(made[name], drawn[name], 61) for name in spaces})
        monkeypatch.setattr(keeping, "SWEEPS", 0)
    weighted, plain_draws = found
    assert max(weighted.values()) < 0.02
    assert max(plain_draws.values()) > 0.06


def test_rows_that_keep_their_rules_stay_as_they_are() -> None:
    question: Any = bind(
        sf.synthetic(keep=["start <= end"]), sf.Schema({n: sf.Integers(0, 60) for n in ("start", "end")})
    )
    rows = {"start": np.array([1, 2, 3]), "end": np.array([1, 5, 60])}
    made = imposed(rows, question.levels, question.rules, [], np.random.default_rng(1))
    assert all((made[name] == rows[name]).all() for name in rows)


def contracts(count: int) -> pd.DataFrame:
    chance = np.random.default_rng(2)
    start = chance.integers(0, 300, count)
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(start, unit="D")
    child = chance.random(count) < 0.25
    base, extra = chance.integers(0, 50, count), chance.integers(0, 50, count)
    return pd.DataFrame(
        {
            "id": chance.permutation(count), "start": days, "month": days.month,
            "end": days + pd.to_timedelta(chance.integers(0, 60, count), unit="D"),
            "status": np.where(child, "child", "adult"),
            "income": np.where(child, 0, 10 * chance.integers(1, 900, count)),
            "base": base, "extra": extra, "total": base + extra,
        }
    )  # fmt: skip


CONTRACTS: dict[str, Any] = {
    "id": sf.Integers(0, 100_000), "start": sf.Dates("2020-01-01", "2020-12-31"), "month": sf.Integers(1, 12),
    "end": sf.Dates("2020-01-01", "2020-12-31"), "status": sf.Categories(["child", "adult"]),
    "income": sf.Interval(0, 10_000, step=10), "base": sf.Integers(0, 60), "extra": sf.Integers(0, 60),
    "total": sf.Integers(0, 90),
}  # fmt: skip
KEEP = [
    "start <= end",
    "status != 'child' or income == 0",
    "total == base + extra",
    "month == month(start)",
    "unique(id)",
]


def keeps(rows: pd.DataFrame) -> None:
    """All five rules, in pandas' own words; noise may leave a missing value or two, which break no rule."""
    rows = rows.assign(start=pd.to_datetime(rows["start"]), end=pd.to_datetime(rows["end"]))
    assert rows["id"].is_unique
    assert not (rows["start"] > rows["end"]).any()
    assert not (rows["income"][rows["status"] == "child"] > 0).any()
    known = rows.dropna()
    assert len(known) > len(rows) / 2
    assert (known["total"] == known["base"] + known["extra"]).all()
    assert (known["start"].dt.month == known["month"]).all()
    assert not ((rows["base"] + rows["extra"]) > 90).any()


def indices(frame: pd.DataFrame, question: Any) -> dict[str, Any]:
    """The modelled columns as engines hand them out."""
    dates = ((frame[name] - pd.to_datetime("2020-01-01")).dt.days for name in ("start", "end"))
    whole = frame.assign(**dict(zip(("start", "end"), dates, strict=True)), income=frame["income"] // 10)
    whole["status"] = (whole["status"] == "adult").astype(int)
    return {name: whole[name].to_numpy() for name in question.modelled}


NUMBERS = ["id", "start", "month", "end", "base", "extra", "total"]


@pytest.mark.parametrize(
    ("mechanism", "target", "columns", "adjacency"),
    [
        (MarginalSynthesis, sf.Concentrated(0.05), None, sf.AddRemove()),
        (JoinedSynthesis, sf.Pure(1), None, sf.AddRemove()),
        (JoinedSynthesis, sf.Concentrated(0.02), NUMBERS, sf.Replace()),
        (NumericSynthesis, sf.Pure(1), NUMBERS, sf.Replace()),
    ],
)
def test_each_way_of_making_rows_keeps_them(mechanism: Any, target: Any, columns: Any, adjacency: Any) -> None:
    frame, schema = contracts(500), sf.Schema(CONTRACTS, size=500, adjacency=adjacency)
    keep = [rule for rule in KEEP if columns is None or "status" not in rule]
    question: Any = bind(sf.synthetic(columns, keep=keep, rows=400), schema)
    output = mechanism.calibrate(question, target).release(view_of(indices(frame, question)), seeded(3))
    rows = question.read(output, None).value.to_pandas()
    assert list(rows) == (columns or list(CONTRACTS))
    assert len(rows) == 400
    keeps(rows.assign(**{name: 0 for name in ("status", "income") if name not in rows}))


def test_a_file_a_stored_table_and_a_free_repetition(tmp_path: Path) -> None:
    contracts(300).to_csv(tmp_path / "contracts.csv", index=False)
    table = sf.read(tmp_path / "contracts.csv", schema=sf.Schema(CONTRACTS, dataset="contracts", size=300))
    session = sf.Session(table, budget=sf.Pure(1), ledger=tmp_path / "some.ledger")
    made = session.synthesize(spend=sf.Pure(1), good_for="marginals", keep=KEEP)
    keeps(made.to_pandas())
    made.save(tmp_path / "made.parquet")
    stored = sf.load(tmp_path / "made.parquet")
    assert stored.question.rules.texts == tuple(KEEP)
    assert "start <= end; status != 'child' or income == 0; total == base + extra" in " ".join(stored.words().split())
    assert session.synthesize(spend=sf.Pure(1), good_for="marginals", keep=KEEP).rows == made.rows


@pytest.mark.heavy
def test_columns_that_are_computed_are_neither_read_nor_measured_but_can_be_asked_of(tmp_path: Path) -> None:
    """What the file holds where rules compute is never looked at; a refusal comes before the charge."""
    frame = contracts(800)[["id", "base", "extra", "total"]].assign(total=-5)
    schema = sf.Schema({name: CONTRACTS[name] for name in frame}, dataset="contracts", size=800)
    session = sf.Session(sf.read(frame, schema=schema), budget=sf.Pure(2), ledger=tmp_path / "some.ledger")
    with pytest.raises(UnsupportedQuery, match="no row was found"):
        session.synthesize(spend=sf.Pure(2), keep=["base < extra", "extra < base"])
    made = session.synthesize(spend=sf.Pure(2), keep=["total == base + extra", "unique(id)"])
    assert list(made.errors().columns) == ["base", "extra"]
    low, high = made.ask(sf.mean("total")).interval(0.999999)
    assert low < 49 < high
    assert made.ask(sf.count().where("id < 0")).value == 0
