r"""One table for counts and for smooth queries: marginals and moments from one budget, joined in the rows.

Definition.  A fixed share of the budget measures moments of all columns of numbers together (`smooth/`), the rest
marginals (`marginals/`); where the number of rows is not public, a part of the share counts them first.  Rows
drawn from the model of the marginals are moved and weighted until they have the moments, and judged as others are.
With a share of one there are no marginals, and points are fitted to the moments alone; where all columns are numbers,
such points stand for as many rows as noisy marginals do not tell from them, or for all (`likeness.py`).  With a small
share, a number of rows that turns out to be so large that marginals know the moments leaves all that is left to the
marginals.

Guarantee.   The target itself: parts are fixed fractions of it, each is met or undercut, and what is chosen from the
noisy number of rows changes no part's cost.  Proof: docs/proofs/synthesis-joined.md.

Accuracy.    None is stated: it depends on the table.  `predicted` is the worst error to expect over smooth queries of a
width, `counted.predicted` the noise of a column; neither is a bound.

Assumes.     Nothing beyond random bits: counts, sums and noise are whole numbers and the samplers exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.synthetic.keeping import ruled
from sfumato.mechanisms.synthetic.likeness import standing
from sfumato.mechanisms.synthetic.marginals.budget import first_scales
from sfumato.mechanisms.synthetic.marginals.counting import Read
from sfumato.mechanisms.synthetic.marginals.generation import Whole, settled, shuffling, systematic
from sfumato.mechanisms.synthetic.marginals.judging import judged
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.noise import Law, noisy
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis, synthesized
from sfumato.mechanisms.synthetic.smooth import SmoothSynthesis
from sfumato.mechanisms.synthetic.smooth.features import BLOCKS, Reals, View
from sfumato.mechanisms.synthetic.smooth.joining import joined, looked_at
from sfumato.numeric import floor_float, round_down
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Concentrated, GaussianPrivacy, Guarantee, Pure
from sfumato.progress import tell
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["AT_ONCE", "JOINING", "JoinedSynthesis", "part_of_rows"]

FEWEST = 3  # columns of numbers
BESIDE, PAIRED = (
    BLOCKS[:3],
    BLOCKS[:4],
)  # what is measured beside marginals, whose pairs hold the moments of higher degree
MOSTLY, FEW = Fraction(1, 2), 10  # with a larger share, and of fewer numbers, moments know those better than the pairs
FINER = 4  # times the budget at which moments alone would measure second ones: beside noisy counts these already pay
# Noise of a count, as a part of the rows: below it marginals know the moments well enough, and lose by being moved.
JOINING = 0.002
COUNTING = Fraction(1, 8)  # of the share counts the rows, where their number is not public
LEAST = 2000  # rows of the model, so that there are some to choose from
CLOSE = 0.02  # deviation of a column in the box below which its values are those that were counted,
HIDING = 5.0  # unless its measured mean lies so many standard errors away: noise hid rows that lie far out
FAR = 0.1  # from the median of such a column, in the box: values that noise may have made,
MADE = 6.0  # times the noise of the counts of so many levels, at most
UNSURE = 2.0  # standard errors of a count: how far a model leaves the number of missing values off
LEAST_SPREAD = 1e-6  # squared, of a column in the box
AT_ONCE = 50_000  # rows that are weighted together
WIDTH = 3.0  # of the kernels whose error is predicted, in units where every column has length 2

Measured = tuple[View, float, dict[str, Reals]]  # a view, the standard error of its center, noisy means of blocks


@dataclass(frozen=True, slots=True)
class JoinedSynthesis(Answering):
    """Marginals and moments of one table; `smooth` is the plan of the moments for the declared or supposed size.

    Proof: docs/proofs/synthesis-joined.md.
    """

    query: SyntheticRows
    target: Guarantee
    share: Fraction  # of the budget, for moments
    smooth: SmoothSynthesis

    @classmethod
    def calibrate(cls, query: SyntheticRows, target: Guarantee, share: Fraction = Fraction(1, 2)) -> JoinedSynthesis:
        """The synthesizer that meets `target`."""
        numbers = sum(column.ordered for column in query.levels)
        if numbers < FEWEST or not 0 < share <= 1 or (share == 1 and numbers < len(query.levels)):
            raise UnsupportedQuery(
                f"good_for='smooth' needs at least {FEWEST} columns, all of them numbers; name them (columns=[...]), "
                "or leave out good_for"
            )
        MarginalSynthesis.calibrate(query, target)
        return cls(query, target, share, _plan(query, target, share, query.supposed_size))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The levels of the columns."""
        return self.query.levels

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns whose moments are measured."""
        return tuple(column.name for column in self.columns if column.ordered)

    @property
    def counted(self) -> MarginalSynthesis | None:
        """The part that measures marginals."""
        left = 1 - self.share
        return MarginalSynthesis(self.query, self.target, left) if left else None

    @property
    def _for_moments(self) -> Fraction:
        """What moments get, and the number of rows."""
        return _whole(self.query, self.target).for_rows * self.share

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart: the target, spent in full or not."""
        return _whole(self.query, self.target).guarantee(distance)

    def error(self, beta: float = 0.05) -> float:
        """No bound is known."""
        return math.inf

    def predicted(self, width: float = WIDTH, size: int | None = None) -> float:
        """The worst error to expect over ten thousand mixtures of ten Gaussian kernels of this width, for a table."""
        plan = self.smooth if size is None else _plan(self.query, self.target, self.share, size)
        return plan.predicted(width)

    def release(self, answer: SecretView, rng: Rng) -> Synthesis:
        """The synthetic rows.  `answer` is a secret view, which is passed over up to nine times."""
        size, whole = self.query.schema.fixed_size, _whole(self.query, self.target)
        total = size if size is not None else self._count(answer, rng)
        if size is None and self.share <= MOSTLY and part_of_rows(whole, total) <= JOINING:
            left = whole.for_rows - self._for_moments * COUNTING
            drawn = synthesized(
                answer.batches, self.columns, whole.noise, left, total, whole.made, rng, self.query.triples
            )
            made = replace(drawn, moments=False)
        else:
            made = self._moved(answer, total, whole.made(float(total)), rng)
        made = ruled(self.query, made, rng)
        tell("judging rows", 0.95)
        rest = whole.amount - whole.for_rows
        found = judged(answer.batches, self.columns, made.rows, float(total), made.measured, whole.noise, rest, rng)
        off = 0.0 if size is not None else math.sqrt(self._counting_law.variance)
        return replace(made, judged=found, total_error=off)

    def _moved(self, answer: SecretView, total: int, count: int, rng: Rng) -> Synthesis:
        """So many rows of a table that has about `total`, with its moments."""
        plan = _plan(self.query, self.target, self.share, total)
        tell("measuring moments", 0.05)
        view, center_error, moments = plan.measured(lambda: self._points(plan, answer), rng)
        marginals, measured = self.counted, (view, center_error, moments)
        if marginals is None:
            return Synthesis(self._alone(plan, measured, count, shuffling(rng)), float(total))
        wanted = max(count, LEAST)
        synthesize = partial(self._counted_rows, marginals, total, wanted, rng)
        drawn = synthesize(answer.batches)
        tell("joining", 0.9)
        chance = shuffling(rng)
        made = self._joined(plan, measured, drawn, wanted, chance)
        if self.divided and self._plain(plan, drawn):
            alone = self._alone(plan, measured, wanted, chance)
            again = self._joined(plan, measured, synthesize(lambda: (alone,)), wanted, chance)
            share = standing(alone, made.rows, again.rows, self.columns)
            if share == 1:
                return Synthesis(self._alone(plan, measured, count, chance), float(total))
            if share:
                points = self._alone(plan, measured, round(share * count), chance)
                made = self._joined(plan, measured, drawn, count - round(share * count), chance)
                return replace(made, rows=_mixed(made.rows, points, chance))
        return made if wanted == count else self._joined(plan, measured, drawn, count, chance)

    def _counted_rows(self, marginals: MarginalSynthesis, total: int, count: int, rng: Rng, read: Read) -> Synthesis:
        """So many rows of the marginals of what is read."""
        own, asked = marginals.noise, self.query.triples
        return synthesized(read, self.columns, own, marginals.for_rows, total, lambda _: count, rng, asked)

    def _alone(
        self, plan: SmoothSynthesis, moments: Measured, count: int, chance: np.random.Generator
    ) -> dict[str, Whole]:
        """So many rows that have the moments and nothing else."""
        fitted = plan.fitted(*moments)
        chosen = systematic(fitted.weights[np.newaxis], np.zeros(count, dtype=np.int64), chance)
        return dict(zip(self.numbers, plan.indices(fitted.points)[chosen].T, strict=True))

    def _plain(self, plan: SmoothSynthesis, drawn: Synthesis) -> bool:
        """Whether points could stand for the rows: no value is missing, no column so narrow that moments hide it."""
        rows = np.stack([drawn.rows[name] for name in self.numbers], axis=1)
        return bool(rows.min() >= 0 and plan.box(rows).std(axis=0).min() >= CLOSE)

    @property
    def divided(self) -> bool:
        """Whether all columns are numbers and moments have most of the budget: rows are then made in two ways."""
        return self.share > MOSTLY and len(self.numbers) == len(self.columns)

    def _joined(
        self, plan: SmoothSynthesis, moments: Measured, drawn: Synthesis, count: int, chance: np.random.Generator
    ) -> Synthesis:
        """Rows drawn from the marginals, with the moments."""
        rows, parts = np.stack([drawn.rows[name] for name in self.numbers], axis=1), []
        known = self._known(plan.box(rows), drawn)
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            own = (start + len(part)) * count // len(rows) - start * count // len(rows)
            moved, chosen = joined(plan, *moments, part, known, own, chance, self.divided)
            others = {name: column[start + chosen] for name, column in drawn.rows.items()}
            parts.append({**others, **dict(zip(self.numbers, moved.T, strict=True))})
        made = {name: np.concatenate([part[name] for part in parts]) for name in drawn.rows}
        return replace(
            drawn, rows={**made, **self._narrow(plan, moments, made, drawn), **self._kept(made, drawn, chance)}
        )

    def _narrow(
        self, plan: SmoothSynthesis, moments: Measured, made: Mapping[str, Whole], drawn: Synthesis
    ) -> dict[str, Whole]:
        """The columns whose values lie so close that smooth queries hardly tell them apart, as they were counted.

        Noise of moments would move an income in bounds that are a thousand times too wide by more than it is.  Rows far
        from all others are left out where the measured mean is nearer without them: noise of counts made them, unless
        they are more than that makes.  Missing values lie in the middle of the bounds, so that noise in their number
        moves the mean as well.
        """
        points = plan.box(np.stack([drawn.rows[name] for name in self.numbers], axis=1))
        means, error = looked_at(plan, *moments, points)
        noise = dict(zip((column.name for column in self.columns), drawn.column_noise, strict=True))
        levels = {column.name: column.levels for column in self.columns}
        found = {}
        for name, column, mean in zip(self.numbers, points.T, means, strict=True):
            present, total = drawn.rows[name] >= 0, drawn.total or 1.0
            own, part = column[present], float(present.mean())
            if not own.size:
                continue
            near = np.abs(own - np.median(own)) < FAR
            near |= not near.any()  # halves that lie far apart have their median between them
            off, least = (abs(mean - part * float(values.mean())) for values in (own, own[near]))
            away = len(np.unique(levels[name](drawn.rows[name][present][~near])))
            few = part * float((~near).mean()) <= MADE * noise[name] * math.sqrt(away) / total
            kept = near if few and least < off else np.full(own.size, True)
            counted = UNSURE * (1 - part > 0) * noise[name] / total
            if float(own[kept].std()) < CLOSE and min(off, least) < HIDING * math.hypot(error, counted):
                lost = drawn.rows[name][~present]
                values, held = np.sort(np.concatenate([lost, drawn.rows[name][present][kept]])), made[name]
                places = np.argsort(held, kind="stable")
                ranks = (np.arange(len(held)) + 0.5) * len(values) / max(len(held), 1)
                found[name] = np.empty_like(held)
                found[name][places] = values[ranks.astype(np.int64)]
        return found

    def _kept(self, made: Mapping[str, Whole], drawn: Synthesis, chance: np.random.Generator) -> dict[str, Whole]:
        """The columns without moments, with the counts that they had before rows were weighted."""
        names = [column.name for column in self.columns if not column.ordered]
        if not names:
            return {}
        counts = [np.bincount(drawn.rows[name] + 1).astype(np.float64) for name in names]  # the first of missing values
        rows = settled(np.stack([made[name] + 1 for name in names], axis=1), counts, chance)
        return {name: rows[:, place] - 1 for place, name in enumerate(names)}

    def _known(self, points: Reals, drawn: Synthesis) -> float:
        """The variance that the noise of counts gives to a column's mean, in squares of its spread, on average."""
        found, total = [], drawn.total or 1.0
        noise = dict(zip((column.name for column in self.columns), drawn.column_noise, strict=True))
        for column, own in zip((column for column in self.columns if column.ordered), points.T, strict=True):
            _, places = np.unique(column.levels(drawn.rows[column.name]), return_index=True)
            away = own[places] - own.mean()
            found.append(float(away @ away) * (noise[column.name] / total) ** 2 / max(float(own.var()), LEAST_SPREAD))
        return float(np.mean(found)) + 1 / total  # and the model errs as a sample of so many rows does, at least

    def _count(self, answer: SecretView, rng: Rng) -> int:
        """The number of rows, with noise; at least one."""
        tell("counting rows", 0.0)
        exact = sum(len(batch[self.columns[0].name]) for batch in answer.batches())
        return max(1, int(noisy(np.array([exact]), self._counting_law, rng)[0]))

    @property
    def _counting_law(self) -> Law:
        """The noise of the number of rows, where it is not public."""
        noise = _whole(self.query, self.target).noise
        return noise.law(noise.scales(self._for_moments * COUNTING, [1])[0])

    def _points(self, plan: SmoothSynthesis, answer: SecretView) -> Iterator[Reals]:
        """The secret rows of the numbers, as points of the box."""
        for batch in answer.batches():
            yield plan.box(np.stack([np.asarray(batch[name], dtype=np.int64) for name in self.numbers], axis=1))

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {
            "type": "joined-synthesis",
            "columns": list(self.query.columns),
            "levels": [column.size for column in self.columns],
            "share": str(self.share),
            "rows": self.query.rows,
            "target": to_record(self.target),
        }

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> JoinedSynthesis:
        """The synthesizer of a question that `to_record` described."""
        return cls.calibrate(query, guarantee_from(record["target"]), Fraction(record["share"]))


def _mixed(rows: Mapping[str, Whole], others: Mapping[str, Whole], chance: np.random.Generator) -> dict[str, Whole]:
    """Rows of both, in any order."""
    order = chance.permutation(sum(len(next(iter(held.values()))) for held in (rows, others)))
    return {name: np.concatenate([rows[name], others[name]])[order] for name in rows}


def part_of_rows(marginals: MarginalSynthesis, rows: int) -> float:
    """The noise of a level's count, as a part of the rows, if marginals were measured alone."""
    scales = first_scales(marginals.noise, marginals.for_rows, marginals.columns)
    return math.sqrt(max(marginals.noise.law(scale).variance for scale in scales)) / rows


def _whole(query: SyntheticRows, target: Guarantee) -> MarginalSynthesis:
    """Marginals for the whole target: its noise, its amount and its claim are those of all parts together."""
    return MarginalSynthesis(query, target)


def _claim(target: Guarantee, amount: Fraction) -> Pure | Concentrated | GaussianPrivacy:
    """A part of the target as a target: epsilon of a pure one, rho of one that is counted in it, else mu."""
    if not target.takes_normal:
        return Pure(floor_float(amount))
    if target.counts_rho:
        return Concentrated(floor_float(amount))
    return GaussianPrivacy(round_down(math.sqrt(floor_float(2 * amount)), 2))


def _plan(query: SyntheticRows, target: Guarantee, share: Fraction, rows: int) -> SmoothSynthesis:
    """The moments of the numbers, for a public or noisy number of rows."""
    schema = query.schema
    whole = _whole(query, target).for_rows * (1 if schema.fixed_size is not None else 1 - COUNTING)
    goal, numbers = _claim(target, whole * share), [column.points for column in query.levels if column.ordered]

    def planned(blocks: tuple[str, ...] | None, goal: Guarantee | GaussianPrivacy) -> SmoothSynthesis:
        return SmoothSynthesis.plan(
            numbers, rows, goal, adjacency=schema.adjacency, rows_per_unit=schema.unit.rows, blocks=blocks
        )

    plan = planned(None, goal)
    if MOSTLY < share < 1 and len(numbers) < FEW:  # what moments alone would measure, and second ones before that
        own, finer = (planned(None, _claim(target, times * whole)).design.blocks for times in (1, FINER))
        plan = planned(max(own, PAIRED if "second" in finer else own, key=len), goal)
    elif share < 1 and not set(plan.design.blocks) <= set(BESIDE):
        plan = planned(BESIDE, goal)
    assert plan.guarantee().implies(goal)
    return plan
