"""sfumato extent: a free preview, then one charge and a new plan with the released bounds."""

import json

import pytest

from sfumato.cli.extent import declared
from sfumato.errors import SchemaError
from sfumato.plans import read_plan


def test_a_range_is_previewed_for_free_then_charged_and_written_into_a_new_plan(place, run):
    asked = ["extent", "plan.toml", "--column", "age", "--epsilon", 1.5]
    seen = run(*asked)
    assert seen.code == 0, seen.err
    assert "nothing was spent" in seen.out
    assert not list(place.glob("*.ledger"))
    for bad, said in (("plan.toml", "exists already"), ("narrow.json", "beside"), ("away/narrow.toml", "beside")):
        refused = run(*asked, "--out", bad)
        assert refused.code != 0
        assert said in refused.err
    assert run("extent", "plan.toml", "--column", "state", "--epsilon", 1).code != 0
    assert not list(place.glob("*.ledger"))
    done = run(*asked, "--out", "narrow.toml")
    assert done.code == 0, done.err
    assert "this was charged" in done.out
    before, after = read_plan(place / "plan.toml"), read_plan(place / "narrow.toml")
    lattice = after.schema.lattice("age")
    assert 0 <= lattice.low_value < lattice.high_value <= 120
    assert f"low = {lattice.low_value:g} and high = {lattice.high_value:g}" in done.out
    assert after.releases == before.releases
    assert {name: space for name, space in after.schema.columns.items() if name != "age"} == {
        name: space for name, space in before.schema.columns.items() if name != "age"
    }
    ledger = next(place.glob("*.ledger"))
    assert json.loads(run("ledger", "show", ledger, "--json").out)["spent"]["epsilon"] == pytest.approx(1.5)
    again = json.loads(run(*asked, "--out", "again.toml", "--json").out)
    assert (again["low"], again["high"]) == (lattice.low_value, lattice.high_value)  # stored: the same, for nothing


INLINE = '[columns]\nb = { low = 0, high = 9 }\n"a b" = { low = -1, high = +2.5, step = 0.5 } # low = 7\n'
TABLE = '[columns."a b"]\ntype = "interval"\nhigh = 1e3\nlow = -1.5\n\n[columns.b]\nlow = 0\nhigh = 1\n'


def test_only_the_bounds_change_in_a_plan():
    assert declared(INLINE, ".toml", "a b", 0.5, 2) == INLINE.replace("low = -1, high = +2.5", "low = 0.5, high = 2")
    assert declared(TABLE, ".toml", "a b", 2, 8) == TABLE.replace("high = 1e3\nlow = -1.5", "high = 8\nlow = 2")
    written = json.loads(declared('{"columns": {"b": {"low": 0}}}', ".json", "b", 1, 2))
    assert written == {"columns": {"b": {"low": 1, "high": 2}}}
    with pytest.raises(SchemaError, match="nothing was charged"):
        declared("[columns]\nb.low = 0\nb.high = 9\n", ".toml", "b", 1, 2)


def test_a_range_holds_what_stands_for_missing_values_and_is_written_where_the_column_is_declared(place, run):
    plan = (place / "plan.toml").read_text()
    (place / "zero.toml").write_text("\ufeff" + plan.replace("high = 120,", "high = 120, missing = 120,"))
    done = run("extent", "zero.toml", "--column", "age", "--epsilon", 1.5, "--out", "held.toml")
    assert done.code == 0, done.err
    assert read_plan(place / "held.toml").schema.lattice("age").high_value == 120  # though nobody is so old
    of_people = '{"columns": {"x": {}}, "attributes": {"b": {"low": 0}}}'
    assert json.loads(declared(of_people, ".JSON", "b", 1, 2))["attributes"]["b"] == {"low": 1, "high": 2}
