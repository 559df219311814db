r"""Exactly optimal channels for small domains, by linear programs over staircase columns.

Among all epsilon-private channels on k inputs, any utility sum_z u(column z) with u convex and homogeneous of degree 1
(an f-divergence, the mutual information under a prior, the Fisher information of the frequencies) is largest at a
channel whose columns are multiples of vectors in {1, e^epsilon}^k [KairouzOhViswanath2016]: one linear program with 2^k
variables.  For a utility that does not tell the inputs apart, columns of one size suffice: subset selection.
`least_mean_variance` is the least worst variance of an unbiased one-dimensional mean, for values on a grid.
Proof: docs/proofs/local-optimal.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.channels import Channel
from sfumato.accounting.contractions import DIVERGENCES
from sfumato.accounting.exponentials import exponential
from sfumato.accounting.kinds import spelled
from sfumato.errors import ParameterError
from sfumato.local.protocols.drawing import check_count
from sfumato.privacy.guarantees import Pure
from sfumato.privacy.parameters import positive

__all__ = [
    "Optimum",
    "Utility",
    "best_subset_size",
    "frequencies",
    "least_mean_variance",
    "mutual_information",
    "optimal_channel",
    "separation",
]

Reals = npt.NDArray[np.float64]
Utility = Callable[[Reals], Reals]  # of each column: rows are columns of the channel

MOST_INPUTS = 12  # 2^12 columns
NEGLIGIBLE = 1e-11  # weights below it are rounding errors of the program
SPARE = Fraction(1, 1 << 30)  # of every column: far above what rounding leaves a row, far below what costs utility
INWARD = Fraction(1, 1 << 40)  # of the ratio: so that the floats nearest to the rationals meet epsilon too


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The largest utility, and a channel that attains it but for a billionth: rationals that meet epsilon exactly."""

    value: float
    channel: Channel

    @property
    def matrix(self) -> Reals:
        """The channel in floats (inputs x outputs), which still meets epsilon."""
        return self.channel.floats()


def optimal_channel(utility: Utility, k: int, epsilon: float) -> Optimum:
    """The best of all epsilon-private channels on k inputs.

    >>> found = optimal_channel(mutual_information([0.5, 0.5]), 2, 1.0)
    >>> found.matrix.shape, round(found.value, 6)
    ((2, 2), 0.110944)
    """
    from scipy.optimize import linprog  # only where the server optimizes

    check_count("k", k, 2, MOST_INPUTS)
    columns = np.array(list(itertools.product((1.0, math.exp(positive("epsilon", epsilon))), repeat=k)))[:-1]
    gains = _gains(utility, columns)
    found = linprog(-gains, A_eq=columns.T, b_eq=np.ones(k), method="highs")
    if not found.success:
        raise ParameterError(f"epsilon = {epsilon!r} makes the linear program fail; take one between 0.01 and 20")
    kept = found.x > NEGLIGIBLE
    chosen, weights = columns[kept], found.x[kept]
    weights = weights + np.linalg.lstsq(chosen.T, 1 - weights @ chosen, rcond=None)[0]  # the program is off by 1e-9
    return Optimum(float(gains @ found.x), _rational(chosen > 1, np.maximum(weights, 0.0), epsilon))


def _gains(utility: Utility, columns: Reals) -> Reals:
    """The utility of each column; the raw errors of arrays that do not fit are replaced."""
    try:
        gains = np.asarray(utility(columns), dtype=np.float64)
    except (ValueError, TypeError, IndexError):
        gains = np.zeros(0)
    if gains.shape != (len(columns),) or not np.isfinite(gains).all():
        raise ParameterError(
            f"utility must give one finite number for each of {len(columns)} columns of {columns.shape[1]} inputs; "
            f"its priors must name {columns.shape[1]} inputs each"
        )
    return gains


def _rational(high: npt.NDArray[np.bool_], weights: Reals, epsilon: float) -> Channel:
    """The channel of these columns with entries u and u r, r a rational below e^epsilon; one row of `high` a column.

    All columns are made smaller by SPARE, and what rows then lack goes to the largest: nearly the same for all inputs,
    it draws that column's entries closer together.
    """
    low, _ = exponential(Fraction(epsilon), 96)
    ratio = low * (1 - INWARD)
    units = [Fraction(weight) * (1 - SPARE) for weight in weights.tolist()]
    rows = [[unit * ratio if up else unit for unit, up in zip(units, row, strict=True)] for row in high.T.tolist()]
    largest = int(np.argmax(weights))
    for row in rows:
        row[largest] += 1 - sum(row, Fraction(0))
    channel = Channel(rows)
    if not channel.verify(Pure(epsilon)).holds:
        raise ParameterError(f"epsilon = {epsilon!r} is too small for a channel of rationals; take one above 1e-6")
    return channel


def mutual_information(prior: Sequence[float]) -> Utility:
    """What a report tells about its input, in nats."""
    weights = _law(prior)

    def utility(columns: Reals) -> Reals:
        mass = columns @ weights
        return np.asarray((columns * np.log(columns / mass[:, None])) @ weights)

    return utility


def separation(kind: str, first: Sequence[float], second: Sequence[float]) -> Utility:
    """A divergence of the outputs of two input laws; kinds as in `accounting.contractions`."""
    measure = DIVERGENCES[spelled("kind", kind, DIVERGENCES)]
    p, q = _law(first), _law(second)

    def utility(columns: Reals) -> Reals:
        return np.array([measure(a, b) for a, b in zip(columns @ p, columns @ q, strict=True)])

    return utility


def frequencies(prior: Sequence[float]) -> Utility:
    """The Fisher information of the frequencies at `prior`, summed over directions that keep their total."""
    weights = _law(prior)

    def utility(columns: Reals) -> Reals:
        centered = columns - columns.mean(axis=1, keepdims=True)
        return np.asarray((centered**2).sum(axis=1) / (columns @ weights))

    return utility


def best_subset_size(k: int, epsilon: float, goal: str = "frequencies") -> tuple[int, float]:
    """The best size of subset columns under the uniform prior, and its utility; optimal among all channels.

    `goal` is "frequencies" (Fisher information) or "mutual-information".

    >>> best_subset_size(4096, 1.0)[0]
    1102
    """
    check_count("k", k, 2, 1 << 24)
    d = np.arange(1, k)
    grown = math.exp(positive("epsilon", epsilon))
    mass = (d * grown + k - d) / k
    if goal == "frequencies":
        values = (grown - 1) ** 2 * d * (k - d) / k / mass**2
    elif goal == "mutual-information":
        values = d / k * grown / mass * math.log(grown) - np.log(mass)
    else:
        raise ParameterError(f'goal must be "frequencies" or "mutual-information", got {goal!r}')
    best = int(np.argmax(values))
    return int(d[best]), float(values[best])


def least_mean_variance(epsilon: float, inputs: int = 21, outputs: int = 121) -> float:
    """The least worst variance of an unbiased epsilon-private report of a value on a grid in [-1, 1].

    Outputs are restricted to a grid as well, so this is a reference, not a bound; finer grids settle it.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    check_count("inputs", inputs, 3, 201)
    check_count("outputs", outputs, 5, 1001)
    grown = math.exp(positive("epsilon", epsilon))
    x = np.linspace(0, 1, inputs // 2 + 1)  # by symmetry K(-z | -x) = K(z | x)
    half = math.exp(epsilon / 2)
    z = np.linspace(-1, 1, outputs | 1) * (half + 1) / (half - 1)  # the reach of the piecewise mechanism
    m, size = len(x), len(z)
    floor = m * size + np.minimum(np.arange(size), size - 1 - np.arange(size))  # the least of each output, symmetric
    worst = m * size + size // 2 + 1
    cell = np.arange(m * size)
    place, at = np.tile(floor, m), np.arange(m).repeat(size)
    ones = np.ones(m * size)
    rows = [
        (cell, cell, -ones),
        (cell, place, ones),
        (m * size + cell, cell, ones),
        (m * size + cell, place, -grown * ones),
    ]
    rows += [(2 * m * size + at, cell, np.tile(z**2, m)), (2 * m * size + np.arange(m), np.full(m, worst), -np.ones(m))]
    upper = _sparse(coo_matrix, rows, 2 * m * size + m, worst + 1)
    equal = _sparse(coo_matrix, [(at, cell, ones), (m + at, cell, np.tile(z, m))], 2 * m, worst + 1)
    cost = np.zeros(worst + 1)
    cost[worst] = 1
    limits = np.concatenate([np.zeros(2 * m * size), x**2])
    found = linprog(cost, A_ub=upper, b_ub=limits, A_eq=equal, b_eq=np.concatenate([np.ones(m), x]), method="highs-ipm")
    if not found.success:
        raise ParameterError(f"epsilon = {epsilon!r} makes the linear program fail; take one between 0.05 and 8")
    return float(found.fun)


def _sparse(build: Callable[..., Any], rows: list[tuple[Any, Any, Any]], height: int, width: int) -> Any:
    i, j, values = (np.concatenate(part) for part in zip(*rows, strict=True))
    return build((values, (i, j)), shape=(height, width)).tocsr()


def _law(prior: Sequence[float]) -> Reals:
    weights = np.asarray(prior, dtype=np.float64)
    if weights.ndim != 1 or np.any(weights < 0) or not math.isclose(float(weights.sum()), 1.0, abs_tol=1e-9):
        raise ParameterError("prior must hold probabilities that add up to 1, one for each input")
    return weights
