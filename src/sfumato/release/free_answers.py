"""Questions asked of a synthetic table: free, with intervals that include the table's own error.

The answer is that of the rows, scaled to the released number of rows.  How far it may be from the real table's is read
off the predicted errors of the columns that the question is about: a random sample of some size would err as much, the
question is asked of samples of that size, too, and their answers scatter as the real one may lie.  What is the right
size depends on how an error is spread (`FREEDOM`, set on tables no figure is judged by).  Rows that noise has hidden
are in no sample: so the question is also asked of rows of which as many as the predicted error lie anywhere within
public bounds, and what that moves is added.  A count on one column or pair errs by no more than its shares do.
Predicted, not proven; what happens inside one of the 32 groups of a column is in no prediction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.frames import Framed
from sfumato.cards import Card, Shown, counted
from sfumato.engines import read
from sfumato.errors import UnsupportedQuery
from sfumato.planner import best
from sfumato.privacy.guarantees import Pure
from sfumato.queries import Query, bind
from sfumato.queries.encoding import encoded
from sfumato.queries.rules import Rules
from sfumato.randomness import seeded
from sfumato.release.hidden import anywhere, total_variation
from sfumato.release.prediction import PredictedErrors
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FreeAnswer", "asked"]

SAMPLES = 10  # tables that a question is asked of, to see how its answers scatter
EXACT = Pure(1e6)  # noise that is far below what any answer is shown with
FREEDOM = {"columns": 1.5, "measured": 6.0, "others": 4.0}
"""In how many directions the error of a table goes: a sample's goes in as many as there are cells, and so one question
sees little of it; errors of a smooth model are fewer and larger."""
SURE = 4.0  # standard deviations of the number of rows that there is room for
FEWEST, CLEAR = 10, 2.0  # rows, and rows over their number's deviation: samples of fewer hardly scatter
ENOUGH = 200  # rows of a sample, at least; what fewer would scatter more is the root of the ratio
MANY = 1.5  # questions about three columns or more, which are known through their pairs alone, scatter more
MOST_ROWS = 10_000_000  # that a question is asked of
SEED = 7  # of the samples: the same question has the same interval

COUNTS = ("count", "histogram", "share")
WITHIN = ("mean", "quantiles", "median")  # answers that are values of a column, or between them

Names = tuple[str, ...]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FreeAnswer(Shown, Framed):
    """What the rows of a synthetic table answer, and how far that may be from the real table's answer."""

    name: str
    keys: dict[str, list[Any]]
    estimates: Reals
    scatter: Reals  # standard deviations
    sample: float  # as good as a random sample of so many rows, for these columns
    kind: str
    least: float = -math.inf  # that an answer can be
    most: float = math.inf

    @property
    def value(self) -> Any:
        """A number, or one for each row of the table."""
        return self.estimates.tolist() if self.keys or len(self.estimates) != 1 else float(self.estimates[0])

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Where the real table's answers are predicted to lie, each with this probability."""
        reach = self.scatter * _student((1 + arguments.level(level)) / 2, SAMPLES - 1)
        low, high = np.maximum(self.estimates - reach, self.least), np.minimum(self.estimates + reach, self.most)
        if self.keys or len(self.estimates) != 1:
            return low.tolist(), high.tolist()
        return float(low[0]), float(high[0])

    def table(self, level: float = 0.95, *, joint: bool = False) -> pa.Table:
        """An Arrow table: keys, estimate, low, high."""
        import pyarrow as pa

        if joint:
            raise UnsupportedQuery("intervals of a synthetic table's answers hold one by one; leave joint out")
        low, high = (np.atleast_1d(end).tolist() for end in self.interval(level))
        return pa.table({**self.keys, "estimate": self.estimates.tolist(), "low": low, "high": high})

    @staticmethod
    def shown(value: object) -> str:
        """A key or a number for a reader."""
        return f"{value:,.6g}" if isinstance(value, float) else str(value)

    def card(self, level: float = 0.95) -> Card:
        """The answers with their intervals."""
        rows = [tuple(map(self.shown, row.values())) for row in self.table(level).to_pylist()]
        facts = {
            "cost": "nothing: it was computed from the released rows",
            "interval": f"where the real table's answer is predicted to lie at {level:.3g}, the table's own error "
            "included; not proven",
            "as good as": f"a random sample of about {self.sample:,.0f} rows ({KINDS[self.kind]})",
        }
        headings = (*self.keys, "estimate", "low", "high")
        return Card(
            self.name, facts, headings, rows[:40], [h not in self.keys for h in headings], max(0, len(rows) - 40)
        )


KINDS = {
    "columns": "single columns were counted",
    "measured": "the pair was measured",
    "others": "the pair was not measured: its relation is only what other pairs imply",
    "many": "relations of three columns or more are only what pairs imply",
}


def asked(query: Query, rows: pa.Table, rules: Rules, found: PredictedErrors, total: float, off: float) -> FreeAnswer:
    """What the rows answer; `off` is the standard deviation of the released number of rows, `total`.

    Columns that rules compute err as those do that they are computed from.
    """
    import pyarrow as pa

    schema = rules.schema
    public = _public(rows, schema)
    if total + SURE * off > MOST_ROWS:
        raise UnsupportedQuery(
            f"the table has about {total:,.0f} rows, give or take {SURE * off:,.0f}, and questions are asked of as "
            f"many, at most {MOST_ROWS:,}; compute the answer from the rows (to_pandas), or release it"
        )
    if len(rows) < FEWEST or total < CLEAR * off:
        raise UnsupportedQuery(
            f"{counted(len(rows), 'row')} of a table that has about {total:,.0f}, give or take {off:,.0f}: too few to "
            "say how far an answer may be off; make the table with more rows, spend more, or release the answer"
        )
    question = bind(query, public)
    mechanism = best(question, EXACT)
    names = tuple(dict.fromkeys(source for column in query.columns for source in public.sources(column)))
    needed = rows.select(list(names) or rows.column_names[:1])
    behind = rules.sources(names)
    parts = tuple(column.name for column in encoded(schema, behind)) if behind else ()
    sample, kind = _sample(parts, found, total)
    chance = np.random.default_rng(SEED)

    def answer(held: pa.Table) -> tuple[dict[str, list[Any]], Reals]:
        table = read(held, schema=_public(needed, schema))
        columns = question.read(mechanism.release(mechanism.take(table), seeded(SEED)), mechanism).table()
        if "estimate" not in columns:
            raise UnsupportedQuery(
                f"{query.name!r} is no number, so that no interval can be given; compute it from the rows (to_pandas)"
            )
        keys = {name: list(held) for name, held in columns.items() if name not in ("estimate", "low", "high")}
        return keys, np.asarray(columns["estimate"], dtype=np.float64)

    held, whole = len(rows), max(1, round(total))
    keys, estimates = answer(needed.take(_spread(held, whole)))
    drawn = int(min(max(sample, ENOUGH), whole))  # of a handful of rows most groups would be missing
    answers = []
    for _ in range(SAMPLES):
        size = min(MOST_ROWS, max(1, round(chance.normal(total, off))))
        chosen = chance.integers(held, size=drawn)
        answers.append(answer(needed.take(chosen[_spread(drawn, size)])))
    if any(found != keys or len(values) != len(estimates) for found, values in answers):
        raise UnsupportedQuery(
            f"{query.name!r} names other items on other samples, so that no interval can be given; ask for the counts "
            "of public groups"
        )
    scatter = (MANY if kind == "many" else 1.0) * np.std([values for _, values in answers], axis=0, ddof=1)
    scatter = scatter * math.sqrt(max(1.0, drawn / max(sample, 2.0)))
    if len(estimates) > 1:  # groups that no sample tells of lie anywhere among the others, and are the least known
        scatter = np.where(scatter > 0, scatter, max(scatter.max(), np.std([values for _, values in answers])))
    error = total_variation(parts, found)
    hidden = anywhere(needed.column_names, schema, math.ceil(min(error, 1.0) * whole), chance)
    if hidden is not None:
        seen = needed.take(_spread(held, max(1, whole - len(hidden))))
        others, moved = answer(pa.concat_tables([seen, hidden.cast(seen.schema)]))
        if others == keys and len(moved) == len(estimates):
            wider = np.hypot(scatter, moved - estimates)
            scatter = wider if query.kind in COUNTS else np.where(scatter > 0, scatter, wider)
    if query.kind in COUNTS and 1 <= len(parts) <= 2:
        most = error if query.kind == "share" else error * whole + SURE * off
        scatter = np.minimum(scatter, most / _student(0.975, SAMPLES - 1))
    return FreeAnswer(query.name, keys, estimates, scatter, sample, kind, *_ends(query, public))


def _ends(query: Query, schema: Schema) -> tuple[float, float]:
    """What an answer can be: a count is not negative, and means and quantiles lie within their column's bounds."""
    if query.kind in COUNTS:
        return 0.0, 1.0 if query.kind == "share" else math.inf
    if query.kind in WITHIN and query.column is not None:
        lattice = schema.lattice(query.column)
        return lattice.low_value, lattice.high_value
    return -math.inf, math.inf


def _student(probability: float, freedom: int) -> float:
    """A quantile of Student's t, by the first terms of its expansion in 1 / freedom.

    >>> round(_student(0.975, 9), 2)
    2.26
    """
    z = NormalDist().inv_cdf(probability)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _public(rows: pa.Table, schema: Schema) -> Schema:
    """The schema of the rows: those columns, and what is computed from them; each row stands for itself."""
    names = rows.column_names
    derived = {name: made for name, made in schema.derived.items() if set(made.columns) <= set(names)}
    return Schema({name: schema.space(name) for name in names}, dataset=schema.dataset, derived=derived)


def _spread(held: int, wanted: int) -> npt.NDArray[np.int64]:
    """Places of `wanted` rows among those held, each as often as any other, to within one."""
    return np.arange(wanted, dtype=np.int64) * held // wanted


def _sample(names: Names, found: PredictedErrors, total: float) -> tuple[float, str]:
    """The sample that the worst of these columns' tables is as good as for one question, and what kind that is."""
    if not names:
        return total, "columns"
    pairs = [tuple(sorted(pair, key=list(found.columns).index)) for pair in combinations(names, 2)]
    others = [one for one in found.samples if found.kind(one) == "others"] or [*found.samples]
    unseen = max(others, key=found.within)  # stands for pairs that were not judged, of many columns
    tables = [*((name,) for name in names), *(pair if pair in found.samples else unseen for pair in pairs)]
    kinds = [found.kind(one) for one in tables]
    worst = min(_as_good_as(found, one, FREEDOM[kind]) for one, kind in zip(tables, kinds, strict=True))
    return min(worst, total), "many" if len(names) > 2 else "others" if "others" in kinds else kinds[-1]


def _as_good_as(found: PredictedErrors, table: Names, freedom: float) -> float:
    """The sample whose error, spread over so many directions only, would be the predicted one."""
    error = max(found.middles[table], 1e-9)
    directions = 2 * math.pi * error**2 * found.samples[table]  # of a sample: about one a cell
    return min(directions, freedom) / (2 * math.pi * error**2)
