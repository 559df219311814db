"""The peer that tables are judged by runs to its end on this repository's trees, and spends what it was given."""

from __future__ import annotations

import numpy as np

from benchmarking import benchmarks

with benchmarks():
    from numpy_aim import aim


def test_aim_finds_the_relation_of_a_small_table():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 4, 3000)
    rows = np.stack([first, (first + (rng.random(3000) < 0.1)) % 4, rng.integers(0, 2, 3000)], axis=1)
    made = aim(rows, [4, 4, 2], 0.5)
    assert made.shape == rows.shape
    assert abs((made[:, 0] == made[:, 1]).mean() - 0.9) < 0.05
