"""The bounds of chains at their best: how fine, how long, under which prior.

Any part of a chain and any prior give a bound, and so does every k-th table with what k units together are promised.
Chains are taken so long that a longer one gains next to nothing, and so coarse that the least error spans some tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.bounds.line.contrast import contrasted_mean_square
from sfumato.bounds.line.divergence import FINE, divergence_variance, profile
from sfumato.bounds.line.passing import Guess, passed_mean_square
from sfumato.bounds.line.posterior import Ratios, equalizing_prior, geometric_guess
from sfumato.bounds.line.tilting import Entropies, tilted_levels
from sfumato.bounds.line.truncation import truncated_laws, truncated_variance

__all__ = ["Chain", "Loss", "chain_of_answers", "chain_of_counts"]

Array = npt.NDArray[np.float64]
LENGTHS = (22.0, 32.0, 48.0, 85.0)  # standard deviations of the least error that parts of a chain span
LONG = LENGTHS[-1]  # standard deviations of the least error, beyond which a longer chain gains half a percent
COARSE = 20.0  # tables within a standard deviation, above which tables are left out
SPACINGS = 32.0  # of the answers' lattice in a standard deviation: a relative loss of 1 / 4096
MOST_OUTPUTS = 6000
FEWEST = 20  # tables that are kept of a chain with more
SHORT = 12.0  # standard deviations, below which other duals than the line's are tried
STRETCHES = (1.0, 2.0, 6.0, 20.0)  # of rho, whose duals suit short chains
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Chain:
    """A mean square that no mechanism beats on average over a prior on the tables 0, `step`, 2 `step`, ..."""

    mean_square: float
    prior: tuple[float, ...]
    step: int = 1


@dataclass(frozen=True, slots=True)
class Loss:
    """What is promised of neighbors: epsilon and delta, or rho."""

    epsilon: float
    delta: float
    rho: float | None = None

    def variance(self) -> float:
        """The least on unbounded tables."""
        return truncated_variance(self.epsilon, self.delta) if self.rho is None else divergence_variance(self.rho)

    def grouped(self, units: int) -> Loss:
        """What then holds for so many units together, rounded up."""
        if units == 1:
            return self
        if self.rho is not None:
            return Loss(0.0, 0.0, units**2 * self.rho * (1 + 1e-14))
        grown = math.expm1(units * self.epsilon) / math.expm1(self.epsilon)
        return Loss(units * self.epsilon * (1 + 1e-14), self.delta * grown * (1 + 1e-12))


def chain_of_counts(loss: Loss, steps: int) -> Chain:
    """The bound for the counts 0..`steps`."""
    spread = _spread(loss)
    units = _units(loss, spread, steps)
    last = min(steps // units, max(2, math.ceil(LONG * spread / units)))
    return _at_best(loss, units, units * np.arange(last + 1.0), spread)


def chain_of_answers(loss: Loss, answers: Array) -> Chain:
    """The bound for the part of a chain along which its answers rise or fall the farthest."""
    rising = _longest_run(answers) if len(answers) else answers
    if len(rising) < 2:
        return Chain(0.0, (1.0,))
    spread = _spread(loss)
    units = _units(loss, spread, len(rising) - 1)
    found = [_at_best(loss, units, part, spread) for part in _parts(rising[::units], spread / units, loss)]
    return max(found, key=lambda chain: chain.mean_square)


def _parts(answers: Array, spread: float, loss: Loss) -> Iterator[Array]:
    """The parts of some lengths that change the most: where answers bend, longer ones are better for pure ones only."""
    for length in LENGTHS if loss.delta or loss.rho is not None else LENGTHS[-1:]:
        reach = max(2, math.ceil(length * spread))
        first = int(np.argmax(answers[reach:] - answers[:-reach])) if len(answers) > reach + 1 else 0
        yield answers[first : first + reach + 1]
        if len(answers) <= reach + 1:
            return


def _spread(loss: Loss) -> float:
    return math.sqrt(max(loss.variance(), 1e-12))


def _units(loss: Loss, spread: float, steps: int) -> int:
    """How many tables make one step."""
    within = COARSE if loss.rho is None else COARSE / 5  # divergences are looked at on a finer lattice
    return max(1, min(int(spread / within), steps // FEWEST))


def _at_best(loss: Loss, units: int, answers: Array, spread: float) -> Chain:
    slope = float(answers[-1] - answers[0]) / (len(answers) - 1)
    bound = _with_entropies if loss.rho is not None else _with_ratios
    mean_square, prior = bound(loss.grouped(units), answers / slope, spread / units)
    return Chain(max(0.0, slope**2 * mean_square * (1 - ROUNDING)), tuple(prior.tolist()), units)


def _longest_run(answers: Array) -> Array:
    """The answers of the consecutive tables along which they rise, or fall and are turned around, the farthest."""
    best = answers[:1]
    for turned in (answers, -answers):
        cuts = np.flatnonzero(np.diff(turned) <= 0) + 1
        best = max((best, *np.split(turned, cuts)), key=lambda run: float(run[-1] - run[0]))
    return best


def _with_ratios(loss: Loss, answers: Array, spread: float) -> tuple[float, Array]:
    """With epsilon and delta."""
    alike = 2 * math.asinh(math.sqrt(0.5) / spread)  # the epsilon of pure mechanisms with this least error
    prior = equalizing_prior(alike, answers)
    guesses, caps = [geometric_guess(loss.epsilon, answers, prior)], np.full(len(answers), math.inf)
    if loss.delta:
        _, price = truncated_laws(loss.epsilon, loss.delta).line(loss.delta)
        weights = prior * np.gradient(answers) ** 2
        caps = price / 2 * weights
        near = geometric_guess(alike, answers, prior)
        guesses.append(Guess(near.centers, near.levels + price * loss.delta * weights))
    spacing = _spacing(answers, spread, SPACINGS)
    rules = [Ratios(loss.epsilon, loss.delta, caps), Ratios(loss.epsilon, loss.delta, np.full(len(answers), math.inf))]
    tried = [(rule, guess) for rule in rules[: len(guesses)] for guess in guesses]
    return max(passed_mean_square(rule, answers, prior, guess, spacing) for rule, guess in tried), prior


def _with_entropies(loss: Loss, answers: Array, spread: float) -> tuple[float, Array]:
    """With rho."""
    weights = np.sin(np.pi * np.arange(1, len(answers) + 1) / (len(answers) + 1)) ** 2
    prior = weights / np.gradient(answers) ** 2
    weights, prior = weights / prior.sum(), prior / prior.sum()
    rho, least = loss.rho or 0.0, 0.0
    centers = geometric_guess(2 * math.asinh(math.sqrt(0.5) / spread), answers, prior).centers
    for stretch in STRETCHES if len(answers) < SHORT * spread else STRETCHES[:1]:
        dual = profile(max(rho, FINE) * stretch)
        if dual:
            rule = Entropies(rho, dual.multiplier / 2 * weights)
            guess = Guess(centers, tilted_levels(weights, dual))
            spacing = _spacing(answers, spread, SPACINGS / 2)
            least = max(least, passed_mean_square(rule, answers, prior, guess, spacing))
    short, spread_out = contrasted_mean_square(rho, answers)
    return (least, prior) if least >= short else (short, spread_out)


def _spacing(answers: Array, spread: float, within: float) -> float:
    width = float(answers[-1] - answers[0])
    return max(min(spread, width / 2) / within, width / MOST_OUTPUTS)
