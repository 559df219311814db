"""What it really costs to tell two exact answers apart, from each law alone; no sensitivity of ours is asked.

`compared(mechanism, one, other)` gives two numbers of the same kind: what the noise of `mechanism` gives away between
two exact answers, and what `guarantee()` claims.  Additive noise: the claim of the same noise for a question that
moves just as far as these two answers lie apart.  Bodies: the gauge.  Selections: how far the scores' changes lie
apart, against the declared spread.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato.mechanisms import (
    NIM,
    DiscreteGaussian,
    EllipticGaussian,
    Exponential,
    Gaussian,
    KeyDiscovery,
    Laplace,
    NoiseBody,
    NoisyCovariance,
    PermuteAndFlip,
    Process,
    Public,
    RecursiveQuantiles,
    SpectralLaplace,
    Staircase,
    Strategy,
    SubspaceIteration,
    ThresholdDatabase,
)
from sfumato.mechanisms.additive import Vector
from sfumato.mechanisms.noisy_covariance import NARROW
from sfumato.mechanisms.subspace_iteration import DIRECTION, _lattice_frame, _matrix
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.sampling.bodies import CrossPolytope, Hull, Image
from sfumato.sampling.bodies.lattice import LatticeNoise
from sfumato.sampling.bodies.programs import least_norm_preimages
from sfumato.sampling.bodies.sum_zero import SumZeroNoise
from sfumato.sampling.cube import CubeNoise


def compared(mechanism, one, other):
    """(cost between the two answers, claim); the mechanism may be charged no less than the cost."""
    if isinstance(mechanism, Public):
        return (0.0 if np.array_equal(one, other) else math.inf), 0.0
    if isinstance(mechanism, KeyDiscovery):
        return keys(mechanism, one, other)
    if isinstance(mechanism, RecursiveQuantiles):
        return float(ranked(mechanism.query, one, other)), float(mechanism.query.spread)
    if isinstance(mechanism, ThresholdDatabase):
        return databases(mechanism, one, other), float(mechanism.query.spread(mechanism.rows))
    if isinstance(mechanism, PermuteAndFlip | Exponential):
        change = np.asarray(one, dtype=object) - np.asarray(other, dtype=object)
        return float((change.max(axis=-1) - change.min(axis=-1)).sum()), float(mechanism.query.spread)
    if isinstance(mechanism, Strategy | EllipticGaussian):
        one, other = mechanism.measurement.apply(one), mechanism.measurement.apply(other)
    move = np.asarray(one, dtype=object) - np.asarray(other, dtype=object)
    return cost(mechanism, move), amount(mechanism.guarantee())


def amount(claim):
    """The number of a claim: epsilon, rho, or the delta at its epsilon."""
    if isinstance(claim, Pure):
        return claim.epsilon
    return claim.rho if isinstance(claim, Concentrated) else claim.delta


def cost(mechanism, move):
    """What additive noise gives away between answers that lie `move` apart."""
    if not any(move):
        return 0.0
    if isinstance(mechanism, NoisyCovariance):
        return covariance(mechanism, move)
    if isinstance(mechanism, SubspaceIteration):
        return iterated(mechanism, move)
    if isinstance(mechanism, NoiseBody):
        return shaped(mechanism, move)
    if isinstance(mechanism, NIM):
        levels = zip(mechanism.levels, mechanism.bodies, strict=True)
        real = move.astype(np.float64)
        return sum(level.epsilon * float(hull.gauge_by_program([level.down @ real])[0]) for level, hull in levels)
    vector = Vector("moved", len(move), *norms(move))
    if isinstance(mechanism, Strategy | SpectralLaplace):
        return amount(Laplace(vector, mechanism.scale).guarantee())
    if isinstance(mechanism, EllipticGaussian | Process):
        return amount(Gaussian(vector, mechanism.sigma, mechanism.epsilon).guarantee())
    if isinstance(mechanism, Laplace):
        return amount(Laplace(vector, mechanism.scale, mechanism.epsilon).guarantee())
    if isinstance(mechanism, Gaussian | DiscreteGaussian):
        return amount(type(mechanism)(vector, mechanism.sigma, mechanism.epsilon).guarantee())
    assert isinstance(mechanism, Staircase), type(mechanism)
    steps = -(-abs(int(move[0])) // mechanism.noise.sensitivity)
    return steps * mechanism.noise.epsilon


def norms(move):
    """l1, l2 and linf of whole numbers; l2 rounded down, within the others."""
    l1, linf = sum(abs(int(z)) for z in move), max(abs(int(z)) for z in move)
    l2 = math.sqrt(sum(int(z) ** 2 for z in move)) * (1 - 1e-15)
    return float(l1), min(max(l2, float(linf)), float(l1)), float(linf)


def shaped(mechanism, move):
    """epsilon times the gauge, or the norm of the least preimage over the scale of a lattice law."""
    real, noise = move.astype(np.float64), mechanism.noise
    if not isinstance(noise, LatticeNoise):
        body = mechanism.body
        gauge = body.gauge_by_program([real]) if isinstance(body, Hull) else body.gauge([real])
        return mechanism.epsilon * float(gauge[0]) * (1 - 1e-9)
    if isinstance(noise.law, SumZeroNoise):
        return float(np.abs(real).sum()) / 2 / noise.law.scale if real.sum() == 0 else math.inf
    order = np.inf if isinstance(noise.law, CubeNoise) else 1.0
    if noise.matrix is not None:
        image = Image(CrossPolytope(noise.matrix.shape[1]), noise.matrix)
        if not np.isfinite(image.gauge([real])[0]):
            return math.inf
        real = least_norm_preimages(noise.matrix.astype(np.float64), real[None], order)[0]
    return float(np.linalg.norm(real, ord=order)) / noise.law.scale * (1 - 1e-9)


def covariance(mechanism, move):
    """Squares and count with the scale, products and sums with a narrower one, by body."""
    groups = mechanism.query.groups
    factors = np.repeat(np.array(mechanism.multiples, dtype=object), groups)
    scaled = (factors * move).astype(np.float64)
    if mechanism.body == "cube":
        return float(np.abs(scaled).max()) / mechanism.scale
    if mechanism.body == "laplace":
        return float(np.abs(scaled).sum()) / mechanism.scale
    narrow = float(NARROW) if mechanism.body == "ball" else 1 / math.sqrt(2)
    widths = np.repeat([1.0, narrow, narrow, 1.0], groups)
    length = float(np.linalg.norm(scaled / widths)) * (1 - 1e-12)
    return length / mechanism.scale if mechanism.body == "ball" else normal(mechanism, length)


def iterated(mechanism, move):
    """The costs of all products added up, each with the worst of some directions on the lattice."""
    query, rng = mechanism.query, np.random.default_rng(0)
    d, k = query.size, query.details.k
    matrix = _matrix(move, d)
    frames = [_lattice_frame(rng.normal(size=(d, k))) for _ in range(20)] + [_lattice_frame(np.eye(d, k))]
    products = [matrix.dot(frame).astype(np.float64).reshape(-1) for frame in frames]
    totals = DIRECTION * np.array([np.trace(matrix), *move[d + d * (d - 1) // 2 :]], dtype=object).astype(np.float64)
    if mechanism.body == "normal":
        squared = mechanism.iterations * max(float(p @ p) for p in products) + float(totals @ totals)
        return normal(mechanism, math.sqrt(squared) * (1 - 1e-12))
    order = {"cube": np.inf, "ball": 2, "laplace": 1}[mechanism.body]
    largest = max(float(np.linalg.norm(p, ord=order)) for p in products)
    total = mechanism.iterations * largest + float(np.linalg.norm(totals, ord=order))
    return total / mechanism.scale * (1 - 1e-12)


def normal(mechanism, length):
    if mechanism.epsilon is None:
        return length**2 / (2 * mechanism.scale**2)
    return gaussian_delta(mechanism.scale, length, mechanism.epsilon) * (1 - 1e-9)


def keys(mechanism, one, other):
    """Keys that both hold: by how much their counts differ in all; keys of one alone must be few, each held once."""
    shared = one.keys() & other.keys()
    moved = sum(abs(one[key] - other[key]) for key in shared)
    alone = [held[key] for held in (one, other) for key in held.keys() - shared]
    claimed = mechanism.guarantee().epsilon * mechanism.scale
    replaced = 2 if mechanism.query.replaced else 1
    few = len(alone) <= replaced * mechanism.query.per_unit and all(count == 1 for count in alone)
    return (float(moved + len(alone)) if few else math.inf), claimed * (1 + 1e-12)


def ranked(query, one, other):
    """The largest sum over cells of how far apart the penalties' changes lie, over the probabilities."""
    worst = Fraction(0)
    points = np.arange(query.lattice.low, query.lattice.high + 1)
    for p in query.probabilities:
        total = Fraction(0)
        for left, right in zip(one, other, strict=True):
            change = [a - b for a, b in zip(penalties(left, points, p), penalties(right, points, p), strict=True)]
            total += max(change) - min(change)
        worst = max(worst, total)
    return worst


def penalties(ranks, points, p):
    """max(0, L - p n, U - (1 - p) n) / (2 max(p, 1 - p)) of every lattice point."""
    p = Fraction(p)
    values, below = np.asarray(ranks.values), np.asarray(ranks.below)
    low = [int(below[np.searchsorted(values, point, side="left")]) for point in points]
    upto = [int(below[np.searchsorted(values, point, side="right")]) for point in points]
    rows = int(below[-1])
    scale = 2 * max(p, 1 - p)
    pairs = zip(low, upto, strict=True)
    return [max(Fraction(0), a - p * rows, (rows - b) - (1 - p) * rows) / scale for a, b in pairs]


def databases(mechanism, one, other):
    """How far apart the changes of the penalties of some databases lie."""
    rng, cells = np.random.default_rng(1), len(one)
    candidates = [np.bincount(rng.integers(0, cells, mechanism.rows), minlength=cells) for _ in range(60)]
    candidates += [mechanism.rows * np.eye(cells, dtype=np.int64)[i] for i in range(cells)]
    changes = []
    for candidate in candidates:
        heights = [
            int(np.abs(mechanism.rows * np.cumsum(held) - held.sum() * np.cumsum(candidate)).max())
            for held in (one, other)
        ]
        changes.append(heights[0] - heights[1])
    return float(max(changes) - min(changes))
