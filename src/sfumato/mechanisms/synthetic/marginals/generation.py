r"""Rows from a fitted model: systematic sampling, so that every table on the tree is met to within one row a cell.

Bag by bag, rows that share the separator's levels are split among the new levels in proportion; the fractional parts
are settled by one uniform offset, and which rows get which is random.  Levels then open into the values they stand for.
This works on what is already public, so that its random numbers need not be exact: a generator seeded from the secure
one draws them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.synthetic.marginals.model import Model, Reals, margin
from sfumato.queries.encoding import Column
from sfumato.randomness import Rng

__all__ = ["Whole", "opened", "refined", "sampled", "settled", "shuffling"]

Whole = npt.NDArray[np.int64]

GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are spread as evenly as any
BINS = 32  # of remainders


def shuffling(rng: Rng) -> np.random.Generator:
    """A fast generator for post-processing, seeded by 256 bits."""
    return np.random.Generator(np.random.PCG64([int(word) for word in rng.bits64(4)]))


def sampled(model: Model, rows: int, chance: np.random.Generator) -> Whole:
    """Levels of all columns, of shape (rows, columns)."""
    tree = model.tree
    out = np.zeros((rows, len(tree.sizes)), dtype=np.int64)
    for place, bag in enumerate(tree.bags):
        shared = tree.separator(place)
        fresh = tuple(column for column in bag if column not in shared)
        table = margin(model.beliefs[place], bag, bag)
        order = [bag.index(column) for column in (*shared, *fresh)]
        given = np.transpose(table, order).reshape(tree.volume(shared), -1)
        config = np.zeros(rows, dtype=np.int64)
        for column in shared:
            config = config * tree.sizes[column] + out[:, column]
        found = systematic(given, config, chance)
        for column in reversed(fresh):
            found, out[:, column] = np.divmod(found, tree.sizes[column])
    return out


def settled(rows: Whole, counts: Sequence[Reals], chance: np.random.Generator) -> Whole:
    """The rows with every column's counts as they are known, some moved to the nearest levels that want for rows.

    A fit that ended early, and whole rows drawn from many small parts, leave a column off by some rows in ten thousand.
    """
    for place, held in enumerate(counts):
        share = np.maximum(held, 0.0).cumsum()
        wanted = np.diff(np.rint(len(rows) * share / share[-1]).astype(np.int64), prepend=0)
        over = np.bincount(rows[:, place], minlength=len(held)) - wanted
        order = chance.permutation(len(rows))
        order = order[np.argsort(rows[order, place], kind="stable")]
        rank = np.arange(len(rows)) - (np.cumsum(over + wanted) - over - wanted)[rows[order, place]]
        rows[order[rank < over[rows[order, place]]], place] = np.repeat(np.arange(len(held)), np.maximum(-over, 0))
    return rows


def systematic(weights: Reals, given: Whole, chance: np.random.Generator) -> Whole:
    """For each row a cell of row `given` of `weights`: as many of each as its share says, to within one."""
    rows = len(given)
    totals = weights.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), 1.0 / weights.shape[1])
    ends = shares.cumsum(axis=1)
    ends[:, -1] = 1.0
    mixed = chance.permutation(rows)
    order = mixed[np.argsort(given[mixed], kind="stable")]
    sizes = np.bincount(given, minlength=len(weights))
    first = np.cumsum(sizes) - sizes
    config = given[order]
    rank = np.arange(rows) - first[config]
    position = (rank + _offsets(sizes, ends, chance)[config]) / sizes[config]
    flat = (ends + np.arange(len(weights))[:, None]).ravel()
    cell = np.searchsorted(flat, config + position, side="right") - config * weights.shape[1]
    out = np.empty(rows, dtype=np.int64)
    out[order] = np.clip(cell, 0, weights.shape[1] - 1)
    return out


def _offsets(sizes: Whole, ends: Reals, chance: np.random.Generator) -> Reals:
    """A uniform offset for each row of weights; those of rows with like remainders are spread evenly over 0 to 1.

    A cell of a row gets one more than its whole part where the offset is below a remainder.  By themselves, offsets
    would leave every cell's sum over all rows with an error of the root of their number.
    """
    held, found = np.flatnonzero(sizes), np.zeros(len(sizes))
    cells = ends.shape[1]
    places = [cells * part // 8 for part in (4, 2, 6)]
    keys = [np.floor(BINS * (sizes[held] * ends[held, max(0, place - 1)] % 1.0)) for place in places]
    found[held[np.lexsort(keys[::-1])]] = (chance.random() + GOLDEN * np.arange(len(held))) % 1.0
    return found


def refined(groups: Whole, levels: Reals, owner: Whole, chance: np.random.Generator) -> Whole:
    """A level of each row's group, in proportion to what levels have."""
    weights = np.zeros((int(owner.max()) + 1, len(levels)))
    weights[owner, np.arange(len(levels))] = levels + 1e-9 * (levels.sum() <= 0)
    empty = weights.sum(axis=1) <= 0
    weights[empty] = (owner[None, :] == np.flatnonzero(empty)[:, None]).astype(np.float64)
    return systematic(weights, groups, chance)


def opened(groups: Whole, levels: Reals, owner: Whole, column: Column, chance: np.random.Generator) -> Whole:
    """Indices above the lower bound (-1 for missing), from groups: first a level, in proportion, then a value."""
    level = refined(groups, levels, owner, chance)
    missing = column.nullable & (level == column.size - 1)
    if column.edges is None:
        return np.where(missing, -1, level)
    widths = column.widths()
    kept = np.minimum(level, column.valued - 1)
    inside = _inside(levels[: column.valued] / widths, kept, chance)
    indices = np.array(column.edges)[kept] + np.minimum((inside * widths[kept]).astype(np.int64), widths[kept] - 1)
    return np.where(missing, -1, indices)


def _inside(density: Reals, level: Whole, chance: np.random.Generator) -> Reals:
    """Where in its cell each value lies, from 0 to 1, by a density that is linear there and leans to the neighbors."""
    padded = np.concatenate([density[:1], density, density[-1:]])
    below, above = density - padded[:-2], padded[2:] - density
    lean = np.where(below * above > 0, np.sign(below) * np.minimum(np.abs(below), np.abs(above)), 0.0)
    slope = np.clip(np.divide(lean, density, out=np.zeros_like(density), where=density > 0), -2.0, 2.0)[level]
    u = chance.random(len(level))
    # the distribution function is t + slope (t^2 - t) / 2; its inverse, in a form that does not cancel at slope 0
    start = 1 - slope / 2
    return np.asarray(2 * u / (start + np.sqrt(start**2 + 2 * slope * u) + 1e-300))
