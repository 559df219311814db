r"""NIM: K-norm noise level by level, coarse directions and fine ones each with a body of their own.

Definition.  Choose orthogonal subspaces U_1 = R^d, U_2, ... of dimensions d, floor(d/2), ..., 1, each the span of the
directions in which the body of the query projected to the one before is widest, and V_m the rest of U_m.
Recursive form [HardtTalwar2010, algorithm 1]: for each m draw K-norm noise for the query projected to U_m with
epsilon_m, and keep its part in V_m.  Projected form: draw it for the query projected to V_m at once.  Release
f(x) + round(sum of the parts).  There are floor(log2 d) + 1 levels.

Guarantee.   k units cost k max_i sum_m epsilon_m ||D_m f_i||, pure, over the columns f_i, with D_m the projection and
||.|| the gauge of its level; at most k sum_m epsilon_m.  This holds for any subspaces fixed without the data: the
covariance that suggests them comes from the matrix alone and steers accuracy only.  Proof: docs/proofs/nim.md.

Accuracy.    E ||noise||^2 = sum_m a_m^2 / epsilon_m^2; epsilon_m in proportion to a_m^{2/3} is best for a fixed sum,
and a convex program for the projected form's own charge.

Assumes.     `real-arithmetic`; `mixing` if a level is drawn by a walk.

Differs.     The paper charges levels equally (`equal`); the number of levels is floor(log2 d) + 1, not log d.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.elimination import rank
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.geometry.noise_body import Linear, columns_of
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, checked
from sfumato.mechanisms.noise.law import pure_epsilon
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Guarantee, Pure
from sfumato.randomness import Rng
from sfumato.sampling.bodies import Hull, knorm, sampler
from sfumato.sampling.bodies.enclosure import preimage_bound
from sfumato.sampling.bodies.lattice import accuracy_draws, check_reach, margins, mean_norm, rounded

__all__ = ["NIM", "Level"]

Reals = npt.NDArray[np.float64]
SHARES = ("equal", "two-thirds", "optimized")


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """K-norm noise on the hull of down @ F, mapped by `up`; the maps of all levels sum to the identity."""

    down: Reals
    up: Reals
    epsilon: float

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Level):
            return False
        same = np.array_equal(self.down, other.down) and np.array_equal(self.up, other.up)
        return same and self.epsilon == other.epsilon

    def __hash__(self) -> int:
        return hash((self.down.tobytes(), self.up.tobytes(), self.epsilon))


@dataclass(frozen=True, slots=True)
class NIM(Answering):
    """Level-wise K-norm noise.

    Proof: docs/proofs/nim.md.

    >>> from sfumato.mechanisms.geometry.noise_body import Columns
    >>> pair = Columns("pair", [[1, 0, 1, 2], [0, 1, 1, 9]])
    >>> NIM.calibrate(pair, Pure(0.5)).guarantee().epsilon <= 0.5
    True
    """

    query: Linear
    levels: tuple[Level, ...]
    bodies: tuple[Hull, ...] = field(init=False, repr=False, compare=False)
    reaches: Reals = field(
        init=False, repr=False, compare=False
    )  # (levels, columns): gauges of the columns, rounded up

    def __post_init__(self) -> None:
        columns = columns_of(self.query).astype(np.float64)
        if not self.levels or any(not (math.isfinite(level.epsilon) and level.epsilon > 0) for level in self.levels):
            raise ParameterError("levels must not be empty, and each needs a positive finite epsilon")
        bodies = tuple(Hull(level.down @ columns) for level in self.levels)
        sizes = (
            float(np.abs(level.up @ body.vertices).max()) * (body.degrees + 1) / level.epsilon
            for level, body in zip(self.levels, bodies, strict=True)
        )
        check_reach(sum(sizes))
        object.__setattr__(self, "bodies", bodies)
        object.__setattr__(self, "reaches", column_reaches(columns, self.levels, bodies))

    @classmethod
    def calibrate(cls, query: Linear, target: Guarantee, projected: bool = True, share: str = "optimized") -> NIM:
        """The levels of the query's own matrix, the budget shared "equal", "two-thirds" or "optimized"."""
        epsilon = pure_epsilon(target, "NIM")
        if share not in SHARES:
            raise ParameterError(f"share must be one of {', '.join(SHARES)}, got {share!r}")
        columns = columns_of(query).astype(np.float64)
        maps, sizes = subspaces(columns, projected)
        even = cls(query, tuple(Level(down, up, epsilon / len(maps)) for down, up in maps))
        weights = shares(share, np.array(sizes), even.reaches)
        made, total = even, Fraction(epsilon)
        for _ in range(4):  # the charge is linear in the epsilons, so one correction and its rounding are enough
            scale = float(total) / float((weights @ made.reaches).max()) * (1 - 1e-15)
            levels = (Level(d, u, float(w) * scale) for (d, u), w in zip(maps, weights, strict=True))
            made = cls(query, tuple(levels))
            if made.guarantee().epsilon <= epsilon:
                return made
            weights = weights * (1 - 1e-15)
        raise UnsupportedQuery("the budget could not be split; choose another share")

    @property
    def assumptions(self) -> frozenset[str]:
        """What the claim takes for granted."""
        walks = any(sampler(body) == "walk" for body in self.bodies)
        return frozenset({"real-arithmetic", "mixing"} if walks else {"real-arithmetic"})

    def guarantee(self, distance: int = 1) -> Pure:
        """What one release costs between tables `distance` units apart."""
        rates = [Fraction(level.epsilon) for level in self.levels]
        # the largest sum in floating point, and all that rounding could have hidden, then exactly
        rough = np.array([level.epsilon for level in self.levels]) @ self.reaches
        near = np.flatnonzero(rough >= rough.max() * (1 - 1e-12))
        costs = (sum(r * Fraction(float(g)) for r, g in zip(rates, self.reaches[:, i], strict=True)) for i in near)
        return Pure(ceil_float(distance * max(Fraction(cost) for cost in costs)), assumptions=self.assumptions)

    def error(self, beta: float = 0.05) -> float:
        """The largest coordinate error in lattice units, exceeded with probability at most `beta`."""
        return float(self.margins(beta / self.query.dimension).max())

    def margins(self, beta: float) -> Reals:
        """For each coordinate a distance that its error exceeds with probability at most `beta`."""
        if not 0 < beta < 1:
            raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
        return margins(self.draws(), beta)

    def answers(self, output: Lattice) -> npt.NDArray[np.float64]:
        """The answers that an output stands for: itself."""
        return np.asarray(output, dtype=np.float64)

    def mean_error(self, norm: str = "l2") -> float:
        """E ||noise||, in lattice units, simulated from a fixed seed."""
        return mean_norm(self.draws(), norm)

    @property
    def root_mean_square(self) -> float:
        """sqrt(E ||noise||_2^2 / d), in lattice units, simulated from a fixed seed."""
        return float(np.sqrt((self.draws() ** 2).mean()))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Add the noise; walks start anew.  `answer` is the exact, secret value of the query."""
        noise = np.zeros(self.query.dimension)
        for level, body in zip(self.levels, self.bodies, strict=True):
            noise += level.up @ knorm(body, level.epsilon, 1, rng)[0][0]
        return np.asarray(checked(answer, self.query) + rounded(noise))  # type: ignore[arg-type]

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        levels = [
            {"down": level.down.tolist(), "up": level.up.tolist(), "epsilon": level.epsilon} for level in self.levels
        ]
        return {"type": "nim", "levels": levels}

    @classmethod
    def from_record(cls, query: Linear, record: Mapping[str, Any]) -> NIM:
        """The mechanism that `to_record` describes: its levels as they are, nothing calibrated anew."""
        levels = (Level(np.array(level["down"]), np.array(level["up"]), level["epsilon"]) for level in record["levels"])
        return cls(query, tuple(levels))

    def draws(self) -> Reals:
        """Simulated noise from a fixed seed, one vector a row: for accuracy only, it is public."""
        draws = [accuracy_draws(body, seed) for seed, body in enumerate(self.bodies)]
        count = min(len(z) for z in draws)
        parts = [z[:count] @ level.up.T / level.epsilon for z, level in zip(draws, self.levels, strict=True)]
        return np.asarray(sum(parts))


def subspaces(columns: Reals, projected: bool) -> tuple[list[tuple[Reals, Reals]], list[float]]:
    """The maps (down, up) of each level, and a_m = sqrt(E ||noise||^2) of its part at epsilon 1."""
    dimension = columns.shape[0]
    if rank(columns) < dimension:
        raise UnsupportedQuery("NIM needs a query with independent rows; drop the rows that follow from the others")
    wide = np.eye(dimension)  # orthonormal rows that span U_m
    maps: list[tuple[Reals, Reals]] = []
    sizes: list[float] = []
    while True:
        spread = second_moment(Hull(wide @ columns))
        values, vectors = np.linalg.eigh(spread)  # ascending
        kept = len(wide) // 2
        narrow = vectors[:, : len(wide) - kept].T @ wide  # V_m
        if projected:
            maps.append((narrow, narrow.T))
            sizes.append(math.sqrt(float(np.trace(second_moment(Hull(narrow @ columns))))))
        else:
            maps.append((wide, narrow.T @ (narrow @ wide.T)))
            sizes.append(math.sqrt(float(values[: len(wide) - kept].sum())))
        if kept == 0:
            return maps, sizes
        wide = vectors[:, len(wide) - kept :].T @ wide


def second_moment(body: Hull) -> Reals:
    """E z z^T of K-norm noise at epsilon 1, simulated: (k+1)(k+2) times the covariance of the body."""
    draws = accuracy_draws(body)
    return np.asarray(draws.T @ draws / len(draws))


def column_reaches(columns: Reals, levels: tuple[Level, ...], bodies: tuple[Hull, ...]) -> Reals:
    """For each level and column a bound on the gauge of g_m, where sum_m up_m g_m = f holds exactly."""
    guesses = [body.vertices.T for body in bodies]
    stacked = np.hstack(guesses)
    bound = preimage_bound(np.hstack([level.up for level in levels]), columns.T, stacked)
    shift = float((bound - np.abs(stacked)).max())
    found = []
    for body, guess in zip(bodies, guesses, strict=True):
        axes = float(body.tight_gauge_bound(np.eye(body.dimension)).sum())
        found.append(body.tight_gauge_bound(guess) + shift * axes)
    return np.asarray(np.nextafter(np.array(found), np.inf))


def shares(name: str, sizes: Reals, reaches: Reals) -> Reals:
    """Relative epsilons of the levels."""
    if name == "equal":
        return np.ones(len(sizes))
    weights = np.asarray(sizes ** (2 / 3))
    if name == "two-thirds" or len(sizes) == 1:
        return weights
    from scipy.optimize import minimize

    # min sum a_m^2 / e_m^2 subject to max_i sum_m e_m reach_mi <= 1
    start = weights / (weights @ reaches).max()
    scale = float((sizes**2 / start**2).sum())
    limits = np.unique(np.round(reaches, 12), axis=1).T
    found = minimize(
        lambda e: float((sizes**2 / e**2).sum()) / scale,
        start,
        jac=lambda e: -2 * sizes**2 / e**3 / scale,
        bounds=[(float(s) / 50, 1.0 / float(r.max())) for s, r in zip(start, reaches, strict=True)],
        constraints={"type": "ineq", "fun": lambda e: 1 - limits @ e, "jac": lambda e: -limits},
        method="SLSQP",
    )
    better = np.asarray(found.x) / (found.x @ reaches).max()
    return np.asarray(better if (sizes**2 / better**2).sum() < scale else start)
