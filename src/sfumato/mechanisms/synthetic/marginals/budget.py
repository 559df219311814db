"""How a budget is shared between columns and pairs: by the public or noisy number of rows, never by the data.

Noise in total variation falls with the number of rows.  Where that of the columns, with all of the budget, is next to
nothing, a small share is enough for them and pairs get the rest; where it is large, pairs would only add to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sfumato.mechanisms.synthetic.marginals.levels import Groups, coarsened
from sfumato.mechanisms.synthetic.marginals.noise import Noise
from sfumato.queries.cells import BARS
from sfumato.queries.encoding import Column

__all__ = [
    "CHOOSING",
    "TRIPLES",
    "Counting",
    "Split",
    "column_noise",
    "counted",
    "finest",
    "first_scales",
    "for_tables",
    "for_triples",
    "foreseen",
    "rounds_of",
]

COUNTING = Fraction(1, 80)  # of the budget counts the rows first, where their number is not public
CHOOSING = Fraction(1, 10)  # of what a pair gets chooses it
LEAST_SINGLES, MOST_SINGLES = 0.15, 0.75  # shares of the columns beside pairs
HOPELESS = {True: 0.75, False: 0.33}  # normal noise, or Laplace: the share that columns would want to get everything
RISE, POWER = 1.7, 0.4  # of that share with the noise of a column; from Adult, flights and their samples
# Groups of levels that are counted for each row over the noise of a count, normal or Laplace; from samples of tuning
# tables, and from made ones: smoothing keeps more of Laplace noise, whose single counts may lie far out.
FILLED = {True: 0.6, False: 0.15}
FEW, ENOUGH = 8, 64  # the least number of groups, and the one from which on levels are counted one by one
TWICE, HALVING = 3, 3  # levels in a bar from which on it is counted, too; then, by `scales`, both cost about half
SMOOTH = 32  # levels whose noise remains, at most, once a column is smoothed
PAIRS_A_COLUMN, MOST_PAIRS = {True: 3, False: 1}, 120  # with Laplace noise, each pair costs all others as much
FEW_COLUMNS, CLEAR = 7, 0.25  # columns, and their share, up to which all pairs are measured; from the same
TRIPLING = Fraction(1, 10)  # of what columns leave, where three at a time are measured, too; from Adult, flights
TRIPLES = {True: 6, False: 2}  # and made tables, as is how many are; with Laplace noise each costs all others as much
COUPLES_A_ROUND = 2_000  # pairs of columns for each pair that is chosen in a round
MOST_TOTAL = 2.0**36  # rows up to which floating scores are as near as the proof says


@dataclass(frozen=True, slots=True)
class Split:
    """The share of the budget that columns get, how many pairs the rest is planned for, and whether all would do."""

    singles: Fraction
    pairs: int
    all: bool = False  # pairs are measured without choosing among them

    @classmethod
    def of(cls, noise: Noise, amount: Fraction, columns: Sequence[Column], total: float) -> Split:
        """The split of an amount for a table of about `total` rows."""
        many = len(columns)
        couples = many * (many - 1) // 2
        share = RISE * column_noise(noise, amount, columns, total) ** POWER
        if couples == 0 or total > MOST_TOTAL or share > HOPELESS[noise.apart]:
            return cls(Fraction(1), 0)
        singles = Fraction(min(MOST_SINGLES, max(LEAST_SINGLES, share))).limit_denominator(1000)
        pairs = min(PAIRS_A_COLUMN[noise.apart] * many, couples, MOST_PAIRS)
        return cls(singles, pairs, many <= FEW_COLUMNS and share < CLEAR)


def column_noise(noise: Noise, amount: Fraction, columns: Sequence[Column], total: float) -> float:
    """The mean noise of a smoothed column in total variation, if columns got all of the amount."""
    scales = first_scales(noise, amount, columns)
    parts = (
        0.5 * noise.law(scale).mean_absolute * min(SMOOTH, column.size)
        for scale, column in zip(scales, columns, strict=True)
    )
    return sum(parts) / len(columns) / max(1.0, total)


def finest(noise: Noise, amount: Fraction, columns: Sequence[Column], total: float) -> list[int]:
    """How many groups of an ordered column's levels are counted: as few as so few rows can fill, or else all."""
    scales = first_scales(noise, amount, columns)
    filled = [FILLED[noise.apart] * total / max(1e-9, noise.law(scale).mean_absolute) for scale in scales]
    return [
        max(FEW, round(groups)) if groups < ENOUGH else column.size
        for groups, column in zip(filled, columns, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """How a column is counted by itself: the group of each level, the noise of a group, and that of a bar, if any."""

    groups: Groups
    scale: float
    bars: float | None


def counted(noise: Noise, amount: Fraction, columns: Sequence[Column], total: float) -> list[Counting]:
    """How each column is counted for an amount: numbers with many levels in bars, too, for about as much each."""
    most = finest(noise, amount, columns, total)
    owners = [coarsened(column, groups) for column, groups in zip(columns, most, strict=True)]
    many = [int(owner.max()) + 1 for owner in owners]
    twice = [
        noise.apart and column.ordered and groups >= TWICE * BARS for column, groups in zip(columns, many, strict=True)
    ]
    cells = [groups // HALVING if both else groups for groups, both in zip(many, twice, strict=True)]
    scales = noise.scales(amount, [*cells, *(groups for groups, both in zip(cells, twice, strict=True) if both)])
    bars = iter(scales[len(columns) :])
    return [
        Counting(owner, scale, next(bars) if both else None)
        for owner, scale, both in zip(owners, scales, twice, strict=False)
    ]


def foreseen(noise: Noise, amount: Fraction, columns: Sequence[Column], size: int) -> tuple[float, int]:
    """For `size` rows: a column's mean noise in total variation, and how many pairs are measured at most."""
    total = float(size * noise.reach.units)
    split = Split.of(noise, amount, columns, total)
    parts = [
        min(1.0, 0.5 * noise.law(plan.scale).mean_absolute * (int(plan.groups.max()) + 1) / total)
        for plan in counted(noise, amount * split.singles, columns, total)
    ]
    many = len(columns)
    return sum(parts) / len(parts), many * (many - 1) // 2 if split.all else split.pairs


def for_tables(amount: Fraction, size: int | None) -> Fraction:
    """What is left for tables: all, but for the share that counts the rows where their number is not public."""
    return amount * (1 - COUNTING) if size is None else amount


def for_triples(left: Fraction, columns: int) -> Fraction:
    """The share of three columns at a time, of what is left beside columns by themselves."""
    return left * TRIPLING if columns > 2 else Fraction(0)


def first_scales(noise: Noise, amount: Fraction, columns: Sequence[Column]) -> tuple[float, ...]:
    """The noise of each column's own counts for an amount."""
    return noise.scales(amount, [column.size for column in columns])


def a_round(columns: int) -> int:
    """How many pairs are chosen and measured before the model is fitted again: one, but for wide tables."""
    return 1 + columns * (columns - 1) // (2 * COUPLES_A_ROUND)


def rounds_of(pairs: int, columns: int) -> int:
    """How many rounds that many pairs are measured in."""
    return -(-pairs // a_round(columns))
