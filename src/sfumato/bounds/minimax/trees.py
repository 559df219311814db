r"""The van Trees inequality for private reports of a linear family.

Let p_t = mu (1 + <t, phi>), t in R^D, be laws of a record, and T = sup over weights 1 <= w <= e^epsilon of
||E_mu w phi||^2 / (E_mu w)^2: no private report carries more Fisher information (trace) at t = 0, and none more than
T (1 + s^2 / (1 - s)), s = ||t|| sqrt(T), elsewhere [BarnesChenOzgur2020].  With a prior on [-h, h]^D
    worst E ||estimate - t||^2 >= D^2 / (a n T (1 + s^2 / (1 - s)) + D b / h^2),  s = h sqrt(D T)   [GillLevit1995]
for n people in any sequentially interactive protocol: a = 1, b = pi^2 for squared cosines, a = 1 + 2/(v (v + 3)),
b = v + 1 for powers (1 - t^2)^(v/2 - 1), v > 0.  Every h and prior is valid; the best of many is taken.
Proof: docs/proofs/bounds-minimax.md.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.bounds.arguments import positive, rounded_down, whole

__all__ = ["PRIORS", "van_trees"]

WIDTHS = 400  # values of h that are tried
_POWERS = np.geomspace(0.05, 30.0, 60)
PRIORS = np.array([[1.0, math.pi**2], *zip(1 + 2 / (_POWERS * (_POWERS + 3)), _POWERS + 1, strict=True)])  # a, b
INFORMATION_ERROR = 1e-9  # relative, granted to the information


def van_trees(dimension: int, information: float, n: int, widest: float) -> float:
    """The least worst mean square error over all t in the cube of half-width `widest`.

    >>> round(van_trees(1, 0.25, 10**6, 1.0) * 10**6, 2)  # 1/T = 4, less the price of the prior
    3.97
    """
    whole("dimension", dimension)
    whole("n", n)
    information = positive("information", information) * (1 + INFORMATION_ERROR)
    widths = positive("widest", widest) * np.geomspace(1e-6, 1.0, WIDTHS)
    spread = widths * math.sqrt(dimension * information)
    usable = spread < 1
    if not usable.any():
        return 0.0
    told = n * information * (1 + spread[usable] ** 2 / (1 - spread[usable]))
    price = np.outer(PRIORS[:, 0], told) + np.outer(PRIORS[:, 1], dimension / widths[usable] ** 2)
    return rounded_down(dimension**2 / float(price.min()))
