r"""The trigonometric mechanism: noisy means of Chebyshev features, and a distribution on a grid that fits them.

Definition.  Columns are scaled to [-1, 1] and cut into N cells a side; features are prod_i cos(r_i arccos x_i),
r in {0..t-1}^d, but the constant.  Release their sums, as whole numbers, plus noise (and the number of rows where it is
private); find the distribution on the grid whose feature means are nearest in l1, by a linear program; publish its
points with weights, or m rows drawn from it [Huang2014, algorithms 4 and 5; WangFanZhangWang2013].

Guarantee.   With s the sensitivity of the sums in the noise's norm: pure k s / b for cube (l-infinity) or Laplace (l1)
noise, rho = (k s)^2 / (2 sigma^2) concentrated or (epsilon, delta) by the exact profile for normal noise (l2).  The
program and the sampling are post-processing.  Proof: docs/proofs/synthesis-trigonometric.md.

Accuracy.    For (K, B)-smooth queries and the printed t, N, m: O(n^{-K/(2d+K)} / epsilon) (I) and
O(n^{-2K/(3d+2K)} log(1/delta)^{K/(3d+2K)} / epsilon) (II), against the net mechanism's n^{-K/(d+3K)}; `query_bound`
gives a number for each query, after the release.

Assumes.     Nothing beyond random bits: features and noise are whole numbers and the samplers exact.

Differs.     Sensitivity 2/n a feature under replacement (or less where proven), not 1/n; the constant feature is free
or is the count; cube noise in place of Laplace; exact calibration in place of advanced composition; m capped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.additive import Vector, approximate, checked, joint_quantile, smallest_scale
from sfumato.mechanisms.gaussian import concentrated_sigma, gaussian_rho
from sfumato.numeric import ceil_float, round_up
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.gaussian import gaussian_delta, gaussian_sigma
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.features import axes_of
from sfumato.randomness import Rng
from sfumato.sampling import CubeNoise, DiscreteLaplace, RoundedNormal
from sfumato.schema import Schema
from sfumato.synthesis.chebyshev import Chebyshev, degrees_below

__all__ = ["Trigonometric", "printed_parameters"]

BODIES = ("cube", "laplace", "normal")
MOST_POINTS = 1 << 22  # of a grid
MOST_FEATURES = 4000


def printed_parameters(rows: int, columns: int, smoothness: int, delta: float | None = None) -> tuple[int, int, int]:
    """t, N and m of algorithm 4, or with delta of algorithm 5.

    >>> printed_parameters(10_000, 2, 4)
    (4, 100, 3162278)
    """
    n, d, k = float(rows), columns, smoothness
    if delta is None:
        base = 2 * d + k
        return math.ceil(n ** (1 / base)), math.ceil(n ** (k / base)), math.ceil(n ** (1 + (k + 1) / base))
    base, log = 3 * d + 2 * k, max(math.log(1 / delta), 1.0)
    order, grid = n ** (2 / base) * log ** (-1 / base), n ** (2 * k / base) * log ** (-k / base)
    drawn = n ** ((4 * d + 4 * k + 2) / base) * log ** (-(2 * d + 2 * k + 1) / base)
    return math.ceil(order), math.ceil(grid), math.ceil(drawn)


@dataclass(frozen=True, slots=True)
class Trigonometric:
    """Noise of a given scale on the sums of Chebyshev features of some columns."""

    schema: Schema
    columns: tuple[str, ...]
    features: Chebyshev
    body: str
    scale: float
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if self.body not in BODIES:
            raise ParameterError(f"body must be one of {', '.join(BODIES)}, got {self.body!r}")
        DiscreteLaplace(self.scale)
        if self.body == "cube":
            CubeNoise(self.scale, self.query.dimension)

    @classmethod
    def calibrate(
        cls, schema: Schema, columns: Sequence[str], target: Guarantee, *, smoothness: int,
        order: int | None = None, grid: int | None = None, body: str | None = None,
    ) -> Trigonometric:  # fmt: skip
        """The least noisy mechanism that meets `target`; order and grid as printed for the declared size."""
        names, normal = tuple(columns), _takes_normal(target)
        if not names or not (isinstance(smoothness, int) and smoothness >= 1):
            raise ParameterError("columns must not be empty, and smoothness a whole number of at least 1")
        delta = (target.delta if isinstance(target, Approximate) else math.exp(-1)) if normal else None
        features = _features(schema, names, smoothness, delta, order, grid)
        query, bodies = (
            _query(schema, names, features),
            (body,) if body else ("normal", "cube") if normal else ("cube",),
        )
        made = [cls(schema, names, features, one, *_scale(query, one, target)) for one in bodies]
        return min(made, key=lambda one: one.error(0.5))

    @property
    def counted(self) -> bool:
        """Whether the number of rows is released too."""
        return _counted(self.schema, self.columns)

    @property
    def query(self) -> Vector:
        """The vector of sums: its size and how far one unit moves it."""
        return _query(self.schema, self.columns, self.features)

    @property
    def memory(self) -> int:
        """An estimate of the bytes that fitting takes."""
        return 40 * math.prod(axis.cells for axis in self.features.axes) + 64 * self.features.count**2

    @property
    def noise(self) -> CubeNoise | DiscreteLaplace | RoundedNormal:
        """The law of the noise; of each coordinate, but for the cube."""
        if self.body == "cube":
            return CubeNoise(self.scale, self.query.dimension)
        return DiscreteLaplace(self.scale) if self.body == "laplace" else RoundedNormal(self.scale)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated | Approximate:
        """What one release costs between tables `distance` units apart."""
        if self.body != "normal":
            moved = self.query.linf if self.body == "cube" else self.query.l1
            return Pure(ceil_float(distance * Fraction(moved) / Fraction(self.scale)))
        moved = ceil_float(distance * Fraction(self.query.l2))
        if self.epsilon is not None and moved:
            return approximate(self.epsilon, gaussian_delta(self.scale, moved, self.epsilon), distance)
        return Concentrated(gaussian_rho(moved, self.scale))

    def error(self, beta: float = 0.05) -> float:
        """The largest error of a feature's sum, in rows, exceeded with probability at most `beta`."""
        law = self.noise
        if isinstance(law, CubeNoise):
            return law.quantile(beta) / self.features.scale
        return joint_quantile(law, self.query.dimension, beta) / self.features.scale

    def answer(self, table: Any) -> npt.NDArray[np.int64]:
        """The exact, secret sums: one pass over the rows, in batches."""
        sums, rows = self.features.sums(table.rows(self.columns), self.columns)
        return np.append(sums, rows * self.features.scale) if self.counted else sums

    def release(self, answer: npt.NDArray[np.int64], rng: Rng) -> npt.NDArray[np.int64]:
        """Add the noise.  `answer` is the exact, secret vector of sums."""
        exact, law = checked(answer, self.query), self.noise
        drawn = law.sample(None, rng) if isinstance(law, CubeNoise) else law.sample(self.query.dimension, rng)
        return np.asarray(exact + drawn)

    def means(self, output: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], float]:
        """The noisy feature means, kept in [-1, 1], and the number of rows they are over."""
        noisy = np.asarray(output, dtype=np.float64) / self.features.scale
        rows = max(float(noisy[-1]), 1.0) if self.counted else float(self.schema.fixed_size or 1)
        return np.clip(noisy[: self.features.count] / rows, -1.0, 1.0), rows


def _takes_normal(target: Guarantee) -> bool:
    return isinstance(target, Concentrated) or (isinstance(target, Approximate) and target.delta > 0)


def _scale(query: Vector, body: str, target: Guarantee) -> tuple[float, float | None]:
    """The least scale of a body's noise that meets the target, and the epsilon of its claim where it has delta."""
    if body != "normal":
        epsilon = pure_for(target.rho) if isinstance(target, Concentrated) else getattr(target, "epsilon", 0.0)
        if epsilon <= 0:
            raise UnsupportedQuery(f"{body} noise needs epsilon > 0 or rho > 0, not {target!r}")
        moved = query.linf if body == "cube" else query.l1
        return smallest_scale(ceil_float(Fraction(moved) / Fraction(epsilon))), None
    if isinstance(target, Concentrated) and target.rho > 0:
        return smallest_scale(concentrated_sigma(query.l2, target.rho)), None
    if isinstance(target, Approximate) and target.delta > 0:
        return smallest_scale(gaussian_sigma(query.l2, target.epsilon, target.delta)), target.epsilon
    raise UnsupportedQuery(f"normal noise needs rho > 0 or delta > 0; it cannot meet {target!r}")


def _features(
    schema: Schema, columns: tuple[str, ...], smoothness: int, delta: float | None, order: int | None, grid: int | None
) -> Chebyshev:
    """The features and grid asked for, or those of the document as far as memory allows."""
    d = len(columns)
    if (order is None or grid is None) and schema.size is None:
        raise UnsupportedQuery("declare size= in the schema, or give order= and grid=")
    printed = printed_parameters(schema.size or 1, d, smoothness, delta)
    t, side = order or max(2, printed[0]), grid or min(max(2, printed[1]), math.floor(MOST_POINTS ** (1 / d) + 1e-9))
    if t < 2 or t**d > MOST_FEATURES:
        raise UnsupportedQuery(
            f"{d} columns at order {t} make {float(t) ** d:.3g} features, of which 1 to {MOST_FEATURES} are feasible; "
            "lower order=, take fewer columns, or synthesize with features by degree"
        )
    if side < 2 or side**d > MOST_POINTS:
        raise UnsupportedQuery(
            f"a grid of {side} points a side has {float(side) ** d:.3g} points in {d} columns, about "
            f"{40 * float(side) ** d / 2**30:.3g} GiB; at most {MOST_POINTS:,}: lower grid= or take fewer columns"
        )
    return Chebyshev(axes_of(columns, schema, side), degrees_below(d, t))


def _counted(schema: Schema, columns: tuple[str, ...]) -> bool:
    imputed = all(schema.space(name).missing is not None for name in columns)  # type: ignore[attr-defined]
    return schema.fixed_size is None or not imputed


def _query(schema: Schema, columns: tuple[str, ...], features: Chebyshev) -> Vector:
    """Sensitivities of the features' sums and, where it is released, of the scaled count."""
    l1, l2, linf = (features.sensitivity(norm, schema) for norm in ("l1", "l2", "linf"))
    l2 = min(l1, l2)  # a bound in a larger norm is one in a smaller
    linf = min(l2, linf)
    name = f"features of {', '.join(columns)}"
    if not _counted(schema, columns):
        return Vector(name, features.count, l1, l2, linf)
    rows = float(features.scale * schema.unit.rows)
    both = round_up(math.sqrt(l2 * l2 + rows * rows), 4)
    return Vector(name, features.count + 1, l1 + rows, both, max(linf, rows))
