"""What an audit hands back: evidence against a claim, or what was tried and how far it would have seen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sfumato.auditing.tabular import ArrowTable
from sfumato.privacy.guarantees import Claim

__all__ = ["Attempt", "Evidence", "Finding", "abridged"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Two neighboring inputs and an event that is too much likelier on the first.

    `epsilon` is a lower limit, at the claim's `delta`, that is wrong with probability at most
    `alpha` over the whole audit (0 when it is exact; for a sensitivity it is the move itself).
    `event` maps an output to True or False.
    """

    attack: str
    neighbors: tuple[Any, Any] = field(repr=False)
    relation: str
    words: str
    event: Callable[[Any], bool] = field(repr=False)
    epsilon: float
    delta: float
    alpha: float
    rates: tuple[float, float]
    trials: int
    script: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attack that was carried out, and its power.

    `power` is the least epsilon, at the claim's delta, that the best event tested would have shown nine times
    in ten with the runs it had; infinite when they were too few to show anything.  It says nothing about
    other events, so nothing about the mechanism.  None where no events were counted: a look, or a computation.
    """

    attack: str
    tried: str
    runs: int
    power: float | None = None

    @property
    def reach(self) -> str:
        """The power in words."""
        if self.power is None:
            return "no events were counted"
        if math.isinf(self.power):
            return "could not have shown a violation: too few runs for the events that were tested"
        return f"the best event tested could have shown an epsilon of {self.power:.3g} or more, and did not"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of an audit.  Finding no evidence is not a proof of privacy.

    Without a claim (None), the evidence is for the largest epsilon that could be shown.
    """

    target: str
    claim: Claim | str | None  # words for a claim that is not about privacy, such as a sensitivity
    evidence: Evidence | None
    tried: tuple[Attempt, ...]
    timing: str | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    audited: bool = True  # False where no run could have shown anything, such as when each raised; a note says why

    @property
    def refuted(self) -> bool:
        """Whether there is evidence against the claim."""
        return self.evidence is not None and self.claim is not None

    @property
    def epsilon(self) -> float:
        """The largest epsilon shown, at the evidence's delta; 0 if none was."""
        return 0.0 if self.evidence is None else self.evidence.epsilon

    @property
    def power(self) -> float:
        """The least epsilon that the best event tested would have shown; infinite if nothing could have been."""
        return min((a.power for a in self.tried if a.power is not None), default=math.inf)

    def __str__(self) -> str:
        claim = self.claim if isinstance(self.claim, str) else repr(self.claim)
        lines = [f"{self.target}: claims {claim}" if self.claim is not None else f"{self.target}: without a claim"]
        lines += self._nothing() if self.evidence is None else self._shown(self.evidence)
        if self.timing is not None:
            lines.append(f"  timing, outside the error rate: {self.timing}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _nothing(self) -> list[str]:
        tested = any(attempt.power is not None for attempt in self.tried)
        blind = ": nothing could have been seen with so few runs" if tested and math.isinf(self.power) else ""
        head = f"  no evidence found, which proves nothing{blind}; what was tried:"
        if not self.audited:
            head = "  nothing was audited, for the reason in the note; what was tried:"
        return [head, *(f"  - {a.attack}: {a.tried}; {a.runs} runs; {a.reach}" for a in self.tried)]

    def _shown(self, found: Evidence) -> list[str]:
        sure = f"error at most {found.alpha:.0e}" if found.alpha else "exactly"
        shown = f": epsilon >= {found.epsilon:.4g} at delta = {found.delta:.3g}"
        verb = "refuted by" if self.claim is not None else "shown by"
        lines = [
            f"  {verb} {found.attack}{'' if isinstance(self.claim, str) else shown} ({sure})",
            f"  neighbors: {found.relation}",
            *(f"    {which}: {abridged(data)}" for which, data in zip(("one", "other"), found.neighbors, strict=True)),
            f"  event: {found.words}",
        ]
        if found.trials:
            lines.append(
                f"  rates: {found.rates[0]:.4g} against {found.rates[1]:.4g} in {found.trials} fresh runs each"
            )
        return lines


def abridged(value: object, width: int = 160) -> str:
    """A value in one short line."""
    plain = value.to_pydict() if isinstance(value, ArrowTable) else value
    text = " ".join(repr(plain).split())
    return text if len(text) <= width else f"{text[: width - 24]} ... {text[-19:]}"
