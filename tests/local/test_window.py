"""The optimized window: exact on any scores, and within 3 % of the best channel that a linear program finds."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from cases import SMALL_WINDOW
from exact import check_claim, check_draws, check_estimates
from scipy.optimize import linprog

from sfumato.errors import ParameterError
from sfumato.local.protocols import Hybrid, OptimizedWindow
from sfumato.privacy.guarantees import Pure


def program(epsilon, inputs=9, outputs=61):
    """The least worst variance of unbiased channels on a grid: m(z) <= p(z|x) <= e^epsilon m(z), p(z|-x) = p(-z|x)."""
    ratio, half = math.exp(epsilon), math.exp(epsilon / 2)
    reach = 1.15 * max((ratio + 1) / (ratio - 1), (half + 1) / (half - 1))
    x, z = np.linspace(0, 1, inputs), np.linspace(-reach, reach, outputs)
    n, one = inputs * outputs, np.ones((inputs, 1))
    eye, none = sp.identity(n), sp.csr_matrix((n, 1))
    ways = [sp.kron(one, sp.identity(outputs)), sp.kron(one, sp.csr_matrix(np.fliplr(np.eye(outputs))))]
    rows = [sp.hstack([-eye, way, none]) for way in ways] + [sp.hstack([eye, -ratio * way, none]) for way in ways]
    per_input = [sp.kron(sp.identity(inputs), row[None]) for row in (z**2, np.ones(outputs), z)]
    empty = sp.csr_matrix((inputs, outputs))
    rows.append(sp.hstack([per_input[0], empty, -one]))
    equal = sp.vstack([sp.hstack([part, empty, 0 * one]) for part in per_input[1:]])
    cost = np.zeros(n + outputs + 1)
    cost[-1] = 1
    found = linprog(
        cost, sp.vstack(rows).tocsr(), np.r_[np.zeros(4 * n), x**2], equal.tocsr(), np.r_[np.ones(inputs), x],
        bounds=(0, None), method="highs",
    )  # fmt: skip
    assert found.success
    return found.fun


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.5, 2.0, 3.0, 5.0])
def test_the_worst_variance_is_near_the_least_possible(epsilon):
    best, hybrid = (kind.calibrate(-1, 1, Pure(epsilon)).risk(1) for kind in (OptimizedWindow, Hybrid))
    assert best <= 1.03 * program(epsilon)
    assert best <= hybrid * 1.001


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
def test_the_claim_is_the_exact_channels(epsilon):
    protocol = OptimizedWindow.calibrate(-1, 3, Pure(epsilon))
    check_claim(protocol, Pure(epsilon))
    at = protocol._sums - protocol._sums[0]
    points = -1 + 4 * at / protocol.lattice
    check_estimates(protocol, [[x] for x in points], points[:, None])


def test_every_value_of_a_small_one_is_exact():
    """Scores (-5, -2, -1, 1, 2, 5), windows of two: values between them mix two rows, unbiased, within `worst`."""
    protocol = SMALL_WINDOW
    check_claim(protocol, Pure(10.0))
    sums = protocol._sums - protocol._sums[0]
    rows = np.array(protocol.channel(), dtype=float)
    scores = np.array(protocol.scores_of)
    offset, slope = protocol.line()
    for place in range(protocol.lattice + 1):
        law = np.array([np.interp(place, sums, rows[:, j]) for j in range(6)])
        assert law @ scores == pytest.approx(float(offset + slope * place))
        spread = law @ scores**2 - (law @ scores) ** 2
        assert protocol.spread(np.array([place]))[0] == pytest.approx(spread)
        assert spread <= protocol.worst() * (1 + 1e-12)


def test_reports_follow_the_channel():
    other = OptimizedWindow(-1.0, 3.0, 2, Fraction(3, 16), SMALL_WINDOW.scores_of)
    sums = SMALL_WINDOW._sums
    values = -1 + 4 * (sums - sums[0]) / SMALL_WINDOW.lattice
    check_draws(SMALL_WINDOW, other, values.tolist(), 571)


def test_refuses_scores_that_are_not_odd_or_do_not_rise():
    with pytest.raises(ParameterError, match="odd"):
        OptimizedWindow(-1.0, 1.0, 2, Fraction(1, 4), (-5, 1, 2, 5))
    with pytest.raises(ParameterError, match="rise"):
        OptimizedWindow(-1.0, 1.0, 2, Fraction(1, 4), (-1, -1, -1, 1, 1, 1))
    with pytest.raises(ParameterError, match="window must be"):
        OptimizedWindow(-1.0, 1.0, 4, Fraction(1, 4), (-2, -1, 1, 2))
