"""What an audit hands back: evidence against a claim, or what was tried and how far it would have seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sfumato.privacy.guarantees import Guarantee

__all__ = ["Attempt", "Evidence", "Finding"]


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

    `power` is the least epsilon, at the claim's delta, that the attack would have shown nine times
    in ten with the runs it had; infinite when it had too few to show anything.
    """

    attack: str
    tried: str
    runs: int
    power: float


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of an audit.  Finding no evidence is not a proof of privacy."""

    target: str
    claim: Guarantee | str  # words for a claim that is not about privacy, such as a sensitivity
    evidence: Evidence | None
    tried: tuple[Attempt, ...]
    timing: str | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def refuted(self) -> bool:
        """Whether there is evidence against the claim."""
        return self.evidence is not None

    @property
    def power(self) -> float:
        """The least epsilon that the best attack would have shown."""
        return min((attempt.power for attempt in self.tried), default=float("inf"))

    def __str__(self) -> str:
        claim = self.claim if isinstance(self.claim, str) else repr(self.claim)
        lines = [f"{self.target}: claims {claim}"]
        if self.evidence is None:
            lines.append("  no evidence found, which proves nothing; what was tried:")
            for attempt in self.tried:
                reach = f"would have shown epsilon >= {attempt.power:.3g}"
                reach = f"; {reach}" if attempt.power < float("inf") else ""
                lines.append(f"  - {attempt.attack}: {attempt.tried}; {attempt.runs} runs{reach}")
        else:
            found = self.evidence
            sure = f"error at most {found.alpha:.0e}" if found.alpha else "exactly"
            shown = f": epsilon >= {found.epsilon:.4g} at delta = {found.delta:.3g}"
            lines += [
                f"  refuted by {found.attack}{'' if isinstance(self.claim, str) else shown} ({sure})",
                f"  neighbors: {found.relation}",
                f"  event: {found.words}",
            ]
            if found.trials:
                lines.append(
                    f"  rates: {found.rates[0]:.4g} against {found.rates[1]:.4g} in {found.trials} fresh runs each"
                )
        if self.timing is not None:
            lines.append(f"  timing, outside the error rate: {self.timing}")
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)
