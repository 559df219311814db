r"""Which questions of a workload to measure, and with what noise: multiplicative weights on rows of a model.

Made rows stand for the universe, however large it is.  In rounds, the exponential mechanism chooses the questions that
the weighted rows answer worst, these are measured, and the weights are fitted again: those of maximum entropy, each
answer believed as far as its noise permits.  Where the budget is enough for all questions, all are measured at once.
All numbers are whole: a question's misfit is the l1 distance of its exact numbers from whole ones that the weighted
rows expect, so that one unit moves it by at most its reach, with no rounding to pay for.  Beside the questions stands
the choice of none, which asks for less noise [HardtLigettMcSherry2012; GaboardiEtAl2014].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.noise import Noise, Reach, noisy
from sfumato.mechanisms.synthetic.smooth.fit import ROUNDS, WORK, tilted
from sfumato.mechanisms.synthetic.workload.seeds import Seeds
from sfumato.queries.goals import UNIT, Batch, Goal
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["MOST_TOTAL", "Answer", "Fitting", "measured", "moved", "planned"]

CHOOSING = Fraction(1, 10)  # of what an answer gets chooses it
MARGIN = 0.5  # of the logarithm of the questions, over the rate: what the best of as many idle ones would reach
NOISE = 0.8  # of a standard deviation, the mean absolute noise
MOST_ROUNDS, MOST_MEASURED = 24, 192
FINE = 0.0015  # of the rows: the noise of an answer that the first rounds are planned for
HIGHEST = 2**45  # the score of none, at most
MOST_TOTAL = 2.0**40  # rows
WORTH = 2000.0  # rows that the shape of the made ones is worth
STEPS, BRIEFLY = 4, 10**8  # of fitting between rounds
SURE = 2.0  # standard deviations of an answer that noise alone hardly reaches; it grows with the log of the numbers

Reals = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]
Features = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A measured question: its place in the workload, noisy shares of the rows, and the noise's scale and deviation."""

    goal: int
    shares: Reals
    scale: float
    deviation: float
    amount: Fraction


@dataclass(slots=True)
class Fitting:
    """Weights of made rows, fitted to all answers so far."""

    goals: Sequence[Goal]
    answers: list[Answer] = field(default_factory=list)
    tilt: Reals = field(default_factory=lambda: np.zeros(0))
    seeds: Seeds = field(default_factory=Seeds)  # the last rows of every batch

    def features(self, batch: Batch) -> Reals:
        """What each row gives to each measured number, one row a number."""
        found = np.zeros((batch.rows, sum(len(answer.shares) for answer in self.answers)), dtype=np.float32)
        at = 0
        for answer in self.answers:
            self.goals[answer.goal].spread(batch, found[:, at : at + len(answer.shares)])
            at += len(answer.shares)
        return np.asarray(found.T, dtype=np.float64)

    def weights(self, features: Reals, steps: int = ROUNDS, work: int = WORK) -> Reals:
        """Weights of rows with these features; the tilt is kept to start from, and before it seeds get theirs."""
        start = np.concatenate([self.tilt, np.zeros(len(features) - len(self.tilt))])
        wanted = np.concatenate([answer.shares for answer in self.answers])
        errors = np.concatenate([np.full(len(answer.shares), answer.deviation) for answer in self.answers])
        self.tilt, weights = tilted(features, wanted, errors, WORTH, start, steps, work, self._prior(features))
        return weights

    def equal(self, rows: int) -> Reals:
        """Equal weights of rows, of which the seeds weigh nothing."""
        weights = np.zeros(rows)
        weights[: rows - len(self.seeds)] = 1 / (rows - len(self.seeds))
        return weights

    def _prior(self, features: Reals) -> Reals | None:
        """Equal weights, and to seeds what measured answers say beyond what rows have, where it is more than noise."""
        if not len(self.seeds):
            return None
        weights, at = self.equal(features.shape[1]), 0
        held, sure = weights[-len(self.seeds) :], SURE * math.sqrt(1 + math.log(self.seeds.many))
        for answer in self.answers:
            own = np.flatnonzero(self.seeds.goals == answer.goal)
            numbers, inverse, many = np.unique(self.seeds.numbers[own], return_inverse=True, return_counts=True)
            if len(own):
                told = answer.shares[numbers]
                beyond = told - features[at + numbers] @ weights
                beyond = np.where(told > sure * answer.deviation, beyond.clip(0.0, 1.0), 0.0)
                held[own] += (beyond / many)[inverse]
            at += len(answer.shares)
        return np.asarray(weights / weights.sum())


def moved(noise: Noise, goals: Sequence[Goal]) -> Noise:
    """The noise of answers: one unit moves a single number by UNIT for each of its rows, also where they change."""
    several = any(goal.size > 1 for goal in goals)
    return type(noise)(Reach(UNIT * noise.reach.rows, both=noise.reach.both and several))


def planned(noise: Noise, amount: Fraction, goals: Sequence[Goal], total: float) -> int:
    """How many questions an amount is planned to measure, from public quantities."""
    alone = math.sqrt(noise.law(noise.scales(amount, [1])[0]).variance) / (UNIT * max(1.0, total))
    times = FINE / max(alone, 1e-12)
    enough = times**2 if noise.apart else times
    return min(len(goals), MOST_MEASURED, max(8, round(min(enough, 1e6))))


def measured(
    goals: Sequence[Goal],
    exact: Sequence[Whole],
    pool: Batch,
    total: float,
    noise: Noise,
    amount: Fraction,
    rng: Rng,
    seeds: Seeds | None = None,
) -> Fitting:
    """The answers of a workload, and the weights that rows of the model get by them; `noise` is that of `moved`."""
    fitting, many = Fitting(goals, seeds=seeds or Seeds()), planned(noise, amount, goals, total)
    rows = fitting.seeds.beside(pool)
    if many >= len(goals):
        for place, scale in enumerate(noise.scales(amount, [goal.size for goal in goals])):
            fitting.answers.append(_measured(place, exact[place], total, noise, scale, amount, rng))
        fitting.weights(fitting.features(rows))
        return fitting
    ends = np.cumsum([0, *(goal.size for goal in goals)])
    features: Features = np.zeros((rows.rows, int(ends[-1])), dtype=np.float32)
    for place, goal in enumerate(goals):
        goal.spread(rows, features[:, ends[place] : ends[place + 1]])
    weights = fitting.equal(rows.rows)
    left, each, count = amount, amount / many, -(-many // MOST_ROUNDS)
    while left > 0:
        each = left if 2 * left < 3 * each else each
        allowed = min(count, int(left / each))
        scale = noise.scales(each * (1 - CHOOSING), [1])[0]
        scores = _scored(exact, ends, weights, features, total, math.sqrt(noise.law(scale).variance))
        told = {answer.goal for answer in fitting.answers if answer.amount >= each}
        chosen, choices = _chosen(scores, told, allowed, noise, each, rng)
        for place in chosen:
            fitting.answers.append(_measured(place, exact[place], total, noise, scale, each, rng))
        left -= each * (choices * CHOOSING + len(chosen) * (1 - CHOOSING))
        if chosen:
            columns = np.concatenate([np.arange(ends[one.goal], ends[one.goal + 1]) for one in fitting.answers])
            weights = fitting.weights(features[:, columns].T.astype(np.float64), STEPS, BRIEFLY)
        if len(chosen) < allowed:
            if each >= left:
                break
            each = min(left, each * noise.halving)
    return fitting


def _measured(place: int, exact: Whole, total: float, noise: Noise, scale: float, amount: Fraction, rng: Rng) -> Answer:
    """The numbers of one question with noise, as shares of the rows."""
    law, whole = noise.law(scale), UNIT * total
    found = noisy(exact, law, rng) / whole
    return Answer(place, np.asarray(found), scale, max(math.sqrt(law.variance) / whole, 1e-9), amount)


def _scored(
    exact: Sequence[Whole], ends: Whole, weights: Reals, features: Features, total: float, deviation: float
) -> Whole:
    """For each question how far its numbers lie from those of the weighted rows, less the noise of measuring them."""
    shares = np.nan_to_num(weights.astype(np.float32) @ features, nan=0.0).clip(0.0, 2.0)  # so that all fit in 64 bits
    expected = np.rint(UNIT * min(total, MOST_TOTAL) * shares.astype(np.float64)).astype(np.int64)
    apart = np.abs(np.concatenate(exact) - expected)
    cost = math.floor(NOISE * deviation)
    return np.asarray(np.add.reduceat(apart, ends[:-1]) - cost * np.diff(ends))


def _chosen(scores: Whole, told: set[int], count: int, noise: Noise, each: Fraction, rng: Rng) -> tuple[list[int], int]:
    """Questions chosen one after another, or none, and how many choices were made."""
    left = [place for place in range(len(scores)) if place not in told]
    rate = noise.rate(each * CHOOSING, noise.reach.l1, 1)
    chosen: list[int] = []
    while left and len(chosen) < count:
        none = min(HIGHEST, round(MARGIN * math.log(1 + len(left)) / rate))
        values = np.append(scores[left], none)
        place = choose(values.max() - values, rate, rng)
        if place == len(left):
            return chosen, len(chosen) + 1
        chosen.append(left.pop(place))
    return chosen, len(chosen)
