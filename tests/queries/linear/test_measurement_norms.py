"""What a measurement says of its columns, against every pair of columns and every move of a unit; in whole numbers."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.mechanisms import EllipticGaussian, Strategy
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind
from sfumato.queries.linear.bodies import Moves
from sfumato.queries.linear.doors import workload
from sfumato.queries.linear.measurements import Dense, Hierarchy, Interactions, Kronecker, Tables, Toeplitz
from sfumato.spaces import Integers
from sfumato.spaces.schema import Schema

weights = st.integers(0, 9) | st.integers(0, 4096) | st.just(0)


@st.composite
def hierarchies(draw, most=20):
    """Any branching, random weights, fewer cells than the top block, sometimes levels beyond what is needed."""
    ratios = draw(st.lists(st.integers(2, 3) | st.just(2), max_size=4))
    widths = tuple(itertools.accumulate([1, *ratios], lambda a, b: a * b))
    cells = draw(st.integers(1, min(widths[-1], most)))
    sums = [draw(weights) for _ in widths]
    differences = [draw(weights) if ratio == 2 else 0 for ratio in ratios]
    for level in range(len(widths)):  # every level must be determined: by sums at it or below, or by its differences
        if not any(sums[: level + 1]) and not any(differences[level : level + 1]):
            sums[level] = draw(st.integers(1, 9))
    return Hierarchy(cells, widths, tuple(sums), tuple(differences))


@st.composite
def matrices(draw, most=6):
    """Any rows, entries of wildly different sizes."""
    entries = st.integers(-3, 3) | st.integers(-(2**61), 2**61) | st.integers(2**60, 2**60 + 9) | st.just(0)
    cells = draw(st.integers(1, most))
    return Dense.of(draw(st.lists(st.lists(entries, min_size=cells, max_size=cells), min_size=1, max_size=5)))


@st.composite
def products(draw):
    """A measurement for each of two axes."""
    return Kronecker((draw(hierarchies(most=4)), draw(hierarchies(most=3) | matrices(most=3))))


@st.composite
def tables(draw):
    """Some of the tables of up to three axes, axes of one cell among them."""
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    all_axes = [axes for k in range(len(shape) + 1) for axes in itertools.combinations(range(len(shape)), k)]
    kept = draw(st.lists(st.sampled_from(all_axes), min_size=1, unique=True))
    return Tables(shape, tuple(kept), tuple(draw(st.integers(1, 4096)) for _ in kept))


@st.composite
def crossed(draw):
    """Some of the interactions of up to three axes."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    wide = [i for i, n in enumerate(shape) if n > 1]
    all_axes = [axes for k in range(len(wide) + 1) for axes in itertools.combinations(wide, k)]
    kept = draw(st.lists(st.sampled_from(all_axes), min_size=1, unique=True))
    return Interactions(shape, tuple(kept), tuple(draw(st.integers(1, 9) | st.integers(1, 2**20)) for _ in kept))


@st.composite
def convolutions(draw, most=9):
    """Any coefficients and scales."""
    cells = draw(st.integers(1, most))
    rest = draw(st.lists(st.integers(0, 9) | st.integers(0, 2**20), min_size=cells - 1, max_size=cells - 1))
    scales = draw(st.lists(st.integers(1, 2**12), min_size=cells, max_size=cells))
    return Toeplitz((draw(st.integers(1, 2**20)), *rest), tuple(scales))


measurements = st.one_of(hierarchies(), matrices(), products(), tables(), crossed(), convolutions())


def columns(measurement):
    """The columns as tuples of whole numbers, from the measurement of one row at a time."""
    unit = np.eye(measurement.cells, dtype=np.int64)
    return [tuple(int(entry) for entry in measurement.apply(row)) for row in unit]


def power_sum(vector, norm):
    return sum(abs(entry) ** (1 if norm == "l1" else 2) for entry in vector)


def largest(vectors, norm):
    return max((power_sum(vector, norm) for vector in vectors), default=0)


def claimed(amount, norm):
    """The claim as a sum of powers, exactly."""
    return Fraction(amount) ** (1 if norm == "l1" else 2)


def differences_of(vectors):
    return [tuple(a - b for a, b in zip(one, other, strict=True)) for one, other in itertools.combinations(vectors, 2)]


@settings(max_examples=400, deadline=None)
@given(measurements, st.sampled_from(["l1", "l2"]))
def test_norms_cover_every_column_and_every_pair(measurement, norm):
    alone, apart = measurement.norms(norm)
    own = columns(measurement)
    assert claimed(alone, norm) >= largest(own, norm)
    assert claimed(apart, norm) >= largest(differences_of(own), norm)
    assert claimed(alone, norm) <= largest(own, norm) * Fraction(1 + 4e-9)


@settings(max_examples=300, deadline=None)
@given(hierarchies() | matrices(), st.sampled_from(["l1", "l2"]))
def test_norms_of_one_axis_are_attained_by_a_pair(measurement, norm):
    _, apart = measurement.norms(norm)
    assert claimed(apart, norm) <= largest(differences_of(columns(measurement)), norm) * Fraction(1 + 4e-9)


small = st.one_of(hierarchies(most=4), matrices(most=4), convolutions(most=4))


@settings(max_examples=150, deadline=None)
@given(small, st.sampled_from(["l1", "l2"]), st.integers(1, 3), st.booleans())
def test_no_unit_moves_a_measurement_by_more_than_is_charged(measurement, norm, rows, replaced):
    own = [np.array(column, dtype=object) for column in columns(measurement)]
    held = [
        sum((k * column for k, column in zip(counts, own, strict=True)), 0 * own[0])
        for counts in itertools.product(range(rows + 1), repeat=len(own))
        if sum(counts) <= rows
    ]
    moves = [one - other for one, other in itertools.combinations(held, 2)] if replaced else held
    sensitivity = Moves(alone=True, apart=replaced, rows=rows).sensitivity(norm, *measurement.norms(norm))
    assert claimed(sensitivity, norm) >= largest(moves, norm)


def pair_differences(cells):
    return [[(j == i) - (j == i + 1) for j in range(cells)] for i in range(0, cells, 2)]


@pytest.mark.parametrize("unit", [Row(), Person("id", 2)])
@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()])
@pytest.mark.parametrize("target", [Pure(0.5), Concentrated(0.1), Approximate(0.2, 1e-3)])
def test_counts_and_pair_differences_cost_what_every_pair_of_cells_can_do(target, adjacency, unit):
    schema = Schema({"x": Integers(0, 15, missing=0)}, unit, adjacency, size=100)
    question = bind(workload("x", ["each"], pair_differences(16)), schema)
    norm = "l1" if isinstance(target, Pure) else "l2"
    mechanism = (Strategy if norm == "l1" else EllipticGaussian).calibrate(question, target)
    own = columns(mechanism.measurement)
    moves = differences_of(own) if isinstance(adjacency, Replace) else own
    moves += own if isinstance(unit, Person) else []
    moved = unit.rows * largest(moves, norm) ** (1.0 if norm == "l1" else 0.5)
    claim = mechanism.guarantee()
    if norm == "l1":
        assert claim.epsilon >= moved / mechanism.scale * (1 - 1e-12)
    elif isinstance(target, Concentrated):
        assert claim.rho >= moved**2 / (2 * mechanism.sigma**2) * (1 - 1e-12)
    else:
        from sfumato.privacy.gaussian import gaussian_delta

        assert claim.delta >= gaussian_delta(mechanism.sigma, moved * (1 - 1e-12), claim.epsilon) * (1 - 1e-9)


def test_a_stored_hierarchy_is_charged_by_its_own_weights():
    """A release made when only the topmost differences were counted twice shows the larger claim when rebuilt."""
    schema = Schema({"x": Integers(0, 3, missing=0)}, Row(), Replace(), size=100)
    question = bind(workload("x", ["each"]), schema)
    record = {"kind": "hierarchy", "cells": 4, "widths": [1, 2, 4], "sums": [0, 0, 1], "differences": [5, 1]}
    rebuilt = EllipticGaussian(question, 10.0, record)
    top_only = 2 * (25 + 1) + 2 * 1
    assert rebuilt.guarantee().rho >= 100 / (2 * 10.0**2) > top_only / (2 * 10.0**2)
