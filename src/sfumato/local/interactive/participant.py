"""The user's half of an interaction: computes the channel itself, checks its cost, spends, then answers once.

A participant believes nobody: the channel follows from the public rule and the transcript it was shown, and whatever
that transcript claims, the channel must cost no more than the rule's own guarantee and fit the user's budget.  Two
collectors, or one that shows two transcripts, therefore cannot take more than the budget together.
"""

from __future__ import annotations

from sfumato.errors import BudgetExceeded, ParameterError
from sfumato.local.client.bits import SystemBits
from sfumato.local.client.budget import Budget
from sfumato.local.client.keeping import single
from sfumato.local.client.randomized import randomized
from sfumato.local.client.wire import encode_batch
from sfumato.local.interactive.interaction import Interaction, Transcript
from sfumato.local.protocols.owned import Names
from sfumato.local.protocols.protocol import Bits, LocalProtocol

__all__ = ["Participant"]


class Participant:
    """Answers an interaction for one user, within `budget`.

    >>> from sfumato.local.interactive.quantiles import QuantileSearch
    >>> from sfumato.privacy.guarantees import Pure
    >>> search = QuantileSearch.calibrate(100, 0.5, Pure(1.0), users=1000)
    >>> user = Participant(search, Budget(Pure(1.0)))
    >>> len(user.report(42, (), "median income"))
    49
    """

    __slots__ = ("_bits", "budget", "interaction")

    def __init__(self, interaction: Interaction, budget: Budget, bits: Bits | None = None) -> None:
        self.interaction = interaction
        self.budget = budget
        self._bits: Bits = SystemBits() if bits is None else bits

    def channel(self, transcript: Transcript) -> LocalProtocol:
        """The channel that the rule names, if it costs no more than the rule promised."""
        channel = self.interaction.channel_for(transcript)
        if channel is None:
            raise ParameterError("the interaction has ended with this transcript; there is nothing to answer")
        if not channel.guarantee().implies(self.interaction.guarantee()):
            raise BudgetExceeded(
                f"the channel costs {channel.guarantee()!r}, more than the {self.interaction.guarantee()!r} that "
                f"{self.interaction.name!r} promised; nothing was sent"
            )
        return channel

    def report(self, value: object, transcript: Transcript, key: str) -> bytes:
        """The message for this user's turn; `key` names the interaction (and the user's turn in it), spent once."""
        channel = self.channel(transcript)
        values = single(channel.owned(value, Names()))
        self.budget.spend(channel.guarantee(), key)
        return encode_batch(channel, randomized(channel, values, self._bits))

    def describe(self, transcript: Transcript) -> str:
        """What would leave the device now, in plain words."""
        channel = self.channel(transcript)
        claim = channel.guarantee().words().format(unit="any other value its owner might have had")
        return (
            f"The next report holds {channel.words()}, and nothing else.\nThe promise: {claim}.\n"
            f"The question follows from {len(transcript)} earlier turns; {self.budget.remaining()!r} remains to spend."
        )
