r"""The minimum of sum_i c_i l(<w, phi_i>, y_i) + (penalty / 2) ||w||^2, to a stated distance.

With ||phi_i|| <= 1 and slopes at most 1, w is within ||gradient(w)|| / penalty of the minimum.  Newton's steps, halved
while they do not descend, are followed by accelerated gradient steps should they not suffice; those reach any tolerance
at a rate that does not depend on the rows [Nesterov2018].  Gradients are summed in chunks of CHUNK rows and the chunks
without error, so that rounding stays within FLOATING for up to 2^24 rows.  Proof: docs/proofs/functions-learning.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sfumato.answers.curves import Floats
from sfumato.queries.functions.losses import Loss

__all__ = ["TOLERANCE", "Problem", "minimum"]

TOLERANCE = 1e-3  # of the gradient's norm at the end, rounding included; a row's own gradient is at most 1
STOP, FLOATING = 5e-4, 5e-4
CHUNK = 4096
NEWTON, HALVINGS = 40, 30


@dataclass(frozen=True)
class Problem:
    """Distinct rows with their multiplicities; features are looked up axis by axis and never held for all rows."""

    places: tuple[np.ndarray, ...]  # for each axis the grid point of each row
    axes: tuple[Floats, ...]  # for each axis the features of its grid points
    targets: Floats
    counts: Floats
    penalty: float
    loss: Loss

    @property
    def size(self) -> int:
        """The number of coefficients."""
        return math.prod(axis.shape[1] for axis in self.axes)

    def chunks(self) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Features, targets and multiplicities."""
        for start in range(0, len(self.targets), CHUNK):
            part = slice(start, start + CHUNK)
            out = np.ones((len(self.targets[part]), 1))
            for axis, place in zip(self.axes, self.places, strict=True):
                own = axis[place[part]]
                out = (out[:, :, None] * own[:, None, :]).reshape(len(out), -1)
            yield out, self.targets[part], self.counts[part]

    def objective(self, w: Floats) -> float:
        """What is minimized."""
        total = self.penalty / 2 * float(w @ w)
        return total + math.fsum(float(c @ self.loss.value(phi @ w, y)) for phi, y, c in self.chunks())

    def gradient(self, w: Floats) -> Floats:
        """Chunks are added without error."""
        parts = [phi.T @ (c * self.loss.slope(phi @ w, y)) for phi, y, c in self.chunks()]
        sums = np.array([math.fsum(column) for column in zip(*parts, strict=True)]) if parts else np.zeros(self.size)
        return np.asarray(sums + self.penalty * w)

    def hessian(self, w: Floats) -> Floats:
        """Second derivatives."""
        out = self.penalty * np.eye(self.size)
        for phi, y, c in self.chunks():
            out += (phi * (c * self.loss.bend(phi @ w, y))[:, None]).T @ phi
        return np.asarray(out)


def minimum(problem: Problem) -> Floats:
    """A point whose gradient is at most TOLERANCE long."""
    w = np.zeros(problem.size)
    gradient = problem.gradient(w)
    value = problem.objective(w)
    for _ in range(NEWTON):
        if np.linalg.norm(gradient) <= STOP:
            return w
        step = np.linalg.solve(problem.hessian(w), gradient)
        for halving in range(HALVINGS):
            tried = w - step / 2**halving
            reached = problem.objective(tried)
            if reached <= value - 1e-4 / 2**halving * float(step @ gradient):
                break
        else:
            break
        w, value = tried, reached
        gradient = problem.gradient(w)
    return _accelerated(problem, w)


def _accelerated(problem: Problem, w: Floats) -> Floats:
    """Constant momentum; the number of steps that theory needs from anywhere in the ball of the minimum."""
    smooth = problem.loss.curvature * float(problem.counts.sum()) + problem.penalty
    root = math.sqrt(problem.penalty / smooth)
    momentum = (1 - root) / (1 + root)
    distance = 2 * float(problem.counts.sum()) / problem.penalty + 1
    steps = math.ceil(2 / root * math.log(max(2.0, 4 * smooth * distance / STOP))) + 1
    ahead = w
    for _ in range(steps):
        gradient = problem.gradient(ahead)
        if np.linalg.norm(gradient) <= STOP:
            return ahead
        moved = ahead - gradient / smooth
        ahead, w = moved + momentum * (moved - w), moved
    return w
