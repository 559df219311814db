r"""A kernel density whose bandwidth is chosen privately: public candidates, each with a score of small sensitivity.

Candidate bandwidths are h_j = range / (4 * 1.6^j).  The score of h_j, to be made least, is
    sqrt(B_j^2 + C_j),   B_j = || K_f * rows - K_j * rows ||_2 / N,
the distance of its curve from that of the finest candidate f still considered, K_j * rows the sum of the rows' kernels
and N the declared number of rows; C_j >= 0 is public: what noise and sampling add to the mean square error of h_j, less
what sampling adds to B_j^2 on average.  A row adds a function of norm ||K_f - K_j||_2 / N, whatever its value, and the
root is 1-Lipschitz in B_j.  Norms are sums over the waves of a circle of length T: of |sum over rows of
e^(2 pi i k x / T)|^2 (gamma_fk - gamma_jk)^2 / T.  Proof: docs/proofs/chosen_bandwidth.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from sfumato.answers.curves import Floats
from sfumato.answers.functions import Function
from sfumato.answers.statements import Accuracy, ErrorByRows, ErrorStatement
from sfumato.errors import SchemaError
from sfumato.privacy.adjacency import Replace
from sfumato.queries.aggregation import Aggregation, Measure
from sfumato.queries.functions.bandwidths import lattice_of
from sfumato.queries.functions.density import Density, DensityDetails
from sfumato.queries.functions.question import FunctionQuestion, Whole
from sfumato.queries.grouping import Cells, Key
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.whole import WholeTable
from sfumato.spaces.schema import Schema

__all__ = ["CANDIDATES", "STEPS", "ChosenDensity", "Smoothing"]

CANDIDATES = 10
COARSEST = 4.0  # the largest bandwidth is this fraction of the range
RATIO = 1.6  # between neighboring candidates
CELLS = 1024  # in which the rows are counted for the scores
MARGIN = 4.0  # of the circle beyond the range, in largest bandwidths
TAIL = 8.0  # waves on which the finest kernel weighs less than e^-16 are left out
STEPS = 64  # of a score, in what one unit can change it by


@dataclass(frozen=True, slots=True, eq=False)
class Smoothing:
    """The table, and the counts in cells from which scores are computed: exact and secret."""

    table: Source
    counts: Floats


class Choosing(Protocol):
    """A mechanism with a curve for each candidate."""

    @property
    def curves(self) -> Sequence[Any]: ...

    @property
    def noisiest(self) -> Any: ...


@dataclass(frozen=True)
class ChosenDensity(WholeTable):
    """A density of one column, bound to a schema, without its bandwidth."""

    query: Query
    schema: Schema

    @property
    def column(self) -> str:
        """The one column."""
        assert isinstance(self.query.details, DensityDetails)
        return self.query.details.columns[0]

    @cached_property
    def size(self) -> int:
        """The declared number of rows, which the scores are divided by."""
        if self.schema.size is None:
            raise SchemaError('bandwidth="private" needs a public number of rows: declare size=, or give a number')
        return max(self.schema.size, 1)

    def fitting(self) -> ChosenDensity:
        """The question, if its size is declared and its column has a range."""
        if not (self.size and self.bandwidths[-1] > 0):
            raise SchemaError(f"column {self.column!r} has one value only; a density needs a range")
        return self

    @cached_property
    def bandwidths(self) -> tuple[float, ...]:
        """The candidates, largest first."""
        lattice = lattice_of(self.column, self.schema)
        wide = lattice.high_value - lattice.low_value
        return tuple(wide / (COARSEST * RATIO**j) for j in range(CANDIDATES))

    @cached_property
    def candidates(self) -> tuple[Density, ...]:
        """The question with each of them."""
        details = self.query.details
        assert isinstance(details, DensityDetails)
        made = [replace(self.query, details=replace(details, bandwidth=(h,))) for h in self.bandwidths]
        return tuple(Density(query, self.schema) for query in made)

    @cached_property
    def statistic(self) -> Aggregation:
        """Counts in cells of equal width."""
        lattice = lattice_of(self.column, self.schema)
        starts = tuple(range(lattice.low, lattice.high + 1, self._width))
        key = Key(self.column, tuple(range(len(starts))), starts)
        return Aggregation(self.query.bound_condition(self.schema), Cells((key,)), (Measure(None),))

    @property
    def _width(self) -> int:
        lattice = lattice_of(self.column, self.schema)
        return max(1, -(-(lattice.width + 1) // CELLS))

    def answer(self, table: Source) -> Smoothing:
        """A secret view: the counts for the scores, and the table for the curve."""
        return Smoothing(table, np.asarray(table.answer(self.statistic)[0], dtype=np.float64))

    def _circle(self, finest: int) -> tuple[float, Floats, Floats]:
        """The circle's length, its waves, and the kernel weights of candidates x waves, up to the finest."""
        lattice = lattice_of(self.column, self.schema)
        around = lattice.high_value - lattice.low_value + 2 * MARGIN * self.bandwidths[0]
        most = math.ceil(around * math.sqrt(TAIL) / (math.pi * self.bandwidths[finest]))
        waves = np.arange(1, most + 1, dtype=np.float64)
        widths = np.array(self.bandwidths[: finest + 1])
        return around, waves, np.exp(-2 * (math.pi * np.outer(widths, waves) / around) ** 2)

    def norms(self, finest: int) -> Floats:
        """||K_f - K_j||_2 for each candidate up to the finest."""
        around, _, weights = self._circle(finest)
        return np.asarray(np.sqrt(2 * ((weights[-1] - weights) ** 2).sum(axis=1) / around))

    def sensitivity(self, finest: int) -> float:
        """How far one unit moves a score, rounded up."""
        times = 2 if isinstance(self.schema.adjacency, Replace) else 1
        return times * self.schema.unit.rows * float(self.norms(finest).max()) / self.size * (1 + 1e-9)

    def constants(self, noises: tuple[float, ...]) -> Floats:
        """C_j, from the root mean square of each candidate's noise over the range."""
        around, _, weights = self._circle(len(noises) - 1)
        lattice = lattice_of(self.column, self.schema)
        noise = np.array(noises) ** 2 * (lattice.high_value - lattice.low_value)
        sampling = 2 * (weights**2).sum(axis=1) / around / self.size
        found = noise + sampling - self.norms(len(noises) - 1) ** 2 / self.size
        return np.asarray(found - min(float(found.min()), 0.0))

    def scores(self, counts: Floats, noises: tuple[float, ...]) -> Whole:
        """The score of each candidate, to be made least, in whole steps of 1/STEPS of the sensitivity."""
        finest = len(noises) - 1
        around, waves, weights = self._circle(finest)
        lattice = lattice_of(self.column, self.schema)
        places = lattice.value(self._width) * np.arange(len(counts)) * (2 * math.pi / around)
        angles = np.outer(waves, places)
        power = (np.cos(angles) @ counts) ** 2 + (np.sin(angles) @ counts) ** 2
        apart = 2 * ((weights[-1] - weights) ** 2 @ power) / around / self.size**2
        found = np.sqrt(apart + self.constants(noises)) / (self.sensitivity(finest) / STEPS)
        return np.asarray(np.minimum(np.floor(found), 2.0**50), dtype=np.int64)

    def accuracy(self, mechanism: Choosing, beta: float) -> Accuracy:
        """The error to expect of the curve with the most noise, from public quantities."""
        asked: FunctionQuestion = mechanism.noisiest.query
        return _said(asked.accuracy(mechanism.noisiest, beta), "bandwidth chosen privately")

    def read(self, output: Whole, mechanism: Choosing) -> Function:
        """The curve with the chosen bandwidth, which is stated with its error."""
        place = int(output[0])
        curve = mechanism.curves[place]
        asked: FunctionQuestion = curve.query
        found = asked.function(output[1:], curve.noise)
        chosen = f"{found.smoothed}, chosen privately"
        return replace(found, stated=partial(_stated, found, chosen), smoothed=chosen)


def _stated(found: Function, chosen: str, beta: float) -> Accuracy:
    """The curve's own error, and which bandwidth it has."""
    return _said(found.stated(beta), chosen)


def _said(stated: Accuracy, chosen: str) -> Accuracy:
    """The same, with how the bandwidth was found in place of the bandwidth, which comes last."""
    if isinstance(stated, ErrorByRows):
        return replace(stated, at=tuple(replace(one, besides=(*one.besides[:-1], chosen)) for one in stated.at))
    return replace(stated, besides=(*stated.besides[:-1], chosen)) if isinstance(stated, ErrorStatement) else stated
