r"""Sums over nested blocks, and differences of halves, each level with its own whole weight.

With widths 1 = s_0 | s_1 | ... | s_L (the last covers all cells) let P_l average over blocks of s_l cells.  Sums at
weight w_l and differences of halves at weight v_l (where s_{l+1} = 2 s_l) have the Gram matrix
sum_l lambda_l (P_l - P_{l+1}), P_{L+1} = 0, lambda_l = sum_{j<=l} w_j^2 s_j + v_l^2 s_{l+1}: least squares and all
variances follow in time linear in the cells times the levels.  Identity, any-branching trees
(HayRastogiMiklauSuciu2010, QardajiYangLi2013) and the Haar wavelet (XiaoWangGehrke2011) are instances.
Proof: docs/proofs/strategy.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.queries.linear.bodies import largest_column
from sfumato.queries.linear.factors import Floats, Whole
from sfumato.queries.linear.matrix import Linear

__all__ = ["Hierarchy", "widths_of"]


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Blocks of `widths` cells with `sums` weights, and halves of the next width with `differences` weights.

    >>> Hierarchy(4, (1, 2, 4), (1, 1, 1), (0, 0)).apply(np.array([1, 2, 3, 4])).tolist()
    [1, 2, 3, 4, 3, 7, 10]
    """

    cells: int
    widths: tuple[int, ...]
    sums: tuple[int, ...]
    differences: tuple[int, ...]

    def __post_init__(self) -> None:
        widths = self.widths
        if not widths or widths[0] != 1 or widths[-1] < self.cells or self.cells < 1:
            raise ParameterError("widths must begin with 1 and end with at least the number of cells")
        if any(b % a or b <= a for a, b in itertools.pairwise(widths)):
            raise ParameterError("each width must be a multiple of the one before")
        if len(self.sums) != len(widths) or len(self.differences) != len(widths) - 1:
            raise ParameterError("there is one sum weight a width, and one difference weight between two")
        if any(v and b != 2 * a for v, (a, b) in zip(self.differences, itertools.pairwise(widths), strict=True)):
            raise ParameterError("differences are of halves: the next width must be twice this one")
        if min(*self.sums, *self.differences, 0) < 0 or min(self.spectrum()) <= 0:
            raise ParameterError("weights must not be negative, and the finest level needs one")

    @property
    def size(self) -> int:
        """Numbers measured."""
        return sum(-(-self.cells // width) for width, _, _ in self._levels())

    def _levels(self) -> list[tuple[int, int, bool]]:
        """(width of a block, weight, whether halves are subtracted), in the order they are measured."""
        levels = [(s, w, False) for s, w in zip(self.widths, self.sums, strict=True) if w]
        return levels + [(s, v, True) for s, v in zip(self.widths[1:], self.differences, strict=True) if v]

    def spectrum(self) -> list[float]:
        """lambda_l, the finest level first."""
        below, found = 0.0, []
        for level, (width, weight) in enumerate(zip(self.widths, self.sums, strict=True)):
            below += float(weight) ** 2 * width
            last = level == len(self.widths) - 1
            found.append(below if last else below + float(self.differences[level]) ** 2 * self.widths[level + 1])
        return found

    def _padded(self, x: Whole) -> Whole:
        return np.pad(x, [(0, self.widths[-1] - self.cells), *[(0, 0)] * (x.ndim - 1)])

    def apply(self, x: Whole) -> Whole:
        """The exact measurement of counts, along the first axis; blocks beyond the last cell are left out."""
        padded, parts = self._padded(x), []
        for width, weight, halves in self._levels():
            kept = -(-self.cells // width)
            blocks = padded[: kept * width].reshape(kept, width, *x.shape[1:])
            total = blocks.sum(axis=1)
            if halves:
                total = 2 * blocks[:, : width // 2].sum(axis=1) - total
            parts.append(weight * total)
        return np.concatenate(parts)

    def norms(self, norm: str) -> tuple[float, float]:
        """The largest norm of a column, and of a difference of two: cells that part below some level."""
        power = 1 if norm == "l1" else 2
        own = sum(w**power for w in (*self.sums, *self.differences))
        below, apart = 0, 0
        for width, w, v in zip(self.widths, self.sums, self.differences, strict=False):
            if width >= self.cells:  # no two cells lie in different blocks of this width
                break
            below += 2 * w**power
            apart = max(apart, below + (2 * v) ** power)  # opposite halves of one block: +v and -v in the same place
            below += 2 * v**power
        return largest_column(np.array([float(own)]), norm), largest_column(np.array([float(apart)]), norm)

    def solve(self, y: Floats) -> Floats:
        """The counts of least squares, along the first axis."""
        spread = np.zeros((self.widths[-1], *y.shape[1:]))
        start = 0
        for width, weight, halves in self._levels():
            kept = -(-self.cells // width)
            part = np.asarray(weight * y[start : start + kept], dtype=np.float64)
            block = spread[: kept * width].reshape(kept, width, *y.shape[1:])
            if halves:
                block[:, : width // 2] += part[:, None]
                block[:, width // 2 :] -= part[:, None]
            else:
                block += part[:, None]
            start += kept
        return self._inverted(spread)[: self.cells]

    def _inverted(self, spread: Floats) -> Floats:
        """sum_l (P_l - P_{l+1}) / lambda_l, by means of ever larger blocks."""
        result = np.zeros_like(spread)
        spectrum = self.spectrum()
        means = spread
        for level, width in enumerate(self.widths):
            last = level == len(self.widths) - 1
            factor = 1 / spectrum[level]
            coarser = 0 * means[:1] if last else self._coarser(means, level)
            ratio = 1 if last else self.widths[level + 1] // width
            detail = means - (0 if last else np.repeat(coarser, ratio, axis=0))
            result.reshape(-1, width, *spread.shape[1:])[:] += factor * detail[:, None]
            means = coarser
        return result

    def _coarser(self, means: Floats, level: int) -> Floats:
        ratio = self.widths[level + 1] // self.widths[level]
        return np.asarray(means.reshape(-1, ratio, *means.shape[1:]).mean(axis=1))

    def variances(self, linear: Linear) -> Floats:
        """For each row of a workload on one axis, the variance of its answer for noise of variance one."""
        if len(linear.shape) != 1 or linear.cells != self.cells:
            raise UnsupportedQuery("a hierarchy answers workloads over one axis of its own size")
        found = []
        for block in linear.blocks:
            (factor,) = block.factors
            part = sum(c * factor.block_norms(self.cells, s) for c, s in zip(self._shares(), self.widths, strict=True))
            found.append(float(block.weight) ** 2 * np.asarray(part))
        return np.concatenate(found)

    def total_variance(self, linear: Linear) -> float:
        """The sum of `variances`, without listing the rows."""
        total = 0.0
        for block in linear.blocks:
            (factor,) = block.factors
            parts = (c * factor.block_total(self.cells, s) for c, s in zip(self._shares(), self.widths, strict=True))
            total += float(block.weight) ** 2 * sum(parts)
        return total

    def _shares(self) -> list[float]:
        """What each level's blocks add to a variance: the inverse spectrum, summed by parts."""
        inverse = 1 / np.array(self.spectrum())
        return (inverse - np.concatenate([[0.0], inverse[:-1]])).tolist()  # type: ignore[no-any-return]

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "kind": "hierarchy", "cells": self.cells, "widths": list(self.widths), "sums": list(self.sums),
            "differences": list(self.differences),
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Hierarchy:
        """What `to_record` wrote."""
        parts = (tuple(record[name]) for name in ("widths", "sums", "differences"))
        return cls(record["cells"], *parts)


def widths_of(cells: int, branching: int) -> tuple[int, ...]:
    """1, b, b^2, ... up to the first that covers all cells.

    >>> widths_of(10, 3)
    (1, 3, 9, 27)
    """
    widths = [1]
    while widths[-1] < cells:
        widths.append(widths[-1] * branching)
    return tuple(widths)
