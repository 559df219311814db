r"""The Gaussian process mechanism on a finite basis: a whole function released as integer coefficients.

Definition.  A query answers with integers a_1, ..., a_m, the coefficients of the function
F(x) = sum_k units_k a_k phi_k(x) on a public basis.  Release a + (round(G_1), ..., round(G_m)), the G_k independent
N(0, sigma^2).  Up to rounding, the function gets one path of the Gaussian process with covariance
sigma^2 sum_k units_k^2 phi_k(x) phi_k(y); with units_k^2 proportional to the Fourier coefficients of a kernel it is the
path of that kernel, made periodic and cut off [HallRinaldoWasserman2013].

Guarantee.   If one unit of distance moves a by at most s in l2, k units cost rho = (k s)^2 / (2 sigma^2) concentrated
[BunSteinke2016], or, with `epsilon` given, (epsilon, delta) with the exact Gaussian profile at k s, for every epsilon
[BalleWang2018].  Evaluating the function, anywhere and for ever, is post-processing.  Proof: docs/proofs/process.md.

Accuracy.    `error(beta)` bounds the noise over the whole domain at once, by the quantile of the process's supremum;
`deviations(points)` are the standard deviations at points.  What cutting off does to the function is bias, the query's.

Assumes.     Nothing beyond random bits: the rounded law is drawn exactly.

Differs.     The classical scale sqrt(2 ln(2/delta)) s / epsilon holds for epsilon <= 1 only and is larger; the example
[Jazbec2018, 6.12] halves the sensitivity of a density, which is sqrt(2) / (n (2 pi h^2)^{d/2}) under replacement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.additive import Lattice
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.numeric import normal_point
from sfumato.sampling.processes.suprema import Basis, supremum_quantile

__all__ = ["Coefficients", "Expandable", "Process"]


Reals = npt.NDArray[np.float64]


class Expandable(Protocol):
    """A query whose answer is a function on a finite basis, given by integer coefficients in units."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int:
        """The number of coefficients."""
        ...

    @property
    def basis(self) -> Basis: ...

    @property
    def units(self) -> tuple[float, ...]:
        """What one integer step of each coefficient is worth."""
        ...

    def sensitivity(self, norm: str) -> float:
        """How far one unit of distance moves the integer vector, rounding included."""
        ...


@dataclass(frozen=True, slots=True)
class Coefficients:
    """A bare function-valued query, for the mechanism used by itself."""

    name: str
    basis: Basis
    units: tuple[float, ...]
    l2: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", tuple(float(unit) for unit in self.units))
        if len(self.units) != self.basis.features:
            raise ParameterError(f"units must be {self.basis.features}, one for each function, got {len(self.units)}")
        if not all(math.isfinite(unit) and unit >= 0 for unit in self.units):
            raise ParameterError("units must be finite and not negative")
        if not (isinstance(self.l2, int | float) and math.isfinite(self.l2) and self.l2 >= 0):
            raise ParameterError(f"sensitivity l2 must be finite and not negative, got {self.l2!r}")

    @property
    def dimension(self) -> int:
        """The number of coefficients."""
        return self.basis.features

    def sensitivity(self, norm: str) -> float:
        """How far one unit moves the answer."""
        if norm != "l2":
            raise ParameterError(f"norm must be l2, the only one declared, got {norm!r}")
        return float(self.l2)


@dataclass(frozen=True, slots=True)
class Process(Gaussian):
    """Rounded normal noise on the coefficients of a function; the claim is concentrated unless `epsilon` is given.

    Proof: docs/proofs/process.md.

    >>> from sfumato.sampling.processes.torus import Torus
    >>> curve = Coefficients("curve", Torus((0.0,), (1.0,), (2.0,), (1,)), (0.5, 0.25, 0.25), l2=6.0)
    >>> Process(curve, sigma=12.0).guarantee()
    Concentrated(rho=0.125)
    """

    query: Expandable

    def error(self, beta: float = 0.05) -> float:
        """The noise of the function over its whole domain at once, exceeded with probability at most `beta`."""
        rounding = self.query.basis.reach(self.query.units) / 2
        return self.sigma * supremum_quantile(self.query.basis, self.query.units, beta) + rounding

    def deviations(self, points: npt.ArrayLike) -> Reals:
        """The standard deviation of the noise at each point."""
        spread = (self.query.basis.design(points) * np.asarray(self.query.units)) ** 2
        return np.asarray(np.sqrt(self.noise.variance * spread.sum(axis=1)))

    def margins_at(self, points: npt.ArrayLike, beta: float) -> Reals:
        """For each point a distance that the noise there exceeds with probability at most `beta`."""
        if not 0 < beta < 1:
            raise ParameterError(f"beta must lie strictly between 0 and 1, got {beta!r}")
        terms = np.abs(self.query.basis.design(points) * np.asarray(self.query.units))
        continuous = self.sigma * np.sqrt((terms**2).sum(axis=1)) * normal_point(beta / 2)
        return np.asarray((continuous + terms.sum(axis=1) / 2) * (1 + 1e-12))

    @property
    def peak_deviation(self) -> float:
        """The largest standard deviation of the noise at a point of the domain, rounded up."""
        return math.sqrt(self.noise.variance) * self.query.basis.spread(self.query.units)

    def curve(self, output: Lattice, points: npt.ArrayLike) -> Reals:
        """The released function at points, from the release alone."""
        scaled = np.asarray(output).astype(np.float64) * np.asarray(self.query.units)
        return np.asarray(self.query.basis.design(points) @ scaled)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "process", "sigma": self.sigma, "epsilon": self.epsilon}
