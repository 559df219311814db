r"""An odometer: how much privacy has been lost so far, at any time, with parameters chosen adaptively.

Let L_t be the loss of everything released up to time t.  With probability at least 1 - delta, at
all times at once,
    L_t <= min( sum of epsilons,  rho_j + 2 sqrt(rho_j ln(1 / delta_j)) ),
rho_j the first of the levels 2^j `start` that is not below the sum of rhos, and
delta_j = tail 6 / (pi^2 (|j| + 1)^2) / 2; delta is the tail plus the sum of the charges' deltas.
Ville's inequality at each level, a union over levels.  [WhitehouseEtAl2023]
Proof: docs/proofs/privacy-filters.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.numeric import round_up
from sfumato.privacy.conversions import pure_to_concentrated
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee
from sfumato.privacy.parameters import positive, probability

__all__ = ["Odometer"]


@dataclass(frozen=True, slots=True)
class Odometer:
    """The running sums of a history; `charged` returns the next one, nothing changes in place.

    >>> from sfumato.privacy.guarantees import Pure
    >>> meter = Odometer(tail=1e-6)
    >>> for _ in range(100):
    ...     meter = meter.charged(Pure(0.01))
    >>> round(meter.epsilon(), 6) <= 1.0
    True
    """

    tail: float
    start: float = 1e-3  # the level 2^0; any value fixed in advance is valid
    epsilons: float = 0.0
    deltas: float = 0.0
    rhos: float = 0.0

    def __post_init__(self) -> None:
        probability("tail", self.tail)
        positive("start", self.start)

    def charged(self, claim: Guarantee) -> Odometer:
        """The odometer after one more charge."""
        if isinstance(claim, Concentrated):
            epsilon, delta, rho = (math.inf if claim.rho else 0.0), 0.0, claim.rho
        else:
            epsilon, rho = claim.epsilon, pure_to_concentrated(claim.epsilon)
            delta = claim.delta if isinstance(claim, Approximate) else 0.0
        sums = (self.epsilons + epsilon, self.deltas + delta, self.rhos + rho)
        ups = [round_up(total) if total else 0.0 for total in sums]
        return Odometer(self.tail, self.start, *ups)

    def epsilon(self) -> float:
        """A bound of the loss so far, valid at all times at once with probability 1 - delta."""
        if self.rhos == 0:
            return self.epsilons
        level = math.ceil(math.log2(self.rhos / self.start))
        while self.start * 2.0**level < self.rhos:
            level += 1
        rho = self.start * 2.0**level
        share = 3 * self.tail / (math.pi * (abs(level) + 1)) ** 2
        bound = rho + 2 * math.sqrt(rho * -math.log(share))
        return min(self.epsilons, round_up(bound, 16))

    def delta(self) -> float:
        """The probability with which the bound may fail at some time."""
        return round_up(self.tail + self.deltas)
