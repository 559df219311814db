"""Suprema over a box of three dimensions: the bound from the grid holds at every point, for the worst functions too."""

import math

import numpy as np
import pytest

from sfumato.answers.curves.expansion import Expansion
from sfumato.answers.curves.suprema import Padded, supremum
from sfumato.answers.curves.waves import Cosine, Fourier
from sfumato.sampling import DiscreteLaplace, RoundedNormal

RNG = np.random.default_rng(77)


def random_expansion() -> Expansion:
    axes = []
    for _ in range(3):
        kind = Fourier if RNG.random() < 0.5 else Cosine
        low = float(RNG.uniform(-3, 3))
        axes.append(kind(low, low + float(np.exp(RNG.uniform(-2, 2))), tuple(range(1, int(RNG.integers(1, 4)) + 1))))
    return Expansion(tuple(axes))


def everywhere(expansion: Expansion, count: int) -> np.ndarray:
    low, high = np.array(expansion.domain).T
    return low + (high - low) * RNG.random((count, 3))


@pytest.mark.parametrize("expansion", [random_expansion() for _ in range(6)], ids=lambda e: str(e.size))
def test_no_point_lies_above_the_bound_from_the_grid(expansion):
    coefficients = RNG.standard_normal((20, expansion.size))
    bound = Padded(expansion).suprema(coefficients)
    values = np.abs(coefficients @ expansion.design(everywhere(expansion, 20_000)).T).max(axis=1)
    assert (values <= bound).all()
    assert (bound <= 1.5 * values).all()  # not by being loose


@pytest.mark.parametrize("waves", [1, 2, 5])
def test_the_bound_is_attained_halfway_between_grid_points(waves):
    """The product of fastest waves whose peak lies as far from the grid as can be: there the bound is exact."""
    axes = tuple(Fourier(0.0, 1.0, tuple(range(1, waves + 1))) for _ in range(3))
    expansion = Expansion(axes)
    peak = (expansion.grid()[0][0] + expansion.grid()[0][1]) / 2
    line = np.zeros(axes[0].size)
    line[-2:] = np.cos(2 * math.pi * waves * peak), np.sin(2 * math.pi * waves * peak)
    coefficients = np.einsum("i,j,k->ijk", line, line, line).reshape(1, -1)
    top = abs((coefficients @ expansion.design(np.full((1, 3), peak)).T).item())
    bound = float(Padded(expansion).suprema(coefficients)[0])
    assert top <= bound
    if waves > 1:  # one wave alone is looked at twice as finely
        assert bound <= top * (1 + 1e-6)


@pytest.mark.heavy
@pytest.mark.parametrize("law", [RoundedNormal(30.0), DiscreteLaplace(20.0)], ids=lambda law: type(law).__name__)
def test_fresh_noise_exceeds_the_supremum_as_rarely_as_stated(law):
    """400 fresh curves at beta 0.2: more than 130 outside have probability below 1e-9."""
    expansion = Expansion(tuple(Fourier(0.0, 1.0, (1,)) for _ in range(3)))
    units = RNG.uniform(0.2, 1.0, expansion.size)
    bound = supremum(expansion, units, law, 0.2)
    shape = (400, expansion.size)
    noise = np.rint(RNG.normal(0, 30.0, shape)) if isinstance(law, RoundedNormal) else _geometric(20.0, shape)
    values = np.abs((noise * units) @ expansion.design(everywhere(expansion, 4000)).T).max(axis=1)
    assert np.count_nonzero(values > bound) <= 130
    assert np.count_nonzero(values > 0.5 * bound) > 40


def _geometric(scale: float, shape: tuple[int, ...]) -> np.ndarray:
    p = 1 - math.exp(-1 / scale)
    return RNG.geometric(p, shape) - RNG.geometric(p, shape)
