r"""Chains under (epsilon, delta): what is held may be passed on at the rate e^-epsilon, up to a cap that costs delta.

For pure mechanisms the levels are those of the two-sided geometric law followed by the best guess from its output,
which no pure mechanism beats on average [GhoshRoughgardenSundararajan2012].  Proof: docs/proofs/bounds-posterior.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.bounds.line.passing import Guess

__all__ = ["Ratios", "equalizing_prior", "geometric_guess"]

Array = npt.NDArray[np.float64]
ROUNDS = 200  # of the prior's improvement
BOLD = 2.2  # the first power of a step, halved where it goes too far
LEAST = 0.01  # smaller ones are none
EVEN = 2e-3  # how far apart the tables' errors may stay: of the bound that costs a tenth of it at most


@dataclass(frozen=True, slots=True)
class Ratios:
    """Of what a table holds, e^-epsilon times as much or less is passed on, at most its cap; delta times the most."""

    epsilon: float
    delta: float
    caps: Array
    price: float = 0.0

    def exchange(self, table: int, held: Array, step: int) -> tuple[Array, float, float]:
        """See `Rule`; who holds less than nothing passes on what it would with nothing."""
        least = min(0.0, float(np.minimum.reduce(held)))
        passed, cap = math.exp(-self.epsilon) * (held - least), float(self.caps[table])
        if cap < math.inf:
            passed = np.minimum(passed, cap)
        return passed, least, self.delta * float(passed.max()) if self.delta else 0.0


def geometric_guess(epsilon: float, answers: Array, prior: Array) -> Guess:
    """Where the two-sided geometric law's outputs, guessed from in the best way, leave nothing at their roots."""
    centers, spreads = _guesses(_Smoothing.of(epsilon, len(answers)), answers, prior)
    return Guess(centers, _unsmoothed(epsilon, spreads))


def equalizing_prior(epsilon: float, answers: Array) -> Array:
    """A prior near the worst for the geometric law of epsilon: under it the tables' mean squares are about the same."""
    places = (np.arange(len(answers)) + 0.5) / len(answers)
    prior = (np.sin(np.pi * places) ** 2 + 1e-3) / np.gradient(answers) ** 2
    prior /= prior.sum()
    law, smoothing = _unsmoothed(epsilon, np.ones(len(answers))), _Smoothing.of(epsilon, len(answers))
    twice, squares = 2 * answers, answers**2
    best, kept, seen, power = 0.0, prior, answers, BOLD
    for _ in range(ROUNDS):
        centers, _ = _guesses(smoothing, answers, prior)
        whole, first, second = smoothing.moments(law, centers)
        errors = np.maximum(second - twice * first + squares * whole, 1e-300)
        mean = float(prior @ errors)
        if mean > best:
            best, kept, seen = mean, prior, errors
        else:
            power /= 2
        if seen.max() < best * (1 + EVEN) or power < LEAST:
            break
        prior = kept * (seen / best) ** power
        prior /= prior.sum()
    return kept


@dataclass(frozen=True, slots=True)
class _Smoothing:
    """The sums of e^-epsilon|t - k| times values, by its inverse, which has three diagonals and is factored once."""

    factors: tuple[Array, Array]
    worth: float

    @classmethod
    def of(cls, epsilon: float, tables: int) -> _Smoothing:
        """For so many tables."""
        from scipy.linalg.lapack import dpttrf  # scipy: only when asked

        decay = math.exp(-epsilon)
        diagonal = np.full(tables, 1 + decay**2)
        diagonal[[0, -1]] = 1.0
        *factors, failed = dpttrf(diagonal, np.full(tables - 1, -decay))
        if failed:
            raise np.linalg.LinAlgError("the tables' smoothing is singular")
        return cls((factors[0], factors[1]), -math.expm1(-2 * epsilon))

    def moments(self, weights: Array, values: Array) -> Array:
        """The sums of weights, of weights times values, and of weights times their squares: a row for each."""
        from scipy.linalg.lapack import dpttrs

        columns = np.empty((3, len(weights)))
        columns[0] = weights
        np.multiply(weights, values, out=columns[1])
        np.multiply(weights, values**2, out=columns[2])
        solved, _ = dpttrs(*self.factors, columns.T, overwrite_b=True)
        smoothed: Array = solved.T
        smoothed *= self.worth
        return smoothed


def _guesses(smoothing: _Smoothing, answers: Array, prior: Array) -> tuple[Array, Array]:
    """Of each output of the geometric law: the mean of the answers given it, and its mass times their variance."""
    whole, first, second = smoothing.moments(prior, answers)
    centers = first / whole
    return centers, second - first * centers


def _unsmoothed(epsilon: float, values: Array) -> Array:
    decay = math.exp(-epsilon)
    inverse = values * (1 + decay**2)
    inverse[[0, -1]] = values[[0, -1]]
    inverse[1:] -= decay * values[:-1]
    inverse[:-1] -= decay * values[1:]
    return inverse / -math.expm1(-2 * epsilon)
