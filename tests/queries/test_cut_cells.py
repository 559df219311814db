"""Cells about public points: fine where values are known to lie, coarser the farther away, all of the bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.queries import bind
from sfumato.queries.cells import BARS, CELLS
from sfumato.queries.cuts import checked_cuts, cut_about, grouped
from sfumato.queries.encoding import Column
from sfumato.spaces.lattice import Lattice

WIDE = sf.Integers(0, 10**6)


@st.composite
def lattices(draw):
    """Bounds, points within them, and atoms anywhere."""
    low = draw(st.integers(-(2**52), 2**52 - 1))
    high = draw(st.integers(low + 1, min(2**52, low + draw(st.sampled_from([10, 300, 10**6, 2**53])))))
    points = sorted(draw(st.lists(st.integers(0, high - low), min_size=1, max_size=7)))
    atoms = draw(st.frozensets(st.integers(low, high) | st.just(0), max_size=2))
    return low, high, atoms, tuple(points)


# laws


@given(lattices())
def test_cells_are_few_hold_every_point_once_and_atoms_alone(drawn):
    low, high, atoms, points = drawn
    edges = cut_about(low, high, atoms, points)
    assert edges[0] == 0
    assert all(one < other for one, other in pairwise(edges))
    assert len(edges) <= CELLS
    for alone in {0, high - low, *points, *(atom - low for atom in atoms if low <= atom <= high)}:
        place = edges.index(alone)
        assert alone == high - low or edges[place + 1] == alone + 1


@given(lattices())
def test_groups_are_few_and_end_where_cells_do(drawn):
    edges = cut_about(*drawn)
    found = grouped(edges)
    assert len(found) <= BARS
    assert found[0] == 0
    assert set(found) <= set(edges)


@given(st.integers(1000, 10**9), st.floats(0.01, 0.98), st.integers(0, 400))
def test_cells_near_the_cuts_are_finer_than_a_twentieth_of_what_lies_between_them(width, place, apart):
    first = int(place * width)
    last = min(width, first + apart)
    edges = np.array(cut_about(0, width, frozenset(), (first, (first + last) // 2, last)))
    inside = np.diff(np.append(edges, width + 1))[(edges >= first) & (edges < last)]
    assert not len(inside) or inside.max() <= max(1, apart / 20)


@given(lattices())
def test_levels_of_a_cut_column_stand_for_every_value(drawn):
    low, high, _, points = drawn
    column = Column.of("x", sf.Integers(low, high)).about(list(points))
    indices = np.unique(np.clip([0, *points, high - low, (high - low) // 3], 0, high - low))
    levels = column.levels(indices.astype(np.int64))
    edges, widths = np.array(column.edges), column.widths()
    assert widths.sum() == high - low + 1
    assert ((edges[levels] <= indices) & (indices < edges[levels] + widths[levels])).all()
    assert column.levels(np.array([-1])).tolist() == [column.size - 1]
    assert len(column.bars()) == column.size
    assert column.barred.valued <= BARS
    assert column.declared == Column.of("x", column.space)


# numbers


def test_years_in_bounds_of_a_million_have_a_cell_each():
    column = Column.of("year", WIDE).about([1970, 1990, 2005])
    years = np.arange(1955, 2021)
    assert len(set(column.levels(years).tolist())) == len(years)
    assert len(set(Column.of("year", WIDE).levels(years).tolist())) == 1


def test_columns_without_cuts_are_as_they_were():
    column = Column.of("year", WIDE)
    assert column.bar_edges is None
    assert column.declared is column
    assert bind(sf.synthetic(), sf.Schema({"year": WIDE})).about().levels == (column,)


def test_the_record_of_a_question_holds_its_cuts_and_is_otherwise_as_it_was():
    assert sf.synthetic(["x"], cuts=["y", "x", "y"]).to_record()["cuts"] == ["x", "y"]
    assert "cuts" not in sf.synthetic(["x"]).to_record()
    asked = sf.synthetic(cuts=["x"])
    assert type(asked).from_record(asked.to_record()) == asked
    assert "cuts" not in bind(sf.synthetic(), sf.Schema({"x": WIDE})).specification()
    assert bind(asked, sf.Schema({"x": WIDE})).specification()["cuts"] == ["x"]
    assert bind(asked, sf.Schema({"x": WIDE})).about({"x": [5]}).specification()["cuts"] == ["x"]


# refusals


@pytest.mark.parametrize(
    ("cuts", "keep", "kind", "words"),
    [
        (["yaer"], [], ParameterError, "'yaer' is none of it; did you mean 'year'"),
        (["team"], [], UnsupportedQuery, r"'team' holds neither; name some of year, month, pay"),
        (["box"], [], UnsupportedQuery, "'box' holds neither"),
        (["word"], [], UnsupportedQuery, "'word' holds neither"),
        (["pay"], ["pay == year + 1"], ParameterError, "which a rule .keep. makes"),
        ([], [], ParameterError, "cuts is empty"),
        ("year", [], ParameterError, "cuts must be a list"),
        ([3], [], ParameterError, "each of cuts"),
    ],
)
def test_cuts_of_what_has_none_are_refused_with_what_to_do(cuts, keep, kind, words):
    schema = sf.Schema(
        {"year": WIDE, "month": sf.Dates("1900-01-01", "2100-01-01"), "pay": WIDE, "box": sf.Box(0, 1, (2,), 0.5),
         "team": sf.Categories(["a", "b"]), "word": sf.Texts()}
    )  # fmt: skip
    with pytest.raises(kind, match=words):
        bind(sf.synthetic(cuts=cuts, keep=keep), schema)


def test_smooth_tables_have_no_cells_to_cut():
    with pytest.raises(ParameterError, match="leave out good_for"):
        sf.synthetic(cuts=["x"], good_for="smooth")


@pytest.mark.parametrize("cuts", [[], [3, 2], [-1], [11], [1.5], [True], "3", None, 3])
def test_cuts_of_a_file_that_cannot_be_some_are_refused(cuts):
    with pytest.raises(SchemaError, match="lattice points"):
        checked_cuts(Lattice.between(0, 10, 1), cuts)
    with pytest.raises(SfumatoError):
        bind(sf.synthetic(cuts=["x"]), sf.Schema({"x": sf.Integers(0, 10)})).told({"cuts": {"x": cuts}})
