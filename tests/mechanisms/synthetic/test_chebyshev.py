"""Chebyshev features as whole numbers: what they are, and how far one unit moves their sums."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.auditing import audit_sensitivity
from sfumato.errors import ParameterError
from sfumato.mechanisms.synthetic.chebyshev import (
    Chebyshev,
    _largest_difference,
    _product_difference,
    degrees_below,
    degrees_up_to,
)
from sfumato.queries.features import Axis


def schema_of(columns, width, replaced, unit=None):
    spaces = {f"c{i}": sf.Integers(0, width) for i in range(columns)}
    adjacency, size = (sf.Replace(), 2) if replaced else (sf.AddRemove(), None)
    return sf.Schema(spaces, unit or sf.Row(), adjacency, size)


def summed(features, rows):
    table = np.array(rows, dtype=np.int64).reshape(-1, len(features.axes))
    names = [f"c{i}" for i in range(len(features.axes))]
    return features.sums([{name: table[:, i] for i, name in enumerate(names)}], names)[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5000), st.integers(1, 300), st.integers(1, 9))
def test_values_follow_the_cosines_to_a_unit(width, cells, order):
    axis = Axis.cut(width, cells)
    features = Chebyshev((axis, axis), degrees_below(2, order + 1))
    places = np.random.default_rng(0).integers(0, axis.cells, (50, 2))
    found = features.values(places)
    assert np.abs(found).max() <= features.scale
    assert np.abs(found / features.scale - features.at(axis.positions()[places])).max() < 1.1 / features.scale


def test_cells_cover_the_lattice():
    for width, cells in [(1, 5), (10, 3), (999, 1000), (1000, 1000), (123_456, 4096)]:
        axis = Axis.cut(width, cells)
        assert axis.cells <= max(cells, 2) or axis.step == 1
        assert (np.arange(width + 1) // axis.step).max() == axis.cells - 1
        points = 2 * np.arange(width + 1) / width - 1
        assert np.abs(points - axis.positions()[np.arange(width + 1) // axis.step]).max() <= axis.reach + 1e-12
        assert (axis.middles() // axis.step == np.arange(axis.cells)).all()


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_claimed_moves_cover_all_small_tables_and_are_nearly_attained(replaced, norm):
    """Two columns of 5 points, order 3: every table of one row, or two, beside its neighbors; missing rows too."""
    features, schema = Chebyshev((Axis.cut(4),) * 2, degrees_below(2, 3)), schema_of(2, 4, replaced)
    records = [*itertools.product(range(0, 5, 2), repeat=2), (1, 4), (-1, 3)]
    pairs = [
        ([one, other], [third, other] if replaced else [one, other, third])
        for one, third in itertools.product(records, repeat=2)
        for other in ((4, 4), (0, 2))
    ]
    claimed = features.sensitivity(norm, schema)
    assert not audit_sensitivity(lambda rows: summed(features, rows), claimed, norm, pairs=pairs).refuted
    assert audit_sensitivity(lambda rows: summed(features, rows), 0.9 * claimed, norm, pairs=pairs).refuted


def test_the_printed_sensitivity_is_broken():
    """Claimed is t^d / n; one replacement moves 1.08 t / n to 1.20 t / n for d = 1, and 2 d / n at degree one."""
    for order, least in ((4, 1.07), (32, 1.19)):
        features = Chebyshev((Axis.cut(1000),), degrees_below(1, order), scale=1000)
        assert features.apart("l1") > least * order * 1000
    assert Chebyshev((Axis.cut(4),) * 3, degrees_up_to(3, 1)).apart("l1") == 2 * 3 * 2**20


@pytest.mark.parametrize(("columns", "cells", "order"), [(1, 60, 5), (2, 9, 4), (2, 12, 3), (3, 5, 2)])
def test_products_of_kernels_give_the_same_bound_as_all_pairs(columns, cells, order):
    axes = (Axis.cut(cells - 1),) * columns
    pairs = _largest_difference(Chebyshev(axes, degrees_below(columns, order)), "l2") / 2**20
    assert _product_difference(axes, order) == pytest.approx(pairs, abs=1e-4)


def test_replacing_costs_root_two_times_adding_on_large_grids():
    features = Chebyshev((Axis.cut(10_000, 100),) * 2, degrees_below(2, 4))
    assert features.apart("l2") / features.alone("l2") == pytest.approx(math.sqrt(2), rel=0.05)


def test_persons_multiply():
    features = Chebyshev((Axis.cut(4),), degrees_below(1, 3))
    one, many = (features.sensitivity("l1", schema_of(1, 4, False, sf.Person("id", m))) for m in (1, 7))
    assert many == 7 * one


def test_degrees_are_listed_once_by_total():
    assert len(degrees_up_to(30, 2)) == 30 + 30 * 31 // 2
    assert [sum(degree) for degree in degrees_below(3, 3)] == sorted(sum(degree) for degree in degrees_below(3, 3))
    assert len(set(degrees_up_to(4, 3))) == len(degrees_up_to(4, 3)) == math.comb(7, 3) - 1


@pytest.mark.parametrize("choices", [
    {"degrees": ()}, {"degrees": ((0,),)}, {"degrees": ((1, 2),)}, {"degrees": ((1,),), "scale": 0}, {"axes": ()},
])  # fmt: skip
def test_refuses_nonsense(choices):
    with pytest.raises(ParameterError, match="must"):
        Chebyshev(**{"axes": (Axis.cut(4),), "degrees": ((1,),), **choices})
