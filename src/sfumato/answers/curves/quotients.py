r"""A sharp simultaneous band where the sums are divided by a noisy count.

With S^ = S + Z, n^ = n + v and g = S / n, S^(x) - n^ g(x) = Z(x) - v g(x) exactly.  So g lies within q(g) / n^ of
S^ / n^, q(g) the quantile of sup |Z - v g|.  g is unknown, but within D of g^ = S^ / n^ but for a small share of the
failures, and sup |Z - v g| <= sup |Z - v g^| + |v| D: the quantile of the right side is simulated.
Proof: docs/proofs/curves-bands.md.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves.expansion import Reading
from sfumato.answers.curves.suprema import SEED, UP, Padded, margins, place, supremum
from sfumato.answers.curves.waves import Floats
from sfumato.sampling import DiscreteLaplace, RoundedNormal
from sfumato.sampling.balls import BallVectors

__all__ = ["quotient_supremum"]

SHARE = 0.02  # of the failures that bounding D takes
PATHS, FEWEST, HELD = 8000, 1000, 15_000_000
SINGLE = 1 + 1e-5  # over the rounding of paths that are held in single precision


def quotient_supremum(
    reading: Reading, sums: Floats, units: Floats, rows: float, rows_unit: float, law: object, beta: float
) -> float | None:
    """A distance that sup |S^ - n^ g| exceeds with probability at most beta; None where this way does not serve."""
    many = int(min(PATHS, HELD / reading.grid_size))
    if many < FEWEST or not isinstance(law, RoundedNormal | DiscreteLaplace | BallVectors):
        return None
    few = SHARE * beta / 2
    margin = float(margins(np.array([[rows_unit]]), law, few)[0])
    if rows - margin < max(1.0, rows / 2):
        return None
    shape = sums / rows
    highest = float(Padded(reading).suprema(shape[None, :])[0])
    apart = (supremum(reading, units, law, few) + highest * margin) / (rows - margin)
    rank = place(many, (1 - SHARE) * beta)
    if rank >= many:
        return None
    scale = law.sigma if isinstance(law, RoundedNormal) else law.scale
    laplace, degrees = isinstance(law, DiscreteLaplace), law.dimension if isinstance(law, BallVectors) else 0
    rounding = 1.0 if laplace else 0.5
    paths, counts = _unit_paths(reading, laplace, degrees, units.tobytes(), many)
    own = reading.paths(shape[None, :])[0]
    shifts = np.outer((rows_unit * counts).astype(np.float32), own.astype(np.float32))
    moved = np.abs(np.subtract(paths, shifts, out=shifts), out=shifts).max(axis=1).astype(np.float64) * SINGLE
    level = float(np.sort(moved * reading.stretch + rows_unit * np.abs(counts) * apart)[rank])
    return (scale * level + rounding * (Padded(reading).reach(units) + rows_unit * (highest + apart))) * UP


@lru_cache(maxsize=2)
def _unit_paths(
    reading: Reading, laplace: bool, degrees: int, units: bytes, many: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Public paths on the grid with unit noise, and as many draws for the count; of a ball if it has degrees."""
    rng = np.random.Generator(np.random.PCG64(SEED + 1))
    draw = rng.laplace if laplace else rng.standard_normal
    noise, counts = draw(size=(many, reading.size)), draw(size=many)
    if degrees:  # a ball's coordinates share their deviation
        shared = np.sqrt(2 * rng.gamma(((degrees | 1) + 1) / 2, size=many))
        noise, counts = noise * shared[:, None], counts * shared
    return reading.paths(noise * np.frombuffer(units)).astype(np.float32), np.asarray(counts)
