"""The session: charge, compute, store, show; retries, refusals, every query kind, coverage, files."""

import json
import math
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.answers.certificate import NoBoundKnown
from sfumato.engines.table import Table
from sfumato.errors import BudgetExceeded, EngineError, LedgerError, ParameterError, SchemaError, UnsupportedQuery
from sfumato.ledger import Ledger
from sfumato.mechanisms import Laplace
from sfumato.orders import order
from sfumato.planner import options
from sfumato.privacy.adjacency import Replace
from sfumato.queries import bind
from sfumato.queries.keys import Keys
from sfumato.randomness import seeded
from sfumato.release.archive import load, release_from
from sfumato.release.recognition import identify
from sfumato.session import Session
from sfumato.storage import turn

SECRET = 31337
STATES = ["CA", "NY", "TX"]
COLUMNS = {
    "age": sf.Integers(0, 100),
    "salary": sf.Interval(0, 1000, 0.5),
    "full": sf.Integers(0, 9, missing=3),
    "state": sf.Categories(STATES),
    "hobbies": sf.Subsets(["chess", "judo", "opera"], cap=2),
    "city": sf.Texts(12),
}
KINDS = {
    "count": sf.count(),
    "filtered": sf.count().where("age >= 30"),
    "grouped": sf.count().by("state"),
    "histogram": sf.histogram("state", sf.bins("age", 0, 30, 100)),
    "sum": sf.sum("age"),
    "mean": sf.mean("salary"),
    "full mean": sf.mean("full"),
    "grouped mean": sf.mean("salary").by("state"),
    "variance": sf.variance("age"),
    "median": sf.median("salary"),
    "quantiles": sf.quantiles("age", [0.1, 0.5, 0.9]).by("state"),
    "popular": sf.most_popular("hobbies"),
    "top": sf.top("hobbies", 2).by("state"),
    "items": sf.items("hobbies").by("state"),
}


def people(rows=300, seed=1):
    rng = np.random.default_rng(seed)
    hobbies = [["chess", "judo", "opera", "chess"][: k + 1] for k in rng.integers(0, 4, rows)]
    return pa.table(
        {
            "id": rng.integers(0, max(rows // 2, 1), rows),
            "age": rng.integers(0, 100, rows),
            "salary": rng.uniform(0, 1000, rows),
            "full": rng.integers(0, 9, rows),
            "state": rng.choice(STATES, rows),
            "hobbies": pa.array(hobbies, pa.list_(pa.string())),
            "city": rng.choice(["Rome", "Oslo", "Lima"], rows, p=[0.5, 0.4, 0.1]),
        }
    )


def table(source=None, **declared):
    source = people() if source is None else source
    return sf.read(source, schema=COLUMNS, dataset="people", **{"size": len(source), **declared})


def session(path, budget=None, held=None, **declared):
    return Session(held or table(**declared), budget=budget or sf.Pure(100.0), ledger=path / "people.ledger")


class Watched(Table):
    """Calls back before each exact answer is computed."""

    __slots__ = ("before",)

    @classmethod
    def over(cls, inner, before):
        made = cls(inner.source, inner.schema)
        object.__setattr__(made, "before", before)
        return made

    def answer(self, statistic):
        self.before()
        return super().answer(statistic)


class Unstorable(Ledger):
    """A ledger whose disk is full."""

    def store(self, charge, content):
        raise OSError(f"no space left for {SECRET}")


def fails():
    raise ValueError(f"cannot convert {SECRET}")


# the order: charge, compute, store, show


def test_the_charge_is_durable_before_the_answer_is_computed(tmp_path):
    seen = []

    def look():
        seen.append(Ledger.existing(tmp_path / "people.ledger").spent())

    session(tmp_path, held=Watched.over(table(), look)).release(sf.count(), spend=sf.Pure(0.5))
    assert seen == [sf.Pure(0.5)]


def assert_generic(error):
    """No data in the message, the arguments, the cause, the context, or any frame's locals above the session."""
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "spent" in str(error)
    assert str(SECRET) not in repr(error)
    frames, step = [], error.__traceback__
    while step is not None:
        frames.append(step.tb_frame)
        step = step.tb_next
    inside = [
        frame for frame in frames if "sfumato" in frame.f_code.co_filename and "tests" not in frame.f_code.co_filename
    ]
    assert inside
    assert all(str(SECRET) not in repr(frame.f_locals) for frame in inside)


def test_a_failure_after_the_charge_is_spent_and_says_nothing(tmp_path):
    broken = session(tmp_path, held=Watched.over(table(), fails))
    with pytest.raises(EngineError) as caught:
        broken.release(sf.count(), spend=sf.Pure(0.5))
    assert_generic(caught.value)
    assert broken.spent == sf.Pure(0.5)
    again = session(tmp_path).release(sf.count(), spend=sf.Pure(0.5))  # nothing was stored: it charges again
    assert session(tmp_path).spent == sf.Pure(1.0)
    assert again.provenance.charge == 2


def test_a_release_that_cannot_be_stored_is_not_shown(tmp_path):
    Ledger.open(tmp_path / "l", dataset="people", adjacency=sf.AddRemove(), unit=sf.Row(), budget=sf.Pure(1.0))
    ledger = Unstorable.open(
        tmp_path / "l", dataset="people", adjacency=sf.AddRemove(), unit=sf.Row(), budget=sf.Pure(1.0)
    )
    full = Session(table(), budget=sf.Pure(1.0), ledger=ledger)
    for _ in range(3):
        with pytest.raises(LedgerError, match="could not be stored") as caught:
            full.release(sf.count(), spend=sf.Pure(0.5))
        assert str(SECRET) not in str(caught.value)
        assert caught.value.__context__ is None
    assert full.spent == sf.Pure(0.5)


def test_what_is_shown_is_what_is_stored(tmp_path):
    here = session(tmp_path)
    release = here.release(sf.mean("salary").by("state"), spend=sf.Pure(0.5))
    stored = here.ledger.find(release.name, release.provenance.digest)
    assert stored.content == release.to_bytes()
    assert stored.charge.head == release.provenance.head


# retries and names


@pytest.mark.parametrize("kind", KINDS)
def test_a_retry_returns_identical_bytes_at_no_cost(tmp_path, kind):
    first = session(tmp_path).release(KINDS[kind], spend=sf.Pure(0.5), name="mine")
    other = session(tmp_path)
    second = other.release(KINDS[kind], spend=sf.Pure(0.5), name="mine")
    assert first.to_bytes() == second.to_bytes()
    assert str(first) == str(second)
    assert other.spent == first.guarantee


def test_a_retry_does_not_touch_the_table(tmp_path):
    first = session(tmp_path).release(sf.count(), spend=sf.Pure(0.5))
    again = session(tmp_path, held=Watched.over(table(), fails)).release(sf.count(), spend=sf.Pure(0.5))
    assert again.value == first.value


def test_the_same_name_with_another_question_or_spend_is_refused(tmp_path):
    here = session(tmp_path)
    here.release(sf.count(), spend=sf.Pure(0.5), name="mine")
    for query, spend in ((sf.sum("age"), sf.Pure(0.5)), (sf.count(), sf.Pure(0.25))):
        with pytest.raises(LedgerError, match="mine"):
            here.release(query, spend=spend, name="mine")
    assert here.spent == sf.Pure(0.5)


# refusals charge nothing


def test_a_seeded_generator_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="only the secure generator"):
        Session(table(), budget=sf.Pure(1.0), ledger=tmp_path / "l", rng=seeded(1))
    assert not (tmp_path / "l").exists()


def test_a_budget_that_would_be_exceeded_charges_nothing(tmp_path):
    calls = []
    here = session(tmp_path, sf.Pure(1.0), held=Watched.over(table(), lambda: calls.append(1)))
    here.release(sf.count(), spend=sf.Pure(0.75))
    with pytest.raises(BudgetExceeded):
        here.release(sf.sum("age"), spend=sf.Pure(0.5))
    assert here.spent == sf.Pure(0.75)
    assert len(calls) == 1
    here.release(sf.sum("age"), spend=sf.Pure(0.25))


@pytest.mark.parametrize(("query", "spend", "error", "words"), [
    (sf.mean("salry"), sf.Pure(1.0), SchemaError, "did you mean 'salary'"),
    (sf.mean("state"), sf.Pure(1.0), UnsupportedQuery, "numeric column"),
    (sf.count(), sf.Pure(0.0), ParameterError, "spend needs epsilon > 0"),
    (sf.count().by("city"), sf.Pure(1.0), UnsupportedQuery, "discovered"),
    (sf.count().by(sf.discovered("city")), sf.Pure(1.0), UnsupportedQuery, "needs a delta"),
    (sf.count().by(sf.discovered("state")), sf.Approximate(1.0, 1e-6), UnsupportedQuery, "public keys"),
])  # fmt: skip
def test_a_refused_release_charges_nothing(tmp_path, query, spend, error, words):
    here = session(tmp_path, sf.Approximate(10.0, 0.1))
    with pytest.raises(error, match=words):
        here.release(query, spend=spend)
    with pytest.raises(error, match=words):
        here.preview(query, spend=spend)
    assert here.spent.epsilon == here.spent.delta == 0
    assert len(here.ledger.entries()) == 1


def test_a_pure_budget_takes_no_delta(tmp_path):
    here = session(tmp_path, sf.Pure(10.0))
    with pytest.raises((BudgetExceeded, LedgerError, ParameterError)):
        here.release(sf.count().by(sf.discovered("city")), spend=sf.Approximate(1.0, 1e-6))
    assert here.spent == sf.Pure(0.0)


def test_a_ledger_of_other_terms_is_refused(tmp_path):
    terms = {"dataset": "others", "adjacency": sf.AddRemove(), "unit": sf.Row(), "budget": sf.Pure(1.0)}
    ledger = Ledger.open(tmp_path / "l", **terms)
    with pytest.raises(LedgerError, match="dataset"):
        Session(table(), budget=sf.Pure(1.0), ledger=ledger)
    with pytest.raises(LedgerError, match="adjacency"):
        Session(table(adjacency=Replace()), budget=sf.Pure(1.0), ledger=session(tmp_path, sf.Pure(1.0)).ledger)
    with pytest.raises(ParameterError, match=r"sfumato\.read"):
        Session(people(), budget=sf.Pure(1.0), ledger=tmp_path / "m")


# every kind of question, unit and adjacency


DECLARED = (
    {}, {"adjacency": "replace"}, {"unit": "id", "rows": 2}, {"unit": "id", "rows": 2, "adjacency": "replace"},
)  # fmt: skip
SPENDS = (sf.Pure(1.0), sf.Approximate(1.0, 1e-6), sf.Concentrated(0.5))
CROSSED = [
    pytest.param(declared, spend, marks=() if (i + j) % 3 == 0 else pytest.mark.heavy)
    for i, declared in enumerate(DECLARED)
    for j, spend in enumerate(SPENDS)
]  # each declaration and each spend in every run, all pairs in the long one


@pytest.mark.parametrize(("declared", "spend"), CROSSED)
def test_every_kind_is_planned_and_released_within_its_spend(tmp_path, declared, spend):
    budgets = {"Pure": sf.Pure(100.0), "Approximate": sf.Approximate(100.0, 0.1), "Concentrated": sf.Concentrated(50.0)}
    here = session(tmp_path, budgets[type(spend).__name__], **declared)
    for query in KINDS.values():
        preview = here.preview(query, spend=spend)
        release = here.release(query, spend=spend)
        assert release.guarantee.implies(spend)
        assert release.guarantee == preview.guarantee
        assert promised(release.certificate) == promised(preview.certificate)
        assert isinstance(release.certificate, NoBoundKnown) or release.certificate.factor >= 1
        assert release.table().num_rows == max(1, math.prod(release.question.cells.shape)) * _repeat(query)
        assert str(preview)
        assert str(release)


def promised(certificate):
    """What a certificate says whatever the number of rows, which a preview supposes and a release has found."""
    if isinstance(certificate, NoBoundKnown):
        return certificate.words()
    return certificate.measure, certificate.bound_name, certificate.among


def _repeat(query):
    return len(query.to_record().get("probabilities", range(query.to_record().get("k", 1))))


def test_a_generous_budget_gives_nearly_the_exact_answers(tmp_path):
    """At epsilon 10^4 the noise is practically zero: the answers are those of the table, coerced."""
    source = people()
    here, frame = session(tmp_path, sf.Pure(1e6)), source.to_pandas()
    spend = sf.Pure(900.0)
    found = {kind: here.release(query, spend=spend).value for kind, query in KINDS.items()}
    assert found["count"] == 300
    assert found["filtered"] == (frame["age"] >= 30).sum()
    assert found["grouped"].tolist() == frame.groupby("state").size().tolist()
    assert found["sum"] == frame["age"].sum()
    assert found["mean"] == pytest.approx(frame["salary"].mean(), abs=0.3)
    assert found["grouped mean"].tolist() == pytest.approx(frame.groupby("state")["salary"].mean().tolist(), abs=0.3)
    assert found["variance"] == pytest.approx(frame["age"].var(ddof=0), abs=0.5)
    below, above = frame["salary"].nsmallest(150).max(), frame["salary"].nlargest(150).min()
    assert below - 0.5 <= found["median"] <= above + 0.5
    assert found["popular"] == "chess"  # in every set: counted once a row, however often it is listed


# budgets of other kinds


def test_concentrated_and_approximate_budgets_add_up(tmp_path):
    (tmp_path / "a").mkdir()
    concentrated = session(tmp_path, sf.Concentrated(1.0))
    concentrated.release(sf.histogram("state"), spend=sf.Concentrated(0.25))
    concentrated.release(sf.count(), spend=sf.Pure(0.1))
    assert 0.25 < concentrated.spent.rho <= 0.25 + 0.1**2 / 2 + 1e-9
    approximate = session(tmp_path / "a", sf.Approximate(3.0, 1e-3))
    approximate.release(sf.histogram("state"), spend=sf.Approximate(1.0, 1e-4))
    approximate.release(sf.count(), spend=sf.Pure(0.5))
    assert approximate.spent.epsilon <= 1.5 + 1e-9
    with pytest.raises(BudgetExceeded):
        approximate.release(sf.sum("age"), spend=sf.Pure(2.5))


# discovered keys


def test_discovered_keys_end_to_end(tmp_path):
    source = people(3000)
    here = session(tmp_path, sf.Approximate(2.0, 1e-4), held=table(source))
    release = here.release(sf.mean("salary").by(sf.discovered("city")), spend=sf.Approximate(2.0, 1e-4))
    assert release.guarantee.implies(sf.Approximate(2.0, 1e-4))  # exactly the whole budget, and not an ulp more
    assert release.keys == ("Lima", "Oslo", "Rome")
    truth = source.to_pandas().groupby("city")["salary"].mean()
    low, high = release.interval(0.999)
    assert all(low <= truth.to_numpy())
    assert all(truth.to_numpy() <= high)
    assert "holders" in release.certificate.words()
    assert [part["type"] for part in release.provenance.parts] == ["key-selection", "laplace"]
    assert release_from(json.loads(release.to_bytes())).to_bytes() == release.to_bytes()


@pytest.mark.parametrize("query", [sf.count(), sf.mean("age"), sf.variance("age"), sf.median("age"),
                                   sf.top("hobbies", 2)])  # fmt: skip
@pytest.mark.parametrize("rows", [0, 3])
def test_no_key_held_by_enough_people_is_an_empty_table(tmp_path, query, rows):
    here = session(tmp_path, sf.Approximate(2.0, 1e-4), held=table(people(rows), size=10))
    spend = sf.Approximate(1.0, 1e-9)
    release = here.release(query.by(sf.discovered("city")), spend=spend)
    assert release.keys == ()
    assert release.table().num_rows == 0
    assert here.release(query.by(sf.discovered("city")), spend=spend).to_bytes() == release.to_bytes()
    assert str(release)


# hostile and tiny tables


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1])
def test_empty_and_single_row_tables_answer_like_any_other(tmp_path, kind, rows):
    release = session(tmp_path, held=table(people(rows), size=50)).release(KINDS[kind], spend=sf.Pure(1.0))
    assert release.table().num_rows >= 1


# intervals


def simulated(query, exact_rows, spend, rounds, seed):
    """Intervals, estimates and the truth of `query` by 1000 groups, released `rounds` times from known totals."""
    schema = sf.Schema({"g": sf.Integers(0, 999), "x": sf.Integers(0, 50)})
    question = bind(query.by("g"), schema)
    mechanism = options(question, spend)[0].mechanism
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 51, (1000, exact_rows)).astype(object)
    totals = np.stack([np.full(1000, exact_rows, dtype=object), values.sum(axis=1), (values**2).sum(axis=1)])
    vector = question.vector(totals[: len(question.measures)])
    noise = seeded(seed)
    shown = [mechanism.release(vector, noise) for _ in range(rounds)]
    bounds = [question.interval(output, mechanism.noise, 0.05) for output in shown]
    return question.estimate(vector), [question.estimate(output) for output in shown], bounds


@pytest.mark.parametrize(("query", "most"), [(sf.count(), 1.6), (sf.sum("x"), 1.6), (sf.mean("x"), 1.6),
                                             (sf.variance("x"), 3.0)])  # fmt: skip
@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Approximate(1.0, 1e-5), sf.Concentrated(0.1)])
def test_intervals_cover_and_are_not_absurdly_wide(query, most, spend):
    """6,000 intervals: 94 % is 3.5 standard errors below 95 %.  Power: halved, those of one number are caught.

    `most`: how many times as wide as 1.96 standard deviations on both sides; the variance's join three bounds.
    """
    truth, estimates, bounds = simulated(query, 200, spend, 6, 21)
    low, high = (np.concatenate([pair[i] for pair in bounds]) for i in (0, 1))
    target = np.tile(truth, len(bounds))
    inside = (low <= target) & (target <= high)
    assert inside.mean() >= 0.94
    spread = np.sqrt(np.mean((np.concatenate(estimates) - target) ** 2))
    assert np.mean(high - low) <= most * 2 * 1.96 * spread
    if query.kind != "variance":
        middle, half = (low + high) / 2, 0.5 * (high - low) / 2
        assert np.mean(np.abs(target - middle) <= half) < 0.94


# files


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_release_survives_its_file(tmp_path, suffix, kind):
    release = session(tmp_path).release(KINDS[kind], spend=sf.Pure(0.5))
    again = load(release.save(tmp_path / f"release{suffix}"))
    assert again.to_bytes() == release.to_bytes()
    assert again.table().equals(release.table())
    assert again.guarantee == release.guarantee
    assert np.array_equal(np.asarray(again.value), np.asarray(release.value))
    assert again.mechanism.to_record() == release.mechanism.to_record()


def test_files_that_hold_no_release_are_refused(tmp_path):
    release = session(tmp_path).release(sf.count(), spend=sf.Pure(0.5))
    with pytest.raises(ParameterError, match=r"\.json, \.parquet or \.csv"):
        release.save(tmp_path / "release.txt")
    (tmp_path / "other.json").write_text("{}")
    for name, words in (("missing.json", "no file"), ("other.json", "not a release")):
        with pytest.raises(SchemaError, match=words):
            load(tmp_path / name)
    record = release.to_record() | {"mechanism": {"type": "os.system"}}
    with pytest.raises(SchemaError, match="unknown mechanism"):
        release_from(record)


def test_keys_are_a_question_of_their_own():
    assert isinstance(bind(sf.count().by(sf.discovered("city")), sf.Schema(COLUMNS)), Keys)


# a mechanism chosen by name, or one's own


def test_a_mechanism_is_chosen_by_its_stored_name_and_is_then_part_of_what_is_asked(tmp_path):
    here = session(tmp_path)
    for name in ("laplace", "staircase"):
        release = here.release(sf.count(), spend=sf.Pure(0.1), name=name, mechanism=name)
        assert release.to_record()["mechanism"]["type"] == name
        assert here.release(sf.count(), spend=sf.Pure(0.1), name=name, mechanism=name).value == release.value
    with pytest.raises(LedgerError, match="already used"):
        here.release(sf.count(), spend=sf.Pure(0.1), name="laplace")
    with pytest.raises(LedgerError, match='mechanism was "laplace", now "staircase"'):
        here.release(sf.count(), spend=sf.Pure(0.1), name="laplace", mechanism="staircase")
    plain, named = (identify(sf.count(), here.schema, sf.Pure(0.1), *chosen) for chosen in ((), ("laplace",)))
    assert "mechanism" not in plain.specification
    assert plain.digest != named.digest


def test_a_mechanism_that_cannot_answer_is_refused_with_those_that_can(tmp_path):
    here = session(tmp_path)
    spent = here.spent
    with pytest.raises(UnsupportedQuery, match=r"choose one of .*laplace"):
        here.release(sf.count(), spend=sf.Pure(0.1), mechanism="gaussian")
    with pytest.raises(UnsupportedQuery, match="permute-and-flip"):
        here.preview(sf.top("hobbies", 1), spend=sf.Pure(0.1), mechanism="laplace")
    with pytest.raises(ParameterError, match="mechanism"):
        here.preview(sf.count(), spend=sf.Pure(0.1), mechanism=3)
    assert here.spent == spent


class Loud(Laplace):
    """Twice the noise that is needed."""

    @classmethod
    def calibrate(cls, query, target):
        return cls(query, 2 * Laplace.calibrate(query, target).scale)

    def to_record(self):
        return {**super().to_record(), "type": "loud"}


def test_ones_own_mechanism_is_refused_before_the_charge_where_it_could_not_be_read_back(tmp_path):
    here = session(tmp_path)
    with pytest.raises(UnsupportedQuery, match="laboratory"):
        here.release(sf.count(), spend=sf.Pure(0.1), mechanism=Loud)
    assert here.spent == sf.Pure(0.0)
    found = order(sf.count(), here.schema, spend=sf.Pure(0.1), mechanism=Loud, laboratory=True)
    assert found.claim == Loud.calibrate(found.question, sf.Pure(0.1)).guarantee()


def test_of_two_publishers_at_once_the_second_finds_what_the_first_has_paid_for(tmp_path):
    rows = pa.table({"x": list(range(50))})
    gate, spend = threading.Barrier(3, timeout=300), sf.Pure(0.25)

    def published(_):
        table = sf.read(rows, schema={"x": sf.Integers(0, 50)}, dataset="d")
        session = sf.Session(table, budget=sf.Pure(1.0), ledger=tmp_path / "both.ledger")
        gate.wait()
        return session.release(sf.sum("x"), spend=spend).value, session.spent

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(published, range(3)))
    assert len({value for value, _ in found}) == 1
    assert {spent for _, spent in found} == {spend}


def test_a_turn_that_cannot_be_had_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "absent"))
    with turn(tmp_path / "a.ledger", "count"), turn(tmp_path / "a.ledger", "count"):
        pass
    monkeypatch.undo()
    with turn(tmp_path / "a.ledger", "count"), turn(tmp_path / "a.ledger", "mean"), turn(tmp_path / "b.ledger", "mean"):
        assert len(list(Path(tempfile.gettempdir()).glob(".sfumato-*.turn"))) >= 3


def test_locks_of_killed_processes_go_and_those_in_use_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / ".sfumato-left.turn").touch()
    with turn(tmp_path / "a.ledger", "count"):
        assert not (tmp_path / ".sfumato-left.turn").exists()
        with turn(tmp_path / "b.ledger", "count"):
            assert len(list(tmp_path.glob(".sfumato-*.turn"))) == 2
    assert not list(tmp_path.glob(".sfumato-*.turn"))


def test_a_folder_that_is_not_there_is_named(tmp_path):
    table = sf.read(pa.table({"age": [30, 40]}), schema={"age": sf.Integers(0, 120)}, dataset="two")
    session = sf.Session(table, budget=sf.Pure(2.0), ledger=tmp_path / "l")
    for made in (session.synthesize(spend=sf.Pure(1.0)), session.release(sf.count(), spend=sf.Pure(1.0))):
        with pytest.raises(ParameterError, match="there is no folder"):
            made.save(tmp_path / "nowhere" / "made.parquet")
