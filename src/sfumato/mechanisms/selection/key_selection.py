r"""The names of keys held by enough units, found as early as any mechanism can: a coin for each key that occurs.

Definition.  A key that k units hold is shown with probability P_k, independently: P_0 = 0 and
P_k = min(e^eps P_{k-1} + delta, 1 - e^-eps (1 - P_{k-1} - delta), 1), rounded down to multiples of 2^-120.

Guarantee.   Laws of a key whose holders differ by one satisfy (eps, delta), both ways.  A unit holds at most m keys,
so one unit added or removed costs (m eps, 1 - (1 - delta)^m) [KairouzOhViswanath2017], one replaced the same with 2 m
keys.  With m = 1 no mechanism shows any key with a larger probability [DesfontainesEtAl2022].
Proof: docs/proofs/key_selection.md.

Accuracy.    A key held by k units is missed with probability 1 - P_k, which is 0 from some k on.

Assumes.     Nothing beyond random bits: coins of multiples of 2^-120 are exact.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.law import both_amounts
from sfumato.mechanisms.selection.selection import Counts
from sfumato.numeric import ceil_float, floor_float, round_down, round_up
from sfumato.privacy.guarantees import Approximate, Guarantee
from sfumato.queries.keys import Keys
from sfumato.randomness import Rng
from sfumato.sampling import uniform_integers

__all__ = ["KeySelection", "chances"]

HALF = 60  # bits of each of the two draws that decide a coin
ONE = 1 << 2 * HALF
LEAST_DELTA = 2.0**-100
MOST_STEPS = 10**6  # holders from which a key is certain
DIGITS = Context(prec=80)  # its exp is correctly rounded
MOST_EPSILON = 1000  # what more would change is below 2^-120


@dataclass(frozen=True, slots=True)
class KeySelection(Answering):
    """What the chance of one key may change by: `epsilon` and `delta` for each of a unit's keys.

    Proof: docs/proofs/key_selection.md.
    """

    query: Keys
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        Approximate(self.epsilon, self.delta)
        if not (self.epsilon > 0 and LEAST_DELTA <= self.delta < 1):
            raise ParameterError(
                f"selecting keys needs epsilon > 0 and a delta of at least {LEAST_DELTA:.3g}, got {self.epsilon!r} "
                f"and {self.delta!r}"
            )
        if 2 * math.log(1 / self.delta) / self.epsilon > MOST_STEPS:
            raise ParameterError(f"keys would need more than {MOST_STEPS:,} holders to be found; spend more epsilon")

    @classmethod
    def calibrate(cls, query: Keys, target: Guarantee) -> KeySelection:
        """The chances that grow fastest within `target`."""
        epsilon, delta = both_amounts(target, "selecting keys")
        keys = _moved(query)
        each = delta if keys == 1 else -math.expm1(math.log1p(-delta) / keys)
        made = cls(query, floor_float(Fraction(epsilon) / keys), each)
        while not made.guarantee().implies(target):
            each = round_down(each)
            made = cls(query, made.epsilon, each)
        return made

    def guarantee(self, distance: int = 1) -> Approximate:
        """What one release costs between tables `distance` units apart."""
        keys = _moved(self.query)
        delta = self.delta if keys == 1 else round_up(-math.expm1(keys * math.log1p(-self.delta)), 8)
        return Approximate(ceil_float(Fraction(self.epsilon) * keys), min(delta, 1.0)).group(distance)

    def error(self, beta: float = 0.05) -> float:
        """Keys held by at least this many units are missed with probability at most `beta` each."""
        return float(bisect_left(chances(self.epsilon, self.delta), math.ceil(ONE * (1 - Fraction(beta)))))

    def release(self, answer: Counts, rng: Rng) -> Counts:
        """1 where the key is shown, else 0.  `answer`: exact counts of the keys that occur."""
        counts = np.asarray(answer)
        if counts.ndim != 1:
            raise ParameterError(
                f"query {self.query.name!r} has one count a key, got an answer of shape {counts.shape}"
            )
        table = chances(self.epsilon, self.delta)
        places = np.minimum(counts, len(table) - 1)
        first, second = (np.array([one >> HALF for one in table]), np.array([one & (2**HALF - 1) for one in table]))
        high, low = (uniform_integers(2**HALF, counts.shape, rng) for _ in range(2))
        shown = (high < first[places]) | ((high == first[places]) & (low < second[places]))
        return np.asarray(shown, dtype=np.int64)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "key-selection", "epsilon": self.epsilon, "delta": self.delta}


@lru_cache(maxsize=64)
def chances(epsilon: float, delta: float) -> tuple[int, ...]:
    """P_0, P_1, ... up to certainty, in units of 2^-120, each rounded down.

    >>> [round(chance / ONE, 4) for chance in chances(1.0, 0.1)]
    [0.0, 0.1, 0.3718, 0.8057, 0.9653, 1.0]
    """
    rate = Decimal(min(epsilon, MOST_EPSILON))  # chances for a smaller epsilon are private for a greater one
    grow = math.floor(Fraction(DIGITS.next_minus(DIGITS.exp(rate))) * ONE)
    shrink = math.ceil(Fraction(DIGITS.next_plus(DIGITS.exp(-rate))) * ONE)
    least = math.floor(Fraction(delta) * ONE)
    found = [0]
    while found[-1] < ONE:
        p = found[-1]
        left = max(0, ONE - p - least)
        found.append(min((grow * p >> 2 * HALF) + least, ONE + (-shrink * left >> 2 * HALF), ONE))
    return tuple(found)


def _moved(query: Keys) -> int:
    """How many keys' holders can differ by one: a unit's, or two units'."""
    return query.per_unit * (2 if query.replaced else 1)
