r"""What somebody can learn from a release at most: beliefs before and after, and how often a guess is right.

Two neighboring tables, P and P' the laws of what is published, a prior p on the first.  If P(E) <= e^epsilon P'(E) +
delta for every event, both ways round, then P and P' are made, by one random map, from a machine that with probability
delta tells which table it is and otherwise answers by randomized response of epsilon [KairouzOhViswanath2015]: so
whoever sees the release knows no more than whoever sees the machine, whose odds stay within a factor e^epsilon unless
it tells.  A guess made from the release is right with probability at most
    1 - p + p D(ln((1 - p) / p)),   p <= 1/2,   D(e) the least delta at e that the claim promises,
for every rule, since that is the most of (1 - p) P'(not E) + p P(E) over events E.  For rho the total variation
bounds D besides: sqrt(rho / 2), sqrt(1 - exp(-rho)) [Tsybakov2009, Lemmas 2.5 and 2.6].  Numbers are rounded outward.
Proof: docs/proofs/accounting-posteriors.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.accounting.promises import curve
from sfumato.errors import ParameterError
from sfumato.numeric import round_down, round_up, shown_down, shown_up
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.statements import EveryEvent

__all__ = ["PRIORS", "Belief", "beliefs"]

PRIORS = (0.01, 0.1, 0.5)  # what somebody believed before
CERTAIN = 700.0  # an epsilon beyond which nothing is kept apart


@dataclass(frozen=True, slots=True)
class Belief:
    """A probability before, the least and the most that it is after (unless delta strikes), and of a right guess.

    `guess` counts delta in; without the release a guess is right with the larger of prior and 1 - prior.
    """

    prior: float
    factor: float  # by which the odds change at most, up or down
    least: float
    most: float
    guess: float

    def cells(self) -> tuple[str, str, str, str]:
        """The numbers for a reader, rounded outward, the first three with their odds."""
        against = (1 - self.prior) / self.prior
        return (
            f"{100 * self.prior:g} % (1 to {against:.4g})",
            f"{shown_down(100 * self.least, 3)} % (1 to {shown_up(against * self.factor, 4)})",
            f"{shown_up(100 * self.most, 3)} % ({shown_up(self.factor, 4)} to {against:.4g})",
            f"{shown_up(100 * self.guess, 4)} %",
        )

    def to_record(self) -> dict[str, float]:
        """Plain values."""
        return {
            "before": self.prior, "odds_factor": self.factor, "at_least": self.least, "at_most": self.most,
            "right_guess_at_most": self.guess,
        }  # fmt: skip


def beliefs(claim: Guarantee, priors: Iterable[float] = PRIORS) -> tuple[Belief, ...]:
    """What becomes of each prior, at most, through a release with this claim.

    >>> from sfumato.privacy.guarantees import Pure
    >>> [belief.cells() for belief in beliefs(Pure(1.0), [0.1])]
    [('10 % (1 to 9)', '3.92 % (1 to 24.47)', '23.2 % (2.719 to 9)', '90 %')]
    """
    said = claim.statement()
    return tuple(_belief(claim, said, prior) for prior in priors)


def _belief(claim: Guarantee, said: EveryEvent, prior: float) -> Belief:
    if not (isinstance(prior, int | float) and 0 < prior <= 0.5):
        raise ParameterError(f"a prior must lie in (0, 1/2], got {prior!r}; for a larger one take its opposite")
    if said.epsilon > CERTAIN:
        return Belief(prior, sys.float_info.max, 0.0, 1.0, 1.0)
    factor = round_up(math.exp(said.epsilon), 4) if said.epsilon else 1.0
    most = prior * factor / (1 - prior + prior * factor)
    least = prior / (prior + (1 - prior) * factor)
    kept = said.epsilon == 0
    return Belief(
        prior,
        factor,
        least if kept else round_down(least, 8),
        most if kept else min(1.0, round_up(most, 8)),
        _guess(claim, prior),
    )


def _guess(claim: Guarantee, prior: float) -> float:
    """How often a guess is right at most, whatever the rule."""
    margin = round_down(math.log((1 - prior) / prior), 4) if prior < 0.5 else 0.0
    apart = curve(claim, margin)
    if claim.counts_rho:
        rho = claim.concentrated_rho
        apart = min(apart, math.sqrt(rho / 2), math.sqrt(-math.expm1(-rho)))
    return 1 - prior if not apart else min(1.0, round_up(1 - prior + prior * apart * (1 + 1e-12), 4))
