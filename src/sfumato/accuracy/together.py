"""Several counts and histograms as one question: a workload over the product of their columns, measured once.

A histogram is the table of its own columns in the product, summed over the others; so where tables overlap, one
measurement tells of several.  Every row must have a cell in the product, or else a table would miss the rows that have
none in another's columns: only columns whose every value fits are joined.  Rows of the workload are weighted so that
the largest error over its scale is small: weights grow with the errors they leave, some rounds over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sfumato.accuracy.division import LEVEL, Claimant
from sfumato.accuracy.targets import scale_of
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
from sfumato.planner import options
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query
from sfumato.queries.grouping import Grouping
from sfumato.queries.linear.families import Product
from sfumato.queries.linear.workload import Workload, WorkloadDetails, workload_of
from sfumato.records import canonical, sha256
from sfumato.spaces.schema import Schema

__all__ = ["Group", "groups_of", "joined"]

KINDS = ("count", "histogram")
MOST_CELLS = 20_000  # of the product
ROUNDS = 4
FINEST = 1000  # of weights
LONGEST = 160  # characters of names in a title


@dataclass(frozen=True)
class Group:
    """Releases that are measured together: their names, and the workload whose parts they are, in this order."""

    name: str
    members: tuple[Claimant, ...]
    question: Workload

    @cached_property
    def scales(self) -> tuple[float, ...]:
        """What each member's error is over, weights included."""
        return tuple(scale_of(one.question).amount / one.weight for one in self.members)

    def relative(self, spend: Guarantee, allow: frozenset[str]) -> float:
        """The largest error of a member over its scale."""
        return max(self.errors(spend, allow))

    def supposes(self, spend: Guarantee, allow: frozenset[str]) -> bool:
        """Errors of counts are the same for any number of rows."""
        return False

    def errors(self, spend: Guarantee, allow: frozenset[str]) -> list[float]:
        """The error of each member over its scale."""
        try:
            mechanism = options(self.question, spend, allow)[0].mechanism
        except (ParameterError, UnsupportedQuery):
            return [math.inf] * len(self.members)
        margins = self.question.margins(mechanism, 1 - LEVEL)  # type: ignore[arg-type]
        parts = np.split(margins, np.cumsum(self.question.linear.counts)[:-1])
        return [float(part.max()) / scale for part, scale in zip(parts, self.scales, strict=True)]


def groups_of(claimants: Sequence[Claimant], spend: Guarantee, allow: frozenset[str] = frozenset()) -> list[Group]:
    """The releases that may be measured together, weighted for a spend; those that share no column stay apart."""
    return [_weighted(members, spend, allow) for members in _components(claimants) if len(members) > 1]


def joined(queries: Sequence[Query], weights: Sequence[float]) -> Query:
    """The workload whose parts are these counts and histograms."""
    keys = _keys(queries)
    parts = tuple(
        Product(tuple("each" if column in query.key_columns else "total" for column in keys), weight)
        for query, weight in zip(queries, weights, strict=True)
    )
    return Query(WorkloadDetails(parts), queries[0].condition, tuple(keys.values()))


def _keys(queries: Sequence[Query]) -> dict[str, Grouping]:
    """How each column is cut, in the order of their first use."""
    return {column: key for query in queries for column, key in zip(query.key_columns, query.keys, strict=True)}


def _components(claimants: Sequence[Claimant]) -> Iterator[list[Claimant]]:
    """Claimants joined by columns that they share and cut alike, as far as their product stays small."""
    found: list[list[Claimant]] = []
    for one in claimants:
        if not _is_linear(one):
            continue
        near = [group for group in found if _may_join(group, one)]
        merged = [one]
        for group in near:
            if _is_small([*group, *merged]):
                found.remove(group)
                merged = [*group, *merged]
        found.append(merged)
    order = {one.name: place for place, one in enumerate(claimants)}
    return (sorted(group, key=lambda one: order[one.name]) for group in found)


def _is_linear(one: Claimant) -> bool:
    """Whether a claimant is a count or a histogram over public keys of columns in which every value fits."""
    query, schema = one.question.query, one.question.schema
    if query.kind not in KINDS or one.mechanism is not None or not query.keys or query.limits is not None:
        return False
    return all(schema.space(column).settled for column in query.key_columns)


def _may_join(group: Sequence[Claimant], one: Claimant) -> bool:
    cuts, own = _keys([member.question.query for member in group]), _keys([one.question.query])
    shared = cuts.keys() & own.keys()
    same = _where(group[0].question.query) == _where(one.question.query)
    return bool(shared) and same and all(cuts[column] == own[column] for column in shared)


def _where(query: Query) -> bytes:
    return canonical(query.to_record().get("where"))


def _is_small(members: Sequence[Claimant]) -> bool:
    queries = [one.question.query for one in members]
    cuts: dict[str, Grouping] = {}
    for query in queries:
        for column, key in _keys([query]).items():
            if cuts.setdefault(column, key) != key:
                return False
    try:
        return _bound(queries, [1.0] * len(queries), members[0].question.schema).linear.cells <= MOST_CELLS
    except SfumatoError:
        return False


def _bound(queries: Sequence[Query], weights: Sequence[float], schema: Schema) -> Workload:
    query = joined(queries, weights)
    return workload_of(query).bind(query, schema)


def _weighted(members: Sequence[Claimant], spend: Guarantee, allow: frozenset[str]) -> Group:
    """The group with the weights that leave the smallest worst error of those tried."""
    queries, schema = [one.question.query for one in members], members[0].question.schema
    title = _title([one.name for one in members])
    weights = np.array([one.weight / scale_of(one.question).amount for one in members])
    best: tuple[float, Group] | None = None
    for _ in range(ROUNDS):
        group = Group(title, tuple(members), _bound(queries, _whole(weights), schema))
        errors = np.array(group.errors(spend, allow))
        if best is None or errors.max() < best[0]:
            best = (float(errors.max()), group)
        if not np.isfinite(errors).all():
            break
        weights = weights * errors
    assert best is not None
    return best[1]


def _whole(weights: npt.NDArray[np.float64]) -> list[float]:
    """Weights as small whole numbers in nearly their ratios."""
    largest = min(FINEST, 10 * weights.max() / weights.min())
    return [float(max(1, round(weight))) for weight in weights / weights.max() * largest]


def _title(names: Sequence[str]) -> str:
    """A name that says what is in it, and stands for these names alone."""
    listed = ", ".join(names)
    if len(listed) <= LONGEST:
        return f"together: {listed}"
    return f"together: {listed[:LONGEST]}... ({len(names)} releases, {sha256(canonical(list(names)))[:8]})"
