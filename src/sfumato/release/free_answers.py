"""Questions asked of a synthetic table: free, with intervals that include the table's own error.

The answer is that of the rows, scaled to the released number of rows.  How far it may be from the real table's is read
off the predicted errors of the columns that the question is about: a random sample of some size would err as much, the
question is asked of samples of that size, too, and their answers scatter as the real one may lie.  What is the right
size depends on how an error is spread (`FREEDOM`, set on tables no figure is judged by).  Rows that noise has hidden
are in no sample: so counts are also asked of rows of which as many as the predicted error lie anywhere within public
bounds, and means, sums and their like of rows of which as many lie beyond all others; what that moves is added.  A
count on one column or pair errs by no more than its shares do.  Of a group that cannot be told from a group of nobody
a mean may be any.  What cells hold that the question cuts is added on either side (`inside.py`).  Predicted, not
proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.answer import NO_ANSWER, Answer, Columns
from sfumato.answers.frames import Framed
from sfumato.cards import Card, Shown, counted
from sfumato.engines import read
from sfumato.errors import UnsupportedQuery
from sfumato.planner import best
from sfumato.privacy.guarantees import Pure
from sfumato.queries import Query, bind, count
from sfumato.queries.encoding import encoded
from sfumato.queries.query import CROSSED
from sfumato.queries.rules import Rules
from sfumato.randomness import seeded
from sfumato.release.hidden import anywhere, total_variation
from sfumato.release.prediction import PredictedErrors
from sfumato.spaces import numeric
from sfumato.spaces.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FreeAnswer", "answer_again", "asked"]

SAMPLES = 10  # tables that a question is asked of, to see how its answers scatter
EXACT = 1e6  # of epsilon, or as many as a column has steps: noise of a step or so, below what any answer is shown with
FREEDOM = {"columns": 1.5, "measured": 6.0, "others": 4.0}
"""In how many directions the error of a table goes: a sample's goes in as many as there are cells, and so one question
sees little of it; errors of a smooth model are fewer and larger."""
SURE = 4.0  # standard deviations of the number of rows that there is room for
FEWEST, CLEAR = 10, 2.0  # rows, and rows over their number's deviation: samples of fewer hardly scatter
ENOUGH = 200  # rows of a sample, at least; what fewer would scatter more is the root of the ratio
MANY = 1.5  # questions about three columns or more, which are known through their pairs alone, scatter more
MOST_ROWS = 10_000_000  # that a question is asked of
DIGITS, MOST_DIGITS = 6, 15  # of a number: usually, and where an interval lies far from zero
SEED = 7  # of the samples: the same question has the same interval

ROWS = ("count", "histogram")
COUNTS = (*ROWS, "share")
MOVED = ("mean", "sum", "std", "variance", "covariance", "correlation")  # by few values far from all others
WITHIN = ("mean", "quantiles", "median", "extent")  # answers that are values of a column, or between them
OF_SOME = (*WITHIN, "std", "variance", "correlation")  # answers that rows have, and a group of nobody has not

Keys = dict[str, list[Any]]
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
    units: Callable[[Columns], Columns] = dict  # numbers of a column as it shows them: of dates, as dates
    whole: bool = False  # numbers of rows: shown without a fraction
    within: Callable[[float], Reals] | None = None  # at a level, of a query of the table's workload: no farther
    below: Reals | None = None  # by how much it may be less, as nothing is known inside cells
    above: Reals | None = None

    @property
    def value(self) -> Any:
        """A number, or one for each row of the table, None where the interval is the whole range; dates as dates."""
        return self._whole(self._list_estimates(0.95))

    def _list_estimates(self, level: float) -> list[float | None]:
        """The estimates, but for those whose interval is all that an answer can be."""
        low, high = self._find_ends(level)
        empty = (low <= self.least) & (high >= self.most) & bool(np.isfinite([self.least, self.most]).all())
        return [None if none else float(number) for number, none in zip(self.estimates, empty, strict=True)]

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Where the real table's answers are predicted to lie, each with this probability."""
        low, high = self._find_ends(level)
        return self._whole(low.tolist()), self._whole(high.tolist())

    def _find_ends(self, level: float) -> tuple[Reals, Reals]:
        reach = self.scatter * _student((1 + arguments.level(level)) / 2, SAMPLES - 1)
        below, above = (reach if aside is None else reach + aside for aside in (self.below, self.above))
        if self.within is not None:
            below, above = (np.minimum(side, self.within(level)) for side in (below, above))
        return np.maximum(self.estimates - below, self.least), np.minimum(self.estimates + above, self.most)

    def _whole(self, numbers: list[Any]) -> Any:
        """All of them as they are shown, or the only one."""
        shown = self.units({"estimate": numbers})["estimate"]
        return shown if self.keys or len(shown) != 1 else shown[0]

    def table(self, level: float = 0.95, *, joint: bool = False) -> pa.Table:
        """An Arrow table: keys, estimate, low, high; `no_answer` where some intervals are the whole range."""
        import pyarrow as pa

        if joint:
            raise UnsupportedQuery("intervals of a synthetic table's answers hold one by one; leave joint out")
        single = not self.keys and len(self.estimates) == 1
        estimates = self._list_estimates(level)
        numbers = (self._whole(estimates), *self.interval(level))
        columns = ([held] if single else held for held in numbers)
        found = {**self.keys, **dict(zip(("estimate", "low", "high"), columns, strict=True))}
        empty = [number is None for number in estimates]
        if all(empty):
            found["estimate"] = pa.array(found["estimate"], pa.array(found["low"]).type)
        return pa.table(found | ({NO_ANSWER: empty} if any(empty) else {}))

    def shown(self, level: float = 0.95) -> list[tuple[str, ...]]:
        """The rows of the table for a reader: numbers of rows are whole, ends of intervals can be told apart."""
        found = []
        for row in self.table(level).to_pylist():
            row.pop(NO_ANSWER, None)
            digits = _digits(row["low"], row["high"])
            numbers = {name: _shown(value, self.whole, digits) for name, value in row.items() if name not in self.keys}
            if row["estimate"] is None:
                numbers["estimate"] = "no answer"
            found.append(tuple(numbers.get(name) or _shown(value, False) for name, value in row.items()))
        return found

    def card(self, level: float = 0.95) -> Card:
        """The answers with their intervals."""
        rows = self.shown(level)
        facts = {
            "cost": "nothing: it was computed from the released rows",
            "interval": f"where the real table's answer is predicted to lie at {level:.3g}, the table's own error "
            "included; not proven",
            "as good as": f"a random sample of about {self.sample:,.0f} rows ({KINDS[self.kind]})",
        }
        if self.below is not None:
            facts["inside cells"] = "not measured: the interval has room for all places of values in their cells"
        if self.within is not None:
            facts["workload"] = "a query that the table was made for: no wider than its measured errors allow"
        headings = (*self.keys, "estimate", "low", "high")
        return Card(
            self.name, facts, headings, rows[:40], [h not in self.keys for h in headings], max(0, len(rows) - 40)
        )


KINDS = {
    "columns": "single columns were counted",
    "measured": "the pair was measured",
    "others": "the pair was not measured: its relation is only what other pairs imply",
    "many": "relations of three columns or more are only what pairs imply",
    "three": "the three columns were measured together, in few groups",
}


def asked(
    query: Query,
    rows: pa.Table,
    rules: Rules,
    found: PredictedErrors,
    total: float,
    off: float,
    far: pa.Table | None = None,
) -> FreeAnswer:
    """What the rows answer; `off` is the standard deviation of the released number of rows, `total`.

    Columns that rules compute err as those do that they are computed from.  `far`: the rows with some values farther
    out, where there is room for such.
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
    names, asking = _asking(query, public)
    needed = rows.select(list(names) or rows.column_names[:1])
    parts = _parts(names, rules)
    sample, kind = _sample(parts, found, total)
    chance = np.random.default_rng(SEED)

    def numbers(found: Answer) -> tuple[Keys, Reals]:
        columns = found.list_numbers()
        if "estimate" not in columns:
            raise UnsupportedQuery(
                f"{query.name!r} is no number, so that no interval can be given; compute it from the rows (to_pandas)"
            )
        keys = {name: list(held) for name, held in columns.items() if name not in ("estimate", "low", "high")}
        return keys, np.asarray(columns["estimate"], dtype=np.float64)

    def answer(held: pa.Table) -> tuple[Keys, Reals]:
        return numbers(asking(held))

    held, whole = len(rows), max(1, round(total))
    read_off = asking(needed.take(_spread(held, whole)))
    keys, estimates = numbers(read_off)
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
    scatter = (MANY if kind in ("many", "three") else 1.0) * _scatter([values for _, values in answers], estimates)
    scatter = scatter * math.sqrt(max(1.0, drawn / max(sample, 2.0)))
    if len(estimates) > 1 and (query.keys or query.kind != "quantiles"):
        # groups that no sample tells of lie anywhere among the others, and are the least known
        scatter = np.where(scatter > 0, scatter, max(scatter.max(), np.std([values for _, values in answers])))
    error = total_variation(parts, found)
    hidden = anywhere(needed.column_names, schema, math.ceil(min(error, 1.0) * whole), chance)
    if hidden is not None:
        seen = needed.take(_spread(held, max(1, whole - len(hidden))))
        others, moved = answer(pa.concat_tables([seen, hidden.cast(seen.schema)]))
        if others == keys and len(moved) == len(estimates):
            wider = np.hypot(scatter, moved - estimates)
            scatter = wider if query.kind in COUNTS else np.where(scatter > 0, scatter, wider)
    if far is not None and query.kind in MOVED:
        others, moved = answer(far.select(needed.column_names).cast(needed.schema).take(_spread(held, whole)))
        if others == keys and len(moved) == len(estimates):
            scatter = np.hypot(scatter, moved - estimates)
    overall = query.kind != "share" or not (query.keys or query.condition is not None)  # not of a group's own rows
    if query.kind in COUNTS and overall and 1 <= len(parts) <= 2:
        most = error if query.kind == "share" else error * whole + SURE * off
        scatter = np.minimum(scatter, most / _student(0.975, SAMPLES - 1))
    if query.kind in OF_SOME and (query.keys or query.condition is not None):
        scatter = np.where(_of_nobody(query, keys, rows, rules, found, total), math.inf, scatter)
    elif query.kind in OF_SOME and _noise_alone(query, rows, error):
        scatter = np.full_like(scatter, math.inf)
    ends, whole_rows = _ends(query, public), query.kind in ROWS
    return FreeAnswer(query.name, keys, estimates, scatter, sample, kind, *ends, read_off.shown, whole_rows)


def answer_again(query: Query, rows: pa.Table, rules: Rules, total: float) -> Reals | None:
    """What other rows of the same table answer; None where the answer is of another form."""
    names, asking = _asking(query, _public(rows, rules.schema))
    needed = rows.select(list(names) or rows.column_names[:1])
    found = asking(needed.take(_spread(len(rows), max(1, round(total))))).list_numbers()
    return np.asarray(found["estimate"], dtype=np.float64) if "estimate" in found else None


def _asking(query: Query, public: Schema) -> tuple[Names, Callable[[pa.Table], Answer]]:
    """The columns that a question reads, and its answer, without noise, of rows that have these."""
    question = bind(query, public)
    names = tuple(dict.fromkeys(source for column in query.columns for source in public.sources(column)))
    spaces = [public.space(name) for name in {*query.columns, *names}]
    steps = max((space.lattice.width for space in spaces if numeric(space)), default=0)
    mechanism = best(question, Pure(max(EXACT, steps)))

    def answer(held: pa.Table) -> Answer:
        table = read(held, schema=_public(held, public))
        return question.read(mechanism.release(mechanism.take(table), seeded(SEED)), mechanism)

    return names, answer


def _scatter(answers: list[Reals], estimates: Reals) -> Reals:
    """How far answers of samples lie from the table's: all to one side where few values make a spread, too."""
    aside = np.mean(answers, axis=0) - estimates
    return np.asarray(np.hypot(np.std(answers, axis=0, ddof=1), aside))


def _noise_alone(query: Query, rows: pa.Table, error: float) -> bool:
    """Whether so few rows have a value in the column, and others none, that all of these may be noise."""
    missing = rows[query.column].null_count if query.column in rows.column_names else 0
    return missing > 0 and len(rows) - missing <= CLEAR * error * len(rows)


def _of_nobody(
    query: Query, keys: Keys, rows: pa.Table, rules: Rules, found: PredictedErrors, total: float
) -> npt.NDArray[np.bool_]:
    """Which groups cannot be told from groups of nobody: a sample that is as good holds next to none of their rows."""
    size = replace(count(), condition=query.condition, keys=query.keys)
    names, counting = _asking(size, _public(rows, rules.schema))
    counts = counting(rows.select(names)).table()
    share = _sample(_parts(names, rules), found, total)[0] / len(rows)
    groups = [name for name in keys if name in counts]
    if not groups:
        return np.array([counts["estimate"][0] * share < CLEAR**2])
    held = dict(zip(zip(*(counts[name] for name in groups), strict=True), counts["estimate"], strict=True))
    return np.array([held[group] * share < CLEAR**2 for group in zip(*(keys[name] for name in groups), strict=True)])


def _ends(query: Query, schema: Schema) -> tuple[float, float]:
    """What an answer can be: a count or a spread is not negative, and means lie within their column's bounds."""
    if query.kind in COUNTS:
        return 0.0, 1.0 if query.kind == "share" else math.inf
    if query.kind in WITHIN and query.column is not None:
        lattice = schema.lattice(query.column)
        return lattice.low_value, lattice.high_value
    if query.kind in ("std", "variance") and query.column is not None:
        lattice = schema.lattice(query.column)
        most = (lattice.high_value - lattice.low_value) / 2  # half at either end
        return 0.0, most if query.kind == "std" else most**2
    if query.kind in ("density", "items") or (query.kind == "workload" and query.details.subject() == CROSSED):
        return 0.0, math.inf
    if query.kind == "sum" and query.column is not None:
        lattice = schema.lattice(query.column)
        return 0.0 if lattice.low_value >= 0 else -math.inf, 0.0 if lattice.high_value <= 0 else math.inf
    return (-1.0, 1.0) if query.kind == "correlation" else (-math.inf, math.inf)


def _shown(value: object, whole: bool, digits: int = DIGITS) -> str:
    """A key or a number for a reader.

    >>> _shown(1363.36, True), _shown(1363.36, False), _shown("north", True)
    ('1,363', '1,363.36', 'north')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if whole else f"{value:,.{digits}g}"


def _digits(low: object, high: object) -> int:
    """How many digits tell the ends of an interval apart, with two of its length.

    >>> _digits(0.1, 0.2), _digits(123456789010.0, 123456789014.0), _digits(5.0, 5.0)
    (6, 13, 6)
    """
    if not (isinstance(low, float) and isinstance(high, float) and 0 < high - low < math.inf):
        return DIGITS
    return min(MOST_DIGITS, max(DIGITS, 2 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low)))))


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


def _parts(names: Names, rules: Rules) -> Names:
    """The columns that these are put together from, or computed from by rules."""
    behind = rules.sources(names)
    return tuple(column.name for column in encoded(rules.schema, behind)) if behind else ()


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
    if len(names) > 2:
        together = set(names) in map(set, found.triples)
        return min(worst, total), "three" if together else "many"
    return min(worst, total), "others" if "others" in kinds else kinds[-1]


def _as_good_as(found: PredictedErrors, table: Names, freedom: float) -> float:
    """The sample whose error, spread over so many directions only, would be the predicted one."""
    error = max(found.middles[table], 1e-9)
    directions = 2 * math.pi * error**2 * found.samples[table]  # of a sample: about one a cell
    return min(directions, freedom) / (2 * math.pi * error**2)
