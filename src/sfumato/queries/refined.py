r"""Running counts of a fine lattice, counted in coarse runs first and finely where a mechanism looks.

An engine counts the rows of each run of 2^s lattice points, and then, pass by pass, the finer runs within those that
hold the ranks which were asked for.  What a mechanism sees is exact, so nothing it does depends on how much was read;
the number of passes is a function of the lattice alone where it says beforehand which ranks it will look at
(docs/proofs/quantiles.md).  Memory is bounded by the runs and by what was looked at, not by the distinct values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.queries.aggregation import Frequencies
from sfumato.queries.question import Source
from sfumato.queries.ranks import Ranks, running
from sfumato.spaces import Lattice

__all__ = ["Refined", "refined", "shifts_of"]

FEW = 2**16  # values that are counted at once
COARSE, FINER = 12, 14  # bits of the first pass and of each further one
LEAST_COARSE = 8  # bits, however many cells there are
NO_RUN = -1  # stands in every list of runs, so that none is empty

Whole = npt.NDArray[np.int64]
Held = tuple[Whole, Whole]  # increasing numbers of runs that hold rows, and how many each holds


def shifts_of(lattice: Lattice, cells: int, size: int | None) -> tuple[int, ...]:
    """How coarsely each pass counts, (0,) for one that counts every value: decided by public quantities.

    >>> from fractions import Fraction
    >>> shifts_of(Lattice(Fraction(1, 100), 0, 20_000_000), 1, None), shifts_of(Lattice(Fraction(1), 0, 100), 1, None)
    ((13, 0), (0,))
    """
    bits = lattice.width.bit_length()
    if cells << bits <= FEW or (size is not None and size <= FEW):
        return (0,)
    shifts = [max(0, bits - max(LEAST_COARSE, COARSE - cells.bit_length() + 1))]
    while shifts[-1] > 0:
        shifts.append(max(0, shifts[-1] - FINER))
    return tuple(shifts)


class Refinement:
    """The counts of all cells at each shift, as far as they were looked at.  Exact and secret."""

    def __init__(self, table: Source, statistic: Frequencies, lattice: Lattice, shifts: tuple[int, ...]) -> None:
        self.table, self.statistic, self.low, self.shifts = table, statistic, lattice.low, shifts
        self.held: list[list[Held]] = [[_nothing()] * statistic.cells.count for _ in shifts]
        self.opened: list[set[int]] = [set() for _ in shifts]
        self.expected: list[tuple[int, int, int]] = []  # a cell, and its first and last rank
        self._count(0, None)

    def _count(self, level: int, within: tuple[int, tuple[int, ...]] | None) -> None:
        cells, runs, counts = self.table.answer(replace(self.statistic, shift=self.shifts[level], within=within))
        order = np.lexsort((runs, cells))
        ends = np.searchsorted(cells[order], np.arange(1, self.statistic.cells.count))
        found = (np.asarray(one, dtype=np.int64)[order] for one in (runs, counts))
        for cell, (new, more) in enumerate(zip(*(np.split(one, ends) for one in found), strict=True)):
            old, fewer = self.held[level][cell]
            places = np.searchsorted(old, new)
            self.held[level][cell] = np.insert(old, places, new), np.insert(fewer, places, more)

    def open(self, level: int, runs: Iterable[int]) -> None:
        """Count what these runs of a level hold at the next one; of all cells, and once."""
        new = sorted(set(runs) - self.opened[level])
        if new:
            self._read(level, new)

    def _read(self, level: int, new: list[int]) -> None:
        self._count(level + 1, (self.shifts[level], (NO_RUN, *new)))
        self.opened[level].update(new)

    def looked(self) -> None:
        """Read what is expected to be looked at, in one pass for each level, also where nothing is left to read."""
        wanted, self.expected = self.expected, []
        for level in range(len(self.shifts) - 1 if wanted else 0):
            runs = {int(run) for one in wanted for run in self.around(level, *one).values}
            self._read(level, sorted(runs - self.opened[level]))

    def around(self, level: int, cell: int, first: int, last: int) -> Ranks:
        """The runs of a level that hold these ranks, and one more on either side; those above them are open."""
        seen = Ranks(self.held[0][cell][0], running(self.held[0][cell][1]))
        for depth in range(level + 1):
            if depth:
                seen = self._within(depth, cell, seen)
            if len(seen.values):
                ends = np.searchsorted(seen.below[1:-1], [first, last], side="right")
                start, stop = max(0, int(ends[0]) - 1), min(len(seen.values), int(ends[1]) + 2)
                seen = Ranks(seen.values[start:stop], seen.below[start : stop + 1])
        return seen

    def _within(self, level: int, cell: int, parents: Ranks) -> Ranks:
        """The runs of a level inside some that follow one another at the level before."""
        runs, counts = self.held[level][cell]
        if not len(parents.values):
            return Ranks(runs[:0], parents.below)
        finer = self.shifts[level - 1] - self.shifts[level]
        ends = [int(parents.values[0]) << finer, (int(parents.values[-1]) + 1) << finer]
        start, stop = np.searchsorted(runs, ends)
        return Ranks(runs[start:stop], running(counts[start:stop]) + parents.below[0])

    def at(self, cell: int, point: int) -> tuple[int, int]:
        """How many rows lie below a point of the lattice, counted from its lower end, and at or below it."""
        seen = Ranks(self.held[0][cell][0], running(self.held[0][cell][1]))
        for level, shift in enumerate(self.shifts):
            below, upto = seen.around(point >> shift)
            if below == upto or shift == 0:
                return below, upto
            place, run = int(np.searchsorted(seen.values, point >> shift)), point >> shift
            self.open(level, [run])
            seen = self._within(level + 1, cell, Ranks(seen.values[place : place + 1], seen.below[place : place + 2]))
        raise AssertionError("the last shift is 0")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Refined:
    """The ranks of one cell, read as they are looked at: what `Ranks` shows, and no more in memory than was wanted."""

    counts: Refinement
    cell: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.held[0][self.cell][1].sum())

    def expect(self, first: int, last: int) -> None:
        """Say that these ranks will be looked at; what is expected of all cells is read together."""
        self.counts.expected.append((self.cell, first, last))

    def near(self, first: int, last: int) -> Ranks:
        """The running counts of the values that hold these ranks, and of at least one more on either side."""
        self.counts.looked()
        for level in range(len(self.counts.shifts) - 1):
            self.counts.open(level, self.counts.around(level, self.cell, first, last).values.tolist())
        found = self.counts.around(len(self.counts.shifts) - 1, self.cell, first, last)
        return Ranks(found.values + self.counts.low, found.below)

    def around(self, point: int) -> tuple[int, int]:
        """How many rows lie below a point, and how many at or below it."""
        return self.counts.at(self.cell, point - self.counts.low)


def refined(table: Source, statistic: Frequencies, lattice: Lattice, shifts: tuple[int, ...]) -> list[Refined]:
    """The ranks of each cell."""
    counts = Refinement(table, statistic, lattice, shifts)
    return [Refined(counts, cell) for cell in range(statistic.cells.count)]


def _nothing() -> Held:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
