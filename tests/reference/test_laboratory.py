"""The laboratory: seeded, marked everywhere, apart from real ledgers."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import BoundBroken, BudgetExceeded, ParameterError, SfumatoError, UnsupportedQuery
from sfumato.ledger.memory import MemoryLedger
from sfumato.orders import order
from sfumato.queries import bind
from sfumato.release.verification import verify
from sfumato.report.html import write_report

FRAME = pd.DataFrame({"age": np.arange(300) % 90, "state": ["CA", "NY", "TX"] * 100})
COLUMNS = {"age": sf.Integers(0, 99), "state": sf.Categories(["CA", "NY", "TX"])}
SCHEMA = sf.Schema(COLUMNS, dataset="people", size=300)
REPLACED = sf.Schema(COLUMNS, dataset="people", size=300, adjacency=sf.Replace())


def opened(seed, schema=SCHEMA, **more):
    return sf.reference.lab(FRAME, schema, budget=sf.Approximate(20.0, 1e-3), seed=seed, **more)


def test_the_same_seed_gives_the_same_answers_and_another_others():
    asked = (sf.count(), sf.mean("age"), sf.histogram("state"), sf.median("age"), sf.density("age", bandwidth=9))
    spend = sf.Approximate(0.5, 1e-6)
    one, two, other = (
        [json.dumps(session.release(query, spend=spend).to_record()["output"]) for query in asked]
        for session in (opened(4), opened(4), opened(5))
    )
    assert one == two
    assert one != other


def test_whole_tables_repeat_too():
    spend = sf.Approximate(2.0, 1e-6)
    for make in (lambda s: s.sanitize(["age", "state"], spend=spend),
                 lambda s: s.synthesize(["age", "state"], spend=spend)):  # fmt: skip
        assert make(opened(1, REPLACED)).rows.equals(make(opened(1, REPLACED)).rows)
        assert not make(opened(1, REPLACED)).rows.equals(make(opened(2, REPLACED)).rows)


def test_every_form_of_a_release_says_that_it_is_not_private(tmp_path):
    session = opened(1)
    release = session.release(sf.mean("age"), spend=sf.Pure(1.0))
    table = opened(1, REPLACED).sanitize(["age"], spend=sf.Pure(1.0))
    for one in (release, table):
        place = tmp_path / ("one.json" if one is release else "one.parquet")
        one.save(place)
        for form in (one, sf.load(place)):
            assert "NOT PRIVATE" in repr(form)
            assert "NOT PRIVATE: drawn in a laboratory from seed 1" in str(form)
            assert "NOT PRIVATE" in form.to_record()["guarantee_in_words"]
            assert form.to_record()["provenance"]["laboratory"]
    assert "NOT PRIVATE" in repr(session)
    with pytest.raises(ParameterError, match=r"save it as \.parquet"):
        table.save(tmp_path / "one.csv")
    assert "NOT PRIVATE" in write_report([release], session.ledger, tmp_path / "report.html").read_text()


def test_pictures_say_it_too_and_a_ledger_stays_a_laboratorys():
    session = opened(3)
    spend = sf.Approximate(1.0, 1e-6)
    for query in (sf.count(), sf.histogram("state"), sf.density("age", bandwidth=9), sf.synthetic(["state"])):
        release = session.release(query, spend=spend)
        assert "NOT PRIVATE" in release.plot().to_json()
    with pytest.raises(AttributeError):
        session.ledger.laboratory = None


def test_a_private_release_says_none_of_it(tmp_path):
    session = sf.Session(sf.read(FRAME, schema=SCHEMA), budget=sf.Pure(1.0), ledger=tmp_path / "real.ledger")
    release = session.release(sf.count(), spend=sf.Pure(0.5))
    assert "NOT PRIVATE" not in f"{release!r}{release}{session!r}{release.plot().to_json()}"
    assert "laboratory" not in release.to_record()["provenance"]


def test_nothing_is_written_and_the_budget_binds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = sf.reference.lab(FRAME, SCHEMA, budget=sf.Pure(1.0), seed=0)
    session.release(sf.count(), spend=sf.Pure(0.75))
    with pytest.raises(BudgetExceeded):
        session.release(sf.mean("age"), spend=sf.Pure(0.5))
    assert list(tmp_path.iterdir()) == []
    assert isinstance(session.ledger, MemoryLedger)


def test_a_real_ledger_that_holds_a_laboratorys_release_does_not_verify(tmp_path):
    content = opened(1).release(sf.count(), spend=sf.Pure(0.5)).to_bytes()
    ledger = sf.Ledger.open(tmp_path / "real.ledger", dataset="people", adjacency=SCHEMA.adjacency, unit=SCHEMA.unit,
                            budget=sf.Pure(1.0))  # fmt: skip
    ledger.store(ledger.charge("count", "0" * 64, sf.Pure(0.5), {}), content)
    found = verify(ledger)
    assert not found.holds
    assert "comes from a laboratory" in found.words()


def test_a_session_proper_still_refuses_a_seed(tmp_path):
    with pytest.raises(ParameterError, match="only the secure generator"):
        sf.Session(sf.read(FRAME, schema=SCHEMA), budget=sf.Pure(1.0), ledger=tmp_path / "a.ledger",
                   rng=sf.reference.seeded(1))  # fmt: skip
    assert not (tmp_path / "a.ledger").exists()


def test_a_laboratory_takes_what_can_be_read_and_refuses_the_rest():
    table = sf.read(FRAME, schema=SCHEMA)
    assert sf.reference.lab(table, budget=sf.Pure(1.0), seed=1).schema == SCHEMA
    for given in (
        {"budget": sf.Pure(1.0), "seed": 1, "table": FRAME},
        {"budget": sf.Pure(1.0), "seed": 1, "table": table, "schema": REPLACED},
        {"budget": "1.0", "seed": 1, "table": table},
        {"budget": sf.Pure(1.0), "seed": -1, "table": table},
    ):
        with pytest.raises(SfumatoError):
            sf.reference.lab(**given)


def test_consistency_has_its_doors():
    session, asked = opened(2), sf.prefix("state")
    release = session.release(asked, spend=sf.Pure(1.0))
    for found in (
        sf.reference.least_squares(asked, SCHEMA, release.value),
        sf.reference.nonnegative(asked, SCHEMA, release.value),
        sf.reference.maximum_entropy(asked, SCHEMA, release.value, size=300, deviation=5.0),
    ):
        assert found.counts == pytest.approx([100, 100, 100], abs=40)
    with pytest.raises(SfumatoError, match="workload"):
        sf.reference.nonnegative(sf.count(), SCHEMA, [1.0])


class Geometric:
    """Somebody's own mechanism, by protocol alone."""

    def __init__(self, query, p):
        self.query, self.p = query, p

    @classmethod
    def calibrate(cls, question, target):
        return cls(question, math.exp(-target.epsilon / question.sensitivity("l1")))

    def guarantee(self, distance=1):
        return sf.Pure(-math.log(self.p) * distance * self.query.sensitivity("l1"))

    def error(self, beta=0.05):
        return math.log(beta / 2) / math.log(self.p)

    def take(self, table):
        return self.query.answer(table)

    def release(self, answer, rng):
        draws = np.log((rng.bits64(2 * len(answer)) + 1.0) / 2.0**64) // math.log(self.p)
        return answer + draws[: len(answer)].astype(int) - draws[len(answer) :].astype(int)

    @property
    def noise(self):
        return self

    @property
    def variance(self):
        return 2 * self.p / (1 - self.p) ** 2

    def quantile(self, beta):
        return self.error(beta)

    def to_record(self):
        return {"type": "geometric", "p": self.p}

    @classmethod
    def from_record(cls, question, record):
        return cls(question, record["p"])


def test_ones_own_mechanism_goes_through_preview_release_certificate_and_file(tmp_path):
    session = opened(6)
    ask = {"query": sf.histogram("state"), "spend": sf.Pure(0.5), "mechanism": Geometric}
    seen = session.preview(**ask)
    assert seen.certificate.factor == pytest.approx(1, abs=1e-3)
    release = session.release(**ask)
    assert release.value == pytest.approx([100, 100, 100], abs=60)
    assert np.array_equal(session.release(**ask).value, release.value)
    release.save(tmp_path / "mine.json")
    assert np.array_equal(sf.load(tmp_path / "mine.json", mechanism=Geometric).value, release.value)
    with pytest.raises(SfumatoError, match="somebody's own"):
        sf.load(tmp_path / "mine.json")


def test_a_false_claim_of_ones_own_mechanism_contradicts_its_certificate():
    class Quiet(Geometric):
        @classmethod
        def calibrate(cls, question, target):
            return cls(question, math.exp(-2 * target.epsilon))

        def guarantee(self, distance=1):
            return sf.Pure(-math.log(self.p) / 2)

    with pytest.raises(BoundBroken, match="audit the mechanism"):
        opened(6).preview(sf.count(), spend=sf.Pure(0.5), mechanism=Quiet)


def test_what_a_mechanism_lacks_is_named_before_the_charge():
    class Bare(Geometric):
        noise = property()

    session = opened(6)
    with pytest.raises(SfumatoError, match="the mechanism has no"):
        session.release(sf.count(), spend=sf.Pure(0.5), mechanism=Bare)
    assert session.spent.epsilon == 0


class Elders:
    """Somebody's own kind of question: how many are at least so old."""

    kind = "elders"

    def __init__(self, age):
        self.age = age

    def subject(self):
        return f"people of {self.age} or more"

    def to_record(self):
        return {"age": self.age}

    def bind(self, query, schema):
        return EldersQuestion(query, schema, bind(sf.count().where(f"age >= {self.age}"), schema))


class EldersQuestion:
    """It asks a count, and answers with a single estimate."""

    def __init__(self, query, schema, inner):
        self.query, self.schema, self.inner = query, schema, inner
        self.name, self.dimension = query.name, 1

    def sensitivity(self, norm):
        return self.inner.sensitivity(norm)

    def answer(self, table):
        return self.inner.answer(table)

    def accuracy(self, mechanism, beta):
        return self.inner.accuracy(mechanism, beta)

    def read(self, output, mechanism):
        return self.inner.read(output, mechanism)

    def stored(self, output):
        return self.inner.stored(output)

    def restored(self, record):
        return self.inner.restored(record)


def test_ones_own_question_is_asked_in_a_laboratory_with_ones_own_mechanism_and_nowhere_else(tmp_path):
    asked, session = sf.Query(Elders(80)), opened(8)
    ask = {"spend": sf.Pure(1.0), "mechanism": Geometric}
    assert session.preview(asked, **ask).mechanism
    release = session.release(asked, **ask)
    assert release.value == pytest.approx(30, abs=20)
    assert release.certificate.words().startswith("no bound known")
    assert session.release(asked, **ask).value == release.value
    real = sf.Session(sf.read(FRAME, schema=SCHEMA), budget=sf.Pure(1.0), ledger=tmp_path / "real.ledger")
    with pytest.raises(SfumatoError):
        real.release(asked, **ask)
    assert real.spent.epsilon == 0


class Bare(sf.mechanisms.Laplace):
    """One that calls itself Laplace, claims what Laplace noise costs, and adds none."""

    __slots__ = ()

    def release(self, answer, rng):
        return answer


class Inside:
    """One that hides another inside a mechanism of the list."""

    @classmethod
    def calibrate(cls, question, target):
        return sf.mechanisms.DiscoveredKeys.calibrate(question, target, kind=Bare)


def test_no_mechanism_of_ones_own_draws_in_a_session_proper_under_a_stored_name(tmp_path):
    session = sf.Session(sf.read(FRAME, schema=SCHEMA), budget=sf.Pure(1.0), ledger=tmp_path / "real.ledger")
    with pytest.raises(UnsupportedQuery, match="one's own"):
        session.release(sf.count(), spend=sf.Pure(0.1), mechanism=Bare)
    assert session.spent == sf.Pure(0.0)
    texts = sf.Schema({"state": sf.Texts(2)}, dataset="people")
    settled = order(sf.count().by(sf.discovered("state")), texts, spend=sf.Approximate(0.5, 1e-6), mechanism=Inside)
    assert type(settled.mechanism.answering) is sf.mechanisms.Laplace


class Free(Geometric):
    """One that claims next to nothing."""

    def guarantee(self, distance=1):
        return sf.Pure(1e-6 * distance)


def test_an_order_of_a_laboratory_or_for_another_unit_is_not_fulfilled_by_a_session_proper(tmp_path):
    persons = sf.Schema(COLUMNS, dataset="people", size=300, unit=sf.Person("id", 40))
    frame = FRAME.assign(id=np.arange(300) // 30)
    session = sf.Session(sf.read(frame, schema=persons), budget=sf.Pure(1.0), ledger=tmp_path / "real.ledger")
    laboratory = sf.reference.lab(frame, persons, budget=sf.Pure(1.0), seed=1)
    mine = session.order(sf.count(), sf.Pure(0.5), "mine")
    others = (
        opened(1, SCHEMA).order(sf.count(), sf.Pure(0.1), "for rows"),
        laboratory.order(sf.count(), sf.Pure(0.1), "own", Free),
        laboratory.order(sf.count(), sf.Pure(0.1), "bare", Bare),
        replace(mine, claim=sf.Pure(0.0)),
    )
    for settled in others:
        with pytest.raises(SfumatoError):
            session.fulfill(settled)
        with pytest.raises(SfumatoError):
            session.prepay([mine, replace(settled, title="other")])
    assert session.spent == sf.Pure(0.0)
    assert len(session.ledger.entries()) == 1
    session.fulfill(mine)
    assert session.spent == sf.Pure(0.5)


def test_a_release_made_for_other_people_than_the_ledgers_does_not_verify(tmp_path):
    rows = sf.Session(sf.read(FRAME, schema=SCHEMA), budget=sf.Pure(1.0), ledger=tmp_path / "rows.ledger")
    content = rows.release(sf.count(), spend=sf.Pure(0.5)).to_bytes()
    assert verify(rows.ledger).holds
    ledger = sf.Ledger.open(tmp_path / "persons.ledger", dataset="people", adjacency=SCHEMA.adjacency,
                            unit=sf.Person("id", 40), budget=sf.Pure(1.0))  # fmt: skip
    ledger.store(ledger.charge("count", "0" * 64, sf.Pure(0.5), {}), content)
    assert "another dataset, adjacency or unit" in verify(ledger).words()
