"""Names of keys alone: all of the spend finds them, none that a single unit holds, and they are stored and drawn."""

import pyarrow as pa
import pytest
import vl_convert

import sfumato as sf
from sfumato.answers.certificate import Certificate
from sfumato.errors import SfumatoError
from sfumato.orders import order
from sfumato.queries import bind
from sfumato.randomness import seeded

SPEND = sf.Approximate(0.5, 1e-6)
TOWNS = ["Ulm"] * 400 + ["Bonn"] * 200 + ["=Rome"] + [None] * 5


def test_names_are_found_stored_and_drawn(tmp_path):
    table = sf.read(pa.table({"estimate": TOWNS}), schema={"estimate": sf.Texts(9)}, dataset="d")
    session = sf.Session(table, budget=sf.Approximate(3, 1e-4), ledger=tmp_path / "l.ledger")
    release = session.release(sf.keys("estimate"), spend=SPEND)
    assert release.name == "keys of estimate"
    assert release.value == ["Bonn", "Ulm"] == release.table()["key"].to_pylist()
    assert release.guarantee == SPEND or SPEND.epsilon * 0.99 < release.guarantee.epsilon <= SPEND.epsilon
    assert isinstance(release.certificate, Certificate)
    assert "2 answers" in repr(release)
    assert sf.load(release.save(tmp_path / "k.json")).value == release.value
    drawn = vl_convert.vegalite_to_svg(release.plot().to_json())
    assert ">Bonn<" in drawn
    assert ">1<" not in drawn  # no ranks: their order says nothing
    release.save(tmp_path / "k.csv")
    none = session.release(sf.keys("estimate").where("estimate == '=Rome'"), spend=SPEND)
    assert none.value == []
    none.plot()
    assert str(none)


@pytest.mark.parametrize("adjacency", [sf.AddRemove(), sf.Replace()])
@pytest.mark.parametrize("unit", [sf.Row(), sf.Person("id", 3)])
def test_names_alone_are_found_from_fewer_holders_than_with_numbers(unit, adjacency):
    schema = sf.Schema({"town": sf.Texts(9), "age": sf.Integers(0, 9)}, unit, adjacency, size=5000)
    alone, beside = (
        order(query, schema, spend=SPEND).mechanism.error()
        for query in (sf.keys("town"), sf.mean("age").by(sf.discovered("town")))
    )
    assert alone < beside


@pytest.mark.parametrize(
    ("query", "spend", "said"),
    [
        (sf.keys("town"), sf.Pure(1.0), "delta"),
        (sf.keys("age"), SPEND, "Texts"),
        (sf.keys("town").by("age"), SPEND, "whole table"),
        (sf.keys("town").per_person(each=1), SPEND, "per_person|unit"),
    ],
)
def test_mistakes_are_refused_in_words(query, spend, said):
    with pytest.raises(SfumatoError, match=said):
        order(query, sf.Schema({"town": sf.Texts(9), "age": sf.Integers(0, 9)}), spend=spend)


def test_a_plan_asks_by_the_column_s_name():
    assert sf.Query.from_record({"query": "keys", "column": "town"}) == sf.keys("town")
    assert bind(sf.keys("town"), sf.Schema({"town": sf.Texts(9)})).name == "keys of town"


class Turned:
    """An engine that gives the keys the other way round."""

    def __init__(self, held):
        self.held = held

    def answer(self, statistic):
        found = self.held.answer(statistic)
        return tuple(part[::-1] for part in found) if isinstance(found, tuple) else found


def test_what_is_drawn_does_not_depend_on_the_order_in_which_an_engine_gives_keys():
    rows = {"town": [f"t{k % 40}" for k in range(200)]}
    table = sf.read(pa.table(rows), schema={"town": sf.Texts(20)}, dataset="d")
    mechanism = order(sf.keys("town"), table.schema, spend=sf.Approximate(1.0, 1e-2)).mechanism
    drawn = [mechanism.release(mechanism.take(source), seeded(5)).keys for source in (table, Turned(table))]
    assert drawn[0] == drawn[1]
    assert 0 < len(drawn[0]) < 40
