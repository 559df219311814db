r"""Small-database release of thresholds: the exponential mechanism over all databases of m rows on a grid, exactly.

Definition.  For counts of a grid's g cells, n rows in all, and a rate c, choose a database of m rows on the grid with
probability proportional to exp(-c max_i |m F(i) - n y(i)|), F(i) and y(i) the rows at or below cell i in the table and
in the database [BlumLigettRoth2008].  Databases are monotone paths, drawn by dynamic programming.

Guarantee.   One unit changes all penalties by amounts within `spread` = 2 m (times the rows of a unit) of one another:
pure epsilon = c spread, concentrated rho = (c spread)^2 / 8 [McSherryTalwar2007; CesarRogers2021].
Proof: docs/proofs/threshold_database.md.

Accuracy.    Rounding m F / n gives a database within 1 / (2 m) of every threshold, so m = ceil(1 / (2 alpha)) rows
suffice for the best one; the chosen one is worse by at most ln(|R| / beta) / (c m n), |R| = C(g + m - 1, m), but for
beta.

Assumes.     Nothing beyond random bits: the choice is exact, with whole numbers and enclosures.

Differs.     m from that bound, not log|C| / alpha^2; penalties in whole numbers; n need not be public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice, checked
from sfumato.mechanisms.selection.selection import (
    checked_rate,
    cost,
    rate_for,
)
from sfumato.privacy.guarantees import Concentrated, Guarantee, Pure
from sfumato.queries.thresholds import MOST_ROWS, ThresholdGrid
from sfumato.randomness import Rng
from sfumato.sampling.monotone import MonotonePaths

__all__ = ["ThresholdDatabase"]


@dataclass(frozen=True, slots=True)
class ThresholdDatabase(Answering):
    """A database of `rows` rows, chosen at a rate; the claim is pure, or concentrated if asked for.

    Proof: docs/proofs/threshold_database.md.
    """

    query: ThresholdGrid
    rate: float
    rows: int
    concentrated: bool = False

    def __post_init__(self) -> None:
        checked_rate(self.rate)
        if not (isinstance(self.rows, int) and 1 <= self.rows <= MOST_ROWS):
            raise ParameterError(f"rows must be a whole number from 1 to {MOST_ROWS}, got {self.rows!r}")

    @classmethod
    def calibrate(cls, query: ThresholdGrid, target: Guarantee) -> ThresholdDatabase:
        """The sharpest choice that meets `target`, of the size with the least error where none is asked for."""
        rows = query.details.rows or _best_rows(query, rate_for(target, query.spread(1), 1)[0])
        rate, concentrated = rate_for(target, query.spread(rows), 1)
        return cls(query, rate, rows, concentrated)

    def guarantee(self, distance: int = 1) -> Pure | Concentrated:
        """What one release costs between tables `distance` units apart."""
        return cost(self.rate, distance * self.query.spread(self.rows), 1, self.concentrated)

    def error(self, beta: float = 0.05) -> float:
        """The worst threshold's error in rows, but for `beta`; of a declared size, else above the best database."""
        rounding = (self.query.schema.size or 0) / (2 * self.rows)
        return rounding + (_log_databases(self.query.dimension, self.rows) - math.log(beta)) / (self.rate * self.rows)

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """The cells of the small database's rows, in order.  `answer`: the exact, secret counts of the cells."""
        counts: Lattice = checked(answer, self.query).astype(object)  # type: ignore[arg-type]
        below = np.cumsum(counts)
        paths = MonotonePaths(self.rows * below[:-1], int(below[-1]), self.rows)
        path = np.array([*paths.sample(self.rate, rng), self.rows], dtype=np.int64)
        return np.repeat(np.arange(len(path)), np.diff(path, prepend=0))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "threshold-database", "rate": self.rate, "rows": self.rows, "concentrated": self.concentrated,
        }  # fmt: skip


def _log_databases(points: int, rows: int) -> float:
    """The logarithm of the number of databases: C(points + rows - 1, rows)."""
    return math.lgamma(points + rows) - math.lgamma(rows + 1) - math.lgamma(points)


def _best_rows(query: ThresholdGrid, rate: float) -> int:
    """The size whose bound on the error, at 95 %, is least; `rate` is that of a database of one row."""
    size = query.schema.size or 1

    def bound(rows: int) -> float:
        return size / (2 * rows) + (_log_databases(query.dimension, rows) + 3) / rate

    return min(range(1, min(MOST_ROWS, size) + 1), key=bound)
