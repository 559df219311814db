"""Three columns measured together: what moves, what is paid, what the model says of them, and what rows then know."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import losses
import sfumato as sf
from sfumato.errors import ParameterError
from sfumato.mechanisms.synthetic.marginals import budget, counting, judging, rounds, run, triples
from sfumato.mechanisms.synthetic.marginals import columns as singles
from sfumato.mechanisms.synthetic.marginals.consistency import agreed
from sfumato.mechanisms.synthetic.marginals.estimation import Measurement, merging
from sfumato.mechanisms.synthetic.marginals.joint import Joint
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.model import Model
from sfumato.mechanisms.synthetic.marginals.noise import PureNoise, Reach
from sfumato.mechanisms.synthetic.marginals.room import Room
from sfumato.mechanisms.synthetic.marginals.selection import MOVES, ROUNDING, UNITS, Candidate, candidates
from sfumato.mechanisms.synthetic.marginals.tree import JunctionTree
from sfumato.numeric import PI
from sfumato.privacy.adjacency import Replace
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries import Query, bind
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import synthetic
from sfumato.randomness import seeded
from sfumato.spaces import Categories
from sfumato.spaces.schema import Schema
from views import view_of

ABC = Categories(("x", "y", "z"), other="z", missing="z")
XY = Categories(("x", "y"), other="y", missing="y")
SPACES = {"a": ABC, "b": XY, "c": XY}
KINDS = list(itertools.product(range(3), range(2), range(2)))
COLUMNS = [Column.of(name, space) for name, space in SPACES.items()]

Rows = list[tuple[int, int, int]]


def read(rows: Rows) -> Any:
    held = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return view_of({name: held[:, place] for place, name in enumerate(SPACES)})


def asked(target: Guarantee, *, both: bool = False) -> MarginalSynthesis:
    schema = Schema(dict(SPACES), adjacency=Replace(), size=4) if both else Schema(dict(SPACES))
    return MarginalSynthesis.calibrate(bind(synthetic(triples=True), schema), target)


def exclusive(rows: int, more: int) -> tuple[dict[str, np.ndarray], Schema]:
    """Three bits, any two of them independent, the third but for a twentieth the sum of the others; and noise."""
    chance = np.random.default_rng(5)
    held = {name: chance.integers(0, 2, rows) for name in "ab"}
    held["c"] = held["a"] ^ held["b"] ^ (chance.random(rows) < 0.05)
    held |= {f"x{place}": chance.integers(0, 5, rows) for place in range(more)}
    return held, Schema({name: sf.Integers(0, int(column.max())) for name, column in held.items()}, size=rows)


# claims: how far one row moves what is measured


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("both", [False, True])
def test_counts_and_scores_move_no_farther_than_is_paid_for(seed: int, both: bool) -> None:
    """All rows that may come, or be exchanged, over models with sharp and with empty cells; the bound is reached."""
    chance, room = np.random.default_rng(seed), Room([(np.arange(3), np.array([0, 0, 1])), *[(np.arange(2),)] * 2])
    offered = triples.offered(room, [(0, 1, 2)])
    mergings = triples._Mergings(room.chains, triples.starts(room.chains))
    model = chance.dirichlet(np.full(12, 0.2)).reshape(3, 2, 2) * 8
    model[1 + chance.integers(2)] = 0.0
    model[0, 0, 0], model[0, 1, 1] = 9.0, 0.0  # a row that goes from one to the other moves both the same way
    expected = {one: mergings.merged(model, one) for one in offered}
    owners, common = [chain[0] for chain in room.chains], [(0, 0, 1), (1, 1, 0), (2, 0, 0)]
    found = []
    for row in KINDS:
        for other in [[one] for one in KINDS] if both else [[]]:
            tables, values = [], []
            for rows in ([*common, row], [*common, *other]):
                exact = counting.triple_counts(read(rows).batches, COLUMNS, owners, [(0, 1, 2)])[0, 1, 2]
                counts = {one: np.rint(mergings.merged(exact, one)).astype(np.int64) for one in offered}
                tables.append(exact)
                values.append(triples.scored(offered, counts, expected, 1.0).values)
            assert np.abs(tables[0] - tables[1]).sum() <= 1 + both
            found.append(int(np.abs(values[0] - values[1]).max()))
    assert max(found) <= MOVES * UNITS * (1 + both) + ROUNDING
    assert max(found) >= UNITS * (1 + both) - ROUNDING  # the bound is reached


def test_counts_of_three_columns_are_those_of_plain_python() -> None:
    chance = np.random.default_rng(2)
    batches = [{name: chance.integers(-1, 3, 30) for name in SPACES} for _ in range(2)]
    batches[1][counting.WEIGHT] = chance.integers(0, 4, 30)
    owners = [np.array([0, 1, 1]), np.arange(2), np.arange(2)]
    found = counting.triple_counts(lambda: batches, COLUMNS, owners, [(0, 1, 2)])[0, 1, 2]
    plain: Counter[tuple[int, ...]] = Counter()
    for batch in batches:
        held = zip(COLUMNS, owners, strict=True)
        groups = [owner[column.levels(batch[column.name])].tolist() for column, owner in held]
        for cell, weight in zip(zip(*groups, strict=True), batch.get(counting.WEIGHT, np.ones(30, int)), strict=True):
            plain[cell] += int(weight)
    assert {cell: count for cell, count in np.ndenumerate(found) if count} == +plain


@pytest.mark.parametrize("target", [Pure(3.0), Concentrated(0.3), Approximate(1.0, 1e-9)])
@pytest.mark.parametrize("clear", [0.0, 1e9])  # pairs are chosen, or all are measured
def test_everything_measured_together_costs_the_target(
    target: Guarantee, clear: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The costs of all scales and rates of a run, added up from what was really used."""
    plan, spent, three = asked(target), [], []
    kind = type(plan.noise)
    rate = kind.rate

    def chosen(self: Any, amount: Fraction, move: int, choices: int) -> float:
        found = rate(self, amount, move, choices)
        step = Fraction(found) * 2 * move
        rates[found] = {PureNoise: step}.get(kind, step**2 / 8 if target.counts_rho else step**2 * PI / 16)
        return found

    def choose(penalties: Any, rate: float, rng: Any) -> int:
        three.append(len(penalties))
        spent.append(rates[rate])
        return int(np.argmin(penalties))

    def sampled(table: Any, noise: Any, rng: Any) -> Any:
        spent.append(plan.noise.cost([getattr(noise, "sigma", None) or noise.scale]))
        return table + noise.sample(table.shape, rng)

    def judged(values: Any, noise: Any, rng: Any) -> Any:
        moved = kind(Reach(judging.UNITS * plan.noise.reach.l1, both=False))
        spent.append(moved.cost([getattr(noise, "sigma", None) or noise.scale] * len(values)))
        return values + noise.sample(values.shape, rng)

    rates: dict[float, Any] = {}
    monkeypatch.setattr(kind, "rate", chosen)
    monkeypatch.setattr(budget, "CLEAR", clear)
    monkeypatch.setattr(budget, "HOPELESS", {True: 1e9, False: 1e9})
    for place in (singles, rounds, run):
        monkeypatch.setattr(place, "noisy", sampled)
    monkeypatch.setattr(judging, "noisy", judged)
    monkeypatch.setattr("sfumato.mechanisms.synthetic.marginals.selection.choose", choose)
    monkeypatch.setattr(triples, "choose", choose)
    for rows in (800, 20):
        for held in (spent, three):
            held.clear()
        plan.release(read([(0, 0, 0), (1, 1, 0), (0, 1, 1), (2, 0, 1)] * rows), seeded(3))
        assert Fraction(98, 100) * plan.amount <= sum(spent) <= plan.amount
        assert three or not clear or rows < 800
    assert plan.guarantee().implies(target)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("clear", [0.0, 1e9])
@pytest.mark.parametrize("target", [Pure(2.0), Approximate(1.0, 1e-6)])
def test_neighbors_take_the_same_steps_and_lose_no_more_than_is_claimed(
    both: bool, clear: float, target: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run draws on one table is replayed on its neighbor: `marginals` checks that nothing else depends on it."""
    monkeypatch.setattr(budget, "CLEAR", clear)
    monkeypatch.setattr(triples, "idle", lambda many, rate: -(2**20))  # hardly ever none, in so few rows
    plan, seen = asked(target, both=both), []
    measure = triples.measure_triples
    monkeypatch.setattr(
        rounds, "measure_triples", lambda held, *rest: (measure(held, *rest), seen.append(held.tables[-1].pick))[0]
    )
    common, worst = [(0, 0, 1), (1, 1, 0), (2, 0, 0)], 0.0
    for place, row in enumerate(KINDS):
        other = [KINDS[-1 - place]] if both else []
        cost, claim = losses.marginals(plan, read([*common, row]), read([*common, *other]))
        assert cost <= claim * (1 + 1e-9)
        worst = max(worst, cost / claim)
    assert worst > 0.5  # near enough to the claim to test it
    assert any(len(pick.columns) == 3 for pick in seen)


def test_a_forgotten_factor_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts of three columns that move a hundred times as far as was paid for."""
    exact = counting.triple_counts
    far = lambda *rest: {some: 100 * held for some, held in exact(*rest).items()}  # noqa: E731
    monkeypatch.setattr(triples, "triple_counts", far)
    monkeypatch.setattr(budget, "CLEAR", 1e9)
    common, found = [(0, 0, 1), (1, 1, 0), (2, 0, 0)], []
    for row in KINDS:
        cost, claim = losses.marginals(asked(Pure(2.0)), read([*common, row]), read(common))
        found.append(cost / claim)
    assert max(found) > 1


# laws: trees, models and tables that agree


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 10**6))
def test_the_model_s_tables_of_three_columns_are_those_of_the_whole_table(data: st.DataObject, seed: int) -> None:
    """In one bag, in several, and in parts of the tree that share no column; in coarse groups of each column."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=3, max_size=6))
    couples, many = list(itertools.combinations(range(len(sizes)), 2)), len(sizes)
    tree, chance = JunctionTree.of(sizes), np.random.default_rng(seed)
    for pair in data.draw(st.lists(st.sampled_from(couples), max_size=6)):
        tree = tree.including(pair)
    inside = [pair for pair in couples if tree.home(pair) is not None]
    potentials = {key: chance.normal(size=[sizes[c] for c in key]) for key in [*((c,) for c in range(many)), *inside]}
    energy = sum(table.reshape([sizes[c] if c in key else 1 for c in range(many)]) for key, table in potentials.items())
    whole = np.exp(energy) / np.exp(energy).sum()
    views = [chance.dirichlet(np.ones(chance.integers(1, 4)), size).T for size in sizes]
    joint = Joint(Model.calibrated(tree, potentials), views)
    for some in itertools.combinations(range(many), 3):
        table = whole.sum(axis=tuple(c for c in range(many) if c not in some))
        coarse = np.einsum("abc,ia,jb,kc->ijk", table, *(views[c] for c in some))
        np.testing.assert_allclose(joint.of(some), coarse, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_tree_that_takes_three_columns_has_them_in_one_bag(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(3, 5), min_size=6, max_size=6))
    room = Room([(np.arange(size), np.minimum(np.arange(size), 1)) for size in sizes])
    tree = room.empty()
    for _ in range(4):
        some = tuple(sorted(data.draw(st.sets(st.integers(0, 5), min_size=3, max_size=3))))
        fine = tuple(data.draw(st.integers(0, 1)) for _ in some)
        tree = room.including(tree, some, fine)
        assert tree.home(some) is not None
        assert all(tree.sizes[c] >= room.sizes[c][place] for c, place in zip(some, fine, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(2, 40), min_size=3, max_size=5))
def test_two_of_three_columns_are_measured_in_groups_that_pairs_have(levels: list[int]) -> None:
    """So that tables of a pair and those within three columns are mergings of one another."""
    ends = (32, 16, 8, 4, 2)
    chains = [
        tuple(np.arange(size) * most // size for most in dict.fromkeys((min(32, size), *(e for e in ends if e < size))))
        for size in levels
    ]
    pairs = {(one.pair, one.fineness) for one in candidates(chains)}
    for one in triples.offered(Room(chains), list(itertools.combinations(range(len(chains)), 3))):
        for two in itertools.combinations(range(3), 2):
            assert (tuple(one.columns[k] for k in two), tuple(one.fineness[k] for k in two)) in pairs


@pytest.mark.parametrize("seed", range(5))
def test_three_columns_agree_with_their_pairs_and_are_moved_by_as_little_as_that_takes(seed: int) -> None:
    chance, shape = np.random.default_rng(seed), (4, 3, 2)
    exact = chance.integers(0, 90, shape).astype(float)
    whole = [np.arange(size) for size in shape]
    own = [
        Measurement((c,), (whole[c],), exact.sum(axis=tuple({0, 1, 2} - {c})) + chance.normal(0, 5, shape[c]), 25.0)
        for c in range(3)
    ]
    pair = Measurement((0, 1), (whole[0], whole[1]), exact.sum(axis=2) + chance.normal(0, 3, shape[:2]), 9.0)
    three = Measurement((0, 1, 2), tuple(whole), exact + chance.normal(0, 9, shape), 81.0)
    found = agreed([*own, pair, three], float(exact.sum()))
    np.testing.assert_allclose(found[4].counts.sum(axis=2), found[3].counts)
    for column in range(3):
        rest = tuple({0, 1, 2} - {column})
        np.testing.assert_allclose(found[4].counts.sum(axis=rest), found[column].counts)
    sides = [(found[4].counts - three.counts).sum(axis=axis) for axis in range(3)]
    sums = np.concatenate([_sums(shape, axis) for axis in range(3)])
    least = np.linalg.lstsq(sums, np.concatenate([side.ravel() for side in sides]), rcond=None)[0]
    np.testing.assert_allclose((found[4].counts - three.counts).ravel(), least, atol=1e-9)


def _sums(shape: tuple[int, ...], axis: int) -> np.ndarray:
    """The matrix that sums a table over an axis."""
    cells = np.arange(int(np.prod(shape))).reshape(shape)
    kept = np.delete(np.array(shape), axis)
    owner = np.expand_dims(np.arange(int(kept.prod())).reshape(kept), axis)
    return merging(np.broadcast_to(owner, shape).ravel()[np.argsort(cells.ravel())])


# usefulness: what pairs cannot hold


@pytest.mark.parametrize("more", [2, 6])  # so few columns that all pairs are measured, or some are chosen
def test_the_sum_of_two_bits_is_known_where_it_is_asked_for(more: int) -> None:
    held, schema = exclusive(8_000, more)
    shares, measured = {}, {}
    for wanted in (False, True):
        plan = MarginalSynthesis.calibrate(bind(synthetic(triples=wanted), schema), Approximate(1.0, 1e-6))
        made = plan.release(view_of(held), seeded(4))
        shares[wanted] = float((made.rows["a"] ^ made.rows["b"] == made.rows["c"]).mean())
        measured[wanted] = [part["columns"] for part in made.measured]
    assert abs(shares[False] - 0.5) < 0.05  # pairs say nothing of it
    assert shares[True] > 0.88
    assert ["a", "b", "c"] in measured[True]
    assert not any(len(columns) == 3 for columns in measured[False])


def test_pairs_that_say_nothing_make_room_and_others_stay() -> None:
    chance, rows = np.random.default_rng(3), 4_000
    held = {name: chance.integers(0, 4, rows) for name in "abc"}
    held["b"] = (held["a"] + (chance.random(rows) < 0.3)) % 4
    columns = [Column.of(name, sf.Integers(0, 3)) for name in held]
    noise, own = PureNoise(Reach(1, both=False)), counting.single_counts(view_of(held).batches, columns)
    counted = singles.Columns(singles.measured(own, columns, noise, Fraction(9), rows, seeded(1)), None, rows)
    one = rounds._started(columns, noise, counted)
    counts = counting.pair_counts(view_of(held).batches, columns, [chain[0] for chain in one.chains])
    for pick in (Candidate(pair, (0, 0)) for pair in counts):
        one.tree = one.room.including(one.tree, pick.pair, pick.fineness)
        one.measure(pick, counts[pick.pair], 20.0, Fraction(1), seeded(2))
    one.fit(20)
    one.clear()
    assert [table.pick.columns for table in one.tables] == [(0, 1)]
    assert one.tree.home((0, 2)) is None
    assert one.tree.home((0, 1)) is not None
    one.fit(20)


def test_a_release_says_which_three_columns_it_knows(tmp_path: Any) -> None:
    held, schema = exclusive(6_000, 2)
    spend = Approximate(2.0, 1e-6)
    session = sf.Session(sf.read(pa.table(held), schema=schema), budget=spend, ledger=tmp_path / "ledger")
    told = session.preview(synthetic(triples=True), spend=spend)
    assert "of three columns up to 6" in str(told.card())
    made = session.synthesize(spend=spend, triples=True)
    made.save(tmp_path / "table.parquet")
    again = sf.load(tmp_path / "table.parquet")
    assert again.question.triples
    assert ("a", "b", "c") in again.triples
    assert {("a", "b"), ("a", "c"), ("b", "c")} <= set(again.measured)
    assert "of three columns" in again.advice()["relations"]
    assert "a x b x c" in again.advice()["relations"] or len(again.triples) > 3
    assert "other three columns" in again.advice()["not for"]
    assert again.errors().kind(("a", "b")) == "measured"
    assert len(again.more(50)) == 50
    assert "measured together" in str(again.ask(sf.count().by(["a", "b", "c"])).card())


# records and refusals


def test_what_is_not_asked_for_leaves_no_trace() -> None:
    plain, wanted = synthetic(["a"]), synthetic(["a"], triples=True)
    assert "triples" not in json.dumps(plain.to_record())
    assert wanted.to_record()["triples"] is True
    assert Query.from_record(wanted.to_record()) == wanted
    assert Query.from_record({**plain.to_record(), "triples": False}) == plain


def test_moments_alone_measure_no_three_columns() -> None:
    with pytest.raises(ParameterError, match="good_for"):
        synthetic(triples=True, good_for="smooth")
    with pytest.raises(ParameterError, match="triples"):
        synthetic(triples="yes")  # type: ignore[arg-type]
