"""Walks on hulls of rank 5 to 12, against laws that are known exactly, under random linear maps.

The hull of blocks, each a cube, has the gauge sum of the blocks' largest entries.  Under exp(-gauge) the blocks are
independent; the largest entry of a block of k is gamma(k), lies in each coordinate equally often, and given it the
others are uniform below it.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from sfumato.randomness import seeded
from sfumato.sampling.bodies.bouncing import bounce
from sfumato.sampling.bodies.frame import frame
from sfumato.sampling.bodies.hit_and_run import hit_and_run
from statistical import ALPHA

RNG = np.random.default_rng(41)


def random_blocks() -> tuple[int, ...]:
    """Cubes of one to four dimensions, 5 to 12 in all."""
    blocks: list[int] = []
    while sum(blocks) < 5:
        blocks += RNG.integers(1, 5, RNG.integers(1, 4)).tolist()
    return tuple(blocks)[:6]


def hull(blocks: tuple[int, ...], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A unimodular map, and the columns of the hull under it."""
    size = sum(blocks)
    columns, row = [], 0
    for k in blocks:
        for signs in itertools.product((1, -1), repeat=k - 1):
            column = np.zeros(size)
            column[row : row + k] = (1, *signs)
            columns.append(column)
        row += k
    upper = np.eye(size) + np.triu(rng.integers(-2, 3, (size, size)), 1)
    lower = np.eye(size) + np.tril(rng.integers(-1, 2, (size, size)), -1)
    return upper @ lower, upper @ lower @ np.array(columns).T


def p_values(points: np.ndarray, blocks: tuple[int, ...]) -> list[float]:
    found, row, gauge = [], 0, np.zeros(len(points))
    for k in blocks:
        part = np.abs(points[:, row : row + k])
        largest = part.max(axis=1)
        found.append(stats.kstest(largest, stats.gamma(k).cdf).pvalue)
        for j in range(k):
            found.append(stats.binomtest(int((points[:, row + j] > 0).sum()), len(points), 0.5).pvalue)
            share = part[:, j] / largest
            below = share < 1 - 1e-9
            if k > 1:
                found.append(stats.binomtest(int((~below).sum()), len(points), 1 / k).pvalue)
                found.append(stats.kstest(share[below], stats.uniform.cdf).pvalue)
        row, gauge = row + k, gauge + largest
    return [*found, stats.kstest(gauge, stats.gamma(row).cdf).pvalue]


@pytest.mark.parametrize("blocks", [random_blocks() for _ in range(5)], ids=str)
@pytest.mark.parametrize("walk", ["bounce", "hit and run"])
def test_walks_follow_exact_laws(blocks, walk):
    """Records are thinned until they are as good as independent; a tenth off in scale fails (see below)."""
    matrix, columns = hull(blocks, np.random.default_rng(sum(blocks)))
    body, rank = frame(columns), sum(blocks)
    assert body.rank == rank
    if walk == "bounce":
        path = bounce(body, 5000, 8, seeded(3))
    else:
        path = hit_and_run(body, 1500, 6 * rank, 200 * rank, seeded(4))
    points = (path.points @ body.lift.T) @ np.linalg.inv(matrix).T
    found = p_values(points, blocks)
    assert min(found) > ALPHA, found
    if walk == "bounce":
        skewed = points.copy()
        skewed[:, : blocks[0]] *= 1.25
        assert min(p_values(skewed, blocks)) < ALPHA
