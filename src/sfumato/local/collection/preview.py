"""How large the error will be, before anything is collected: from the declaration and a number of people alone.

The standard error is over the protocol's coins, as an estimate states it.  The half width is that of the interval that
`Estimate.interval` states for one value by itself at the tally that is expected, before it is cut at 0 and 1.
Of ranges it is that of `Reading`: for one cell, for the share up to a cell (from which quantiles are read), for any
range.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.cards import Card, Shown
from sfumato.errors import UnsupportedQuery
from sfumato.local.choosing import KNOWN, known_by
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import short
from sfumato.local.collection.intervals import half_width, rates, state_worst_ranges
from sfumato.local.interactive.inquiry import Inquiry
from sfumato.local.interactive.strings import FrequentStrings
from sfumato.local.protocols.drawing import check_count
from sfumato.local.protocols.protocol import LocalProtocol
from sfumato.local.questions.limits import checked_level
from sfumato.local.questions.marginals import Marginals
from sfumato.local.questions.ranges import Ranges
from sfumato.local.questions.sets import Sets

__all__ = ["Preview", "preview"]

SHARES = (0.01, 0.1, 0.5)  # of which errors are shown
LIKELY = (0.5, 0.95)  # chances of being found, for which the share is shown


@dataclass(frozen=True, slots=True, repr=False)
class Preview(Shown):
    """The error to expect of a collection from so many people, for shares of several sizes or for the worst mean."""

    collection: Collection
    people: int
    level: float = 0.95

    def columns(self) -> dict[str, list[Any]]:
        """What is estimated, its standard error and the half width of its interval."""
        protocol, beta = self.collection.protocol, 1 - self.level
        rows: list[tuple[str, float, float]] = []
        if isinstance(protocol, Ranges):
            worst = state_worst_ranges(protocol, self.people, beta)
            rows = [(name, math.sqrt(variance), width) for name, (variance, width) in worst.items()]
        else:
            for name, share in self._asked():
                with contextlib.suppress(UnsupportedQuery):
                    error = math.sqrt(_variance(protocol, self.people, share))
                    rows.append((name, error, half_width(protocol, self.people, beta, share)))
        return {name: [row[i] for row in rows] for i, name in enumerate(("of", "standard_error", "half_width"))}

    def _asked(self) -> list[tuple[str, float | None]]:
        protocol = self.collection.protocol
        if isinstance(protocol, Sets | Marginals) or (protocol.goal == "frequencies" and rates(protocol) is not None):
            return [(f"a share of {share:g}", share) for share in SHARES]
        return [("a mean, at worst" if "mean" in protocol.goal else "a share, at worst", None)]

    def card(self) -> Card:
        """The errors, what they rely on, and who can answer."""
        collection, columns = self.collection, self.columns()
        facts = {"one report": f"{short(collection.guarantee())}, {collection.protocol.name!r}"}
        if collection.history() != collection.guarantee():
            facts["all rounds"] = short(collection.history())
        facts["clients"] = _clients(collection)
        facts |= {} if columns["of"] else {"error": "none is known beforehand for this protocol; simulate it"}
        facts |= {"caution": caution} if (caution := collection.caution()) else {}
        rows = [(name, f"{error:.3g}", f"±{width:.3g}") for name, error, width in zip(*columns.values(), strict=True)]
        headings = ["of", "standard error", f"half width, level {self.level:.4g}"]
        title = f"{collection.name}: what {self.people:,} reports of a round will tell"
        return Card(title, facts, headings, rows, [False, True, True], 0)


@dataclass(frozen=True, slots=True, repr=False)
class Power(Shown):
    """Which strings a search of so many people is sure to find."""

    inquiry: Inquiry
    rule: FrequentStrings

    def columns(self) -> dict[str, list[Any]]:
        """The least shares that are found with several chances."""
        return {"found_with_probability": list(LIKELY), "share": [self.rule.surely(chance) for chance in LIKELY]}

    def card(self) -> Card:
        """The shares in words."""
        facts = {"one answer": short(self.inquiry.guarantee())}
        rows = [(f"{chance:.2f}", f"{share:.3g}") for chance, share in zip(*self.columns().values(), strict=True)]
        title = f"{self.inquiry.name}: what {self.rule.users:,} answers over {self.rule.turns} turns will find"
        return Card(title, facts, ["found with probability", "strings of a share from"], rows, [True, True], 0)


def preview(source: Collection | Inquiry | str | Path, people: int, level: float = 0.95) -> Preview | Power:
    """How large the error of a collection will be if so many people report; of a search for strings what it finds.

    >>> from sfumato.local.collection.doors import collect
    >>> teams = collect("team", ["Sales", "Research", "none"], spend=1.0, people=20_000)
    >>> [f"{width:.2f}" for width in preview(teams, people=20_000).columns()["half_width"]]
    ['0.02', '0.02', '0.02']
    """
    check_count("people", people, 1, 1 << 62)
    checked_level(level)
    if isinstance(source, Inquiry):
        if isinstance(source.rule, FrequentStrings):
            return Power(source, source.rule.among(people))
        raise UnsupportedQuery(f"no error is known beforehand of {source.rule.name!r}; simulate it with `conducted`")
    collection = source if isinstance(source, Collection) else Collection.read(source)
    return Preview(collection, people, level)


def _variance(protocol: LocalProtocol, n: int, share: float | None) -> float:
    """Over the coins alone, of a value whose true share is given; else the worst.  It depends on no other share."""
    worst = protocol.variance(n)
    if share is None:
        return float(np.max(worst))
    added = share * (1 - share) / n if protocol.drawn else 0.0
    return float(np.max(protocol.variance(n, np.full(len(worst), share)))) - added


def _clients(collection: Collection) -> str:
    """Who can answer, and who cannot."""
    known = known_by(collection.protocol) if collection.most is None else ["python"]
    others = [client for client in KNOWN if client not in known]
    return ", ".join(known) + (f"; not {', '.join(others)}" if others else "")
