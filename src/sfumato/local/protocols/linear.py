"""Unbiased frequencies from supports: a report supports its own category with probability p, another with q."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.protocols.protocol import Floats, Tally

__all__ = ["check_reports", "frequencies", "frequency_risk", "frequency_variance", "shares"]


def frequencies(tally: Tally, n: int, p: Fraction, q: Fraction) -> Floats:
    """(count/n - q)/(p - q), for each category."""
    check_reports(n)
    return (np.asarray(tally, dtype=np.float64) / n - float(q)) / float(p - q)


def frequency_variance(k: int, n: int, p: Fraction, q: Fraction, truth: npt.ArrayLike | None) -> Floats:
    """(f p (1 - p) + (1 - f) q (1 - q)) / (n (p - q)^2); without `truth`, at the worst f, which is 0 or 1."""
    check_reports(n)
    own, other = float(p * (1 - p) / (p - q) ** 2), float(q * (1 - q) / (p - q) ** 2)
    if truth is None:
        return np.full(k, max(own, other) / n)
    f = shares(truth, k)
    return (f * own + (1 - f) * other) / n


def frequency_risk(k: int, n: int, p: Fraction, q: Fraction) -> float:
    """The sum of the variances: the frequencies sum to one, so that it is the same for all data."""
    check_reports(n)
    return float((p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2) / n


def shares(truth: npt.ArrayLike, k: int) -> Floats:
    """A vector of k true frequencies."""
    f = np.asarray(truth, dtype=np.float64)
    if f.shape != (k,):
        raise ParameterError(f"truth must hold {k} frequencies, got shape {f.shape}")
    return f


def check_reports(n: int) -> None:
    """Refuse to estimate from nothing."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError(f"n must be a positive number of reports, got {n!r}")
