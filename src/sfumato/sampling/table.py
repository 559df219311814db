r"""Draws from countably many outcomes of irrational weight, with one 64-bit word each, exactly.

Let W_i >= 0 be weights that have enclosures of every width, and `whole` >= sum W_i an integer in units of
2^-WIDTH.  Outcome i owns floor(2^64 W_i / whole) words, laid out by the alias method in integers; the words
nobody owns, about one in 2^50, lead to the remainder: the fractional parts, and every outcome too light
to be listed, settled by enclosures of growing width.  Proof: docs/proofs/sampling-envelope.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sfumato.errors import ParameterError
from sfumato.randomness import Rng
from sfumato.sampling.alias import Alias, alias_table
from sfumato.sampling.fixedpoint import LazyUniform

__all__ = ["Outcome", "TabulatedLaw", "Weigh", "tabulate"]

Outcome = tuple[int, int]
Weigh = Callable[[int], Iterator[tuple[Outcome, int, int, int]]]
"""Called with `bits`, lists outcomes in one fixed order with low <= 2**bits W <= high and a bound on
2**bits times the sum of all weights not yet listed; larger `bits` list at least as many."""

WIDTH = 160  # fractional bits of the weights while the table is built
FAR = 52  # outcomes are listed until those left weigh less than 2**-FAR of the ones listed
LARGEST = 1 << 14  # outcomes; a guard, the laws here need at most 2,300
ALL = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedLaw:
    """The heaviest outcomes, the words each owns, and their layout."""

    weigh: Weigh
    outcomes: tuple[Outcome, ...]
    owned: tuple[int, ...]
    whole: int
    alias: Alias

    def remainder(self, rng: Rng) -> Outcome | None:
        """The outcome under a word that no outcome owns, or None: reject the attempt."""
        position = LazyUniform()
        position.refine(rng)
        while True:
            position.refine(rng)
            decided, outcome = self.locate(position)
            if decided:
                return outcome

    def locate(self, position: LazyUniform) -> tuple[bool, Outcome | None]:
        """Whether it is decided into which fractional part `position` falls, and whose part it is.

        Everything is multiplied by whole * 2**bits, so that all but the weights are integers.
        """
        bits, own = position.bits, dict(zip(self.outcomes, self.owned, strict=True))
        spare = (ALL - sum(self.owned)) * self.whole
        left, right = position.value * spare, (position.value + 1) * spare
        low = high = beyond = 0
        for outcome, less, more, later in self.weigh(bits):
            beyond = later << 64 + WIDTH
            held = own.get(outcome, 0) * self.whole << bits
            low += max((less << 64 + WIDTH) - held, 0)
            high += (more << 64 + WIDTH) - held
            if left < high:  # it starts inside this part, or too near the part's ends to say
                return right <= low, outcome
        return left >= high + beyond, None


def tabulate(weigh: Weigh) -> TabulatedLaw:
    """Build the table: a few hundred outcomes, a millisecond or two."""
    listed, total, left = [], 0, 0
    for outcome, low, high, later in weigh(WIDTH):
        listed.append((outcome, low))
        total, left = total + high, later
        if later << FAR <= total:
            break
        if len(listed) > LARGEST:
            raise ParameterError("scale needs too large a table; this is a defect, please report it")
    whole = total + left
    owned = tuple((low << 64) // whole for _, low in listed)
    layout = alias_table([*owned, ALL - sum(owned)])
    return TabulatedLaw(weigh, tuple(outcome for outcome, _ in listed), owned, whole, layout)
