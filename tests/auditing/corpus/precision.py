"""How fine the auditor sees: Laplace with 5% too little noise, Gauss with twice the delta."""

from __future__ import annotations

from typing import Any

from scipy.optimize import brentq
from scipy.special import ndtr

from corpus.case import Case
from sfumato.privacy.guarantees import Approximate, Pure

REAL = frozenset({"real-arithmetic"})


class Count:
    """The number of rows with noise of a given law."""

    def __init__(self, law: str, scale: float) -> None:
        self.name, self.law, self.scale = f"{law} of scale {scale:.4g}", law, scale

    def __call__(self, data: list[float], rng: Any) -> float:
        return float(len(data) + getattr(rng, self.law)(0.0, self.scale))


def gaussian_delta(deviation: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise at sensitivity 1.  [BalleWang2018]"""
    mu = 1 / deviation
    return float(ndtr(mu / 2 - epsilon / mu) - 2.718281828459045**epsilon * ndtr(-mu / 2 - epsilon / mu))


def deviation_for(delta: float) -> float:
    """The standard deviation with this delta at epsilon 1."""
    return float(brentq(lambda s: gaussian_delta(s, 1.0) - delta, 0.3, 30.0, xtol=1e-12))


CASES = [
    Case(
        "Laplace with 5% too little noise",
        0,
        Count("laplace", 0.95),
        Count("laplace", 1.0),
        Pure(1.0, assumptions=REAL),
        heavy=True,
    ),
    Case(
        "Gauss with twice the delta",
        0,
        Count("normal", deviation_for(2e-3)),
        Count("normal", deviation_for(1e-3)),
        Approximate(1.0, 1e-3, assumptions=REAL),
        heavy=True,
    ),
]
