r"""A private quantile by adaptive search: noisy binary search with one bit a user.

Definition.  Values lie in k ordered cells; sought is x* = min{x : F(x) >= p}.  Users come in `blocks` blocks.  The
search holds x* in (low, high] and asks the next block, through binary randomized response, whether the value is at most
the middle m.  When the limits for F(m) from all answers at m exclude p, the search moves to the half that is left;
otherwise the same question is asked again.

Guarantee.   One binary response a user: that of the response, whatever the transcript.

Accuracy.    Each limit is wrong with probability at most beta/(blocks x levels), levels the number of halvings down to
one cell, so with probability at least 1 - beta the result's cells low..high hold x*, for every distribution.  If the
search ends undecided at m, F(m) is within the width of its limits of p, which shrinks as 1/sqrt of the users that were
left: no factor for the levels of a tree but in the logarithm.  Proof: docs/proofs/local-interactive.md.

Assumes.     Users are independent draws, each block from the same population.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.local.interactive.interaction import Interaction, Transcript, checked, target_from
from sfumato.local.protocols.coercion import positions
from sfumato.local.protocols.generalized import GeneralizedResponse
from sfumato.local.protocols.owned import Names, position
from sfumato.local.protocols.protocol import Bits, LocalProtocol, Matrix, whole_from
from sfumato.local.questions.limits import binomial, surely_above, surely_below
from sfumato.local.questions.mapped import Mapped
from sfumato.local.questions.oracles import protocols_from
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Found", "QuantileSearch", "Threshold"]

MOST_BLOCKS = 512
MOST_CELLS = 1 << 53  # as many as numbers tell apart
State = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Threshold(Mapped):
    """Whether a value's cell is at most `at`, through binary randomized response: the frequency of 0 is F(at)."""

    name: ClassVar[str] = "threshold"
    goal: ClassVar[str] = "frequencies"

    cells_of_value: int
    at: int
    response: LocalProtocol

    @property
    def k(self) -> int:
        """Two categories: at or below, and above."""
        return 2

    @property
    def inner(self) -> LocalProtocol:
        """The binary response."""
        return self.response

    def owned(self, value: object, names: Names) -> int:
        """A cell."""
        return position(value, self.cells_of_value)

    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """0 at or below the threshold, 1 above; values outside the cells count as the last cell."""
        return np.asarray(positions(values, self.cells_of_value) > self.at, dtype=np.int64)

    def positions(self, values: npt.ArrayLike, bits: Bits) -> npt.NDArray[np.int64]:
        """No chance here."""
        return self.coerce(values)

    def channel(self) -> Matrix:
        """The response's row of each cell."""
        rows = self.response.channel()
        return [rows[int(cell > self.at)] for cell in range(self.cells_of_value)]

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Threshold:
        """The channel that `to_record` wrote."""
        try:
            (response,) = protocols_from([record["response"]])
            return cls(int(record["cells_of_value"]), int(record["at"]), response)
        except (KeyError, TypeError, ValueError):
            raise ParameterError("a threshold channel has cells_of_value, at and response") from None

    def words(self) -> str:
        """What leaves the device."""
        return f"one bit, whether the value lies in the first {self.at + 1} cells: {self.response.words()}"


@dataclass(frozen=True, slots=True)
class Found:
    """The quantile's cell, the cells that hold it with the stated probability, and limits for F there."""

    cell: int
    low: int
    high: int
    share: tuple[float, float]


@dataclass(frozen=True, slots=True)
class QuantileSearch(Interaction):
    """The search for the cell of a quantile among k, with a known number of users in `blocks` blocks.

    >>> search = QuantileSearch.calibrate(1000, 0.5, Pure(1.0), users=100_000)
    >>> search.channel_for(()).at, search.block(())
    (499, 1563)
    """

    name: ClassVar[str] = "quantile-search"
    PARTS: ClassVar[tuple[str, ...]] = (
        "type", "k", "probability", "epsilon", "delta", "response", "users", "blocks", "beta",
    )  # fmt: skip

    k: int
    probability: float
    response: LocalProtocol
    users: int
    blocks: int = 64
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or not 2 <= self.k <= MOST_CELLS:
            raise ParameterError(f"k must be a whole number of ordered cells, from 2 to 2^53, got {self.k!r}")
        for name, value in (("probability", self.probability), ("beta", self.beta)):
            if not 0 < value < 1:
                raise ParameterError(f"{name} must lie strictly between 0 and 1, got {value!r}")
        if not (isinstance(self.blocks, int) and 1 <= self.blocks <= min(self.users, MOST_BLOCKS)):
            raise ParameterError(f"blocks must be from 1 to {min(self.users, MOST_BLOCKS)}, got {self.blocks!r}")
        if not isinstance(self.response, GeneralizedResponse) or self.response.k != 2:
            raise ParameterError("response must be binary randomized response; use calibrate")

    @classmethod
    def calibrate(
        cls,
        k: int,
        probability: float,
        target: Pure | Approximate,
        users: int,
        beta: float = 0.05,
        blocks: int | None = None,
    ) -> QuantileSearch:
        """The search with the most truthful response that meets `target`."""
        blocks = min(64, users) if blocks is None else blocks
        return cls(k, probability, GeneralizedResponse.calibrate(2, target), users, blocks, beta)

    @property
    def turns(self) -> int:
        """One for each block."""
        return self.blocks

    def columns(self, transcript: Transcript) -> dict[str, list[Any]]:
        """The cell that is found, and the first and the last that may be the one."""
        found = self.found(transcript)
        return {"probability": [self.probability], "cell": [found.cell], "low": [found.low], "high": [found.high]}

    def to_record(self) -> dict[str, Any]:
        """The public parameters."""
        parts = {"k": self.k, "probability": self.probability, "response": self.response.to_record()}
        return {"type": self.name, **parts, "users": self.users, "blocks": self.blocks, "beta": self.beta}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> QuantileSearch:
        """The search that `to_record` wrote, or one to calibrate: with epsilon, perhaps delta, for its response."""
        k, users = (whole_from(name, record[name]) for name in ("k", "users"))
        blocks, beta = whole_from("blocks", record.get("blocks", min(64, users))), float(record.get("beta", 0.05))
        if "response" in record:
            (response,) = protocols_from([record["response"]])
        else:
            response = GeneralizedResponse.calibrate(2, target_from(record))
        return cls(k, float(record["probability"]), response, users, blocks, beta)

    def guarantee(self) -> Pure | Approximate:
        """What answering once costs."""
        return self.response.guarantee()

    def block(self, transcript: Transcript) -> int:
        """An even share of the users."""
        return -(-self.users // self.blocks)

    def channel_for(self, transcript: Transcript) -> LocalProtocol | None:
        """The next threshold; none when one cell is left or all blocks have answered."""
        if len(transcript) >= self.blocks:
            return None
        low, high, _, _ = self._state(transcript)
        return None if high - low == 1 else self._threshold((low + high) // 2)

    def found(self, transcript: Transcript) -> Found:
        """What the answers so far say; the transcript is checked against the rule."""
        checked(self, transcript)
        low, high, yes, count = self._state(transcript)
        if high - low == 1:
            return Found(high, high, high, (self.probability, 1.0))
        share = self._limits(yes, count) if count else (0.0, 1.0)
        return Found((low + high) // 2, low + 1, high, share)

    @property
    def look(self) -> float:
        """How often one look at the answers may be wrong: after each block, at each middle on the way to the cell."""
        return self.beta / (self.blocks * (self.k - 1).bit_length())

    def _threshold(self, at: int) -> Threshold:
        return Threshold(self.k, at, self.response)

    def _state(self, transcript: Transcript) -> State:
        return _state(self, transcript)

    def _rates(self) -> tuple[float, float]:
        """The chance of "at most" for a value above, and how much more it is for one below."""
        assert isinstance(self.response, GeneralizedResponse)
        return float((1 - self.response.truthful) / 2), float(self.response.truthful)

    def _limits(self, yes: int, count: int) -> tuple[float, float]:
        """Limits for F at the middle, wrong with probability at most `look`."""
        least, most = binomial([yes], count, self.look)
        lie, gap = self._rates()
        return max(0.0, float((least[0] - lie) / gap)), min(1.0, float((most[0] - lie) / gap))


@lru_cache(maxsize=1024)
def _state(search: QuantileSearch, transcript: Transcript) -> State:
    """x* lies in (low, high]; answers at the middle so far: "at most", and all."""
    if not transcript:
        return -1, search.k - 1, 0, 0
    low, high, yes, count = _state(search, transcript[:-1])
    if high - low == 1:
        return low, high, yes, count
    yes, count = yes + transcript[-1].tally[0], count + transcript[-1].reports
    lie, gap = search._rates()
    rate, error = lie + gap * search.probability, search.look / 2
    if surely_above(yes, count, rate, error):
        return low, (low + high) // 2, 0, 0
    if surely_below(yes, count, rate, error):
        return (low + high) // 2, high, 0, 0
    return low, high, yes, count
