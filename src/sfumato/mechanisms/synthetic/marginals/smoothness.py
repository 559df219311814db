r"""What a table's potentials cost where neighbors tend to be alike: cells by themselves, and blocks of them for less.

The potential z of a cell is that of the cell itself, plus that of the block of neighbors that it lies in, plus that of
the block of blocks, and so on: z = z_0 + B_1 (z_1 + B_2 (z_2 + ...)), each with a price p_l z_l^2 / 2.  The least that
z can be had for is z' C^-1 z / 2 with C = 1/p_0 + B_1 (1/p_1 + B_2 (1/p_2 + ...) B_2') B_1', diagonal matrices being
written as their entries.  So a departure that all cells of a block share costs little, and one that changes its sign
from cell to cell, as noise does, as much as before.  C^-1 z is found block by block, since for diagonal D and any C

    (1/D + B C B')^-1 = D - D B (N^-1 - N^-1 (1/N + C)^-1 N^-1) B' D,    N = B' D B, which is diagonal,

and 1/N + C is of the same kind with one step of blocks less [Woodbury1950].  Everything here is public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.levels import Groups
from sfumato.mechanisms.synthetic.marginals.room import regrouped

__all__ = ["Blocks", "beside", "neighbors", "pull"]

LEAST = 1e-300  # the price of a block whose cells cost nothing

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The block of each cell, or of each smaller block, and the inverse of each block's price: 0 for one of no use."""

    owner: Groups
    freedom: Reals

    @classmethod
    def none(cls, cells: int) -> Blocks:
        """Every cell alone."""
        return cls(np.arange(cells), np.zeros(cells))


def pull(price: Reals, blocks: Sequence[Blocks], part: Reals) -> Reals:
    """C^-1 z, the slope of the least price of potentials, for cells of these prices in steps of larger blocks."""
    if not blocks:
        return price * part
    owner, freedom = blocks[0].owner, blocks[0].freedom
    whole = np.maximum(np.bincount(owner, weights=price, minlength=len(freedom)), LEAST)
    mean = np.bincount(owner, weights=price * part, minlength=len(freedom)) / whole
    shared = mean - pull(1 / (1 / whole + freedom), blocks[1:], mean) / whole
    return np.asarray(price * (part - shared[owner]))


def neighbors(
    sides: Sequence[tuple[tuple[Groups, ...], int, bool]],
    variance: float,
    shrinkage: Callable[[int], float],
    steps: int,
) -> tuple[Blocks, ...]:
    """Blocks of a table's cells, by the coarser groups of all its columns; one costs shrinkage times its variance.

    A side is a column's chain of groups, the place in it that the cells have, and whether groups are neighbors there:
    those of a category are not.  `shrinkage` is that of as many blocks.
    """
    found, places = [], [place for _, place, _ in sides]
    weights = np.full([int(chain[place].max()) + 1 for chain, place, _ in sides], variance)
    for _ in range(steps):
        coarser = [min(at + ordered, len(chain) - 1) for (chain, _, ordered), at in zip(sides, places, strict=True)]
        if coarser == places:
            break
        moves = zip(sides, places, coarser, strict=True)
        owner, *others = (regrouped(chain, fine, coarse) for (chain, _, _), fine, coarse in moves)
        for other in others:
            owner = owner[..., np.newaxis] * (int(other.max()) + 1) + other
        owner = owner.ravel()
        weights, places = np.bincount(owner, weights=weights.ravel()), coarser
        found.append(Blocks(owner, 1 / (shrinkage(len(weights)) * weights)))
    return tuple(found)


def beside(tables: Sequence[tuple[int, Sequence[Blocks]]]) -> tuple[Blocks, ...]:
    """The blocks of tables that stand one after another, each given by how many cells it has and its own blocks."""
    found = []
    sizes = [cells for cells, _ in tables]
    for step in range(max((len(blocks) for _, blocks in tables), default=0)):
        parts = [
            blocks[step] if step < len(blocks) else Blocks.none(size)
            for size, (_, blocks) in zip(sizes, tables, strict=True)
        ]
        sizes = [len(part.freedom) for part in parts]
        starts = np.cumsum([0, *sizes[:-1]])
        owner = np.concatenate([part.owner + start for part, start in zip(parts, starts, strict=True)])
        found.append(Blocks(owner, np.concatenate([part.freedom for part in parts])))
    return tuple(found)
