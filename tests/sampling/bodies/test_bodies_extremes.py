"""Columns of wildly different magnitudes: no direction loses its noise, no draw leaves the lattice's integers."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.elimination import rank, spanned
from sfumato.errors import ParameterError, SfumatoError
from sfumato.mechanisms import NIM, NoiseBody
from sfumato.mechanisms.geometry.noise_body import Columns
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Cube, Ellipsoid, Hull, Image, LpBall
from sfumato.sampling.bodies.lattice import FARTHEST, RoundedNoise, rounded

magnitudes = st.integers(-3, 3) | st.sampled_from([0, 1, -1]) | st.integers(0, 52).map(lambda k: 2**k)
powers = st.floats(-20, 3).map(lambda k: 10.0**k)


@st.composite
def wild(draw, most=6):
    """Whole numbers, each row of its own size."""
    width = draw(st.integers(2, most))
    rows = draw(st.lists(st.lists(magnitudes, min_size=width, max_size=width), min_size=2, max_size=3))
    return np.array(rows, dtype=np.int64)


def made(matrix, epsilon, kind):
    """The mechanism, or None if it is refused in our own words."""
    try:
        query = Columns("wild", matrix)
        return NIM.calibrate(query, Pure(epsilon)) if kind == "nim" else NoiseBody.calibrate(query, Pure(epsilon))
    except SfumatoError:
        return None


@settings(max_examples=80, deadline=None)
@given(wild(), powers, st.sampled_from(["hull", "nim"]))
@example(np.array([[0, 1], [0, 2**24]]), 1e-11, "hull")
def test_every_row_that_moves_gets_noise(matrix, epsilon, kind):
    mechanism = made(matrix, epsilon, kind)
    if mechanism is None or epsilon > 0.2:
        return
    zero = np.zeros(len(matrix), dtype=np.int64)
    draws = np.array([mechanism.release(zero, seeded(i)) for i in range(12)])
    for row, noise in zip(matrix, draws.T, strict=True):
        assert not row.any() or len(set(noise.tolist())) > 2
        exact = kind == "hull" and mechanism.noise.exact  # whole numbers of any size, drawn as such
        assert exact or max(abs(int(z)) for z in noise) < 2**62


@settings(max_examples=60, deadline=None)
@given(wild())
def test_a_hull_has_the_exact_dimension_or_is_refused(matrix):
    if not matrix.any():
        return
    hull = Hull(matrix)
    assert hull.degrees == rank(matrix)
    try:
        frame = hull.frame
    except ParameterError:
        return
    assert frame.rank == hull.degrees
    gap = np.abs(frame.lift @ frame.columns - hull.columns)
    assert (gap <= 1e-7 * np.abs(matrix).max(axis=1, keepdims=True)).all()
    outside = matrix[:, 0] + np.eye(len(matrix), dtype=np.int64)
    flags = spanned(matrix.T, outside)
    assert np.isinf(hull.gauge_bound(outside.astype(float))[~flags]).all()


@pytest.mark.parametrize("heavy", [10**3, 10**9, 2 * 10**10, 10**14])
def test_a_light_row_beside_a_heavy_one_keeps_its_noise(heavy):
    columns = np.array([[heavy] * 3, [0, 1, -1]])
    mechanism = made(columns, 1.0, "hull")
    if heavy >= 10**14:
        assert mechanism is None  # beyond what doubles can draw
        return
    light = np.array([mechanism.release(np.zeros(2, dtype=int), seeded(i))[1] for i in range(200)])
    assert light.std() > 0.5


@pytest.mark.parametrize("epsilon", [1e-4, 1e-6, 1e-7])
@pytest.mark.parametrize(
    "body",
    [None, LpBall(2, 2.0, 3e13), Ellipsoid(np.eye(2) * 9e26), Image(Cube(2), np.eye(2) * 2e13 + 0.5)],
)
def test_noise_beyond_the_doubles_is_refused_before_it_is_drawn(body, epsilon):
    columns = Columns("w", [[10**13, 0, 10**13], [0, 10**13, 10**13]])
    with pytest.raises(ParameterError, match="coarser lattice"):
        NoiseBody.calibrate(columns, Pure(epsilon), body)
    with pytest.raises(ParameterError, match="coarser lattice"):
        NIM.calibrate(columns, Pure(epsilon))


def test_draws_at_the_edge_of_what_is_allowed_stay_fine_grained():
    noise = RoundedNoise(LpBall(3, 2.0, 1.0), 4 / FARTHEST)
    draws = noise.sample(3000, seeded(2))
    assert draws.dtype == np.int64
    assert np.abs(draws).max() < 2**53
    assert abs(float((draws % 2).mean()) - 0.5) < 0.05  # the last bit is a fair coin: doubles still resolve it


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=5))
def test_rounding_is_exact_at_every_size(numbers):
    assert rounded(np.array(numbers)).tolist() == [round(number) for number in numbers]


def test_columns_that_are_not_whole_doubles_are_refused():
    with pytest.raises(ParameterError, match="rescale"):
        NoiseBody.calibrate(Columns("w", np.array([[2**53, 1], [0, 1]])), Pure(1.0))
