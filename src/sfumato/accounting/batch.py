r"""The batch accountant: the tight epsilon of a plan whose parameters were fixed in advance.

A plan is a list of laws with counts.  Its epsilon at a delta lies in a certified bracket: the upper
end is a guarantee, the lower end says how much better any accounting of these laws could be.  Use it
only when no parameter depends on earlier answers; adaptive spending is the business of `filters`.
Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sfumato.accounting.convolution import Part, Sum, convolve, cumulants
from sfumato.accounting.ends import Ends, Parts, aligned_step, grids, smooth_step
from sfumato.accounting.laws import must_be_consistent
from sfumato.accounting.loss import raised
from sfumato.accounting.renyi_curves import renyi_of
from sfumato.accounting.tradeoff import tradeoff_from_profile
from sfumato.errors import ParameterError
from sfumato.numeric import round_up
from sfumato.privacy.guarantees import Approximate
from sfumato.privacy.parameters import nonnegative, positive, probability, whole

if TYPE_CHECKING:
    import altair

__all__ = ["Batch", "Bracket"]

TOLERANCE = 1e-3  # width of the bracket relative to epsilon, for smooth laws
TAIL = 1e-4  # share of delta that may be cut from the tails
BEYOND = 1e-30  # tail mass below which a delta is not resolved
FAINT, DRAWN = 1e-9, 60  # a plot reaches down to this delta, by so many points
SMALL, CORNERS = 1e-4, 48  # a trade-off curve is followed to this delta, by so many lines
ETA = 1e-3  # share of delta given to the lower end of rough laws


class Bracket(NamedTuple):
    """Certified ends of a number: what is claimed is `upper`; the truth is not below `lower`."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Batch:
    """Releases fixed in advance, as (law, count) pairs.

    >>> from sfumato.accounting.laws import GaussianLaw
    >>> lower, upper = Batch(((GaussianLaw(0.1), 100),)).epsilon(1e-6)
    >>> lower <= 4.8865546 <= upper <= 1.001 * lower
    True
    """

    parts: Parts

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple((law, count) for law, count in self.parts))
        for law, count in self.parts:
            whole("count", count)
            must_be_consistent(law)

    def epsilon(self, delta: float, tolerance: float = TOLERANCE) -> Bracket:
        """The least epsilon at `delta`, in a bracket; both ends infinite if delta is out of reach."""
        probability("delta", delta)
        positive("tolerance", tolerance)
        return _worst([_epsilon(parts, delta, tolerance) for parts in self._directions()])

    def delta(self, epsilon: float, tolerance: float = TOLERANCE) -> Bracket:
        """The least delta at `epsilon`, in a bracket."""
        nonnegative("epsilon", epsilon)
        positive("tolerance", tolerance)
        return _worst([_delta(parts, epsilon, tolerance) for parts in self._directions()])

    def upper(self, delta: float, tolerance: float = TOLERANCE) -> float:
        """The upper end of `epsilon` alone, in less time."""
        probability("delta", delta)
        positive("tolerance", tolerance)
        return max((_upper(parts, delta, tolerance) for parts in self._directions()), default=0.0)

    def guarantee(self, delta: float) -> Approximate:
        """The claim at `delta`."""
        epsilon = self.upper(delta)
        if math.isinf(epsilon):
            raise ParameterError(f"delta = {delta!r} is below what the plan reveals outright; raise it")
        return Approximate(epsilon, delta)

    def curve(self, epsilons: Sequence[float]) -> list[Bracket]:
        """The privacy profile: delta at each epsilon."""
        return [self.delta(epsilon) for epsilon in epsilons]

    def tradeoff(self, alpha: float) -> float:
        """The least rate of missed detections of any test with false alarms at most `alpha`, rounded down."""
        return _tradeoff(self)(alpha)

    def renyi(self, order: float) -> float:
        """The Renyi divergence of an order above 1, rounded up: those of the releases add up."""
        return round_up(math.fsum(count * renyi_of(law, order) for law, count in self.parts), 2)

    def plot(self, epsilons: Sequence[float] | None = None) -> altair.Chart:
        """Delta against epsilon, as a chart; by default up to where delta is 1e-9."""
        from sfumato.report.privacy_curves import profile_chart  # altair: only when asked

        top = self.upper(FAINT) if self._revealed() < FAINT else 10.0
        points = [top * place / DRAWN for place in range(DRAWN + 1)] if epsilons is None else list(epsilons)
        return profile_chart({"composed": lambda epsilon: self.delta(epsilon).upper}, points)

    def _revealed(self) -> float:
        return max((_revealed(parts) for parts in self._directions()), default=0.0)

    def _directions(self) -> list[Parts]:
        if not self.parts:
            return []
        if all(law.symmetric for law, _ in self.parts):
            return [self.parts]
        return [self.parts, tuple((law.reversed(), count) for law, count in self.parts)]


@lru_cache(maxsize=64)
def _tradeoff(batch: Batch) -> Callable[[float], float]:
    top = batch.upper(SMALL) if batch._revealed() < SMALL else 1.0
    epsilons = [top * (place / CORNERS) ** 2 for place in range(CORNERS + 1)] if top else [0.0]
    return tradeoff_from_profile(lambda epsilon: batch.delta(epsilon).upper, epsilons)


def _worst(ends: Sequence[Bracket]) -> Bracket:
    return Bracket(max((end.lower for end in ends), default=0.0), max((end.upper for end in ends), default=0.0))


def _epsilon(parts: Parts, delta: float, tolerance: float) -> Bracket:
    revealed = _revealed(parts)
    if revealed >= delta:
        return Bracket(math.inf, math.inf)
    spare = TAIL * (delta - revealed)
    tilt, size = _first_look(parts, delta, spare)
    best = Bracket(0.0, math.inf)
    for finer in (1.0, 8.0, 64.0):  # rough laws may need more than the rule for smooth ones
        ends = Ends.of(parts, tilt, tolerance * size / finer, spare, ETA * delta)
        upper = min(best.upper, _least_upper(ends.above, delta))
        best = Bracket(max(best.lower, _greatest_lower(ends, delta, upper, tolerance)), upper)
        if best.upper - best.lower <= tolerance * best.upper:
            break
    return best


def _upper(parts: Parts, delta: float, tolerance: float) -> float:
    revealed = _revealed(parts)
    if revealed >= delta:
        return math.inf
    spare = TAIL * (delta - revealed)
    tilt, size = _first_look(parts, delta, spare)
    smooth = smooth_step(parts, tilt, tolerance * size)
    step = aligned_step(parts, smooth) or smooth
    return _least_upper(convolve(grids(raised, parts, step, spare), tilt), delta)


def _first_look(parts: Parts, delta: float, spare: float) -> tuple[float, float]:
    """The tilt for `delta`, and a first idea of epsilon, on coarse grids."""
    coarse = grids(raised, parts, None, spare)
    tilt = _tilt_for_delta(coarse, delta)
    _, guess, variance = cumulants(coarse, tilt)
    return tilt, max(guess, 0.05 * math.sqrt(variance))


def _revealed(parts: Parts) -> float:
    return -math.expm1(math.fsum(n * math.log1p(-law.infinity) for law, n in parts))


def _delta(parts: Parts, epsilon: float, tolerance: float) -> Bracket:
    coarse = grids(raised, parts, None, BEYOND)
    if epsilon >= math.fsum(n * law.span(BEYOND / n)[1] for law, n in parts) * (1 + 1e-12):
        revealed = _revealed(parts)
        return Bracket(max(0.0, revealed * (1 - 1e-12)), revealed * (1 + 1e-12) + BEYOND * len(parts))
    tilt = _tilt_for_mean(coarse, epsilon)
    total, mean, variance = cumulants(coarse, tilt)
    guess = math.exp(max(-600.0, min(total - tilt * mean, -1.0)))
    width = tolerance * max(epsilon, math.sqrt(variance)) / (1 + tilt)
    ends = Ends.of(parts, tilt, width, TAIL * guess, ETA * guess)
    upper = ends.above.delta(epsilon)[1]
    return Bracket(min(upper, ends.lower_delta(epsilon)), upper)


def _tilt_for_delta(parts: Sequence[Part], delta: float) -> float:
    """The tilt whose saddle point has a tail near delta."""

    def tail(tilt: float) -> float:
        total, mean, variance = cumulants(parts, tilt)
        return total - tilt * mean - math.log(max(1.0, 2.5 * tilt * (1 + tilt) * math.sqrt(variance)))

    return _root(lambda tilt: tail(tilt) - math.log(delta), _steepest(parts))


def _tilt_for_mean(parts: Sequence[Part], mean: float) -> float:
    return _root(lambda tilt: mean - cumulants(parts, tilt)[1], _steepest(parts))


def _steepest(parts: Sequence[Part]) -> float:
    """A limit to the tilt: near the end of a bounded loss no tilt is needed, and none has a root."""
    return 60.0 / math.sqrt(max(cumulants(parts, 0.0)[2], 1e-24))


def _root(decreasing: Callable[[float], float], limit: float) -> float:
    """The root of a decreasing function, cut to [0, limit], to one percent."""
    low, high = 0.0, min(1.0, limit)
    if decreasing(0.0) <= 0:
        return 0.0
    while decreasing(high) > 0:
        if high >= limit:
            return limit
        low, high = high, min(2 * high, limit)
    while high - low > 1e-2 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > 0 else (low, middle)
    return high


def _least_upper(total: Sum, delta: float) -> float:
    """The least epsilon at which the upper bound of delta is small enough."""
    low, high = 0.0, total.top
    if total.delta(low)[1] <= delta:
        return 0.0
    if not total.delta(high)[1] <= delta:
        return high if total.infinity * (1 + 1e-12) <= delta else math.inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if total.delta(middle)[1] <= delta else (middle, high)
    return high


def _greatest_lower(ends: Ends, delta: float, upper: float, tolerance: float) -> float:
    """An epsilon below `upper` at which the true delta still exceeds the one asked for."""
    if not 0 < upper < math.inf:
        return upper
    gap = min(tolerance * upper / 2, upper)
    while not ends.lower_delta(upper - gap) > delta:
        if gap >= upper:
            return 0.0
        gap = min(1.5 * gap, upper)
    low, high = upper - gap, upper
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if ends.lower_delta(middle) > delta else (low, middle)
    return low
