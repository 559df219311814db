r"""One curve for each group of public keys: the vectors of all groups, one after another, with one noise.

A row is in one group at most, so adding it moves the vector of that group alone, by what it adds to one curve, however
many groups there are.  Replacing it moves two vectors if its group changes.  Proof: docs/proofs/functions-groups.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from sfumato.answers.curves import Curve, Floats, Reading
from sfumato.answers.functions import Functions
from sfumato.answers.statements import GROUPS, Accuracy, NotStated
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.adjacency import Replace
from sfumato.queries.functions.question import GUESSED, FunctionQuestion, SummedCurve, Whole
from sfumato.queries.grouping import Cells, bind_cells
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.vector import NEEDS_SIZE, Noise, Noisy, share_rows
from sfumato.spaces.schema import Schema

__all__ = ["CurvesByGroup", "by_group", "placed", "public_rows"]

MOST_NUMBERS = 20_000  # released in all
MOST_PLACES = 1 << 24  # of grids whose rows are counted, in all
ROOT = math.sqrt(2) * (1 + 1e-12)


Asked = TypeVar("Asked", bound=SummedCurve)


class Shared(Protocol):
    """A mechanism that adds the noise of one law to all curves."""

    @property
    def query(self) -> CurvesByGroup: ...

    @property
    def noise(self) -> Noise: ...


@dataclass(frozen=True)
class CurvesByGroup(FunctionQuestion):
    """The curves of groups.  `part` is the question of one of them, whose number of rows is private."""

    part: SummedCurve = field(kw_only=True)
    groups: Cells = field(kw_only=True)

    @property
    def cells(self) -> Cells:
        """The groups."""
        return self.groups

    @property
    def kind(self) -> str:
        """What each curve is."""
        return self.part.kind

    @property
    def labels(self) -> tuple[str, ...]:
        """The variables of each curve."""
        return self.part.labels

    @property
    def reading(self) -> Reading:
        """That of each curve."""
        return self.part.reading

    @property
    def worth(self) -> Floats:
        """That of each curve."""
        return self.part.worth

    @property
    def count_weight(self) -> int:
        """That of each curve: the number of rows in a group is private."""
        return self.part.count_weight

    @property
    def divisor(self) -> None:
        """Private in each group."""
        return None

    @property
    def bias(self) -> float:
        """That of each curve."""
        return self.part.bias

    @property
    def most_coarse(self) -> int:
        """That of each curve."""
        return self.part.most_coarse

    @property
    def dimension(self) -> int:
        """Whole numbers released in all."""
        return self.groups.count * self.part.dimension

    def points(self) -> Floats:
        """Those of each curve."""
        return self.part.points()

    def shaped(self, norm: str, coarser: int = 0) -> Self:
        """The same curves with units for noise measured in `norm`, and fewer waves."""
        return replace(self, norm=norm, coarser=coarser, part=self.part.shaped(norm, coarser))

    def sensitivity(self, norm: str) -> float:
        """A row alone; or two rows in the same group, or in two groups; times the rows of a unit."""
        alone = self.part.alone(norm)
        if isinstance(self.schema.adjacency, Replace):
            across = {"l1": 2.0, "l2": ROOT, "linf": 1.0}[norm] * alone if self.groups.count > 1 else alone
            alone = max(across, self.part.apart(norm))
        return self.schema.unit.rows * alone

    def answer(self, table: Source) -> Whole:
        """The exact, secret vectors, one after another."""
        return np.concatenate(self.part.vectors(table, self.groups))

    def read(self, output: Whole, mechanism: Shared) -> Functions:  # type: ignore[override]
        """The curve of each group."""
        asked = mechanism.query
        outputs = np.asarray(output, dtype=object).reshape(asked.groups.count, -1)
        return Functions(asked.groups.columns(), tuple(asked.part.function(own, mechanism.noise) for own in outputs))

    def expected(self, mechanism: Noisy, rows: float | None = None) -> Curve:
        """A curve of nothing with the noise to expect in one group, rows shared equally by all."""
        shared = share_rows(self.schema.size or GUESSED, self.groups.count)
        return self.part.expected(mechanism, rows or shared)

    def accuracy(self, mechanism: Shared, beta: float) -> Accuracy:  # type: ignore[override]
        """The error to expect of each curve, from public quantities."""
        if self.schema.size is None:
            return NotStated(NEEDS_SIZE)
        asked = mechanism.query
        each = share_rows(self.schema.size, self.groups.count)
        found = asked.part.expect_errors(mechanism, beta, each, GROUPS)
        return replace(found, at=tuple(replace(one, each=True) for one in found.at))


def by_group(question: Asked) -> Asked | CurvesByGroup:
    """The question itself, or where its query has keys the curve of each group."""
    query, schema = question.query, question.schema
    if not query.keys:
        return question
    groups = bind_cells(query.keys, schema)
    if {key.column for key in groups.keys} & set(query.measured):
        raise ParameterError(f"a {query.kind} by groups needs groups of other columns than its own")
    if (numbers := groups.count * question.dimension) > MOST_NUMBERS:
        raise UnsupportedQuery(
            f"{groups.count} curves of {question.dimension} numbers are {numbers} in all, at most {MOST_NUMBERS} are "
            "possible; ask for fewer groups or smoother curves"
        )
    if (places := groups.count * question.places) > MOST_PLACES:
        raise UnsupportedQuery(
            f"rows would be counted on grids of {places} points in all, at most {MOST_PLACES} are possible; ask for "
            "fewer groups, fewer columns or a larger bandwidth"
        )
    return CurvesByGroup(query, schema, part=question, groups=groups)


def public_rows(query: Query, schema: Schema, columns: Sequence[str]) -> int | None:
    """The number of rows of a curve, where it is public: none is left out, missing, filtered or in another group."""
    imputed = all(schema.space(column).settled for column in columns)
    return schema.fixed_size if imputed and query.condition is None and not query.keys else None


def placed(groups: Cells, batch: Mapping[str, Whole], schema: Schema) -> npt.NDArray[np.int64]:
    """The place of each row's group, -1 where a key is missing."""
    held: npt.NDArray[np.int64] = np.zeros((), dtype=np.int64)
    known: npt.NDArray[np.bool_] = np.ones((), dtype=np.bool_)
    for key in groups.keys:
        values = np.asarray(batch[key.column], dtype=np.int64)
        known = known & (values >= 0)
        if key.starts is not None:
            starts = np.array(key.starts, dtype=np.int64) - schema.lattice(key.column).low
            values = np.searchsorted(starts, values, side="right") - 1
        held = held * len(key.labels) + values
    return np.where(known, held, -1)
