r"""Bounds from whole families of laws under their conjugate priors: independent signs, and all laws on k categories.

The van Trees inequality with a matrix C(t), for a prior pi such that C pi vanishes at the border [GillLevit1995]:
    worst E ||estimate - t||^2 >= (E tr C)^2 / (E tr(C I C^T) + E |div(C pi) / pi|^2),
I the information of all reports at t.  With C the covariance of a record the product C score is the record less its
mean, so that nothing grows at the border, and t may be anywhere: no report at all is then the trivial risk.
signs       t in [-1, 1]^d, pi proportional to prod (1 - t_j^2)^(v/2 - 1), C = diag(1 - t_j^2):
            d^2 (v/(v+1))^2 / (n T + d v^2/(v+1)), T of `cube_information`; d = 1: 1/(1 + sqrt(n) tanh(epsilon/2))^2
categories  t in the simplex, pi Dirichlet with parameters s/k, C = diag(t) - t t^T, u = 1 - 1/k:
            (u s/(s+1))^2 / (n (1 + s/k) M(s) + u s^2/(s+1))
Every v and s is valid; the best of many is taken.  Proof: docs/proofs/bounds-minimax.md.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.bounds.arguments import rounded_down, whole
from sfumato.bounds.minimax.information import SLACK, checked, cube_information

__all__ = ["categories_error", "column_peaks", "signs_error"]

Reals = npt.NDArray[np.float64]

STRENGTHS = np.geomspace(1e-4, 1e12, 600)  # of the prior
EVERY = 64  # categories up to which the columns are counted; beyond, any share of them is allowed
SHARES = np.geomspace(1e-9, 0.5, 2000)  # of the categories that a column favors


def signs_error(n: int, epsilon: float, d: int) -> float:
    """The sum over d coordinates of the mean square errors of the means of d independent signs.

    >>> round(signs_error(100, 1.0, 1) * (1 + 10 * math.tanh(0.5)) ** 2, 6)
    1.0
    """
    whole("n", n)
    if whole("d", d) == 1:
        return rounded_down(1 / (1 + math.sqrt(n * cube_information(1, epsilon))) ** 2)
    share = STRENGTHS / (STRENGTHS + 1)
    bounds = d**2 * share**2 / (n * cube_information(d, epsilon) + d * STRENGTHS * share)
    return rounded_down(float(bounds.max()))


def categories_error(n: int, epsilon: float, k: int) -> float:
    """The sum over k categories of the mean square errors of the frequencies; never below that of fewer categories."""
    whole("n", n)
    checked(k, epsilon, 2)
    two = signs_error(n, epsilon, 1) / 2  # twice the error of one frequency, half the range of a sign
    few = [_dirichlet(n, size, _counted(size, epsilon)) for size in range(3, min(k, EVERY) + 1)]
    return rounded_down(max([two, _dirichlet(n, k, column_peaks(epsilon)), *few]))


def _dirichlet(n: int, k: int, peaks: Reals) -> float:
    """The best over all strengths s of the prior, `peaks` being M(s)."""
    u, s = 1 - 1 / k, STRENGTHS
    return float(((u * s / (s + 1)) ** 2 / (n * (1 + s / k) * peaks + u * s**2 / (s + 1))).max())


@lru_cache(maxsize=1024)
def _counted(k: int, epsilon: float) -> Reals:
    """M(s) for columns that favor 1, ..., k/2 of k categories."""
    shares = np.arange(1, k // 2 + 1) / k
    return _values(epsilon, shares, shares)


@lru_cache(maxsize=64)
def column_peaks(epsilon: float) -> Reals:
    """M(s) for columns that favor any share of the categories: in each cell, each factor at its worse end."""
    return _values(epsilon, np.concatenate([[0.0], SHARES[:-1]]), SHARES)


def _values(epsilon: float, low: Reals, high: Reals) -> Reals:
    """sup over shares q of g^2 s q (1-q) / ((s+1) (s+3) (1 + g q) (1 + g (s q + 1)/(s+3))), g = e^epsilon - 1."""
    grown, s = math.expm1(epsilon), STRENGTHS[:, None]
    tilt = (1 + grown * low) * (1 + grown * (s * low + 1) / (s + 3))
    peaks = (high * (1 - high) / tilt).max(axis=1)
    return np.asarray(peaks * (grown**2 * SLACK) * STRENGTHS / ((STRENGTHS + 1) * (STRENGTHS + 3)))
