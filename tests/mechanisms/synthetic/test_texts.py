"""Synthetic tables with columns of texts, which are discovered first."""

from __future__ import annotations

import dataclasses
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from hostile_text import LABELS
from sfumato.errors import SchemaError, SfumatoError, UnsupportedQuery
from sfumato.mechanisms import DiscoveredKeys, MarginalSynthesis, TextSynthesis, mechanism_from
from sfumato.planner import best
from sfumato.queries import bind
from sfumato.queries.encoding import STAND_INS
from sfumato.randomness import seeded
from sfumato.release.verification import verify
from test_neighbors import TEXTS, Draw, breaches

SPEND = sf.Approximate(2.0, 1e-6)
SPACES = {"city": sf.Texts(other="elsewhere"), "job": sf.Texts(6), "age": sf.Integers(0, 99)}
ROWS = 4000


def people(rows=ROWS, seed=1):
    """Five common cities, a tail of single ones, some missing; jobs go with cities, ages with both."""
    chance = np.random.default_rng(seed)
    place = chance.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    city = np.array(["Paris", "Rome", "Berlin", "Oslo", "Wien"], dtype=object)[place]
    city[: rows // 10] = [f"village {i}" for i in range(rows // 10)]
    city[rows // 10 : rows // 5] = None
    job = np.where(place < 2, "nurse", "smithy of long ago")
    return pa.table(
        {
            "id": np.arange(rows) // 2,
            "city": pa.array(city.tolist()),
            "job": pa.array(job.tolist()),
            "age": np.clip(chance.normal(30 + 10 * place, 5), 0, 99).astype(int),
        }
    )


def session(tmp_path, table=None, **schema):
    held = people() if table is None else table
    declared = sf.Schema(**{"columns": SPACES, "size": ROWS, "dataset": "people", **schema})
    return sf.Session(sf.read(held, schema=declared), budget=sf.Approximate(10.0, 1e-4), ledger=tmp_path / "a.ledger")


def question(**schema):
    return bind(sf.synthetic(), sf.Schema(**{"columns": SPACES, "size": ROWS, **schema}))


# claims: the numbers the theorem gives


@pytest.mark.parametrize(("columns", "each"), [(1, Fraction(1, 10)), (2, Fraction(1, 10)), (5, Fraction(1, 20))])
def test_shares_are_a_tenth_of_epsilon_a_column_and_a_quarter_at_most(columns, each):
    asked = question(columns={f"t{i}": sf.Texts() for i in range(columns)})
    first, rest = TextSynthesis.shares(asked, sf.Approximate(1.0, 1e-6))
    assert first.epsilon == pytest.approx(float(each))
    assert first.delta == pytest.approx(5e-7 / columns)
    assert Fraction(rest.epsilon) + columns * Fraction(first.epsilon) <= 1
    assert rest.epsilon == pytest.approx(1 - columns * float(each))
    assert rest.delta == pytest.approx(5e-7)


@pytest.mark.parametrize("adjacency", [sf.AddRemove(), sf.Replace()])
@pytest.mark.parametrize("unit", [sf.Row(), sf.Person("id", 3)])
@pytest.mark.parametrize("target", [sf.Approximate(1.0, 1e-6), sf.Approximate(0.1, 0.3), sf.Approximate(40.0, 1e-12)])
def test_the_claim_is_the_sum_of_its_parts_and_within_the_target(adjacency, unit, target):
    made = TextSynthesis.calibrate(question(unit=unit, adjacency=adjacency), target)
    parts = [*(one.guarantee() for one in made.discoveries), made.making.guarantee()]
    claim = made.guarantee()
    assert claim.implies(target)
    assert claim.epsilon == pytest.approx(sum(part.epsilon for part in parts))
    assert claim.delta == pytest.approx(sum(part.delta for part in parts))
    assert claim.delta > 0.9 * target.delta
    assert [one.query.per_unit for one in made.discoveries] == [unit.rows] * 2


def test_the_claim_does_not_depend_on_the_texts_that_are_found():
    made = TextSynthesis.calibrate(question(), SPEND)
    for texts in ((), ("a",), tuple(f"text {i}" for i in range(300))):
        over = made.over((("city", texts), ("job", ("nurse",))))
        assert over.guarantee() == made.making.guarantee()
        assert [column.size for column in over.query.levels[:2]] == [len(texts) + 2, 3]


# laws: the neighbors


def test_neighbors_of_tables_with_texts_cost_no_more_than_is_claimed(monkeypatch):
    monkeypatch.setattr(Draw, "table", lambda self: TEXTS[self.worded.integers(len(TEXTS))])
    tried = Counter()
    assert list(breaches(range(6, 12), kinds=("table",), tried=tried, neighbors=2)) == []
    assert tried["TextSynthesis"] >= 8


def test_the_net_finds_texts_that_nobody_paid_for(monkeypatch):
    monkeypatch.setattr(Draw, "table", lambda self: TEXTS[self.worded.integers(len(TEXTS))])
    monkeypatch.setattr(TextSynthesis, "guarantee", lambda self, distance=1: self.making.guarantee(distance))
    assert next(breaches(range(12), kinds=("table",)), None)


# distribution: what is found and made


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("schema", [{}, {"adjacency": sf.Replace()}, {"unit": sf.Person("id", 2), "size": ROWS // 2}])
def test_common_texts_are_made_and_single_ones_never(tmp_path, suffix, schema):
    path, table = tmp_path / f"people{suffix}", people()
    pyarrow.csv.write_csv(table, path) if suffix == ".csv" else pq.write_table(table, path)
    made = session(tmp_path, path, **schema).synthesize(spend=SPEND)
    cities, jobs = (made.rows[name].to_pylist() for name in ("city", "job"))
    assert set(cities) >= {"Paris", "Rome", "Berlin", "Oslo", "elsewhere"}
    assert not any(city is not None and city.startswith("village") for city in cities)
    assert set(jobs) <= {"nurse", "smithy"[:6], "other", None}
    shares = {city: cities.count(city) / len(cities) for city in ("Paris", "elsewhere")}
    assert shares["Paris"] == pytest.approx(0.32, abs=0.06)
    if suffix == ".parquet":
        assert cities.count(None) / len(cities) == pytest.approx(0.1, abs=0.05)
        assert shares["elsewhere"] == pytest.approx(0.1, abs=0.05)
    assert made.guarantee.implies(SPEND)


def test_relations_of_texts_are_kept(tmp_path):
    made = session(tmp_path).synthesize(spend=sf.Approximate(8.0, 1e-5)).to_pandas()
    ages = made.groupby("city")["age"].mean()
    assert ages["Oslo"] - ages["Paris"] == pytest.approx(30, abs=6)
    assert (made[made.city == "Paris"].job == "nurse").mean() > 0.9


def test_the_rows_of_persons_hold_texts(tmp_path):
    opened = session(tmp_path, unit=sf.Person("id", 2), size=ROWS // 2)
    made = opened.synthesize(person=["job"], spend=SPEND)
    frame = made.to_pandas()
    assert (frame.groupby("id")["job"].nunique() <= 1).all()
    assert {"Paris", "Rome"} <= set(frame.city)
    assert opened.preview(sf.synthetic(person=[]), spend=SPEND).numbers["holding"] == "persons"


def test_texts_of_which_none_is_common_become_one_word(tmp_path):
    table = people().set_column(1, "city", pa.array([f"only {i}" for i in range(ROWS)]))
    made = session(tmp_path, table).synthesize(["city"], spend=SPEND)
    assert made.method["texts"] == {"city": []}
    assert set(made.rows["city"].to_pylist()) <= {"elsewhere", None}


def test_the_word_for_others_as_a_text_is_one_of_them(tmp_path):
    table = people().set_column(1, "city", pa.array(["elsewhere", "Rome"] * (ROWS // 2)))
    made = session(tmp_path, table).synthesize(["city"], spend=SPEND)
    assert made.method["texts"] == {"city": ["Rome"]}
    assert made.rows["city"].to_pylist().count("elsewhere") / len(made) == pytest.approx(0.5, abs=0.05)


def test_hostile_texts_are_made_as_they_are(tmp_path):
    texts = sorted({text[:64] for text in LABELS.values()})
    held = pa.array([texts[i % len(texts)] for i in range(300 * len(texts))])
    table = pa.table({"city": held, "job": held, "age": pa.array([1] * len(held))})
    made = session(tmp_path, table, size=len(held)).synthesize(["city", "age"], spend=SPEND)
    assert set(made.method["texts"]["city"]) == set(texts)
    again = sf.load(made.save(tmp_path / "made.parquet"))
    assert again.rows.equals(made.rows)
    assert "texts found" in str(again)


# the doors


def test_a_saved_table_is_loaded_asked_and_verified(tmp_path):
    opened = session(tmp_path)
    made = opened.synthesize(spend=SPEND, name="made")
    again = sf.load(made.save(tmp_path / "made.parquet"))
    assert again.guarantee == made.guarantee
    assert not again.disputed
    assert again.mechanism == made.mechanism
    assert again.question.levels[0].space.labels[-1] == "elsewhere"
    answer = again.ask(sf.count().by("city"))
    place = answer.keys["city"].index("Paris")
    low, high = answer.interval()
    assert low[place] < 0.32 * ROWS < high[place]
    more = again.more(50, given="city == 'Rome' and age >= 35")
    assert set(more["city"].to_pylist()) == {"Rome"}
    with pytest.raises(SfumatoError, match="Atlantis"):
        again.more(5, given="city == 'Atlantis'")
    assert again.errors().columns.keys() == {"city", "job", "age"}
    assert again.compare(sf.read(people(), schema=made.schema)).columns["city"] < 0.1
    assert again.plot().to_dict()
    assert verify(opened.ledger).disputes == ()
    assert opened.synthesize(spend=SPEND, name="made").rows.equals(made.rows)


def test_a_file_that_claims_less_than_its_discoveries_is_disputed(tmp_path):
    made = session(tmp_path).synthesize(spend=SPEND)
    forged = dataclasses.replace(made, guarantee=made.mechanism.making.guarantee())
    forged.save(tmp_path / "forged.parquet")
    again = sf.load(tmp_path / "forged.parquet")
    assert again.disputed
    assert again.guarantee == made.guarantee


def test_the_mechanism_is_its_record():
    made = best(question(), SPEND)
    assert type(made) is TextSynthesis
    assert mechanism_from(made.to_record(), made.query) == made


def test_a_preview_says_what_is_discovered_and_reads_nothing(tmp_path):
    seen = session(tmp_path).preview(sf.synthetic(), spend=SPEND)
    assert seen.numbers["texts"] == "city, job"
    assert seen.numbers["epsilon_of_texts"] == pytest.approx(0.4)
    finding = DiscoveredKeys.finding(best(question(), SPEND).discoveries[0].query, sf.Approximate(0.2, 2.5e-7))
    assert seen.numbers["holders"] == finding.error()
    assert "discovered first, for 0.4 of epsilon" in str(seen)
    assert question().levels[0].valued == len(STAND_INS) + 1


def test_other_questions_about_texts_are_as_before():
    assert sf.Texts().to_record() == {"type": "texts", "longest": 64}
    assert sf.Texts(other="x").to_record() == {"type": "texts", "longest": 64, "other": "x"}
    assert bind(sf.synthetic(["age"]), sf.Schema(SPACES)).undiscovered == ()


# refusals


@pytest.mark.parametrize("spend", [sf.Pure(1.0), sf.Concentrated(0.5), sf.Approximate(1.0, 0.0)])
def test_without_a_delta_texts_are_refused_with_what_to_do(spend):
    with pytest.raises(UnsupportedQuery, match=r"city, job .*--delta.*Categories.*--column"):
        best(question(), spend)
    assert type(best(bind(sf.synthetic(["age"]), sf.Schema(SPACES)), spend)) is MarginalSynthesis


def test_rules_and_workloads_are_not_about_texts():
    with pytest.raises(UnsupportedQuery, match="numbers, dates and categories"):
        bind(sf.synthetic(keep=["city == 'Rome'"]), sf.Schema(SPACES))
    with pytest.raises(SfumatoError, match="not public"):
        bind(sf.synthetic(workload=[sf.count().where("city == 'Rome'")]), sf.Schema(SPACES))


@pytest.mark.parametrize("change", [
    {"making": "public"}, {"making": "text-synthesis"}, {"discovery": []}, {"discovery": [{"type": "public"}] * 2},
])  # fmt: skip
def test_records_of_something_else_are_refused(change):
    made = TextSynthesis.calibrate(question(), SPEND)
    with pytest.raises(SfumatoError):
        TextSynthesis.from_record(made.query, {**made.to_record(), **change})


@pytest.mark.parametrize("word", [3, None, "\ud800", ["x"]])
def test_a_word_that_is_no_text_is_refused(word):
    with pytest.raises(SfumatoError, match="other"):
        sf.Texts(other=word)


def test_rows_of_texts_that_nobody_knows_are_refused():
    table = sf.read(people(), schema=sf.Schema(SPACES))
    with pytest.raises(SchemaError, match="row by row"):
        next(table.rows(["city"]))


def test_release_leaves_out_what_noise_would_show_of_the_table(tmp_path):
    """Whatever is found, the output names found texts alone: none that is not in the list of its texts."""
    table = sf.read(people(400), schema=sf.Schema(SPACES))
    made = TextSynthesis.calibrate(bind(sf.synthetic(), table.schema), sf.Approximate(1.0, 0.01))
    out = made.release(made.take(table), seeded(3))
    shown = made.query.read(out, made).value
    assert {*shown["city"].to_pylist()} <= {*dict(out.found)["city"], "elsewhere", None}


def test_a_synthesizer_that_discovers_nothing_is_refused_before_anything_is_charged(tmp_path):
    held = session(tmp_path)
    with pytest.raises(UnsupportedQuery, match="this synthesizer discovers none: leave mechanism= out"):
        held.release(sf.synthetic(), spend=SPEND, mechanism=MarginalSynthesis)
    assert held.spent.amount == 0


def test_parts_that_are_not_of_this_table_or_not_whole_are_refused():
    """Discoveries of rows where persons are the unit, and rows made for a part that the record does not name."""
    whole = TextSynthesis.calibrate(question(unit=sf.Person("id", 4)), SPEND)
    alone = TextSynthesis.calibrate(question(), SPEND)
    with pytest.raises(UnsupportedQuery, match="its own unit and adjacency"):
        dataclasses.replace(whole, discoveries=alone.discoveries)
    part = MarginalSynthesis(alone.making.query, alone.making.target, Fraction(1, 100))
    with pytest.raises(UnsupportedQuery, match="all that its record says"):
        dataclasses.replace(alone, making=part)


def test_a_file_whose_texts_nobody_discovered_is_refused(tmp_path):
    made = session(tmp_path).synthesize(spend=SPEND, name="cities")
    method = {
        **made.method,
        "type": "marginal-synthesis",
        "target": {"type": "pure", "epsilon": 1.8, "assumptions": []},
    }
    crafted = dataclasses.replace(made, method=method, guarantee=sf.Pure(1.8))
    crafted.save(tmp_path / "crafted.parquet")
    with pytest.raises(SchemaError, match="does not say how"):
        sf.load(tmp_path / "crafted.parquet")
