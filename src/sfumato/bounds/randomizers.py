r"""The least worst loss of any randomizer of one record, by linear program: for finitely many values of the record.

The program: minimize r subject to sum_y loss(x, y) p(y|x) <= r, p(.|x) a law, f_y <= p(y|x) <= e^epsilon f_y, for given
answers y.
The bound is the dual's, checked and not trusted: a prior pi and prices mu, one of each for a value, with
    G(y) = sum_x phi(pi_x loss(x, y) - mu_x) >= g for every answer y,   phi(u) = min(u, e^epsilon u),
give a worst loss of at least sum mu + min(g, 0) for every epsilon-private randomizer with these answers.  On a line
G is piecewise linear in y, so its least value over all real answers is found among 3 k of them.  With delta it is
sum mu less (k - 1) delta sum max(mu, 0).  Proof: docs/proofs/bounds-randomizers.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import nonnegative, probability, rounded_down

__all__ = ["LARGEST", "Program", "best_channel", "least_distance", "least_loss", "line_losses", "spread_out"]

Reals = npt.NDArray[np.float64]
Losses = tuple[tuple[float, ...], ...]

LARGEST = 20.0  # epsilon; beyond it the ratios are too large for a linear program in doubles
ROUNDING = 2.0**-46  # of G, relative to the sum of its terms in size
POINTS = 33  # values of a line that are looked at: more change the third digit at most


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """The solution: the best channel (values x answers) up to rounding, and the dual's prior and prices."""

    channel: Reals
    prior: Reals
    prices: Reals


@lru_cache(maxsize=512)
def best_channel(losses: Losses, epsilon: float) -> Program | None:
    """The epsilon-private channel with the least worst mean loss; None where the program finds none."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity, kron, vstack

    if nonnegative("epsilon", epsilon) > LARGEST:
        return None
    loss = np.array(losses)
    k, m = loss.shape
    cells, floors = identity(k * m, format="csr"), kron(np.ones((k, 1)), identity(m)).tocsr()
    nothing, row = csr_matrix((k * m, 1)), kron(identity(k), np.ones((1, m))).tocsr()
    private = vstack([hstack([-cells, floors, nothing]), hstack([cells, -math.exp(epsilon) * floors, nothing])])
    worst = hstack([row.multiply(loss.ravel()), csr_matrix((k, m)), -np.ones((k, 1))])
    found = linprog(
        np.append(np.zeros(k * m + m), 1.0),
        A_ub=vstack([private, worst]).tocsr(), b_ub=np.zeros(2 * k * m + k),
        A_eq=hstack([row, csr_matrix((k, m + 1))]).tocsr(), b_eq=np.ones(k), method="highs",
    )  # fmt: skip
    prior = np.maximum(-found.ineqlin.marginals[-k:], 0.0) if found.success else np.zeros(k)
    if not prior.sum() > 0.5:  # it is 1 but for rounding
        return None
    channel = np.maximum(found.x[: k * m].reshape(k, m), 0.0)
    return Program(channel, prior / prior.sum() * (1 - 2.0**-40), np.asarray(found.eqlin.marginals))


def least_loss(losses: Losses, epsilon: float, delta: float = 0.0) -> float:
    """The least worst mean loss of a record, for answers among the given ones.

    >>> flips = ((0.0, 1.0), (1.0, 0.0))
    >>> round(least_loss(flips, 1.0) * (1 + math.e), 9)
    1.0
    """
    program = best_channel(losses, epsilon)
    if program is None:
        return 0.0
    return _value(program, np.array(losses).T, epsilon, probability("delta", delta))


def spread_out(width: int, points: int = POINTS) -> tuple[int, ...]:
    """Evenly spread values of 0..width, both ends among them."""
    return tuple(np.unique(np.rint(np.linspace(0, width, min(points, width + 1))).astype(np.int64)).tolist())


def line_losses(places: tuple[int, ...]) -> Losses:
    """The distances of places on a line over that of the ends."""
    held = np.array(places)
    return tuple(map(tuple, (np.abs(held[:, None] - held) / (places[-1] - places[0])).tolist()))


def least_distance(width: int, epsilon: float, delta: float = 0.0) -> float:
    """The least worst mean distance of a whole number in 0..width from any real answer, over the width.

    >>> round(least_distance(100, 1.0), 3)  # of the diameter alone: 0.269
    0.316
    """
    places = spread_out(width)
    program = best_channel(line_losses(places), epsilon)
    if program is None:
        return 0.0
    x = np.array(places) / width
    reach = np.divide(program.prices, program.prior, out=np.zeros_like(x), where=program.prior > 0)
    answers = np.clip(np.concatenate([x, x - reach, x + reach]), 0.0, 1.0)
    return _value(program, np.abs(answers[:, None] - x), epsilon, probability("delta", delta))


def _value(program: Program, losses: Reals, epsilon: float, delta: float) -> float:
    """The dual's value, for a row of losses an answer: what G lacks is taken off, rounding and all."""
    grown = math.exp(epsilon) * (1 + 2.0**-50)
    paid = program.prior * losses - program.prices
    slack = np.minimum(paid, grown * paid).sum(axis=1)
    rounding = ROUNDING * grown * (program.prior * (losses + 1) + np.abs(program.prices)).sum(axis=1)
    prices = program.prices + min(float((slack - rounding).min()), 0.0) / len(program.prices)
    lost = (len(prices) - 1) * delta * float(np.maximum(prices, 0.0).sum())
    return rounded_down(max(0.0, float(prices.sum()) - lost))
