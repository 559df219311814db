"""Accounting: does the claim of a composite follow from its declared parts?

A part is a guarantee (then the least private mechanism that keeps it is meant: randomized response for
pure and approximate claims [KairouzOhViswanath2017], Gaussian noise for concentrated and Gaussian ones), Laplace or
Gaussian noise of a declared scale, or a pair of discrete laws.  The composed loss is computed from
below: each part is coarsened, its losses are rounded down, what the transform may have added is taken
off.  So a delta above the claim is a fact, up to the rounding of the transform that `SLACK` covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import ndtr

from sfumato.accounting.promises import points
from sfumato.auditing.findings import Attempt, Finding
from sfumato.auditing.reporting import exact_finding
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, GaussianPrivacy, Guarantee, Pure

__all__ = ["GaussianNoise", "LaplaceNoise", "Law", "Part", "audit_accounting", "composed_delta"]

SLACK = 1e-11  # more than the transforms' rounding errors add up to
CELLS = 1 << 21  # the most lattice points of the composed loss


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise of a scale on one number that moves by at most `sensitivity`."""

    sensitivity: float
    scale: float


@dataclass(frozen=True)
class GaussianNoise:
    """Gaussian noise of a standard deviation on an answer of l2 sensitivity `sensitivity`."""

    sensitivity: float
    deviation: float


@dataclass(frozen=True)
class Law:
    """The laws of a discrete output on two neighboring inputs."""

    first: tuple[float, ...]
    second: tuple[float, ...]


Part = Guarantee | GaussianPrivacy | LaplaceNoise | GaussianNoise | Law


MERGED = GaussianNoise | GaussianPrivacy | Concentrated  # parts that compose to one


@dataclass(frozen=True)
class Losses:
    """Masses at the losses `offset + step * k`; what is missing from 1 is an infinite loss."""

    offset: float
    masses: np.ndarray
    infinite: float


def audit_accounting(parts: Sequence[Part | tuple[Part, int]], claim: Claim, *, name: str = "composite") -> Finding:
    """Refute that the composite of independent `parts`, each with its number of uses, keeps `claim`.

    >>> audit_accounting([(Pure(0.5), 2)], Pure(1.0)).refuted
    False
    >>> audit_accounting([Pure(0.5), Pure(0.6)], Pure(1.0)).refuted
    True
    """
    counted = [part if isinstance(part, tuple) else (part, 1) for part in parts]
    if not counted:
        raise ParameterError("parts must name at least one part of the composite")
    for part, _ in counted:
        if not isinstance(part, Part):
            raise ParameterError(
                f"parts must be guarantees, LaplaceNoise, GaussianNoise or Law; got {type(part).__name__}: "
                "a divergence of one order does not say what composes"
            )
    composed = _compose(counted)
    worst = (-math.inf, 0.0, 0.0)
    for epsilon, delta in points(claim):
        worst = max(worst, (_delta(*composed, epsilon) - delta, epsilon, delta))
    excess, epsilon, delta = worst
    charges = _sum(counted)
    if excess <= 0:
        words = f"composed loss of {sum(k for _, k in counted)} parts; {charges}"
        return Finding(name, claim, None, (Attempt("accounting", words, 0),))
    return exact_finding(
        name,
        claim,
        attack="accounting",
        neighbors=("worst input", "worst neighbor"),
        relation="the pair of inputs that is worst for every part",
        words=(
            f"composed privacy loss above {epsilon:.6g}: delta is at least {delta + excess:.4g} there, "
            f"claimed {delta:.4g}; {charges}"
        ),
        epsilon=_epsilon(*composed, epsilon, delta),
        delta=delta,
        script=(
            "from sfumato.auditing.accounting import *\n"
            "from sfumato.privacy.guarantees import *\n"
            f"print(composed_delta({counted!r}, {epsilon!r}), 'against a claim of', {delta!r})\n"
        ),
    )


def composed_delta(parts: Sequence[tuple[Part, int]], epsilon: float) -> float:
    """A lower bound on the delta of the composite at epsilon, tight for equal parts.

    >>> round(composed_delta([(Pure(1.0), 1)], 0.0), 9) == round(math.tanh(0.5), 9)
    True
    """
    return _delta(*_compose(parts), epsilon)


def _compose(parts: Sequence[tuple[Part, int]]) -> tuple[Losses, float]:
    """The composed loss and the step of its lattice."""
    parts = _merged(parts)
    step = _step(parts)
    total = Losses(0.0, np.ones(1), 0.0)
    for part, count in parts:
        total = _convolve(total, _power(_losses(part, step), count))
    return total, step


def _delta(total: Losses, step: float, epsilon: float) -> float:
    losses = total.offset + step * np.arange(len(total.masses))
    above = losses > epsilon
    shortfall = -np.expm1(epsilon - losses[above])
    finite = float(np.maximum(total.masses[above], 0.0) @ shortfall)
    return max(0.0, finite * (1 - 1e-9) + total.infinite * (1 - 1e-12) - SLACK)


def _epsilon(total: Losses, step: float, epsilon: float, delta: float) -> float:
    """The largest epsilon found, by doubling and bisection, at which delta is still exceeded."""
    low, high = epsilon, max(2 * epsilon, 1.0)
    while _delta(total, step, high) > delta:
        low, high = high, 2 * high
        if high > 1e4:
            return math.inf
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(total, step, middle) > delta else (low, middle)
    return low


def _sum(parts: Sequence[tuple[Part, int]]) -> str:
    charged = [(part, k) for part, k in parts if isinstance(part, Pure | Approximate)]
    if len(charged) < len(parts):
        return f"{len(parts)} kinds of parts"
    epsilon = sum(k * part.epsilon for part, k in charged)
    delta = sum(k * part.delta for part, k in charged if isinstance(part, Approximate))
    return f"the charges add up to epsilon = {epsilon:.6g}, delta = {delta:.6g}"


def _merged(parts: Sequence[tuple[Part, int]]) -> list[tuple[Part, int]]:
    """Gaussian parts compose to one: the squares of their ratios add."""
    kept: list[tuple[Part, int]] = [(part, k) for part, k in parts if not isinstance(part, MERGED)]
    square = math.fsum(k * _mu(part) ** 2 for part, k in parts if isinstance(part, MERGED))
    return [*kept, (GaussianNoise(math.sqrt(square), 1.0), 1)] if square else kept


def _mu(part: GaussianNoise | GaussianPrivacy | Concentrated) -> float:
    if isinstance(part, GaussianPrivacy):
        return part.mu
    return math.sqrt(2 * part.rho) if isinstance(part, Concentrated) else part.sensitivity / part.deviation


def _reach(part: Part) -> float:
    """The largest finite loss of a part that is resolved (Gaussian: nine deviations)."""
    if isinstance(part, Pure | Approximate):
        return part.epsilon
    if isinstance(part, LaplaceNoise):
        return part.sensitivity / part.scale
    if isinstance(part, Law):
        a, b = np.array(part.first), np.array(part.second)
        shared = (a > 0) & (b > 0)
        return float(np.abs(np.log(a[shared] / b[shared])).max(initial=0.0))
    return _mu(part) ** 2 / 2 + 9 * _mu(part)


def _step(parts: Sequence[tuple[Part, int]]) -> float:
    """A lattice step that divides the largest loss and keeps the composed support within `CELLS`."""
    span = sum(2 * _reach(part) * count for part, count in parts)
    largest = max(_reach(part) for part, _ in parts)
    if largest == 0:
        return 1.0
    pieces = max(2, min(4096, int(CELLS * 2 * largest / span)))
    return 2 * largest / (pieces - pieces % 4 or 4)


def _losses(part: Part, step: float) -> Losses:
    if isinstance(part, Pure | Approximate):
        delta = part.delta if isinstance(part, Approximate) else 0.0
        high = 1 / (1 + math.exp(-part.epsilon))
        return _atoms(
            [-part.epsilon, part.epsilon],
            [(1 - delta) * (1 - high), (1 - delta) * high],
            delta,
            step,
        )
    if isinstance(part, Law):
        a, b = np.array(part.first), np.array(part.second)
        shared = (a > 0) & (b > 0)
        return _atoms(np.log(a[shared] / b[shared]), a[shared], float(a[b == 0].sum()), step)
    if isinstance(part, LaplaceNoise):
        return _laplace(part.sensitivity / part.scale, step)
    return _gaussian(_mu(part), step)


def _atoms(
    losses: Sequence[float] | np.ndarray,
    masses: Sequence[float] | np.ndarray,
    infinite: float,
    step: float,
) -> Losses:
    values = np.asarray(losses, dtype=float)
    base = float(values.min(initial=0.0))
    places = np.floor((values - base) / step * (1 + 1e-13) + 1e-9).astype(int)
    return Losses(base * (1 + 1e-15), np.bincount(places, weights=masses), infinite)


def _laplace(ratio: float, step: float) -> Losses:
    """Atoms at both ends; between them cells of two steps, whose loss is exactly their middle."""
    cells = int(2 * ratio / (2 * step) + 1e-9)
    masses = np.zeros(2 * cells + 2)
    edges = -ratio + 2 * step * np.arange(cells + 1)
    below = np.exp((edges - ratio) / 2) / 2  # P(loss <= edge)
    masses[0] = below[0]
    masses[1 : 2 * cells : 2] += np.diff(below)
    masses[2 * cells] += 0.5 + (0.5 - below[-1])
    return Losses(-ratio, masses, 0.0)


def _gaussian(mu: float, step: float) -> Losses:
    """Cells of one step; the loss of a cell is that of its masses, and the lattice lies below all."""
    low, high = mu * mu / 2 - 9 * mu, mu * mu / 2 + 9 * mu
    edges = np.arange(low, high, step)
    first = np.diff(ndtr((edges - mu * mu / 2) / mu))
    second = np.diff(ndtr((edges + mu * mu / 2) / mu))
    upper = edges > 0  # tails are subtracted where they are small
    first = np.where(upper[1:], -np.diff(ndtr(-(edges - mu * mu / 2) / mu)), first)
    second = np.where(upper[1:], -np.diff(ndtr(-(edges + mu * mu / 2) / mu)), second)
    kept = (first > 1e-16) & (second > 1e-300)
    gaps = np.log(first[kept] / second[kept]) - step * np.flatnonzero(kept)
    masses = np.where(kept, first, 0.0)
    return Losses(float(gaps.min()) - 1e-12, masses, 0.0)


def _power(losses: Losses, count: int) -> Losses:
    result, square, left = None, losses, count
    while left:
        if left & 1:
            result = square if result is None else _convolve(result, square)
        left >>= 1
        if left:
            square = _convolve(square, square)
    if result is None:
        raise ParameterError("each part must be used at least once")
    return result


def _convolve(one: Losses, two: Losses) -> Losses:
    masses = fftconvolve(one.masses, two.masses)
    infinite = 1 - (1 - one.infinite) * (1 - two.infinite)
    return Losses(one.offset + two.offset, masses, infinite)
