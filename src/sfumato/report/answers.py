"""A release's answers as text for tables: as many digits as the error bars justify, thousands apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.numeric import shown_down, shown_up
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee
from sfumato.release import Release
from sfumato.visible import visible

__all__ = ["Answers", "answers", "brief", "cost", "decimals", "left", "listed", "plain", "spaced"]

MOST_DECIMALS = 8


@dataclass(frozen=True, slots=True)
class Answers:
    """Headings, what each column is (key, rank, item, quantile, answer or interval), then a tuple of texts a row."""

    headings: tuple[str, ...]
    kinds: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numeric(self) -> tuple[bool, ...]:
        """The columns to set right-aligned."""
        return tuple(kind in ("answer", "rank", "quantile", "interval") for kind in self.kinds)


def answers(release: Release, level: float = 0.95) -> Answers:
    """The release's table for readers."""
    columns = release.table(level).to_pydict()
    digits = decimals(columns, release.question)
    shown = [(visible(name), "key", list(map(plain, columns[name]))) for name in columns if name not in _PARTS]
    if "rank" in columns:
        shown.append(("rank", "rank", [str(rank) for rank in columns["rank"]]))
        shown.append(("item", "item", [plain(item) for item in columns["item"]]))
    if "probability" in columns:
        shown.append(("quantile", "quantile", [f"{p:.6g}" for p in columns["probability"]]))
    if "estimate" in columns:
        shown.append(("answer", "answer", [spaced(value, digits) for value in columns["estimate"]]))
    if "low" in columns:
        ends = zip(columns["low"], columns["high"], strict=True)
        texts = [f"{spaced(low, digits)} to {spaced(high, digits)}" for low, high in ends]
        shown.append((f"{level:.0%} interval", "interval", texts))
    headings, kinds, texts_by_column = zip(*shown, strict=True)
    return Answers(headings, kinds, tuple(zip(*texts_by_column, strict=True)))


_PARTS = ("estimate", "low", "high", "rank", "item", "probability")


def decimals(columns: dict[str, list[Any]], question: Any) -> int:
    """Digits after the point: two significant ones of the narrowest error bar, or those of the column's step."""
    if "low" not in columns:
        step = getattr(question, "lattice", None)
        return _places(float(step.step)) if step is not None else 0
    widths = [(high - low) / 2 for low, high in zip(columns["low"], columns["high"], strict=True)]
    narrow = min((width for width in widths if width > 0), default=1.0)
    whole = all(value == int(value) for value in columns["estimate"] if math.isfinite(value))
    return 0 if whole else max(0, min(MOST_DECIMALS, 1 - math.floor(math.log10(narrow))))


def _places(step: float) -> int:
    """Digits that a multiple of the step can have after the point."""
    return next((n for n in range(MOST_DECIMALS) if step * 10**n == round(step * 10**n)), MOST_DECIMALS)


def spaced(value: float, digits: int) -> str:
    """A number for readers.

    >>> spaced(1234567.891, 0), spaced(-0.004, 2), spaced(-2.5, 1)
    ('1,234,568', '0.00', '−2.5')
    """
    text = f"{value:,.{digits}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text.replace("-", "\N{MINUS SIGN}")


def plain(value: Any) -> str:
    """A label as text that steers nothing; numbers without a needless point."""
    return f"{value:g}" if isinstance(value, float) else visible(str(value))


def cost(claim: Guarantee) -> str:
    """A guarantee in a few characters, rounded up.

    >>> from sfumato.privacy.guarantees import Pure
    >>> cost(Pure(0.3)), cost(Approximate(0.5000000000000001, 4e-7)), cost(Concentrated(0.01))
    ('ε 0.3', 'ε 0.500001, δ 4e-7', 'ρ 0.01')
    """
    if isinstance(claim, Concentrated):
        return f"\N{GREEK SMALL LETTER RHO} {shown_up(claim.rho, 6)}"
    delta = f", δ {brief(claim.delta)}" if isinstance(claim, Approximate) else ""
    return f"ε {shown_up(claim.epsilon, 6)}{delta}"


def left(claim: Guarantee) -> str:
    """What remains of a budget, rounded down: as much as is shown can be spent.

    >>> left(Approximate(1.45, 4.3173e-7)), left(Concentrated(0.12345678))
    ('ε 1.45, δ 4.31e-7', 'ρ 0.123456')
    """
    if isinstance(claim, Concentrated):
        return f"\N{GREEK SMALL LETTER RHO} {shown_down(claim.rho, 6)}"
    delta = f", δ {shown_down(claim.delta, 3).replace('e-0', 'e-')}" if isinstance(claim, Approximate) else ""
    return f"ε {shown_down(claim.epsilon, 6)}{delta}"


def brief(amount: float) -> str:
    """A small amount in three digits, rounded up.

    >>> brief(0.0000001234), brief(0.25)
    ('1.24e-7', '0.25')
    """
    return shown_up(amount, 3).replace("e-0", "e-")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "nothing"
