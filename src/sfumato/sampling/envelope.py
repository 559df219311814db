r"""A staircase envelope above exp(-E(k)), E(k) = linear k + quadratic k^2, as weights of its cells.

A half-line k >= start is cut into cells of length h = 2^exponent.  Cell c is drawn with probability
proportional to W_c = multiplier exp(-E(start + c h)); a point of the cell is then accepted with the
probability that its own weight bears to the cell's.  What is accepted follows exp(-E) exactly, on the
integers or on the continuum.  Several half-lines (`Branch`) make two-sided laws and mixtures.
Proof: docs/proofs/sampling-envelope.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfumato.sampling.fixedpoint import exp_minus

__all__ = ["Branch", "Cell", "Envelope"]

Cell = tuple[int, int]  # position in the branch, branch


@dataclass(frozen=True, slots=True)
class Branch:
    """The half-line of integers or reals from `start`, weighted, its values carrying a sign."""

    start: int
    sign: int = 1
    multiplier: int = 1


@dataclass(frozen=True, slots=True)
class Envelope:
    """Cells of length 2**exponent along every branch."""

    linear: Fraction
    quadratic: Fraction
    exponent: int
    branches: tuple[Branch, ...]

    @property
    def length(self) -> Fraction:
        """The length of a cell, 2**exponent."""
        return Fraction(2) ** self.exponent

    def place(self, cell: Cell) -> Fraction:
        """Where the cell begins, in lattice units."""
        c, branch = cell
        return self.branches[branch].start + c * self.length

    def fall(self, cell: Cell) -> tuple[Fraction, Fraction]:
        """(slope, curve): at t in [0, 1) of the cell, E has risen by t (slope + curve t)."""
        h = self.length
        return self.linear * h + 2 * self.quadratic * h * self.place(cell), self.quadratic * h * h

    def weigh(self, bits: int) -> Iterator[tuple[Cell, int, int, int]]:
        """List cells, one of each branch in turn, until enclosures of this width say no more."""
        runs = [self._run(branch, bits) for branch in self.branches]
        heads = [next(run) for run in runs]
        c = 0
        while c < 2 or any(later >> bits // 4 for _, _, later in heads):
            for index, run in enumerate(runs):
                low, high, _ = heads[index]
                heads[index] = next(run)
                yield (c, index), low, high, sum(later for _, _, later in heads)
            c += 1

    def _run(self, branch: Branch, bits: int) -> Iterator[tuple[int, int, int]]:
        """Per cell: low, high, and a bound on this and all later weights of the branch.

        W_{c+1} = W_c r_c and r_{c+1} = r_c q with q = exp(-2 quadratic h^2) <= 1, every product rounded
        outward; the ratios fall, so the weights from c on sum to at most W_c / (1 - r_c).
        """
        h, start = self.length, branch.start
        low, high = exp_minus(self.linear * start + self.quadratic * start * start, bits)
        low, high = low * branch.multiplier, high * branch.multiplier
        r_low, r_high = exp_minus(self.linear * h + self.quadratic * h * (2 * start + h), bits)
        q_low, q_high = exp_minus(2 * self.quadratic * h * h, bits)
        one = 1 << bits
        while True:
            yield low, high, (high << bits) // max(one - r_high, 1) + 1
            low, high = low * r_low >> bits, (high * r_high >> bits) + 1
            r_low, r_high = r_low * q_low >> bits, min((r_high * q_high >> bits) + 1, one)
