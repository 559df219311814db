r"""Answers made consistent with one table of counts, at no cost: functions of a release alone.

Least squares: the counts that fit the noisy answers best; for equal independent noise on d rows of rank r the mean
square falls by the factor r / d.  Non-negative: the same over counts that are not negative.  Maximum entropy: among
counts of a given size, the flattest that fits, for queries that were not asked.  Post-processing cannot weaken a
guarantee.  Proof: docs/proofs/strategy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.linear.matrix import Linear

__all__ = ["Consistent", "Errors", "errors", "least_squares", "maximum_entropy", "nonnegative"]

Floats = npt.NDArray[np.float64]
LARGEST = 4096  # cells for which the fit is written out
ROUNDS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Consistent:
    """Counts and the answers they give; `gain` is the factor by which the mean square falls, where it is known."""

    counts: Floats
    answers: Floats
    gain: float | None = None

    def to(self, other: Linear) -> Floats:
        """Answers to another workload over the same cells, asked or not."""
        return np.asarray(other.apply(self.counts), dtype=np.float64)


def least_squares(linear: Linear, answers: npt.ArrayLike) -> Consistent:
    """The counts of least norm among those of least squares; `answers` with equal independent noise on each row."""
    noisy = _checked(linear, answers)
    _must_be_small(linear)
    matrix = linear.dense().astype(np.float64)
    counts, _, rank, _ = np.linalg.lstsq(matrix, noisy, rcond=1e-11)
    return Consistent(np.asarray(counts, dtype=np.float64), matrix @ counts, linear.rows / int(rank))


def nonnegative(linear: Linear, answers: npt.ArrayLike) -> Consistent:
    """The least squares over counts that are not negative."""
    from scipy.optimize import lsq_linear

    noisy = _checked(linear, answers)
    _must_be_small(linear)
    matrix = linear.dense().astype(np.float64)
    found = lsq_linear(matrix, noisy, bounds=(0, np.inf), method="trf", lsmr_tol="auto", max_iter=200)
    counts = np.maximum(found.x, 0.0)
    return Consistent(counts, matrix @ counts)


def maximum_entropy(linear: Linear, answers: npt.ArrayLike, size: float, deviation: float) -> Consistent:
    """Counts that add up to `size`: the least entropy lost plus misfit, the noise having this standard deviation.

    Minimizes KL(x / size || uniform) size + ||W x - answers||^2 / (2 deviation^2) by exponentiated gradient with
    backtracking; any size of workload.
    """
    noisy = _checked(linear, answers)
    if not (math.isfinite(size) and size > 0 and math.isfinite(deviation) and deviation > 0):
        raise ParameterError("size and deviation must be finite and positive")
    logs = np.zeros(linear.cells)
    step = 1.0
    value, slope = _entropic(linear, noisy, size, deviation, logs)
    for _ in range(ROUNDS):
        fresh, fresh_slope = _entropic(linear, noisy, size, deviation, logs - step * slope)
        if fresh > value:
            step /= 2
            if step < 1e-12:
                break
            continue
        change = value - fresh
        logs, value, slope = logs - step * slope, fresh, fresh_slope
        step *= 1.2
        if change < 1e-9 * max(1.0, abs(value)):
            break
    counts = _softmax(logs) * size
    return Consistent(counts, np.asarray(linear.apply(counts), dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Errors:
    """One error vector in three norms, and its mean moments: E |e|, E e^2, E |e|^3, E e^4 over the rows."""

    l1: float
    l2: float
    linf: float
    moments: tuple[float, float, float, float]


def errors(truth: npt.ArrayLike, answers: npt.ArrayLike) -> Errors:
    """How far answers lie from the truth; for experiments, since the truth is secret.

    >>> errors([0.0, 0.0], [3.0, -4.0])
    Errors(l1=7.0, l2=5.0, linf=4.0, moments=(3.5, 12.5, 45.5, 168.5))
    """
    gap = np.abs(np.asarray(answers, dtype=np.float64) - np.asarray(truth, dtype=np.float64))
    moments = tuple(float((gap**order).mean()) for order in (1, 2, 3, 4))
    l2 = float(np.sqrt((gap**2).sum()))
    return Errors(float(gap.sum()), l2, float(gap.max()), moments)  # type: ignore[arg-type]


def _entropic(linear: Linear, noisy: Floats, size: float, deviation: float, logs: Floats) -> tuple[float, Floats]:
    """The objective over size, and its slope along the logarithms, scaled so that a step of one is of order one."""
    shares = _softmax(logs)
    gap = (np.asarray(linear.apply(shares * size), dtype=np.float64) - noisy) / deviation
    entropy = float((shares * np.log(np.maximum(shares * linear.cells, 1e-300))).sum())
    slope = np.log(np.maximum(shares * linear.cells, 1e-300)) + linear.adjoint(gap) / deviation
    largest = max(1.0, float(np.abs(slope - (shares * slope).sum()).max()))
    return entropy + float((gap**2).sum()) / (2 * size), (slope - float((shares * slope).sum())) / largest


def _softmax(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _checked(linear: Linear, answers: npt.ArrayLike) -> Floats:
    noisy = np.asarray(answers, dtype=np.float64)
    if noisy.shape != (linear.rows,) or not np.isfinite(noisy).all():
        raise ParameterError(f"answers must be {linear.rows} finite numbers, one for each row of the workload")
    return noisy


def _must_be_small(linear: Linear) -> None:
    if linear.cells > LARGEST or not linear.is_small:
        raise UnsupportedQuery(
            f"a fit over {linear.cells} cells is too large to write out (at most {LARGEST}); releases by a strategy "
            "are consistent already"
        )
