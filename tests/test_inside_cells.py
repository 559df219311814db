"""Intervals of questions that cut a cell of a synthetic table, or that are about values inside cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.mechanisms.synthetic.marginals.judging import COARSE
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis
from sfumato.queries import bind
from sfumato.queries.encoding import Column
from sfumato.queries.kinds import KINDS
from sfumato.release.free_answers import answer_again
from sfumato.release.inside import find_moves
from sfumato.release.placements import cells_of
from sfumato.release.spans import SPANS

ROWS = 240
WIDE = sf.Integers(0, 20_000)
DAYS = sf.Dates("1950-01-01", "2049-12-31")
SPACES: dict[str, Any] = {
    "x": WIDE, "y": sf.Interval(1, 2001, step=0.1), "z": sf.Interval(0, 900, step=0.01), "day": DAYS,
    "age": sf.Integers(0, 99), "kind": sf.Categories(["a", "b", "c"]), "likes": sf.Subsets(["p", "q"], cap=2),
    "total": sf.Integers(0, 40_000),
}  # fmt: skip
DERIVED = {"twice": ("2 * x", sf.Integers(0, 40_000)), "far": ("abs(x - 9000)", sf.Integers(0, 11_000))}
COLUMN = Column.of("x", WIDE)
EDGES = np.array([*(COLUMN.edges or ()), 20_001])
FIRST = int(EDGES[np.searchsorted(EDGES, 9000)])  # of a cell
INNER = FIRST + 17
BINS = sf.bins("x", 0, 8617, INNER, INNER + 40, 10_777, 20_000)
CUT = f"x >= {INNER}"
# Every kind of question whose answer is numbers, cut by a condition, by keys, by what it counts, or by values alone.
QUESTIONS = [
    sf.count().where(CUT),
    sf.count().where(f"x < {INNER} or y > 700.25"),
    sf.count().where(f"x == {INNER + 1}"),
    sf.count().where(f"not (x >= {FIRST + 5} and x < {FIRST + 9}) and kind == 'a'"),
    sf.count().where(f"twice >= {2 * INNER + 1}"),
    sf.count().where(f"total < {INNER + 800}"),
    sf.count().where("month(day) == 3 and year(day) >= 1999"),
    sf.count().where("day >= '1999-03-04'").by("kind"),
    sf.histogram(BINS),
    sf.histogram("kind", BINS),
    sf.crosstab("kind", BINS),
    sf.prefix(BINS),
    sf.workload(BINS, [[1, 0, -1, 0, 1], [0, 1, 1, 1, 0]]).where("y < 801.3"),
    sf.sum("x"),
    sf.sum("y").where(CUT).by("kind"),
    sf.sum("x", weight="y"),
    sf.mean("x"),
    sf.mean("y").where(CUT).by("kind"),
    sf.mean("x").by(BINS),
    sf.mean("twice").where(CUT),
    sf.mean("total").by("kind"),
    sf.mean("x", weight="y"),
    sf.mean("day"),
    sf.share(CUT),
    sf.share(CUT).where("y >= 500.05").by("kind"),
    sf.share(CUT, weight="y"),
    sf.ratio("x", "y", bounds=(0, 20_000)).by("kind"),
    sf.std("x"),
    sf.std("y").where(CUT).by("kind"),
    sf.variance("x"),
    sf.correlation("x", "y"),
    sf.correlation("x", "y").where(CUT),
    sf.median("x"),
    sf.quantiles("x", [0.1, 0.5, 0.9]).by("kind"),
    sf.quantiles("y", [0.25, 0.75]).where(CUT),
    sf.extent("x"),
    sf.items("likes").where(CUT),
    sf.items("likes").by(BINS),
    sf.difference(sf.mean("x"), across="kind", between=("a", "b")),
    sf.difference(sf.count(), across="kind", between=("a", "b")).where(CUT),
    sf.gaussian_mixture(["z"], [[500]], 60.0),
    sf.smooth(["z"], {(1,): 1.0}),
]
AGAIN = [  # kinds that are asked again of tables that differ inside cells
    sf.density("x", bandwidth=400),
    sf.distribution("x", bandwidth=400),
    sf.thresholds("x", points=20, rows=50),
    sf.top("likes", 1).where(CUT),
]
ASKED_AGAIN = {"density", "distribution", "thresholds", "top", "mean_curve", "running", "covariance"}
NO_NUMBERS = {  # of which `ask` gives no interval
    "keys", "choose", "pca", "regression", "classification", "synthetic", "sanitized", "small_database",
    "trigonometric", "rows_per_person",
}  # fmt: skip
ALIGNED = [
    sf.count().where(f"x >= {FIRST} and kind == 'b'"),
    sf.count().where("age < 37").by("kind"),
    sf.histogram(sf.bins("x", count=32)),
    sf.mean("age").where(f"x >= {FIRST}"),
    sf.median("age"),
    sf.share("kind == 'a'").where("x >= 0"),
    sf.items("likes"),
]
PLACES = ("left", "right", "inner", "alternate", "related", "anywhere")


def moved(column: Column, held: Any, how: str, rows: dict[str, Any], chance: np.random.Generator) -> Any:
    """The indices of a column, moved inside their cells."""
    edges = np.array([*(column.edges or ()), column.points])
    cell = column.levels(held)
    low, high = edges[cell], edges[cell + 1] - 1
    other = {
        "left": low, "right": high, "inner": low + (high - low) * 2 // 3, "alternate": np.where(cell % 2, low, high),
        "related": np.where(rows["kind"] == 0, low, high), "anywhere": chance.integers(low, high + 1),
    }  # fmt: skip
    return other[how]


@pytest.fixture(scope="module")
def made() -> tuple[Any, dict[str, Any]]:
    """A question, and rows that a table may have made."""
    schema = sf.Schema(SPACES, dataset="cells", size=ROWS, derived=DERIVED)
    question = bind(sf.synthetic(keep=["total == x + age"]), schema)
    chance = np.random.default_rng(5)
    kind = chance.integers(0, 3, ROWS)
    held = {
        "x": np.clip(chance.normal(9000 + 300 * kind, 400, ROWS), 1, 19_999).astype(np.int64),
        "y": np.clip(chance.normal(7000, 1500, ROWS), 1, 19_999).astype(np.int64),
        "z": chance.integers(40_000, 60_000, ROWS),
        "day": chance.integers(15_000, 22_000, ROWS), "age": chance.integers(0, 100, ROWS), "kind": kind,
        "likes has p": chance.integers(0, 2, ROWS), "likes has q": chance.integers(0, 2, ROWS),
    }  # fmt: skip
    return question, {**held, "likes size": held["likes has p"] + held["likes has q"]}


def answered(question: Any, query: Any, rows: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The numbers that rows answer, and the keys."""
    from sfumato.release.free_answers import _asking, _public

    table = question.read(Synthesis(rows), None).value
    names, asking = _asking(query, _public(table, question.rules.schema))
    found = asking(table.select(names or table.column_names[:1])).table()
    keys = {name: held for name, held in found.items() if name not in ("estimate", "low", "high")}
    return np.asarray(found["estimate"], dtype=np.float64), keys


def moves_of(question: Any, query: Any, rows: dict[str, Any]) -> tuple[Any, Any]:
    """What the rows answer, and by how much it may be less or more."""
    estimates, keys = answered(question, query, rows)

    def again(other: Any) -> Any:
        table = question.read(Synthesis(dict(other)), None).value
        return answer_again(query, table, question.rules, float(ROWS))

    return estimates, find_moves(query, question, rows, keys, estimates, 1.0, again)


def breaches(question: Any, query: Any, rows: dict[str, Any], places: Any) -> list[str]:
    """The placements inside cells whose answer lies outside what the rows' answer leaves room for."""
    chance, found = np.random.default_rng(8), []
    estimates, moves = moves_of(question, query, rows)
    assert moves is not None, f"{query.name} cuts no cell"
    columns = {column.name: column for column in question.levels}
    room = 2e-3 * float(np.abs(estimates).max(initial=1.0)) + 1e-6  # of the engine's own grids
    for how in places:
        other = {
            name: moved(columns[name], held, how, rows, chance) if columns[name].ordered else held
            for name, held in rows.items()
        }
        answers, _ = answered(question, query, other)
        if (answers < estimates - moves[0] - room).any() or (answers > estimates + moves[1] + room).any():
            found.append(how)
    return found


def test_every_kind_of_question_is_widened_or_has_no_interval() -> None:
    assert set(KINDS) == SPANS.keys() | ASKED_AGAIN | NO_NUMBERS
    assert not SPANS.keys() & ASKED_AGAIN
    assert {query.kind for query in QUESTIONS} == SPANS.keys()


@pytest.mark.parametrize("place", range(0, len(QUESTIONS), 7), ids=lambda place: QUESTIONS[place].name)
def test_answers_lie_where_values_inside_cells_may_take_them(made: Any, place: int) -> None:
    assert breaches(*made[:1], QUESTIONS[place], made[1], ("related",)) == []


@pytest.mark.heavy
@pytest.mark.parametrize("query", [*QUESTIONS, *AGAIN], ids=lambda query: query.name)
def test_no_place_inside_cells_leaves_the_interval(made: Any, query: Any) -> None:
    assert breaches(made[0], query, made[1], PLACES) == []


def test_a_count_may_take_all_of_a_cut_cell_and_no_more(made: Any) -> None:
    question, rows = made
    held = rows["x"]
    cell = (held >= FIRST) & (held < EDGES[np.searchsorted(EDGES, FIRST, side="right")])
    over = int(((held >= INNER) & cell).sum())
    _, (below, above) = moves_of(question, sf.count().where(CUT), rows)
    assert (below.tolist(), above.tolist()) == ([over], [int(cell.sum()) - over])


def test_questions_that_cut_no_cell_are_as_they_were(made: Any) -> None:
    for query in ALIGNED:
        assert moves_of(made[0], query, made[1])[1] is None, query.name


def test_cells_about_cuts_and_groups_of_levels_are_cells_too(made: Any) -> None:
    rows = {"x": made[1]["x"]}
    question = bind(sf.synthetic(["x"], cuts=["x"]), sf.Schema({"x": WIDE})).about({"x": [9000, 9300]})
    for query, widened in ((sf.count().where("x >= 9300"), False), (sf.count().where("x >= 600"), True)):
        assert (moves_of(question, query, rows)[1] is not None) == widened
    plain = bind(sf.synthetic(["x"]), sf.Schema({"x": WIDE}))
    starts = cells_of(plain.levels[0], COARSE)
    assert len(starts) == COARSE
    assert set(starts) < set(plain.levels[0].edges)
    (within,) = [edge for edge in plain.levels[0].edges if edge not in starts and 8500 < edge < 9500][:1]
    for edge, widened in ((within, True), (starts[20], False)):
        query = sf.count().where(f"x >= {edge}")
        estimates, keys = answered(plain, query, rows)
        moves = find_moves(query, plain, rows, keys, estimates, 1.0, lambda _: None, COARSE)
        assert (moves is not None) == widened


# tables that were made

HEAPS = {"x": sf.Interval(40, 100, step=0.1), "kind": sf.Categories(list("abc"))}
THRESHOLDS = ("x >= 58", "x < 57", "x == 57")


def heaped(chance: np.random.Generator, size: int = 20_000) -> pd.DataFrame:
    """Whole numbers, declared with a step of a tenth."""
    return pd.DataFrame(
        {"x": chance.normal(57.5, 2.2, size).round().clip(40, 100), "kind": chance.choice(list("abc"), size)}
    )


def made_of(frame: pd.DataFrame, folder: Path, spend: Any, **schema: Any) -> Any:
    table = sf.read(frame, schema=sf.Schema(HEAPS, dataset="heaps", **schema))
    return sf.Session(table, budget=spend, ledger=folder / "l").synthesize(spend=spend)


def missed(made: Any, frame: pd.DataFrame, level: float, texts: Any = THRESHOLDS) -> list[str]:
    """The thresholds whose real counts or shares lie outside their intervals."""
    found = []
    for text in texts:
        real = len(frame.query(text))
        for query, truth in ((sf.count().where(text), real), (sf.share(text), real / len(frame))):
            low, high = made.ask(query).interval(level)
            found += [] if low <= truth <= high else [query.name]
    return found


def test_counts_of_heaped_values_lie_in_their_intervals(tmp_path: Path) -> None:
    frame = heaped(np.random.default_rng(0), 5000)
    made = made_of(frame, tmp_path, sf.Approximate(1.0, 1e-6), size=5000)
    assert missed(made, frame, 0.9999, THRESHOLDS[:1]) == []
    assert made.ask(sf.count().where("kind == 'a'")).below is None
    errors, said = made.errors(), made.advice()
    assert errors.groups == {"x": COARSE, "kind": 3}
    assert errors.inside["x"] > 0.1 > errors.inside["kind"] == 0
    assert errors.table().column("inside").to_pylist()[-1] >= 0
    assert "x (up to" in said["inside cells"]
    assert "declare the step" in said["inside cells"]
    assert " x" not in said["good for"].split(":")[1]
    assert "nothing is measured" in str(errors)


@pytest.mark.heavy
@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Concentrated(0.2), sf.Approximate(1.0, 1e-6)], ids=repr)
@pytest.mark.parametrize("known", [{"size": 20_000}, {"size": 20_000, "adjacency": sf.Replace()}, {}], ids=repr)
def test_heaped_values_lie_inside_under_every_noise(tmp_path: Path, spend: Any, known: Any) -> None:
    frame = heaped(np.random.default_rng(1))
    assert missed(made_of(frame, tmp_path, spend, **known), frame, 0.9999) == []
