r"""A density with a bandwidth that is chosen privately: an exponential mechanism, then noise on the chosen curve.

Definition.  Of the public candidates of a question those are considered whose noise, at the budget left for the curve,
is below the height of a flat density.  One of them is chosen with probability proportional to exp(-c q), q its whole
score (`queries.functions.chosen`); then the curve with this bandwidth is released by its own mechanism.

Guarantee.   One unit changes each score by at most STEPS + 1 steps, up or down, so the choice costs c (2 STEPS + 2),
pure, or an eighth of its square, concentrated [CesarRogers2021; McSherryTalwar2007]; the curve costs the largest of the
candidates' claims.  Both together cost the sum, by adaptive composition.  Proof: docs/proofs/chosen_bandwidth.md.

Accuracy.    That of the released curve, given the bandwidth; `error` is that of the candidate with the most noise.

Assumes.     Nothing beyond random bits: scores are whole numbers, and the choice and the noise are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.functions.process import Process
from sfumato.mechanisms.functions.spectral_ball import SpectralBall
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.selection import checked_rate, cost, rate_for
from sfumato.numeric import ceil_float, floor_float
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries.functions.bandwidths import lattice_of
from sfumato.queries.functions.chosen import STEPS, ChosenDensity, Smoothing
from sfumato.queries.functions.density import Density
from sfumato.randomness import Rng
from sfumato.sampling import choose

__all__ = ["ChosenBandwidth"]

Curve = Process | SpectralBall

SHARE = Fraction(1, 8)  # of the budget, for the choice
SPREAD = 2 * (STEPS + 1)  # by how much two scores' changes can differ
COARSER = (0, 2, 4, 6)  # steps of leaving out waves that are tried for pure noise
LEAST = 3  # candidates that are considered in any case


@dataclass(frozen=True, slots=True)
class ChosenBandwidth(Answering):
    """The rate of the choice, and the mechanism of each candidate's curve, of which one is run.

    Proof: docs/proofs/chosen_bandwidth.md.
    """

    query: ChosenDensity
    rate: float
    concentrated: bool
    curves: tuple[Curve, ...]

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        if len({type(curve.guarantee()) for curve in self.curves}) != 1:
            raise ParameterError("the curves of all candidates must have claims of one kind")

    @classmethod
    def calibrate(cls, query: ChosenDensity, target: Guarantee) -> ChosenBandwidth:
        """An eighth of the target for the choice, the rest for the curve."""
        first, rest = _shares(target)
        lattice = lattice_of(query.column, query.schema)
        flat = 1 / (lattice.high_value - lattice.low_value)
        curves: list[Curve] = []
        for candidate in query.candidates:
            curve = _least(candidate, rest, query.size)
            if len(curves) >= LEAST and _noise(curve, query.size) > flat:
                break
            curves.append(curve)
        rate, concentrated = rate_for(first, SPREAD, 1)
        return cls(query, rate, concentrated, tuple(curves))

    @property
    def noises(self) -> tuple[float, ...]:
        """The root mean square of each curve's noise."""
        return tuple(_noise(curve, self.query.size) for curve in self.curves)

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What the choice and the curve cost between tables `distance` units apart."""
        choice = cost(self.rate, distance * SPREAD, 1, self.concentrated).parts()
        claims = [curve.guarantee(distance).parts() for curve in self.curves]
        worst = {part: max(claim.get(part, 0.0) for claim in claims) for part in ("epsilon", "delta", "rho")}
        if self.concentrated:
            return Concentrated(ceil_float(Fraction(choice["rho"]) + Fraction(worst["rho"])))
        epsilon = ceil_float(Fraction(choice["epsilon"]) + Fraction(worst["epsilon"]))
        return Approximate(epsilon, worst["delta"]) if "delta" in claims[0] else Pure(epsilon)

    def error(self, beta: float = 0.05) -> float:
        """The error over the whole range of the curve with the most noise."""
        return self.noisiest.error(beta)

    @property
    def noisiest(self) -> Curve:
        """The candidate with the most noise."""
        return max(self.curves, key=lambda curve: _noise(curve, self.query.size))

    def release(self, answer: Smoothing, rng: Rng) -> npt.NDArray[Any]:
        """The chosen place, then the noisy coefficients.  `answer` is a secret view of the table."""
        scores = self.query.scores(answer.counts, self.noises)
        place = int(choose(scores - scores.min(), self.rate, rng))
        curve = self.curves[place]
        noisy = np.asarray(curve.release(curve.take(answer.table), rng))
        return np.concatenate([np.array([place], dtype=noisy.dtype), noisy])

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        curves = [curve.to_record() for curve in self.curves]
        return {"type": "chosen-bandwidth", "rate": self.rate, "concentrated": self.concentrated, "curves": curves}

    @classmethod
    def from_record(cls, query: ChosenDensity, record: Mapping[str, Any]) -> ChosenBandwidth:
        """The mechanism that `to_record` described."""
        from sfumato.mechanisms import mechanism_from

        pairs = zip(record["curves"], query.candidates, strict=False)
        found = cast("tuple[Curve, ...]", tuple(mechanism_from(one, candidate) for one, candidate in pairs))
        return cls(query, record["rate"], record["concentrated"], found)


def _shares(target: Guarantee) -> tuple[Pure | Concentrated, Guarantee]:
    """What the choice takes of a target, and what is left for the curve."""
    parts = target.parts()
    if target.counts_rho:
        first = floor_float(Fraction(target.concentrated_within()) * SHARE)
        return Concentrated(first), Concentrated(floor_float(Fraction(target.concentrated_within()) - Fraction(first)))
    epsilon = target.pure_within()
    if not epsilon > 0:
        raise UnsupportedQuery(f"a private bandwidth needs epsilon > 0 or rho > 0, not {target!r}")
    first = floor_float(Fraction(epsilon) * SHARE)
    rest = floor_float(Fraction(epsilon) - Fraction(first))
    return Pure(first), Approximate(rest, parts["delta"]) if parts.get("delta") else Pure(rest)


def _least(candidate: Density, target: Guarantee, size: int) -> Curve:
    """Normal noise where the target takes it, else ball noise on as many waves as make its error least."""
    if target.takes_normal:
        return Process.calibrate(candidate, target)
    pure = Pure(target.pure_within())
    tried = [(SpectralBall.calibrate(candidate, pure, left), candidate.shaped("l2", left)) for left in COARSER]
    return min(tried, key=lambda pair: _noise(pair[0], size) + pair[1].left_out())[0]


def _noise(curve: Curve, size: int) -> float:
    """The root mean square of a curve's noise around its circle."""
    return math.sqrt(sum(unit**2 for unit in curve.query.units) * curve.noise.variance) / size
