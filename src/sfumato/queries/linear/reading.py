"""What the mechanisms that measure a histogram share: reading answers from a measurement, and their margins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.queries.linear.factors import Whole
from sfumato.queries.linear.measurements import Dense, Measurement, measurement_from
from sfumato.queries.linear.workload import Workload

__all__ = ["answers_of", "checked_histogram", "laplace_margins", "measurement_of", "normal_margins"]

Floats = npt.NDArray[np.float64]
LARGEST_COEFFICIENTS = 4_000_000


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


def laplace_margins(query: Workload, measurement: Measurement, scale: float, variance: float, beta: float) -> Floats:
    r"""For each row a distance that its error exceeds with probability at most beta.

    The error is S = sum_j r_j Z_j, the Z_j discrete Laplace of this scale.  Their moment generating function is below
    that of Laplace, so with w^2 = scale^2 sum r_j^2, M = scale max |r_j|, k = (w / M)^2:
    P(|S| > s) <= 2 exp(-k ln(1 - t^2) - t s / M) for every 0 < t < 1.  Also E S^4 <= (6 + 1 / v) (E S^2)^2, where v is
    the variance of one Z_j.  The better of the two is used.  Proof: docs/proofs/strategy.md.
    """
    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
    variances = measurement.variances(query.linear)
    moment = np.sqrt(variances * variance) * ((6 + 1 / variance) / beta) ** 0.25
    width = scale * np.sqrt(variances)
    largest = width
    if isinstance(measurement, Dense) and measurement.size * query.dimension <= LARGEST_COEFFICIENTS:
        largest = scale * np.abs(measurement.coefficients(query.linear)).max(axis=1)
    spread = (width / np.maximum(largest, 1e-300)) ** 2
    t = np.linspace(0.02, 0.98, 49)
    if np.ptp(spread) == 0:
        best = float(np.min((math.log(2 / beta) - spread[0] * np.log1p(-t * t)) / t))
        return np.asarray(np.minimum(moment, best * largest))
    bounds = np.full(spread.shape, np.inf)
    for point in t.tolist():
        bounds = np.minimum(bounds, (math.log(2 / beta) - spread * math.log1p(-point * point)) / point)
    return np.asarray(np.minimum(moment, bounds * largest))


def normal_margins(query: Workload, measurement: Measurement, sigma: float, beta: float) -> Floats:
    """As above for rounded normal noise: the normal quantile, and all that rounding can add."""
    from scipy.special import ndtri

    if not 0 < beta < 1:
        raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
    widths = np.sqrt(measurement.variances(query.linear))
    return np.asarray(widths * (-float(ndtri(beta / 2)) * sigma + 0.5 * math.sqrt(measurement.size)))
