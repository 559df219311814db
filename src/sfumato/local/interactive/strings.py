r"""Frequent strings by a prefix tree: each block of users is asked to extend the prefixes that survived so far.

Definition.  Strings over a public alphabet, cut to `longest` characters.  In round r the candidates are the surviving
prefixes extended by each character, or ended; a user reports, through a frequency protocol, which candidate the own
string begins with, or "other".  A candidate survives if its count of supports reaches a threshold; ended ones are
results.  At most `most` survive, those of the largest counts.

Guarantee.   One report a user: that of the frequency protocol, whatever the transcript.

Accuracy.    The threshold is an exact binomial tail (`questions.limits`): a string that at most a share `least` of
the population begins with (or holds) survives with probability at most beta / (rounds x candidates).  So with
probability at least 1 - beta no result is at or below `least`.  `power` predicts the probability that a string of a
given share is found, if no more than `most` prefixes are more frequent.  [BassilyEtAl2017, WangLiJha2021]
Proof: docs/proofs/local-interactive.md.

Assumes.     Users are independent draws, each block from the same population.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.interactive.interaction import Interaction, Transcript, Turn, checked, target_from
from sfumato.local.protocols.owned import UNSENT, Names
from sfumato.local.protocols.protocol import Bits, LocalProtocol, Matrix, whole_from
from sfumato.local.questions.limits import binomial, binomial_threshold
from sfumato.local.questions.mapped import Mapped
from sfumato.local.questions.moments import supports
from sfumato.local.questions.oracles import oracle, protocols_from
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Frequent", "FrequentStrings", "Prefixes"]

LIKELY = 0.95  # a chance of being listed that is called sure
END = "\0"  # stands for the end of a string inside a candidate


@dataclass(frozen=True, slots=True)
class Prefixes(Mapped):
    """Which of the candidates a string begins with; the last category is "other", as is whatever is no string."""

    name: ClassVar[str] = "prefixes"
    goal: ClassVar[str] = "frequencies"

    candidates: tuple[str, ...]
    longest: int
    response: LocalProtocol

    @property
    def k(self) -> int:
        """The candidates, and other."""
        return len(self.candidates) + 1

    @property
    def inner(self) -> LocalProtocol:
        """The frequency protocol."""
        return self.response

    def owned(self, value: object, names: Names) -> str:
        """A text; what begins with no candidate has a category of its own."""
        if not isinstance(value, str):
            raise ParameterError(f"a value must be a text; {UNSENT}")
        return value

    def coerce(self, values: Any) -> npt.NDArray[np.int64]:
        """The longest candidate that each string begins with."""
        places = {candidate: place for place, candidate in enumerate(self.candidates)}
        lengths = sorted({len(candidate) for candidate in self.candidates}, reverse=True)
        found = np.full(len(values), len(self.candidates), dtype=np.int64)
        for row, value in enumerate(values):
            if isinstance(value, str) and END not in value:
                whole = value[: self.longest] + END
                hits = (places[whole[:length]] for length in lengths if whole[:length] in places)
                found[row] = next(hits, len(self.candidates))
        return found

    def positions(self, values: npt.ArrayLike, bits: Bits) -> npt.NDArray[np.int64]:
        """No chance here."""
        return self.coerce(values)

    def channel(self) -> Matrix:
        """The response's rows: one for each candidate, and other."""
        return self.response.channel()

    def to_record(self) -> dict[str, object]:
        """The public parameters."""
        return {
            "type": self.name, "candidates": list(self.candidates), "longest": self.longest,
            "response": self.response.to_record(),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Prefixes:
        """The channel that `to_record` wrote."""
        try:
            (response,) = protocols_from([record["response"]])
            return cls(tuple(map(str, record["candidates"])), int(record["longest"]), response)
        except (KeyError, TypeError, ValueError):
            raise ParameterError("a prefixes channel has candidates, longest and response") from None

    def words(self) -> str:
        """What leaves the device."""
        count = len(self.candidates)
        return f"which of {count} public beginnings the string has, or none: {self.response.words()}"


@dataclass(frozen=True, slots=True)
class Frequent:
    """A string, its estimated share in its block, and limits that hold for all results together."""

    string: str
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FrequentStrings(Interaction):
    """Strings held by more than a share `least` of the population, one character a round.

    >>> words = FrequentStrings("abcdefghijklmnopqrstuvwxyz", 6, Pure(2.0), users=600_000, least=0.001)
    >>> words.rounds, words.block(()), words.guarantee().implies(Pure(2.0))
    (7, 85715, True)
    """

    name: ClassVar[str] = "frequent-strings"
    PARTS: ClassVar[tuple[str, ...]] = (
        "type", "alphabet", "longest", "epsilon", "delta", "users", "least", "most", "beta",
    )  # fmt: skip

    alphabet: str
    longest: int
    target: Pure | Approximate
    users: int
    least: float = 0.0
    most: int = 64
    beta: float = 0.05

    def __post_init__(self) -> None:
        if any("\ud800" <= letter <= "\udfff" for letter in self.alphabet):
            raise ParameterError("alphabet must hold characters that can be written, not halves of them (surrogates)")
        if not self.alphabet or len(set(self.alphabet)) != len(self.alphabet) or END in self.alphabet:
            raise ParameterError("alphabet must hold different characters, none of them the zero character")
        for name, count in (("longest", self.longest), ("most", self.most), ("users", self.users)):
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise ParameterError(f"{name} must be a positive whole number, got {count!r}")
        if not 0 <= self.least < 1 or not 0 < self.beta < 1:
            raise ParameterError("least must lie in [0, 1) and beta strictly between 0 and 1")
        if self.users < self.rounds:
            raise ParameterError(f"users must be at least the number of rounds, {self.rounds}")

    @property
    def rounds(self) -> int:
        """One for each character, and one for the end of the longest strings."""
        return self.longest + 1

    @property
    def turns(self) -> int:
        """One for each round."""
        return self.rounds

    def columns(self, transcript: Transcript) -> dict[str, list[Any]]:
        """The strings that are found, with their shares and limits for these."""
        results = self.found(transcript)
        return {part: [getattr(result, part) for result in results] for part in ("string", "share", "low", "high")}

    def to_record(self) -> dict[str, Any]:
        """The public parameters."""
        delta = {"delta": self.target.delta} if self.target.delta else {}
        parts = {"alphabet": self.alphabet, "longest": self.longest, "epsilon": self.target.epsilon, **delta}
        return {
            "type": self.name, **parts, "users": self.users, "least": self.least, "most": self.most, "beta": self.beta,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> FrequentStrings:
        """The search that `to_record` wrote; least, most and beta may be left out."""
        longest, users = (whole_from(name, record[name]) for name in ("longest", "users"))
        least, beta, most = (
            record.get("least", 0.0),
            record.get("beta", 0.05),
            whole_from("most", record.get("most", 64)),
        )
        target = target_from(record)
        return cls(str(record["alphabet"]), longest, target, users, float(least), most, float(beta))

    def guarantee(self) -> Pure | Approximate:
        """What answering once costs at most."""
        return self.target

    def block(self, transcript: Transcript) -> int:
        """An even share of the users."""
        return -(-self.users // self.rounds)

    def channel_for(self, transcript: Transcript) -> LocalProtocol | None:
        """The candidates of the next round; none after the last round, or when no prefix survives."""
        alive: list[str] = [""]
        for turn in transcript:
            alive = [c for c in self._survivors(self._channel(alive), turn) if not c.endswith(END)]
            if not alive:
                return None
        return None if len(transcript) >= self.rounds else self._channel(alive)

    def found(self, transcript: Transcript) -> list[Frequent]:
        """The ended strings that survived, most frequent first; the transcript is checked against the rule."""
        results = []
        for channel, turn in checked(self, transcript):
            assert isinstance(channel, Prefixes)
            ended = [c for c in self._survivors(channel, turn) if c.endswith(END)]
            results += [self._result(channel, turn, candidate) for candidate in ended]
        return sorted(results, key=lambda result: (-result.share, result.string))

    def power(self, share: float) -> float:
        """The probability that a string of that share survives every round, when each has as many candidates as it may.

        Rounds are added up, so this is on the low side.
        """
        from scipy.special import bdtrc

        k = self.most * (len(self.alphabet) + 1) + 1
        rates, n = supports(oracle(k, self.target)), self.block(())
        rate = float(rates.other) + share * rates.gap
        missed = 1 - float(bdtrc(self._threshold(rates.other, rates.gap, n, k - 1) - 1, n, rate))
        return max(0.0, 1 - self.rounds * missed)

    def notes(self, transcript: Transcript) -> dict[str, str]:
        """Which share of the people is not listed, and which strings were as good as sure to be."""
        results, least = self.found(transcript), min((turn.reports for turn in transcript), default=0)
        rest, low, high = (
            1 - sum(shares)
            for shares in zip(*((one.share, one.high, one.low) for one in results), strict=True)
        ) if results else (1.0, 1.0, 1.0)  # fmt: skip
        found = {
            "unlisted": f"about {_share(rest)} of all people, from {_share(low)} to {_share(high)}, hold other strings"
        }
        if least:
            sure = self.among(least * self.rounds).surely(LIKELY)
            told = f"a string that a share of {sure:.3g} holds" if sure < 1 else "no string, however frequent,"
            found["surely found"] = (
                f"{told} is listed with probability {LIKELY:.4g} at least, if no more than {self.most} beginnings are "
                "more frequent"
            )
        return found

    def among(self, users: int) -> FrequentStrings:
        """The same search with another number of users."""
        return replace(self, users=users)

    def surely(self, chance: float) -> float:
        """The least share from which on a string is found with that probability (`power`), to a thousandth of it."""
        low, high = self.least, 1.0
        if self.power(high) < chance:
            return 1.0
        while high - low > 1e-3 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(middle) >= chance else (middle, high)
        return high

    def _channel(self, alive: list[str]) -> Prefixes:
        """Every survivor with every character, and ended; at full length only ended."""
        grown = [
            prefix + more
            for prefix in alive
            for more in ((END,) if len(prefix) == self.longest else (*self.alphabet, END))
        ]
        return Prefixes(tuple(grown), self.longest, oracle(len(grown) + 1, self.target))

    def _survivors(self, channel: Prefixes, turn: Turn) -> list[str]:
        """The candidates above the threshold, largest counts first, ties by their order."""
        if not turn.reports:
            return []
        rates, counts = supports(channel.response), np.array(turn.tally[: len(channel.candidates)])
        bar = self._threshold(rates.other, rates.gap, turn.reports, len(channel.candidates))
        order = np.argsort(-counts, kind="stable")[: self.most]
        return [channel.candidates[place] for place in order if counts[place] >= bar]

    def _threshold(self, other: Fraction, gap: float, n: int, candidates: int) -> int:
        rate = float(other) + self.least * gap
        return binomial_threshold(n, rate, self.beta / (self.rounds * candidates))

    def _result(self, channel: Prefixes, turn: Turn, candidate: str) -> Frequent:
        rates, place = supports(channel.response), channel.candidates.index(candidate)
        count = turn.tally[place]
        ends = binomial([count], turn.reports, self.beta / (self.rounds * len(channel.candidates)))
        share, low, high = (
            (float(rate) - float(rates.other)) / rates.gap for rate in (count / turn.reports, ends[0][0], ends[1][0])
        )
        return Frequent(candidate.removesuffix(END), share, max(low, 0.0), min(high, 1.0))


def _share(number: float) -> str:
    return f"{min(max(number, 0.0), 1.0):.3g}"
