r"""A floor under tables and small databases: no private mechanism answers their linear queries better.

What a synthetic table achieves on the worst table is not known, so no factor is claimed; but whoever publishes rows
publishes the answers that they give, and `bounds/linear.py` bounds their error from below, for as many units as are
declared.  Proof: docs/proofs/bounds-tables.md.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.answers.certificate import Floor, NoBoundKnown, Verdict
from sfumato.bounds.exchanges import families_of_columns
from sfumato.bounds.line import words
from sfumato.bounds.linear import Floats, among, best_family
from sfumato.bounds.reachability import obstacle, restriction
from sfumato.bounds.workloads import least_of_moves, least_of_workload, root_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.linear.bodies import moves_of
from sfumato.queries.linear.factors import UPTO
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.queries.small_database import CountingQueries
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.thresholds import ThresholdGrid

__all__ = ["certify_counting_queries", "certify_synthetic", "certify_thresholds"]

SAMPLED = 128  # kinds of rows, of all that there could be
SEED = 14  # public: a floor is the same whoever computes it
NAME = "least variance of a count, ellipsoid of kinds of rows"
VANISHES = "at this much privacy loss, or with so few units, the least error is too small to state"


def certify_synthetic(question: SyntheticRows, mechanism: object, claim: Guarantee) -> Verdict:
    """The floor under the tables of all pairs of columns (of single ones, if there is one) on the worst table."""
    schema = question.schema
    if question.undiscovered:
        return NoBoundKnown("how many texts there are is not public")
    if question.uncut:
        return NoBoundKnown("how many cells numbers have is found, and not public before")
    if question.parts:
        return NoBoundKnown("sets and arrays are several columns of levels, not all of which can stand in one row")
    sizes = [column.size for column in question.levels]
    ways = min(2, len(sizes))
    moves = moves_of(schema, question.modelled, False)
    families = families_of_columns(_kinds_of_rows(tuple(sizes), ways), moves.alone, moves.apart, schema.size)
    total = moves.rows**2 * best_family(families, claim, schema.size)
    answers = sum(math.prod(some) for some in itertools.combinations(sizes, ways))
    tables = "unbounded size" if schema.size is None else f"{'' if moves.apart else 'at most '}the declared size"
    measure = f"root mean square error of a cell of all {('one', 'two')[ways - 1]}-way tables"
    return _floor(total / answers, measure, f"{words(claim)} on tables of {tables}")


def certify_counting_queries(question: CountingQueries, mechanism: object, claim: Guarantee) -> Verdict:
    """The floor under the counting queries that a small database answers."""
    found = obstacle(question.linear)
    if found is not None or question.linear.sensitivity("l1") == 0:
        return NoBoundKnown(found or "the answers are public, their error is zero")
    least = least_of_workload(question.linear, claim)
    return _floor(least.mean_square / question.linear.dimension, "root mean square error of a query", least.among)


def certify_thresholds(question: ThresholdGrid, mechanism: object, claim: Guarantee) -> Verdict:
    """The floor under the numbers of rows at or below the points of a grid."""
    moves = moves_of(question.schema, question.query.columns[:1], question.query.condition is not None)
    points = question.axis.cells
    units = question.schema.size if moves.apart else None
    hindered = restriction(question.query, question.schema)
    if hindered is not None:
        return NoBoundKnown(hindered)
    if question.query.condition is not None and units is not None:
        return NoBoundKnown("which rows are left out depends on the condition")
    least = least_of_moves(Linear((points,), (Block((UPTO,)),)), moves, units, claim)
    return _floor(least / points, "root mean square error of a threshold, in rows,", among(claim, units))


def _floor(mean_square: float, measure: str, among: str) -> Verdict:
    root = math.sqrt(max(mean_square, 0.0))
    return Floor(root, measure, NAME, among) if 0 < root < math.inf else NoBoundKnown(VANISHES)


def _kinds_of_rows(sizes: tuple[int, ...], ways: int) -> Floats:
    """What rows of some kinds, drawn once and for all, add to all tables of so many ways, up to an isometry.

    Two rows that agree in a columns meet in C(a, ways) cells.
    """
    rng = np.random.default_rng(SEED)
    kinds = np.unique(np.stack([rng.integers(0, size, SAMPLED) for size in sizes], axis=1), axis=0)
    rng.shuffle(kinds)
    agree = (kinds[:, None] == kinds[None]).sum(axis=2).astype(np.float64)
    return root_of(agree if ways == 1 else agree * (agree - 1) / 2)
