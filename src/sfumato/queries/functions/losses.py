"""Convex losses of a prediction whose slope never exceeds 1: what regularized learning needs to be private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.answers.curves import Floats

__all__ = ["LOSSES", "HuberizedHinge", "Logistic", "Loss", "Robust"]


class Loss(Protocol):
    """l(f, y) for predictions f and targets y in [-1, 1] (labels: -1 and 1)."""

    @property
    def curvature(self) -> float: ...

    def value(self, f: Floats, y: Floats) -> Floats: ...

    def slope(self, f: Floats, y: Floats) -> Floats: ...

    def bend(self, f: Floats, y: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Robust:
    """Half the squared residual within 1, linear beyond (Huber): ridge regression whose slope is bounded."""

    curvature: float = 1.0

    def value(self, f: Floats, y: Floats) -> Floats:
        """r^2 / 2, or |r| - 1/2."""
        r = np.abs(f - y)
        return np.asarray(np.where(r <= 1, r * r / 2, r - 0.5))

    def slope(self, f: Floats, y: Floats) -> Floats:
        """The residual, cut at 1."""
        return np.clip(f - y, -1.0, 1.0)

    def bend(self, f: Floats, y: Floats) -> Floats:
        """1 within, 0 beyond."""
        return (np.abs(f - y) <= 1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Logistic:
    """ln(1 + exp(-y f))."""

    curvature: float = 0.25

    def value(self, f: Floats, y: Floats) -> Floats:
        """Without overflow."""
        return np.asarray(np.logaddexp(0.0, -y * f))

    def slope(self, f: Floats, y: Floats) -> Floats:
        """-y / (1 + exp(y f))."""
        return np.asarray(-y * _sigmoid(-y * f))

    def bend(self, f: Floats, y: Floats) -> Floats:
        """p (1 - p)."""
        p = _sigmoid(f)
        return np.asarray(p * (1 - p))


@dataclass(frozen=True, slots=True)
class HuberizedHinge:
    """The hinge with its corner rounded over margins from 1/2 to 3/2 [ChaudhuriMonteleoniSarwate2011]."""

    curvature: float = 1.0

    def value(self, f: Floats, y: Floats) -> Floats:
        """0 above 3/2, (3/2 - m)^2 / 2 between, 1 - m below 1/2."""
        m = y * f
        return np.asarray(np.where(m >= 1.5, 0.0, np.where(m <= 0.5, 1 - m, (1.5 - m) ** 2 / 2)))

    def slope(self, f: Floats, y: Floats) -> Floats:
        """Minus y times the rounded step."""
        return np.asarray(-y * np.clip(1.5 - y * f, 0.0, 1.0))

    def bend(self, f: Floats, y: Floats) -> Floats:
        """1 between."""
        return (np.abs(y * f - 1) < 0.5).astype(np.float64)


LOSSES: dict[str, Loss] = {"robust": Robust(), "logistic": Logistic(), "hinge": HuberizedHinge()}


def _sigmoid(z: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(z))
