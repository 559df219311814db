"""What the mechanisms that measure a histogram share: reading answers from a measurement, and their margins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.numeric import normal_point
from sfumato.queries.linear.factors import Whole
from sfumato.queries.linear.matrix import Linear
from sfumato.queries.linear.measurements import Measurement, measurement_from
from sfumato.queries.linear.workload import Workload
from sfumato.sampling import RoundedNormal
from sfumato.sampling.weighted_sums import SMALL, discrete_laplace, rounded_normal, sum_quantiles

__all__ = ["answers_of", "checked_histogram", "coefficients_of", "laplace_margins", "measurement_of", "normal_margins"]

Floats = npt.NDArray[np.float64]
LARGEST_COEFFICIENTS = 4_000_000
LARGEST_SOLVED = 40_000_000  # measurements times cells
LITTLE = 0.01  # of sigma: what rounding may add before the law itself is asked


class Asked(Protocol):
    """Whatever asks for linear answers."""

    @property
    def linear(self) -> Linear:
        """The answers as a matrix over the cells."""


def measurement_of(measurement: Measurement | Mapping[str, Any]) -> Measurement:
    """A measurement, or the one that a record describes."""
    return measurement_from(measurement) if isinstance(measurement, Mapping) else measurement


def checked_histogram(counts: Whole, query: Workload) -> Whole:
    """The counts, if their shape fits; their values are never looked at."""
    if counts.shape != (query.linear.cells,):
        raise ParameterError(
            f"query {query.name!r} is over {query.linear.cells} cells, got counts of shape {counts.shape}"
        )
    return counts


def answers_of(query: Workload, measurement: Measurement, output: Whole) -> Floats:
    """The workload's answers by least squares: a function of the output alone."""
    counts = measurement.solve(np.asarray(output, dtype=np.float64))
    return np.asarray(query.linear.apply(counts), dtype=np.float64)


def laplace_margins(query: Asked, measurement: Measurement, scale: float, variance: float, beta: float) -> Floats:
    r"""For each row a distance that its error exceeds with probability at most beta.

    The error is S = sum_j r_j Z_j, the Z_j discrete Laplace of this scale.  Roughly: their moment generating function
    is below that of Laplace, so with w^2 = scale^2 sum r_j^2, M = scale max |r_j|, k = (w / M)^2:
    P(|S| > s) <= 2 exp(-k ln(1 - t^2) - t s / M) for every 0 < t < 1.  Also E S^4 <= (6 + 1 / v) (E S^2)^2, where v is
    the variance of one Z_j.  The law of S itself is sharper, where it can be had.  Proof: docs/proofs/strategy.md.
    """
    _check(beta)
    if not variance:  # noise that is 0, but with a probability below the least of floats
        return np.zeros(query.linear.rows)
    rows = coefficients_of(measurement, query.linear)
    squares = measurement.variances(query.linear) if rows is None else (rows**2).sum(axis=1)
    width = scale * np.sqrt(squares)
    largest = width if rows is None else scale * np.abs(rows).max(axis=1)
    near = _rough(width, largest, variance / scale**2, variance, beta)
    if rows is None:
        return near
    far = _rough(width, largest, variance / scale**2, variance, SMALL * beta)
    return sum_quantiles(rows, discrete_laplace(scale), variance, beta, near, far)


def _rough(width: Floats, largest: Floats, share: float, variance: float, beta: float) -> Floats:
    moment = width * math.sqrt(share) * ((6 + 1 / variance) / beta) ** 0.25
    spread = (width / np.maximum(largest, 1e-300)) ** 2
    bounds = np.full(spread.shape, np.inf)
    for point in np.linspace(0.02, 0.98, 49).tolist():
        bounds = np.minimum(bounds, (math.log(2 / beta) - spread * math.log1p(-point * point)) / point)
    return np.asarray(np.minimum(moment, bounds * largest))


def normal_margins(query: Asked, measurement: Measurement, sigma: float, beta: float) -> Floats:
    """As above for rounded normal noise: the normal quantile, and all that rounding can add where that is little."""
    _check(beta)
    widths, rounding = np.sqrt(measurement.variances(query.linear)), 0.5 * math.sqrt(measurement.size)
    near = _normal(widths, rounding, sigma, beta)
    if rounding < LITTLE * sigma:
        return near
    rows = coefficients_of(measurement, query.linear)
    if rows is None:
        return near
    far, law = _normal(widths, rounding, sigma, SMALL * beta), RoundedNormal(sigma)
    return sum_quantiles(rows, rounded_normal(sigma), law.variance, beta, near, far)


def _normal(widths: Floats, rounding: float, sigma: float, beta: float) -> Floats:
    return np.asarray(widths * (normal_point(beta / 2) * sigma + rounding))


@lru_cache(maxsize=8)
def coefficients_of(measurement: Measurement, linear: Linear) -> Floats | None:
    """Each answer as a combination of measurements; None if there are too many."""
    if measurement.size * linear.rows > LARGEST_COEFFICIENTS or measurement.size * linear.cells > LARGEST_SOLVED:
        return None
    read = [linear.apply(measurement.solve(column)) for column in np.eye(measurement.size)]
    return np.asarray(np.stack(read, axis=1), dtype=np.float64)


def _check(beta: float) -> None:
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
