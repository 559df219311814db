"""Ranks read as they are looked at: the same draws as from all values, in a number of passes that is public."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.mechanisms.selection.bracketed_quantiles import BracketedQuantiles
from sfumato.mechanisms.selection.recursive_quantiles import RecursiveQuantiles
from sfumato.queries import bind
from sfumato.queries.ranks import Ranks
from sfumato.queries.refined import refined, shifts_of
from sfumato.randomness import seeded
from sfumato.spaces import Lattice

ASKED = [0.01, 0.1, 0.25, 0.5, 0.7, 0.9, 0.99]


class Counting:
    """Rows of several cells, and how often they were counted."""

    def __init__(self, cells, values):
        self.cells, self.values, self.passes = cells, values, 0

    def answer(self, statistic):
        self.passes += 1
        cells, values = self.cells, self.values
        if statistic.within is not None:
            shift, runs = statistic.within
            kept = np.isin(values >> shift, runs)
            cells, values = cells[kept], values[kept]
        pairs, counts = np.unique(np.stack([cells, values >> statistic.shift]), axis=1, return_counts=True)
        return pairs[0][::-1], pairs[1][::-1], counts[::-1]  # in any order


def tables(chance):
    """Tables of few rows and many, spread, tied in part or altogether, on lattices of any size."""
    for trial in range(150):
        width, rows = (
            int(chance.integers(1, 2 ** chance.integers(2, 22))),
            int(chance.choice([0, 1, 2, 5, 30, 400, 3000])),
        )
        values = (chance.random(rows) ** 3 * (width + 1)).astype(np.int64)
        if trial % 4 == 1 and rows:
            values = chance.choice(values[: max(1, rows // 50)], rows)
        elif trial % 4 == 2:
            values[:] = width // 2
        elif trial % 4 == 3:
            values = np.where(chance.random(rows) < 0.6, width // 3, values)
        yield width, values


@pytest.mark.parametrize("kind", [RecursiveQuantiles, BracketedQuantiles])
def test_draws_are_those_from_all_values_and_passes_are_public(kind):
    chance = np.random.default_rng(8)
    for width, values in tables(chance):
        low, cells = int(chance.integers(-50, 50)), chance.integers(0, 2, len(values))
        schema = sf.Schema({"x": sf.Integers(low, low + width), "c": sf.Categories(["a", "b"])}, dataset="d")
        wanted = sorted(set(chance.choice(ASKED, int(chance.integers(1, 6))).tolist()))
        question = bind(sf.quantiles("x", wanted, bars=kind is BracketedQuantiles).by("c"), schema)
        mechanism = kind.calibrate(question, sf.Pure(float(chance.choice([0.01, 1, 50, 1000]))))
        shifts = [max(0, width.bit_length() - 3)]
        while shifts[-1]:
            shifts.append(max(0, shifts[-1] - 3))
        held = Counting(cells, values)
        looked = refined(held, question.statistic, question.lattice, tuple(shifts))
        whole = [Ranks.counted(*np.unique(values[cells == cell] + low, return_counts=True)) for cell in (0, 1)]
        for seed in range(2):
            first, second = (mechanism.release(ranks, seeded(seed)) for ranks in (whole, looked))
            assert np.array_equal(first, second)
            if seed == 0:
                assert held.passes == len(shifts)


def test_points_far_from_all_ranks_are_found_exactly():
    values = np.array([3, 3, 70, 900])
    lattice = Lattice(Fraction(1), -10, 1013)
    question = bind(sf.median("x"), sf.Schema({"x": sf.Integers(-10, 1013)}, dataset="d"))
    (looked,) = refined(Counting(np.zeros(4, dtype=np.int64), values), question.statistic, lattice, (6, 3, 0))
    for point in (-10, -7, -6, 59, 60, 61, 889, 890, 891, 1013):
        assert looked.around(point) == (int((values - 10 < point).sum()), int((values - 10 <= point).sum()))


def test_fine_lattices_are_counted_in_runs_unless_few_rows_are_declared():
    cents, years = Lattice(Fraction(1, 100), 0, 20_000_000), Lattice(Fraction(1), 0, 100)
    assert shifts_of(cents, 1, None) == shifts_of(cents, 1, 10**9) == (13, 0)
    assert shifts_of(years, 50, None) == shifts_of(cents, 1, 1000) == (0,)
    assert shifts_of(Lattice(Fraction(1), 0, 2**50), 1, None) == (39, 25, 11, 0)
    assert shifts_of(cents, 10**6, None)[0] == 17


def test_medians_by_group_of_a_fine_column_come_from_the_engine_in_runs():
    chance = np.random.default_rng(3)
    numbers, groups = chance.normal(50, 10, 4000), chance.integers(0, 3, 4000)
    schema = {"x": sf.Interval(0, 100, 1e-7), "g": sf.Categories([0, 1, 2])}
    table = sf.read(pa.table({"x": numbers, "g": groups}), schema=schema, dataset="d")
    question = bind(sf.median("x").by("g"), table.schema)
    looked = question.answer(table)
    found = RecursiveQuantiles.calibrate(question, sf.Pure(1000.0)).release(looked, seeded(1))
    true = [np.median(numbers[groups == group]) for group in range(3)]
    assert question.estimate(found) == pytest.approx(true, abs=0.2)
    assert [ranks.rows for ranks in looked] == [int((groups == group).sum()) for group in range(3)]


def test_a_table_that_others_may_write_to_is_counted_by_one_statement(tmp_path):
    """A row that moves between two passes would count in both."""
    import ibis
    import pandas as pd

    import sfumato as sf
    from sfumato.engines.backends import quiet
    from sfumato.queries import bind

    frame = pd.DataFrame({"pay": np.arange(100) / 7, "who": np.arange(100) // 2})
    space = {"pay": sf.Interval(0, 10**6, step=0.01)}
    foreign = ibis.duckdb.connect(tmp_path / "x.duckdb")
    foreign.con.execute("CREATE TABLE rows AS SELECT range / 7.0 AS pay, range // 2 AS who FROM range(100)")
    question = bind(sf.quantiles("pay", [0.5]), sf.Schema(space, dataset="x"))
    with quiet():
        rows = foreign.table("rows")
    others = sf.read(rows, schema=question.schema)
    ours = sf.read(frame, schema=question.schema)
    persons = sf.read(rows, schema=space, unit="who", rows=2, dataset="x")
    assert [table.steady for table in (others, ours, persons)] == [False, True, True]
    assert isinstance(question.answer(others)[0], Ranks)
    assert not isinstance(question.answer(ours)[0], Ranks)
    foreign.disconnect()
