r"""Paths of Matern kernels on the line: Markov with their derivatives, so a new value needs two neighbors only.

In time s = rate x the process is the last of k = order + 1/2 nested filters, y_1' = -y_1 + white noise,
y_i' = -y_i + y_{i-1} [HartikainenSarkka2010].  Over a step t the state moves by Phi(t) = e^{-t} sum_j N^j t^j / j! and
gains normal noise of covariance Q_ij(t) = int_0^t e^{-2u} u^{i+j} du / (i! j!), i, j < k.  Between neighbors a state is
drawn by a free step and a correction; the points between two known ones are drawn middle first, all gaps at once.
No nugget is needed.  Proof: docs/proofs/sampling-processes.md.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.deferred import function
from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.processes.kernels import Kernel, Matern, Scaled, kernel_from, points_of
from sfumato.sampling.processes.kernels.kernel import Reals
from sfumato.sampling.processes.path import refuse_closed
from sfumato.sampling.reals import normals

__all__ = ["MarkovPath", "is_markov"]

gammainc = function("scipy.special", "gammainc")

CLOSE, FAR = 1e-50, 700.0  # shorter steps move no state by a rounding error; beyond e^-700 states are independent
CHUNK = 1 << 16
SERIES_BELOW = 0.1  # above, the incomplete gamma function is quicker
FACTORIALS = (1.0, 1.0, 2.0, 6.0, 24.0)

Matrix = list[list[Reals]]


class MarkovPath:
    """A path of a Matern kernel in one dimension: any number of points, in any order, exact given those shown before.

    >>> from sfumato.randomness import seeded
    >>> from sfumato.sampling.processes.kernels import Matern32
    >>> path = MarkovPath(Matern32(1.0))
    >>> first = path.at([0.0, 1.0], seeded(1))
    >>> bool(path.at([0.5, 1.0], seeded(2))[1] == first[1])
    True
    """

    __slots__ = ("_open", "_order", "_points", "_rate", "_scale", "_states", "kernel")

    def __init__(self, kernel: Kernel) -> None:
        base = kernel.part if isinstance(kernel, Scaled) else kernel
        if not is_markov(kernel) or not isinstance(base, Matern):
            raise ParameterError(
                "kernel must be a Matern kernel in one dimension; use DensePath or series_path otherwise"
            )
        self.kernel: Kernel = kernel
        self._order = round(base.order + 0.5)
        self._rate = math.sqrt(2 * base.order) / base.length
        self._scale = math.sqrt(kernel.peak / _stationary(self._order)[-1][-1])
        self._open = True
        self._clear()

    def __repr__(self) -> str:
        return f"MarkovPath({self.kernel!r}, {len(self._points)} points shown)"

    @property
    def variance(self) -> float:
        """The variance of a value."""
        return self.kernel.peak

    def at(self, points: npt.ArrayLike, rng: Rng) -> Reals:
        """The values at the points: those already shown again, the others drawn given them."""
        refuse_closed(self._open)
        asked = points_of("points", points, 1)[:, 0] + 0.0
        if asked.size:
            merged = np.union1d(self._points, asked)
            if merged.size > self._points.size:
                self._fill(merged, rng)
        return np.asarray(self._scale * self._states[-1, np.searchsorted(self._points, asked)])

    def close(self) -> None:
        """Forget everything; nothing more can be drawn."""
        self._open = False
        self._clear()

    def to_record(self) -> dict[str, Any]:
        """The whole state, from which the path goes on: as secret as the path is."""
        refuse_closed(self._open)
        return {
            "path": "markov", "kernel": self.kernel.to_record(), "points": self._points.tolist(),
            "states": self._states.tolist(),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> MarkovPath:
        """The path that `to_record` wrote."""
        path = cls(kernel_from(record["kernel"]))
        points = np.asarray(record["points"], dtype=np.float64).reshape(-1)
        states = np.asarray(record["states"], dtype=np.float64).reshape(path._order, -1)
        if states.shape[1] != points.size or not (np.diff(points) > 0).all():
            raise ParameterError("record does not hold one state for each of its sorted points; save the path again")
        path._points, path._states = points, states
        return path

    def _clear(self) -> None:
        self._points: Reals = np.zeros(0)
        self._states: Reals = np.zeros((self._order, 0))

    def _fill(self, merged: Reals, rng: Rng) -> None:
        """Draw the states of all points that have none: the ends first, then middles of gaps, level by level."""
        states = np.empty((self._order, merged.size))
        places = np.searchsorted(merged, self._points)
        states[:, places] = self._states
        if not places.size:
            states[:, :1] = _start(self._order, 1, rng)
            places = np.array([0])
        if places[0] > 0:
            step = self._steps(merged[:1], merged[places[:1]])
            states[:, :1] = _backward(step, states[:, places[:1]], rng)
            places = np.concatenate([[0], places])
        last = merged.size - 1
        if places[-1] < last:
            step = self._steps(merged[places[-1:]], merged[last:])
            states[:, last:] = _forward(step, states[:, places[-1:]], rng)
            places = np.append(places, last)
        left, right = places[:-1], places[1:]
        while (wide := right - left > 1).any():
            left, right = left[wide], right[wide]
            middle = (left + right) // 2
            for start in range(0, middle.size, CHUNK):
                a, m, b = (part[start : start + CHUNK] for part in (left, middle, right))
                before, after = self._steps(merged[a], merged[m]), self._steps(merged[m], merged[b])
                states[:, m] = _between(before, after, states[:, a], states[:, b], rng)
            left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
        self._points, self._states = merged, states

    def _steps(self, left: Reals, right: Reals) -> Reals:
        with np.errstate(over="ignore"):
            return np.clip(self._rate * (right - left), CLOSE, FAR)


def is_markov(kernel: Kernel) -> bool:
    """Whether paths of this kernel are Markov: Matern kernels in one dimension, and multiples."""
    base = kernel.part if isinstance(kernel, Scaled) else kernel
    return isinstance(base, Matern) and base.dimension == 1


def _start(k: int, count: int, rng: Rng) -> Reals:
    """States in equilibrium."""
    return np.asarray(np.linalg.cholesky(np.array(_stationary(k))) @ normals((k, count), rng))


def _forward(step: Reals, state: Reals, rng: Rng, moments: Matrix | None = None) -> Reals:
    """A free step."""
    k = len(state)
    factor, fresh = _cholesky(moments or _moments(step, k)), normals((k, step.size), rng)
    noise = [step ** (i + 0.5) * sum(factor[i][j] * fresh[j] for j in range(i + 1)) for i in range(k)]
    return np.asarray(_moved(step, state) + np.stack(noise))


def _backward(step: Reals, state: Reals, rng: Rng) -> Reals:
    """The state a step before a known one: equilibrium, corrected by P Phi^T P^{-1} times what its free step misses."""
    k = len(state)
    covariance = np.array(_stationary(k))
    free = _start(k, step.size, rng)
    missed = state - _forward(step, free, rng)
    return np.asarray(free + covariance @ _moved_back(step, np.linalg.solve(covariance, missed)))


def _between(before: Reals, after: Reals, left: Reals, right: Reals, rng: Rng) -> Reals:
    """The state between two known ones: a free step, corrected by Q(before) Phi(after)^T Q(before + after)^{-1} times
    what the next free step misses.
    """
    k = len(left)
    own = _moments(before, k)
    free = _forward(before, left, rng, own)
    missed = right - _forward(after, free, rng)
    whole = before + after
    scaled = np.stack([missed[i] / whole ** (i + 0.5) for i in range(k)])
    solved = _solve(_cholesky(_moments(whole, k)), scaled)
    pulled = _moved_back(after, np.stack([solved[i] / whole ** (i + 0.5) for i in range(k)]))
    weighted = [before ** (j + 0.5) * pulled[j] for j in range(k)]
    pull = [before ** (i + 0.5) * sum(own[i][j] * weighted[j] for j in range(k)) for i in range(k)]
    return np.asarray(free + np.stack(pull))


def _stationary(k: int) -> list[list[float]]:
    """P_ij = (i + j)! / (i! j! 2^{i+j+1}): the covariance of a state in equilibrium."""
    return [
        [FACTORIALS[i + j] / (FACTORIALS[i] * FACTORIALS[j] * 2 ** (i + j + 1)) for j in range(k)] for i in range(k)
    ]


def _moments(step: Reals, k: int) -> Matrix:
    """Q_ij / step^{i+j+1} = int_0^1 e^{-2 step u} u^{i+j} du / (i! j!)."""
    powers = _integrals(2 * step, 2 * k - 2)
    return [[powers[i + j] / (FACTORIALS[i] * FACTORIALS[j]) for j in range(k)] for i in range(k)]


def _integrals(a: Reals, most: int) -> list[Reals]:
    """int_0^1 e^{-a u} u^n du for n = 0..most: the last by a positive series, or its closed form for large a, the rest
    downward from it, without cancellation.
    """
    decay = np.exp(-a)
    small = np.minimum(a, SERIES_BELOW)
    term = np.full_like(a, 1 / (most + 1))
    total, m = term.copy(), most + 2
    while term.max(initial=0.0) > 1e-18:
        term = term * small / m
        total, m = total + term, m + 1
    top = total * decay
    large = a > SERIES_BELOW
    if large.any():
        top[large] = FACTORIALS[most] * gammainc(most + 1, a[large]) / a[large] ** (most + 1)
    out = [top]
    for n in range(most, 0, -1):
        out.append((a * out[-1] + decay) / n)
    return out[::-1]


def _cholesky(matrix: Matrix) -> Matrix:
    """Of many small matrices at once."""
    k = len(matrix)
    out = [[np.zeros_like(matrix[0][0]) for _ in range(k)] for _ in range(k)]
    for j in range(k):
        out[j][j] = np.sqrt(matrix[j][j] - sum(out[j][m] ** 2 for m in range(j)))
        for i in range(j + 1, k):
            out[i][j] = (matrix[i][j] - sum(out[i][m] * out[j][m] for m in range(j))) / out[j][j]
    return out


def _solve(factor: Matrix, right: Reals) -> Reals:
    """(L L^T)^{-1} times a vector."""
    k = len(factor)
    out = [np.zeros_like(right[0])] * k
    for i in range(k):
        out[i] = (right[i] - sum(factor[i][m] * out[m] for m in range(i))) / factor[i][i]
    for i in reversed(range(k)):
        out[i] = (out[i] - sum(factor[m][i] * out[m] for m in range(i + 1, k))) / factor[i][i]
    return np.stack(out)


def _moved(step: Reals, state: Reals) -> Reals:
    """Phi(step) times a state."""
    k, decay = len(state), np.exp(-step)
    return np.stack([decay * sum(step**m / FACTORIALS[m] * state[i - m] for m in range(i + 1)) for i in range(k)])


def _moved_back(step: Reals, state: Reals) -> Reals:
    """Phi(step)^T times a vector."""
    k, decay = len(state), np.exp(-step)
    return np.stack([decay * sum(step**m / FACTORIALS[m] * state[i + m] for m in range(k - i)) for i in range(k)])
