"""Which bound speaks about the release of a density: at each point, one number of a table of fixed size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.bounds.fixed_size import fixed_size_mean_square
from sfumato.bounds.integer_tables import concentrated_divergence, pure_divergence
from sfumato.certificate import Certificate, NoBoundKnown, certified
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries.functions.density import Density

__all__ = ["certify_density"]

MEASURE = "root mean square noise at a point, over points where records may lie"
LARGEST = 300.0  # rho or epsilon, beyond which divergences overflow
SAMPLED = {1: 32, 2: 6, 3: 3}  # points a side

Reals = npt.NDArray[np.float64]


def certify_density(question: Density, mechanism: Any) -> Certificate | NoBoundKnown:
    """The certificate of noise on a kernel density, if the number of rows is public and fixed."""
    claim = mechanism.guarantee()
    if question.kind != "density":
        return NoBoundKnown("none is proven here for the integral of a density")
    if question.divisor is None:
        return NoBoundKnown("a density over a private number of rows is a ratio")
    if isinstance(claim, Pure) and claim.epsilon <= LARGEST:
        divergence, among = pure_divergence(claim.epsilon), "pure mechanisms on tables of the declared size"
    elif isinstance(claim, Concentrated) and claim.rho <= LARGEST:
        divergence, among = concentrated_divergence(claim.rho), "concentrated mechanisms on tables of the declared size"
    else:
        return NoBoundKnown("none is proven here for approximate privacy")
    answered = mechanism.query
    points, spreads = _spreads(answered)
    size = question.divisor
    least = float(np.mean([fixed_size_mean_square(spread, size, divergence) for spread in spreads.tolist()]))
    shown = answered.reading.design(points) * answered.worth
    achieved = mechanism.noise.variance * float((shown**2).sum(axis=1).mean()) / size**2
    name = "Hammersley-Chapman-Robbins along replacements"
    return certified(math.sqrt(achieved), math.sqrt(max(least, 0.0)), MEASURE, name, among)


def _spreads(question: Density) -> tuple[Reals, Reals]:
    """Grid points, and how far moving all records from the far corner to each moves the curve there, rounded down."""
    features = question.features
    places = [_places(axis.count, SAMPLED[len(features.axes)]) for axis in features.axes]
    chosen = np.stack([part.ravel() for part in np.meshgrid(*places, indexing="ij")], axis=1)
    corner = [
        np.where(own > (axis.count - 1) / 2, 0, axis.count - 1)
        for own, axis in zip(chosen.T, features.axes, strict=True)
    ]
    here, there = _rows(question, chosen.T), _rows(question, np.stack(corner))
    points = np.stack([axis.points[own] for own, axis in zip(chosen.T, features.axes, strict=True)], axis=1)
    shown = question.reading.design(points) * question.worth
    moved = ((here - there) / 2.0**features.shift * shown).sum(axis=1)
    rounding = np.abs(shown).sum(axis=1) / (question.divisor or 1)  # half a step of each coefficient, at both ends
    return points, np.maximum(moved - rounding - 1e-9 * np.abs(moved), 0.0)


def _rows(question: Density, places: npt.NDArray[np.int64]) -> Reals:
    """The features of one record at each of the grid points, all but the constant."""
    out = np.ones((places.shape[1], 1))
    for axis, own in zip(question.features.axes, places, strict=True):
        rows = np.concatenate([axis.matrix(int(place), int(place) + 1) for place in own]).astype(np.float64)
        out = (out[:, :, None] * rows[:, None, :]).reshape(len(out), -1)
    return out[:, 1:]


def _places(count: int, most: int) -> npt.NDArray[np.int64]:
    """Up to `most` places of a side, spread out."""
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
