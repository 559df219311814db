"""What marginal synthesis claims: every measured vector and every score moved by all neighbors, costs, and attacks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.auditing import audit
from sfumato.mechanisms.synthetic.marginals import budget, judging, rounds, run, selection
from sfumato.mechanisms.synthetic.marginals import columns as singles
from sfumato.mechanisms.synthetic.marginals.counting import pair_counts, single_counts
from sfumato.mechanisms.synthetic.marginals.estimation import merging
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, NormalNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.marginals.selection import MOVES, ROUNDING, UNITS, candidates, scored
from sfumato.numeric import PI
from sfumato.privacy.adjacency import AddRemove, Person, Replace, Row
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries import bind
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import synthetic
from sfumato.queries.view import SecretView
from sfumato.randomness import seeded
from sfumato.sampling import choose
from sfumato.spaces import Categories, Integers
from sfumato.spaces.schema import Schema
from statistical import ALPHA
from thinned import thinned
from views import view_of

REACHES = [Reach(rows, both) for rows in (1, 2, 3) for both in (False, True)]
ABC = Column.of("a", Categories(("x", "y", "z"), other="z", missing="z"))
XY = Column.of("b", Categories(("x", "y"), other="y", missing="y"))


def read(rows: list[tuple[int, int]]) -> SecretView:
    """A table of two columns, in one batch."""
    held = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return view_of({"a": held[:, 0], "b": held[:, 1]})


def marginal(schema: Schema, columns: Any, target: Guarantee, rows: int | None = None) -> MarginalSynthesis:
    return MarginalSynthesis.calibrate(bind(synthetic(columns, rows=rows), schema), target)


def neighbors(reach: Reach) -> Iterator[tuple[list[tuple[int, int]], list[tuple[int, int]]]]:
    """All tables of three common rows and one unit more, or one unit exchanged, over the six kinds of row."""
    kinds = list(itertools.product(range(3), range(2)))
    units = [list(unit) for unit in itertools.combinations_with_replacement(kinds, reach.rows)]
    common = [(0, 0), (1, 1), (2, 0)]
    for unit in units:
        for other in units if reach.both else [[]]:
            yield common + unit, common + other


# claims: how far one unit moves what is measured


@pytest.mark.parametrize("reach", REACHES)
def test_the_reach_is_the_largest_move_of_any_marginal(reach: Reach) -> None:
    owners = [np.arange(3), np.arange(2)]
    l1: list[int] = []
    l2: list[int] = []
    for one, other in neighbors(reach):
        tables = [
            [*single_counts(read(rows).batches, (ABC, XY)), pair_counts(read(rows).batches, (ABC, XY), owners)[0, 1]]
            for rows in (one, other)
        ]
        for here, there in zip(*tables, strict=True):
            l1.append(int(np.abs(here - there).sum()))
            l2.append(int(((here - there) ** 2).sum()))
    assert max(l1) == reach.l1
    assert max(l2) == reach.l2_squared


@pytest.mark.parametrize("reach", [Reach(1, both=False), Reach(1, both=True), Reach(2, both=False)])
@pytest.mark.parametrize("seed", range(4))
def test_no_score_moves_farther_than_is_paid_for(reach: Reach, seed: int) -> None:
    """Models with sharp and with empty cells; the bound of one count a row is reached."""
    rng = np.random.default_rng(seed)
    model = rng.dirichlet(np.full(6, 0.2), 1).reshape(3, 2) * 10
    model[rng.integers(1, 3)] = 0.0 if seed % 2 else model[rng.integers(3)]
    model[0] = 10.0, 0.0  # a row that comes there moves the two in opposite ways
    chains = [(np.arange(3), np.array([0, 0, 1])), (np.arange(2),)]
    offered = candidates(chains)
    matrices = [[merging(groups) for groups in chain] for chain in chains]
    largest = 0
    for one, other in neighbors(reach):
        values = [
            scored(
                offered,
                pair_counts(read(rows).batches, (ABC, XY), [chain[0] for chain in chains]),
                {(0, 1): model},
                matrices,
                1.0,
            ).values
            for rows in (one, other)
        ]
        largest = max(largest, int(np.abs(values[0] - values[1]).max()))
    assert largest <= MOVES * UNITS * reach.l1 + ROUNDING
    assert largest >= UNITS * reach.l1 - ROUNDING  # the bound is reached


@pytest.mark.parametrize("expected", [5e-324, 1e-310, 1e-250, 1e-150])
def test_rows_where_the_model_expects_next_to_none_have_a_score(expected: float) -> None:
    """A share of almost nothing must not overflow: whether a count is positive there is secret."""
    model = np.array([[50.0, 50.0], [expected, expected], [0.0, 0.0]])
    chains = [(np.arange(3),), (np.arange(2), np.array([0, 0]))]
    matrices = [[merging(groups) for groups in chain] for chain in chains]
    offered = candidates(chains)
    found = []
    for row in range(3):
        for count in range(3):
            table = np.array([[40, 60], [0, 0], [0, 0]])
            table[row, 0] += count
            found.append(scored(offered, {(0, 1): table}, {(0, 1): model}, matrices, 1.0).values)
    for start in (0, 3, 6):
        for one, other in itertools.pairwise(found[start : start + 3]):
            assert np.abs(one - other).max() <= MOVES * UNITS + ROUNDING


def test_no_pair_is_chosen_where_floating_scores_would_be_too_coarse() -> None:
    """A tiny budget can make the noisy number of rows huge, and scores beside it lose their units."""
    noise, columns = PureNoise(Reach(1, both=False)), [ABC, XY]
    assert budget.Split.of(noise, Fraction(1), columns, 1e9).pairs > 0
    assert budget.Split.of(noise, Fraction(1), columns, 2.0**37).pairs == 0


def test_schema_gives_the_reach() -> None:
    columns = {"a": ABC.space}
    assert Reach.of(Schema(columns)) == Reach(1, both=False)
    assert Reach.of(Schema(columns, adjacency=Replace(), size=9)) == Reach(1, both=True)
    assert Reach.of(Schema(columns, unit=Person("id", 4), adjacency=AddRemove())) == Reach(4, both=False)
    assert Reach.of(Schema(columns, unit=Person("id", 4), adjacency=Replace())) == Reach(4, both=True)


@pytest.mark.parametrize("reach", [Reach(1, both=False), Reach(1, both=True), Reach(3, both=False)])
@pytest.mark.parametrize("kind", [PureNoise, ConcentratedNoise, NormalNoise])
def test_no_misfit_moves_farther_than_is_paid_for(reach: Reach, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made rows with an odd total, so that what they expect is no whole number of rows."""
    seen: list[Any] = []
    monkeypatch.setattr(judging, "noisy", lambda values, law, rng: seen.append(values) or values)
    made = {"a": np.array([0, 0, 1, 2, 2]), "b": np.array([0, 1, 1, 0, 0])}
    largest = 0
    for one, other in neighbors(reach):
        for rows in (one, other):
            view = read(rows)
            judging.judged(view.batches, (ABC, XY), made, 3.7, [], kind(reach), Fraction(1), seeded(1))
        largest = max(largest, int(np.abs(seen[-1] - seen[-2]).max()))
    assert 0.6 * judging.UNITS * reach.l1 <= largest <= judging.UNITS * reach.l1
    assert len(seen[0]) == (2 if kind is PureNoise else 3)  # two columns and a pair, or two classes


# laws: costs never exceed what is allotted


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(REACHES),
    st.floats(1e-6, 50),
    st.lists(st.integers(1, 100_000), min_size=1, max_size=40),
    st.sampled_from([PureNoise, ConcentratedNoise, NormalNoise]),
)
def test_scales_cost_no_more_than_their_amount(reach: Reach, amount: float, cells: list[int], kind: Any) -> None:
    noise = kind(reach)
    scales = noise.scales(Fraction(amount), cells)
    cost = noise.cost(scales)
    assert cost <= Fraction(amount)
    assert cost >= Fraction(amount) * Fraction(99, 100) or min(scales) < 0.1
    order = np.argsort(cells, kind="stable")
    assert (np.diff(np.array(scales)[order]) <= 1e-9).all()  # larger tables get less noise


@pytest.mark.parametrize("target", [Pure(0.7), Concentrated(0.3), Approximate(1.0, 1e-9), Approximate(0.5, 0.0)])
@pytest.mark.parametrize("first", [ABC.space, Integers(0, 199)])  # of so many levels, bars are counted, too
def test_everything_measured_together_costs_the_target(
    target: Guarantee, first: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The costs of all scales and rates of a run, added up from what was really used."""
    schema = Schema({"a": first, "b": XY.space})
    plan = marginal(schema, None, target)
    spent, kind = [], type(plan.noise)
    law, rate = kind.law, kind.rate

    def counted(self: Any, amount: Fraction, move: int, choices: int) -> float:
        found = rate(self, amount, move, choices)
        step = Fraction(found) * 2 * move
        spent.append(choices * {PureNoise: step, ConcentratedNoise: step**2 / 8}.get(kind, step**2 * PI / 16))
        return found

    def sampled(table: Any, noise: Any, rng: Any) -> Any:
        spent.append(plan.noise.cost([getattr(noise, "sigma", None) or noise.scale]))
        return table + noise.sample(table.shape, rng)

    def judged(values: Any, noise: Any, rng: Any) -> Any:
        moved = kind(Reach(judging.UNITS * plan.noise.reach.l1, both=False))
        spent.append(moved.cost([getattr(noise, "sigma", None) or noise.scale] * len(values)))
        return values + noise.sample(values.shape, rng)

    monkeypatch.setattr(kind, "rate", counted)
    for place in (singles, rounds, run):
        monkeypatch.setattr(place, "noisy", sampled)
    monkeypatch.setattr(judging, "noisy", judged)
    for many, clear in ((400, 0.0), (400, 1e9), (1, 0.25)):  # pairs are chosen, or all are measured, or few rows
        spent.clear()
        monkeypatch.setattr(budget, "CLEAR", clear)
        plan.release(read([(0, 0), (1, 1), (2, 1)] * many), seeded(3))
        assert Fraction(98, 100) * plan.amount <= sum(spent) <= plan.amount
    assert law is kind.law
    assert plan.guarantee().implies(target)


# audit: evidence from outside


@dataclass
class Transcript:
    """Everything that a run draws from the data: noisy tables and choices, with their exact log-probabilities.

    With `script` a run is replayed on another table: it returns what the script holds, whatever the data says, and so
    the same outputs get the probabilities that they have there.
    """

    script: list[Any] | None = None
    drawn: list[Any] = field(default_factory=list)
    logs: list[float] = field(default_factory=list)

    def noisy(self, table: Any, law: Any, rng: Any) -> Any:
        out = table + law.sample(table.shape, rng) if self.script is None else self.script[len(self.drawn)]
        self.drawn.append(out)
        self.logs.append(float(-np.abs(out - table).sum() / law.scale))
        return out

    def choose(self, penalties: Any, rate: float, rng: Any) -> int:
        place = choose(penalties, rate, rng) if self.script is None else self.script[len(self.drawn)]
        self.drawn.append(place)
        weights = -rate * penalties.astype(float)
        self.logs.append(float(weights[place] - np.log(np.exp(weights - weights.max()).sum()) - weights.max()))
        return place


def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure pairs however few the rows, and fit them hardly at all: that is post-processing."""
    never = {True: 1e9, False: 1e9}
    for module, name, value in ((rounds, "STEPS", 2), (rounds, "LAST_STEPS", 1), (budget, "HOPELESS", never)):
        monkeypatch.setattr(module, name, value)


def transcript(
    plan: MarginalSynthesis, rows: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch, seed: int, script: Any = None
) -> Transcript:
    """One run on a tiny table."""
    held = Transcript(script)
    for place in (singles, rounds, run, judging):
        monkeypatch.setattr(place, "noisy", held.noisy)
    for place in (rounds, judging):  # rows are public before they are judged: the same in both runs
        monkeypatch.setattr(place, "shuffling", lambda rng: np.random.default_rng(seed))
    monkeypatch.setattr(selection, "choose", held.choose)
    hurried(monkeypatch)
    plan.release(read(rows), seeded(seed))
    return held


def losses(plan: MarginalSynthesis, reach: Reach, monkeypatch: pytest.MonkeyPatch, seeds: int = 60) -> list[float]:
    """The exact loss of transcripts of many pairs of neighbors: log P(transcript | one) - log P(transcript | other)."""
    pairs = list(neighbors(reach))
    found, lengths = [], []
    for seed in range(seeds):
        one, other = pairs[7 * seed % len(pairs)][:: 1 if seed % 2 else -1]
        here = transcript(plan, one, monkeypatch, seed)
        there = transcript(plan, other, monkeypatch, seed, here.drawn)
        assert len(here.drawn) == len(there.drawn)
        lengths.append(len(here.drawn))
        found.append(sum(here.logs) - sum(there.logs))
    assert min(lengths) >= 2 + 1  # every column, and the judgement
    chosen = budget.CLEAR < 1
    assert np.mean(np.array(lengths) >= 2 + chosen + 1 + 1) > 0.3  # and often a pair, chosen and measured
    return found


@pytest.mark.parametrize(
    ("rows", "both", "clear"), [(1, False, 0.0), (1, True, 0.0), (3, True, 0.0), (1, False, 1e9), (3, True, 1e9)]
)
def test_no_transcript_loses_more_than_is_claimed(
    rows: int, both: bool, clear: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exact losses of 60 transcripts, adaptive choices included; some must come near the claim, which so is tested."""
    monkeypatch.setattr(budget, "CLEAR", clear)  # pairs are chosen, or all are measured
    adjacency = Replace() if both else AddRemove()
    schema = Schema(
        {"a": ABC.space, "b": XY.space}, unit=Person("id", rows) if rows > 1 else Row(), adjacency=adjacency,
        size=4 if both and rows == 1 else None,
    )  # fmt: skip
    plan = marginal(schema, None, Pure(2.0))
    found = losses(plan, Reach(rows, both), monkeypatch)
    assert max(found) <= 2.0 + 1e-9
    assert max(found) >= 0.6


@pytest.mark.parametrize("broken", thinned(["replacement", "score", "misfit"], 1))
def test_a_forgotten_factor_shows(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacement taken for addition, choices at 10,000 times their rate, misfits in far smaller units than paid."""
    schema = Schema({"a": ABC.space, "b": XY.space}, adjacency=Replace(), size=4)
    if broken == "replacement":
        monkeypatch.setattr(Reach, "of", classmethod(lambda cls, schema: Reach(1, both=False)))
    elif broken == "misfit":
        spacious = lambda read, *rest: {pair: 200 * held for pair, held in pair_counts(read, *rest).items()}  # noqa: E731
        monkeypatch.setattr(judging, "pair_counts", spacious)
    else:
        rate = PureNoise.rate
        monkeypatch.setattr(PureNoise, "rate", lambda self, amount, move, n: 1e4 * rate(self, amount, move, n))
    plan = marginal(schema, None, Pure(2.0))
    seeds = 200 if broken == "score" else 60  # a choice seldom lies on the edge
    assert max(losses(plan, Reach(1, both=True), monkeypatch, seeds)) > 2.0


def test_the_auditor_finds_nothing_against_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole synthesizer as a black box; a run takes 8 ms, so that only gross errors would show."""
    plan = marginal(Schema({"a": ABC.space, "b": XY.space}), None, Pure(1.0), rows=4)
    hurried(monkeypatch)
    pairs = [([(0, 0), (1, 1)], [(0, 0)]), ([(0, 0)], []), ([(2, 1), (2, 1)], [(2, 1)])]

    def run(data: list[tuple[int, int]], rng: Any) -> Any:
        return [column.tolist() for column in plan.release(read(list(data)), rng).rows.values()]

    assert not audit(run, Pure(1.0), pairs=pairs, seconds=0.4, generator=seeded, seed=11).refuted


@pytest.mark.heavy
def test_rows_of_a_larger_budget_refute_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: rows made at epsilon 60 betray a claim of 1 at distance 2, in 200 runs a side, beyond ALPHA."""
    plan = marginal(Schema({"a": ABC.space, "b": XY.space}), None, Pure(60.0), rows=4)
    hurried(monkeypatch)

    def hits(rows: list[tuple[int, int]]) -> int:
        return sum(int((plan.release(read(rows), seeded(seed)).rows["a"] == 2).sum() >= 3) for seed in range(200))

    often = stats.binomtest(hits([(2, 1)]), 200).proportion_ci(1 - 2 * ALPHA).low
    seldom = stats.binomtest(hits([(0, 0)]), 200).proportion_ci(1 - 2 * ALPHA).high
    assert often > np.exp(2.0) * seldom


# refusals


def test_refuses_what_cannot_be_spent() -> None:
    schema = Schema({"a": ABC.space})
    for target in (Pure(0.0), Concentrated(0.0), Approximate(0.0, 0.0)):
        with pytest.raises(ValueError, match="needs epsilon > 0 or rho > 0"):
            marginal(schema, None, target)
