"""The doors of `sf.accounting`: what a researcher asks, each a few lines over the module that knows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from numbers import Real

import numpy as np

from sfumato.accounting.batch import Batch
from sfumato.accounting.calibration import gaussian_sigma_for, laplace_scale_for, real_laplace_scale_for
from sfumato.accounting.composition import optimal_epsilon
from sfumato.accounting.contractions import chi_square_contraction, total_variation_contraction
from sfumato.accounting.divergences.continuous import Density
from sfumato.accounting.divergences.convex import f_divergence
from sfumato.accounting.divergences.finite import FINITE, checked_laws
from sfumato.accounting.enclosures import density_law
from sfumato.accounting.kinds import spelled
from sfumato.accounting.lattice import law_of
from sfumato.accounting.laws import FiniteLaw, Law
from sfumato.accounting.profiles import concentrated_law
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate, Claim, Concentrated, Guarantee, Pure
from sfumato.privacy.parameters import positive, whole

__all__ = ["calibrate", "compose", "contraction", "divergence", "law_of_claim", "optimal", "pair"]

NOISES = ("gaussian", "laplace", "discrete-laplace")
CONTRACTIONS = {
    "total-variation": total_variation_contraction,
    "chi-square": chi_square_contraction,
    "kullback-leibler": chi_square_contraction,
    "hellinger": chi_square_contraction,
}
PAIRS = ("kullback-leibler", "total-variation", "chi-square", "hellinger")


def compose(*parts: Law | Claim | tuple[Law | Claim, int]) -> Batch:
    """Releases fixed in advance, each a loss law or a claim, or a pair of one with how often it is used.

    >>> from sfumato.accounting.laws import GaussianLaw
    >>> plan = compose((GaussianLaw(0.1), 100), Pure(0.5))
    >>> round(plan.epsilon(1e-6).upper, 2)
    5.29
    """
    counts: Counter[Law] = Counter()
    for part in parts:
        one, count = part if isinstance(part, tuple) and len(part) == 2 else (part, 1)
        if one is None or isinstance(one, Real | Iterable):  # a law may be any object with what `Law` asks
            raise ParameterError(
                "each part must be a loss law or a guarantee, or a pair of one with how often it is used, such as "
                f"(laplace(0.1), 40); got a {type(one).__name__}"
            )
        counts[law_of_claim(one) if isinstance(one, Claim) else one] += whole("count", count)
    return Batch(tuple(counts.items()))


def pair(p: object, q: object) -> FiniteLaw:
    """The law of two probability vectors over the same outcomes, in one order.

    >>> compose(pair([0.75, 0.25], [0.25, 0.75])).epsilon(1e-9).upper < 1.0987
    True
    """
    return FiniteLaw.of(p, q)


def law_of_claim(claim: Claim, tail: float = 1e-12) -> Law:
    """The worst pair of a claim; of a concentrated one by its profile, down to a delta of `tail`."""
    return concentrated_law(claim.rho, tail) if isinstance(claim, Concentrated) else law_of(claim)


def optimal(claim: Pure | Approximate, count: int, delta: float) -> Approximate:
    """What `count` releases with one claim promise together at `delta`: exact, no accounting of the claim is tighter.

    [KairouzOhViswanath2015, Theorem 3.3].  Proof: docs/proofs/accounting-composition.md.

    >>> round(optimal(Pure(0.1), 40, 1e-6).epsilon, 6)
    2.775409
    """
    if not isinstance(claim, Pure | Approximate):
        raise ParameterError(f"claim must be that of one release, Pure(...) or Approximate(...), got {claim!r:.60}")
    epsilon = optimal_epsilon(claim, count, delta)
    if math.isinf(epsilon):
        raise ParameterError(f"delta = {delta!r} is below what {count} releases of {claim!r} may reveal; raise it")
    return Approximate(epsilon, delta, assumptions=claim.assumptions)


def calibrate(noise: str, target: Guarantee, sensitivity: float = 1.0, count: int = 1) -> float:
    """The least noise for `count` releases that together meet `target`: sigma, or the scale of Laplace noise.

    `noise` is "gaussian", "laplace" (on the real numbers) or "discrete-laplace" (on the integers, what mechanisms
    here draw; `sensitivity` in lattice steps).

    >>> round(calibrate("gaussian", Approximate(1.0, 1e-6), count=20), 4)
    18.8933
    """
    kind = spelled("noise", noise, NOISES)
    whole("count", count)
    positive("sensitivity", sensitivity)
    if kind == "gaussian":
        if isinstance(target, Approximate) and target.delta > 0:
            return gaussian_sigma_for(count, sensitivity, target.epsilon, target.delta)
        rho = positive("the rho that the target allows", target.normal_within())
        return round_up(sensitivity * math.sqrt(count / (2 * rho)), 4)
    if isinstance(target, Approximate) and target.delta > 0:
        if kind == "laplace":
            return real_laplace_scale_for(count, sensitivity, target.epsilon, target.delta)
        return laplace_scale_for(count, sensitivity, target.epsilon, target.delta)  # type: ignore[arg-type]
    share = Concentrated(target.concentrated_within() / count) if target.counts_rho else target.share(count)
    return round_up(sensitivity / positive("the epsilon that the target allows", share.pure_within()), 4)


def divergence(
    kind: str | Callable[[float], float], p: object, q: object, *, slope: float = math.inf, order: float | None = None
) -> float:
    """How far two laws are apart, rounded up: probability vectors, or two densities on the line.

    `kind` is kullback-leibler, total-variation, chi-square, hellinger, max (vectors), hockey-stick or renyi (with
    `order`: the epsilon, or the order), or a convex function f with f(1) = 0, whose limit of f(t) / t is `slope`.

    >>> round(divergence("total-variation", [0.5, 0.5], [0.25, 0.75]), 6)
    0.25
    >>> round(divergence(lambda t: (t - 1) ** 2, [0.5, 0.5], [0.25, 0.75]), 6)
    0.333333
    """
    both = isinstance(p, Density), isinstance(q, Density)
    if any(both) and not all(both):
        raise ParameterError("p and q must both be densities, or both be probabilities over the same outcomes")
    if isinstance(p, Density) and isinstance(q, Density):
        return _between_densities(kind, p, q, slope, order)
    if callable(kind):
        first, second = checked_laws(p, q)
        return f_divergence(kind, first, second, slope)
    name = spelled("kind", kind, (*FINITE, "hockey-stick", "renyi"))
    if name in FINITE:
        return FINITE[name](p, q)
    from sfumato.accounting.divergences.finite import hockey_stick, renyi

    if order is None:
        raise ParameterError(f"{name} needs order=: {'the epsilon' if name == 'hockey-stick' else 'above 1'}")
    return hockey_stick(p, q, order) if name == "hockey-stick" else renyi(p, q, order)


def _between_densities(
    kind: str | Callable[[float], float], p: Density, q: Density, slope: float, order: float | None
) -> float:
    if callable(kind):
        law = density_law(p, q)
        return f_divergence(kind, np.append(law.p, law.infinity), np.append(law.q, 0.0), slope)
    name = spelled("kind", kind, (*PAIRS, "hockey-stick"))
    if name == "hockey-stick":
        if order is None:
            raise ParameterError("hockey-stick needs order=: the epsilon")
        return p.hockey_stick(q, order) if type(p) is type(q) else _stick(density_law(p, q), order)
    if type(p) is type(q):
        return p.divergence(q, name)
    if name == "total-variation":
        return _stick(density_law(p, q), 0.0)
    if name == "hellinger":
        law = density_law(p, q)
        return FINITE[name](np.append(law.p, law.infinity), np.append(law.q, 0.0))
    raise ParameterError(
        f"{name} between two families has no bound here: what lies in the tails would count as infinitely far; "
        "ask for total-variation, hellinger or hockey-stick"
    )


def _stick(law: FiniteLaw, epsilon: float) -> float:
    excess = law.p * -np.expm1(np.minimum(epsilon - law.losses, 0.0))
    return min(1.0, (math.fsum(excess) + law.infinity) * (1 + 1e-12))


def contraction(kind: str, epsilon: float) -> float:
    """The most of a divergence that an epsilon-private channel lets through.

    >>> round(contraction("kullback_leibler", 1.0), 6)
    0.213552
    """
    return CONTRACTIONS[spelled("kind", kind, tuple(CONTRACTIONS))](epsilon)
