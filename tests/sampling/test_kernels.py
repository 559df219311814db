"""Kernels: formulas by a second route, Fourier coefficients, norms, records, and refusals."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from sfumato.errors import ParameterError, SchemaError
from sfumato.randomness import seeded
from sfumato.sampling.processes import DensePath, grid_path, kernel_from
from sfumato.sampling.processes.grids import is_stationary
from sfumato.sampling.processes.kernels import (
    KERNELS,
    Gaussian,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Scaled,
    Sobolev,
    Sum,
    Supplied,
    Tensor,
)
from sfumato.sampling.processes.kernels.supplied import refuse_indefinite

LINE = [
    Gaussian(0.4),
    Matern12(0.4),
    Matern32(0.4),
    Matern52(0.4),
    Periodic(0.9, 2.0),
    Sobolev(1),
    Sobolev(2, end=3.0),
    Polynomial(3, radius=3.0),
    Scaled(Matern32(1.0), 2.5),
    Sum((Gaussian(0.3), Polynomial(1, radius=3.0))),
]
PLANE = [Gaussian(0.5, 2), Matern52(0.5, 2), Tensor((Matern12(0.5), Sobolev(2))), Polynomial(2, 3.0, dimension=2)]
every = pytest.mark.parametrize("kernel", LINE + PLANE, ids=repr)


def points(kernel, count=40):
    return np.random.default_rng(1).random((count, kernel.dimension)) * 0.99


# claims


@pytest.mark.parametrize(("kind", "order"), [(Matern12, 0.5), (Matern32, 1.5), (Matern52, 2.5)])
def test_matern_is_the_bessel_formula(kind, order):
    r = np.linspace(0.01, 3, 50)
    a = math.sqrt(2 * order) * r / 0.7
    expected = 2 ** (1 - order) / math.gamma(order) * a**order * special.kv(order, a)
    assert np.allclose(kind(0.7).gram([0.0], r)[0], expected, rtol=1e-12)


@every
def test_is_symmetric_positive_and_below_its_peak(kernel):
    gram = kernel.gram(points(kernel))
    assert np.array_equal(gram, gram.T)
    assert np.linalg.eigvalsh(gram)[0] > -1e-12 * len(gram) * kernel.peak
    assert np.diagonal(gram).max() <= kernel.peak
    assert np.allclose(gram[:7, 7:], kernel.gram(points(kernel)[:7], points(kernel)[7:]), rtol=1e-12, atol=0)


@pytest.mark.parametrize("kernel", [k for k in LINE if is_stationary(k)], ids=repr)
def test_fourier_coefficients_sum_to_the_periodized_kernel(kernel):
    period, t = 2.0, np.linspace(0, 1.9, 11)
    images = np.arange(-400, 401) * period if not isinstance(kernel, Periodic) else np.zeros(1)
    folded = kernel.gram(np.zeros(1), (t[:, None] + images).ravel()).reshape(t.size, -1).sum(axis=1)
    n = np.arange(-200_000, 200_001)[:, None]
    weights = kernel.coefficients(np.abs(n), (period,))
    series = np.cos(2 * math.pi * t[:, None] * n[:, 0] / period) @ weights
    assert (weights >= 0).all()
    assert np.allclose(series, folded, atol=3e-6)  # the slowest, Matern 1/2, leaves 1/200,000 of its tail


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5, 2), Matern32(0.4, 2), Tensor((Gaussian(0.5), Matern52(0.5)))], ids=repr
)
def test_fourier_coefficients_in_the_plane(kernel):
    periods, side = (2.0, 3.0), np.arange(-150, 151)
    n = np.stack([part.ravel() for part in np.meshgrid(side, side)], axis=1)
    weights = kernel.coefficients(np.abs(n), periods)
    t = np.array([[0.0, 0.0], [0.3, -0.7], [1.0, 1.0]])
    images = np.stack(
        [part.ravel() for part in np.meshgrid(np.arange(-30, 31) * 2.0, np.arange(-30, 31) * 3.0)], axis=1
    )
    for at in t:
        folded = kernel.gram(at[None], images).sum()
        assert math.isclose(folded, np.cos(2 * math.pi * (n / periods) @ at) @ weights, abs_tol=2e-4)


def test_reproducing_norms_are_those_of_the_docstrings():
    """|K(x, .)|^2 = K(x, x), the norm integrated from its definition."""
    for x in (0.3, 0.8):
        bend = integrate.quad(lambda s, x=x: max(x - s, 0.0) ** 2, 0, 1)[0]
        assert math.isclose(1 + x**2 + bend, Sobolev(2).gram([x])[0, 0], rel_tol=1e-9)
        assert math.isclose(1 + x, Sobolev(1).gram([x])[0, 0])
    length = 0.7
    squares = integrate.quad(lambda r: math.exp(-2 * r / length), 0, 20)[0] * 2
    assert math.isclose((length * squares / length**2 + squares / length) / 2, 1.0, rel_tol=1e-9)


# laws


@every
def test_a_record_brings_the_kernel_back(kernel):
    assert kernel_from(kernel.to_record()) == kernel


def test_every_named_kernel_is_tested():
    assert {kernel.to_record()["kernel"] for kernel in LINE + PLANE} == set(KERNELS)


def test_smoothness_is_said():
    assert [k.derivatives for k in (Matern12(1.0), Matern32(1.0), Matern52(1.0))] == [0, 1, 2]
    assert Tensor((Gaussian(1.0), Matern32(1.0))).derivatives == 1


# refusals


@pytest.mark.parametrize("length", [0.0, -1.0, math.nan, math.inf, "wide", True])
def test_refuses_a_length_that_is_none(length):
    for kind in (Gaussian, Matern12, Matern32, Matern52):
        with pytest.raises(ParameterError, match="length must be a finite number above 0"):
            kind(length)


def test_refuses_a_supplied_kernel_that_is_not_positive_definite():
    squared = Supplied(lambda x, y: (x - y.T) ** 2 / 100 + 0.5, peak=1.0)
    with pytest.raises(ParameterError, match=r"not positive definite.*choose a covariance function"):
        squared.gram(np.arange(4.0))
    with pytest.raises(ParameterError, match="not positive definite"):
        DensePath(squared).at(np.arange(4.0), seeded(1))
    path = DensePath(squared)
    path.at([0.0], seeded(1))
    with pytest.raises(ParameterError, match="together with those shown before"):
        path.at([20.0], seeded(1))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, y: x + 0 * y.T, "not symmetric"),
        (lambda x, y: 2 * np.exp(-((x - y.T) ** 2)), "exceeds its declared peak"),
        (lambda x, y: np.full((len(x), len(y)), np.nan), "finite"),
        (lambda x, y: np.zeros(3), "matrix, got shape"),
    ],
)
def test_refuses_a_supplied_kernel_that_is_none(function, reason):
    with pytest.raises(ParameterError, match=reason):
        Supplied(function, peak=1.0).gram(np.arange(4.0))


def test_a_supplied_kernel_that_is_one_passes():
    kernel = Supplied(lambda x, y: np.exp(-np.abs(x - y.T)), peak=1.0)
    assert np.allclose(kernel.gram([0.0, 1.0]), Matern12(1.0).gram([0.0, 1.0]))
    refuse_indefinite(kernel.gram(np.linspace(0, 1, 50)), 1.0)
    with pytest.raises(ParameterError, match="cannot be saved"):
        kernel.to_record()


def test_refuses_points_outside_and_of_another_shape():
    with pytest.raises(ParameterError, match=r"lie in \[0, 1\]"):
        Sobolev(1).gram([1.5])
    with pytest.raises(ParameterError, match="ball of radius"):
        Polynomial(2, 1.0).gram([1.5])
    with pytest.raises(ParameterError, match=r"\(n, 2\) array"):
        Gaussian(1.0, 2).gram([1.0, 2.0])
    with pytest.raises(ParameterError, match="finite"):
        Gaussian(1.0).gram([math.nan])


def test_refuses_a_grid_in_ten_dimensions_with_a_reason():
    with pytest.raises(ParameterError, match=r"10 dimensions is refused.*10\^10.*DensePath"):
        grid_path(Gaussian(1.0, 10), (0.0,) * 10, (1.0,) * 10, (10,) * 10, seeded(1))
    assert DensePath(Gaussian(1.0, 10)).at(np.zeros((1, 10)), seeded(1)).shape == (1,)


def test_refuses_unknown_records_and_forms():
    with pytest.raises(SchemaError, match="unknown kernel 'magic'"):
        kernel_from({"kernel": "magic"})
    with pytest.raises(SchemaError, match="does not have the fields"):
        kernel_from({"kernel": "gaussian", "width": 1.0})
    for kernel in (Sobolev(1), Polynomial(2, 1.0), Supplied(lambda x, y: x * y.T, 1.0)):
        with pytest.raises(ParameterError, match="Fourier form"):
            kernel.coefficients(np.zeros((1, 1), dtype=np.int64), (1.0,))
    with pytest.raises(ParameterError, match="the kernel's own"):
        Periodic(1.0, 2.0).coefficients(np.zeros((1, 1), dtype=np.int64), (3.0,))
    with pytest.raises(ParameterError, match="one dimension"):
        Sum((Gaussian(1.0), Gaussian(1.0, 2)))
