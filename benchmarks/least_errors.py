r"""Least errors by linear and convex programs, written apart from `sfumato.bounds` so that they can refute it.

What is found here is *achieved*: a law of noise, or a mechanism on finitely many tables, that is checked to keep its
promise after the program has ended.  A lower bound above an achieved error is therefore false.  The other way round,
the optimum over answers on a lattice lies at most E|rounding|^2 above the optimum over real answers, since unbiased
random rounding to the lattice is free of privacy loss: `floor` is what is left then, and a bound below it is true.

A promise is pure (epsilon), approximate (epsilon and delta) or concentrated (rho).  Of the last only the order one of
Renyi is asked, a Kullback-Leibler divergence of at most rho: more mechanisms than the concentrated ones; with `strict`
all orders are.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

__all__ = ["Promise", "Reached", "law", "mechanism", "noise", "on_chain", "worst_loss"]

Reals = npt.NDArray[np.float64]
Wholes = npt.NDArray[np.int64]
Pairs = Sequence[tuple[int, int]]
OUTSIDE = 1e-13  # the mass of a wide law that is mixed in, so that no divergence is infinite
LEAVING = 100.0  # no less than the logarithm of a ratio where the wide law is continued outside of the box
ORDERS = (1.02, 1.05, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0, 200.0)  # of Renyi
TIGHT = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}


@dataclass(frozen=True)
class Promise:
    """Pure if delta is 0, concentrated if rho is given."""

    epsilon: float = math.inf
    delta: float = 0.0
    rho: float = math.inf
    strict: bool = False

    @property
    def kind(self) -> str:
        """In one word."""
        if self.rho < math.inf:
            return "concentrated"
        return "approximate" if self.delta else "pure"


@dataclass(frozen=True)
class Reached:
    """The least error with real answers lies in [floor, achieved]; the upper end belongs to a mechanism at hand."""

    achieved: float
    floor: float


# ---------------------------------------------------------------------------------------------- mechanisms on tables


def mechanism(losses: Reals, pairs: Pairs, promise: Promise, prior: Reals | None = None) -> Reals:
    """A private mechanism (tables in rows, outputs in columns) of least worst loss, or of least loss under a prior.

    What has an infinite loss is never put out.
    """
    if promise.kind == "concentrated":
        return _by_descent(losses, pairs, promise, prior)
    tables, outputs = losses.shape
    forbidden = np.isinf(losses)
    losses = np.where(forbidden, 0.0, losses)
    count, directed = tables * outputs, [*pairs, *((b, a) for a, b in pairs)]
    slacks = len(directed) * outputs if promise.delta else 0
    rows, columns, values, limits = [], [], [], []
    at, places = 0, np.arange(outputs)
    for number, (a, b) in enumerate(directed):  # p_a <= e^epsilon p_b + slack
        own = at + places
        rows += [own, own]
        columns += [a * outputs + places, b * outputs + places]
        values += [np.full(outputs, math.exp(-promise.epsilon)), np.full(outputs, -1.0)]
        if promise.delta:
            rows.append(own)
            columns.append(count + number * outputs + places)
            values.append(np.full(outputs, -1.0))
        limits.append(np.zeros(outputs))
        at += outputs
    if promise.delta:
        for number in range(len(directed)):
            rows.append(np.full(outputs, at))
            columns.append(count + number * outputs + places)
            values.append(np.ones(outputs))
            limits.append(np.array([promise.delta * math.exp(-promise.epsilon) * (1 - 1e-9)]))
            at += 1
    if prior is None:
        for table in range(tables):
            rows.append(np.full(outputs + 1, at))
            columns.append(np.append(table * outputs + places, count + slacks))
            values.append(np.append(losses[table], -1.0))
            limits.append(np.zeros(1))
            at += 1
    cost = np.zeros(count + slacks + 1)
    if prior is None:
        cost[-1] = 1.0
    else:
        cost[:count] = (prior[:, None] * losses).ravel()
    table_of = np.repeat(np.arange(tables), outputs)
    found = linprog(
        cost,
        A_ub=sp.csr_matrix(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(at, len(cost))
        ),
        b_ub=np.concatenate(limits),
        A_eq=sp.csr_matrix((np.ones(count), (table_of, np.arange(count))), shape=(tables, len(cost))),
        b_eq=np.ones(tables),
        bounds=np.stack(
            [np.zeros(len(cost)), np.append(np.where(forbidden.ravel(), 0.0, np.inf), [np.inf] * (slacks + 1))]
        ).T,
        method="highs-ipm" if count > 3000 else "highs",
        options=TIGHT,
    )
    if found.status != 0:
        raise RuntimeError(f"the program was not solved: {found.message}")
    return _mended(np.asarray(found.x[:count]).reshape(tables, outputs), ~forbidden, pairs, promise)


def _mended(found: Reals, allowed: npt.NDArray[np.bool_], pairs: Pairs, promise: Promise) -> Reals:
    """The same with as much of the uniform law as makes it keep its promise to the last digits."""
    found = np.where(allowed, np.maximum(found, 0.0), 0.0)
    found /= found.sum(axis=1, keepdims=True)
    share = 0.0
    for share in (0.0, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        mixed = (1 - share) * found + share * allowed / allowed.sum(axis=1, keepdims=True)
        if keeps(mixed, pairs, promise):
            return mixed
    raise RuntimeError(f"a solution that does not keep its promise, by more than a share {share} can mend")


def keeps(found: Reals, pairs: Pairs, promise: Promise) -> bool:
    """Whether a mechanism keeps its promise between all pairs."""
    a = np.array([first for first, _ in pairs] + [second for _, second in pairs], dtype=int)
    b = np.array([second for _, second in pairs] + [first for first, _ in pairs], dtype=int)
    if promise.kind == "concentrated":
        near = bool(_divergences(found[a], found[b]).max() <= promise.rho * (1 + 1e-9))
        return near and (not promise.strict or _every_order(found[a], found[b], promise.rho))
    excess = np.maximum(found[a] - math.exp(promise.epsilon) * (1 + 1e-12) * found[b], 0.0).sum(axis=1)
    return bool(excess.max() <= promise.delta)


def _divergences(p: Reals, q: Reals) -> Reals:
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / q), 0.0)
    return np.asarray(terms.sum(axis=-1))


def _every_order(p: Reals, q: Reals, rho: float) -> bool:
    """Whether Renyi divergences of all orders looked at are at most order times rho."""
    logs, other = np.log(np.maximum(p, 1e-300)), np.log(np.maximum(q, 1e-300))
    for order in ORDERS:
        terms = order * logs + (1 - order) * other
        top = terms.max(axis=1)
        far = (top + np.log(np.exp(terms - top[:, None]).sum(axis=1))) / (order - 1)
        if far.max() > order * rho * (1 + 1e-9):
            return False
    return True


def _by_descent(losses: Reals, pairs: Pairs, promise: Promise, prior: Reals | None) -> Reals:
    """By descent on log-probabilities under prices of the divergences and weights of the tables, which are then mended.

    What comes out is not the optimum but near it, and keeps its promise.
    """
    tables, outputs = losses.shape
    rho = promise.rho
    a = np.array([first for first, _ in pairs] + [second for _, second in pairs], dtype=int)
    b = np.array([second for _, second in pairs] + [first for first, _ in pairs], dtype=int)
    scale = float(losses.max(axis=1).min()) or 1.0

    def probabilities(x: Reals) -> tuple[Reals, Reals]:
        logits = x.reshape(tables, outputs)
        shifted = logits - logits.max(axis=1, keepdims=True)
        logs = np.maximum(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), -200.0)
        return logs, np.exp(logs)

    def lagrangian(x: Reals, weights: Reals, prices: Reals) -> tuple[float, Reals]:
        logs, p = probabilities(x)
        ratios = logs[a] - logs[b]
        slope = weights[:, None] * losses / scale  # by p
        value = float((p * slope).sum()) + float(prices @ (p[a] * ratios).sum(axis=1))
        np.add.at(slope, a, prices[:, None] * (ratios + 1))
        np.add.at(slope, b, -prices[:, None] * np.exp(np.minimum(ratios, 50.0)))
        return value, (p * (slope - (slope * p).sum(axis=1, keepdims=True))).ravel()

    weights = np.full(tables, 1 / tables) if prior is None else np.asarray(prior, dtype=np.float64)
    flat = (-losses / max(float(np.median(losses)), 1e-9)).ravel()
    best, x = np.full(losses.shape, 1 / outputs), flat
    prices = np.full(len(a), 0.1 / rho / len(a))
    for number in range(40 if prior is not None else 160):
        x = minimize(lagrangian, x, (weights, prices), jac=True, method="L-BFGS-B", options={"maxiter": 60}).x
        p = probabilities(x)[1]
        p /= p.sum(axis=1, keepdims=True)
        close = _closer(p, pairs, promise)
        if worst_loss(close, losses, prior) < worst_loss(best, losses, prior):
            best = close
        far = _divergences(p[a], p[b]) / rho
        prices = np.maximum(prices * np.clip(far, 0.05, 20.0) ** 0.5, 1e-9)
        if far.max() < 0.1:  # one law for all tables, from which no descent leads away
            x = flat
        if prior is None:
            own = (close * losses).sum(axis=1)
            weights = weights * np.exp((own / own.max() - 1) / (1 + number / 20))
            weights /= weights.sum()
    return best


def _closer(found: Reals, pairs: Pairs, promise: Promise) -> Reals:
    """Mixed with one law for all tables, as little as keeps the promise: divergences are convex."""
    common, low, high = found.mean(axis=0), 0.0, 1.0
    if keeps(found, pairs, promise):
        return found
    for _ in range(30):
        share = (low + high) / 2
        if keeps((1 - share) * found + share * common, pairs, promise):
            high = share
        else:
            low = share
    return (1 - high) * found + high * common


def worst_loss(found: Reals, losses: Reals, prior: Reals | None = None) -> float:
    """The loss on the worst table, or on average."""
    own = (found * np.where(found > 0, losses, 0.0)).sum(axis=1)
    return float(own.max() if prior is None else prior @ own)


def on_chain(
    answers: Sequence[float], promise: Promise, cuts: int, prior: Reals | None = None, reach: int = 1
) -> Reached:
    """Tables in a row, those at most `reach` apart neighbors, with these true answers; answers cut so often between.

    Nobody gains by answers beyond the least and the largest true one.
    """
    true = np.asarray(answers, dtype=np.float64)
    ends = np.unique(true)
    grid = np.unique(
        np.concatenate([ends[-1:], *(np.linspace(x, y, cuts, endpoint=False) for x, y in itertools.pairwise(ends))])
    )
    losses = (grid[None, :] - true[:, None]) ** 2
    pairs = [(i, j) for i in range(len(true)) for j in range(i + 1, min(i + reach, len(true) - 1) + 1)]
    achieved = worst_loss(mechanism(losses, pairs, promise, prior), losses, prior)
    gap = float(np.diff(grid).max()) if len(grid) > 1 else 0.0
    floor = 0.0 if promise.kind == "concentrated" else achieved * (1 - 1e-4) - gap**2 / 4
    return Reached(achieved, floor)


# ---------------------------------------------------------------------------------------------------- laws of noise


def noise(basis: Reals, shifts: Wholes, promise: Promise, radius: int, cuts: int = 1) -> Reached:
    """Noise `basis @ z / cuts`, z whole, where a unit moves z by `cuts` times a row of `shifts`, either way.

    The error is the sum of squares.  Radius counts steps of z to each side before the law is continued.
    """
    basis = np.atleast_2d(np.asarray(basis, dtype=np.float64))
    moves = cuts * np.atleast_2d(np.asarray(shifts, dtype=np.int64))
    points = _box(radius, basis.shape[1])
    costs = ((points @ basis.T / cuts) ** 2).sum(axis=1)
    rounding = float((basis**2).sum()) / (4 * cuts**2)
    if promise.kind == "concentrated":
        return Reached(_smooth_law(basis / cuts, moves, promise.rho, radius), 0.0)
    found, least = law(points, costs, moves, promise, radius)
    if promise.delta:
        return Reached(float(found @ costs), 0.0)
    wider = radius + math.ceil((26 if basis.shape[1] == 1 else 16) / promise.epsilon) * int(np.abs(moves).max())
    return Reached(_continued(found, basis / cuts, moves, promise.epsilon, radius, wider), least - rounding)


def _box(radius: int, dimension: int) -> Wholes:
    side = np.arange(-radius, radius + 1)
    return np.stack([part.ravel() for part in np.meshgrid(*[side] * dimension, indexing="ij")], axis=1)


def law(points: Wholes, costs: Reals, moves: Wholes, promise: Promise, radius: int) -> tuple[Reals, float]:
    """The law on a box of least mean cost, and that cost; a pure one keeps its promise inside of the box only."""
    count, side = len(points), 2 * radius + 1
    strides = side ** np.arange(points.shape[1])[::-1]
    rows, columns, values, limits, at, slack = [], [], [], [], 0, 0
    for move in [sign * move for move in moves for sign in ((1,) if promise.delta else (1, -1))]:
        to = points + move
        inside = (np.abs(to) <= radius).all(axis=1)
        index = ((to + radius) @ strides)[inside]
        own = np.nonzero(inside)[0]
        if promise.delta:  # p(z) - e^epsilon p(z + move) <= slack, where p vanishes outside
            places = np.arange(count)
            rows += [at + places, at + own, at + places, np.full(count, at + count)]
            columns += [places, index, count + slack + places, count + slack + places]
            values += [np.ones(count), np.full(len(own), -math.exp(promise.epsilon)), -np.ones(count), np.ones(count)]
            limits.append(np.append(np.zeros(count), promise.delta * (1 - 1e-9)))
            at, slack = at + count + 1, slack + count
        else:
            rows += [at + np.arange(len(own))] * 2
            columns += [own, index]
            values += [np.full(len(own), math.exp(-promise.epsilon)), -np.ones(len(own))]
            limits.append(np.zeros(len(own)))
            at += len(own)
    half = count // 2  # an even law: the opposite of place i is place count - 1 - i
    even = sp.csr_matrix(
        (
            np.concatenate([np.ones(half), -np.ones(half)]),
            (np.tile(np.arange(half), 2), np.concatenate([np.arange(half), count - 1 - np.arange(half)])),
        ),
        shape=(half, count + slack),
    )
    total = sp.csr_matrix((np.ones(count), (np.zeros(count, int), np.arange(count))), shape=(1, count + slack))
    scale = float(np.median(costs)) or 1.0
    found = linprog(
        np.append(costs / scale, np.zeros(slack)),
        A_ub=sp.csr_matrix(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(at, count + slack)
        ),
        b_ub=np.concatenate(limits),
        A_eq=sp.vstack([total, even]).tocsr(),
        b_eq=np.append(1.0, np.zeros(half)),
        method="highs",
        options=TIGHT,
    )
    if found.status != 0:
        raise RuntimeError(f"the program was not solved: {found.message}")
    p = np.maximum(np.asarray(found.x[:count]), 0.0)
    return p / p.sum(), float(found.fun) * scale


def _continued(found: Reals, basis: Reals, moves: Wholes, epsilon: float, radius: int, wider: int) -> float:
    """The mean cost of a law that keeps its promise inside of a box, continued as far as counts."""
    d = basis.shape[1]
    shape = (2 * wider + 1,) * d
    p = np.zeros(shape)
    p[(slice(wider - radius, wider + radius + 1),) * d] = found.reshape((2 * radius + 1,) * d)
    for _ in range(4 * wider):
        before = p.copy()
        for move in [sign * move for move in moves for sign in (1, -1)]:
            to = tuple(slice(max(s, 0), n + min(s, 0)) for s, n in zip(move, shape, strict=True))
            of = tuple(slice(max(-s, 0), n + min(-s, 0)) for s, n in zip(move, shape, strict=True))
            p[to] = np.maximum(p[to], math.exp(-epsilon) * p[of])
        if np.array_equal(before, p):
            break
    costs = ((_box(wider, d) @ basis.T) ** 2).sum(axis=1)
    return float(p.ravel() @ costs / p.sum())


def _smooth_law(basis: Reals, moves: Wholes, rho: float, radius: int) -> float:
    """The mean cost of a law whose divergence under every move is at most rho, by descent on log-probabilities."""
    d = basis.shape[1]
    points = _box(radius, d)
    costs = ((points @ basis.T) ** 2).sum(axis=1)
    wide = np.exp(-np.abs(points).sum(axis=1) / max(radius / 8, 1.0))
    wide /= wide.sum()
    strides = (2 * radius + 1) ** np.arange(d)[::-1]
    steps = []
    for move in [sign * move for move in moves for sign in (1, -1)]:
        to = points + move
        inside = (np.abs(to) <= radius).all(axis=1)
        steps.append((np.nonzero(inside)[0], ((to + radius) @ strides)[inside], np.nonzero(~inside)[0]))
    spread = _least_spread(moves, basis)  # moves' covariances that a Gaussian of the least trace has
    start = -0.5 * np.einsum("ni,ij,nj->n", points, np.linalg.inv(spread / (2 * rho)), points)

    def parts(x: Reals) -> tuple[Reals, Reals]:
        q = np.exp(x - x.max())
        q /= q.sum()
        return q, (1 - OUTSIDE) * q + OUTSIDE * wide

    def objective(x: Reals, prices: Reals) -> tuple[float, Reals]:
        q, p = parts(x)
        value, slope = float(p @ costs), costs.copy()
        for (own, to, leaving), price in zip(steps, prices, strict=True):
            ratio = np.log(p[own] / p[to])
            value += price * (float(p[own] @ ratio) + LEAVING * float(p[leaving].sum()) - rho)
            slope[leaving] += price * LEAVING
            np.add.at(slope, own, price * (ratio + 1))
            np.add.at(slope, to, -price * p[own] / p[to])
        slope *= 1 - OUTSIDE
        return value, q * (slope - float(q @ slope))

    def divergences(x: Reals) -> Reals:
        _, p = parts(x)
        return np.array(
            [float(p[own] @ np.log(p[own] / p[to])) + LEAVING * float(p[leaving].sum()) for own, to, leaving in steps]
        )

    prices = np.full(len(steps), float((costs * parts(start)[0]).sum()) / rho / len(steps))
    x, best = start, float("inf")
    for number in range(60):
        most = {"maxiter": 400 if d < 3 else 60, "maxcor": 20}
        x = minimize(objective, x, (prices,), jac=True, method="L-BFGS-B", options=most).x
        far = divergences(x)
        if far.max() <= rho:
            best = min(best, float(parts(x)[1] @ costs))
        prices = prices * (np.maximum(far, 1e-3 * rho) / (rho * (1 - 1e-4))) ** 0.9
        if number >= 12 and best < float("inf"):
            break
        if number >= 12:
            prices = prices * 1.05
    return best


def _least_spread(moves: Wholes, basis: Reals) -> Reals:
    """A matrix S with v S^-1 v <= 1 for every move v and a small trace of basis S basis^T, by multiplicative ascent."""
    weights = np.full(len(moves), 1 / len(moves))
    metric = basis.T @ basis
    root = np.linalg.cholesky(metric + 1e-12 * np.trace(metric) * np.eye(len(metric)))
    turned = moves @ root
    for _ in range(200):
        values, vectors = np.linalg.eigh((turned.T * weights) @ turned)
        inverse = vectors / np.sqrt(np.maximum(values, 1e-12)) @ vectors.T
        weights = weights * np.einsum("ni,ij,nj->n", turned, inverse, turned)
        weights /= weights.sum()
    values, vectors = np.linalg.eigh((turned.T * weights) @ turned)
    shape = vectors * np.sqrt(np.maximum(values, 1e-12)) @ vectors.T
    back = np.linalg.inv(root)
    spread = back.T @ shape @ back
    return spread * float(np.einsum("ni,ij,nj->n", moves, np.linalg.inv(spread), moves).max())
