"""Plans: the annotated example is complete, and every mistake names its place, the reason and the fix."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.errors import SchemaError
from sfumato.plans import document, read_plan, write_plan
from sfumato.privacy.adjacency import Person
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries.kinds import ALIASES, KINDS

EXAMPLE = Path(__file__).parents[1] / "examples" / "people.toml"


def broken(directory, old, new):
    text = EXAMPLE.read_text()
    assert old in text
    path = directory / "broken.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(SchemaError) as caught:
        read_plan(path)
    return str(caught.value)


# claims: what a plan says is what is read


def test_the_annotated_example_is_read_whole():
    plan = read_plan(EXAMPLE)
    assert plan.budget == Approximate(3.5, 1e-6)
    assert plan.schema.unit == Person("person_id", 2)
    assert plan.schema.dataset == "people-2026"
    assert plan.table.path == EXAMPLE.with_name("people.parquet")
    assert plan.ledger.file == EXAMPLE.with_name("people.ledger")
    kinds = {release.query.kind for release in plan.releases}
    assert kinds == {"count", "mean", "histogram", "quantiles", "top", "density", "variance"}
    assert plan.release("mean height").spend == Pure(0.1)


def test_every_type_of_column_is_in_the_example():
    kinds = {type(space).__name__ for space in read_plan(EXAMPLE).schema.columns.values()}
    assert kinds == {"Interval", "Categories", "Subsets", "Texts"}


def test_a_plan_written_as_json_reads_back_equal(tmp_path):
    plan = read_plan(EXAMPLE)
    back = read_plan(write_plan(plan, tmp_path / "people.json"))
    assert (back.schema, back.budget, back.releases) == (plan.schema, plan.budget, plan.releases)
    assert back.table.path.resolve() == plan.table.path.resolve()
    assert back.ledger.file.resolve() == plan.ledger.file.resolve()


def test_a_concentrated_budget_is_rho(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("""
format = "sfumato-plan/1"
table = { path = "t.csv", unit = "row" }
columns.age = { type = "interval", low = 0, high = 120, step = 1 }
budget = { rho = 0.5 }
release = [{ query = "median", column = "age", spend = { rho = 0.1 } }]
""")
    plan = read_plan(path)
    assert plan.budget == Concentrated(0.5)
    assert plan.releases[0].name == "median of age"
    assert plan.ledger.file == tmp_path / "t.ledger"


def test_a_pure_budget_takes_a_spend_with_a_delta_whose_charge_is_pure_as_a_session_does(tmp_path):
    path = tmp_path / "plan.toml"
    text = """
format = "sfumato-plan/2"
table = { path = "t.csv", unit = "row" }
columns.age = { type = "interval", low = 0, high = 120, step = 1 }
budget = { epsilon = 1.0 }
release = [{ query = "count", spend = { SPEND } }]
"""
    path.write_text(text.replace("SPEND", "epsilon = 0.1, delta = 1e-6"))
    assert read_plan(path).releases[0].spend == Approximate(0.1, 1e-6)
    path.write_text(text.replace("SPEND", "rho = 0.1"))
    with pytest.raises(SchemaError, match="a pure budget takes only pure charges"):
        read_plan(path)


# refusals: the place, the reason, the fix

MISTAKES = [
    ('column = "height"', 'column = "heigth"', ['release 2 ("mean height")', "'heigth'", "did you mean 'height'"]),
    ("low = 0\n", "", ["columns.age", "low is missing", "never read off the data"]),
    ("cap = 5", "# cap", ["columns.hobbies", "cap is missing", "declare cap"]),
    ("epsilon = 0.05", "epsilon = -1", ['release 1 ("records"), spend', "epsilon must be above 0, got -1"]),
    ("epsilon = 0.05", "epsilon = 0", ['release 1 ("records"), spend', "epsilon must be above 0"]),
    ("epsilon = 0.05", "epsilon = nan", ['release 1 ("records"), spend', "epsilon must be above 0, got nan"]),
    ("epsilon = 0.05", "epsilon = inf", ['release 1 ("records"), spend', "epsilon must be a finite number"]),
    ("epsilon = 0.05", 'epsilon = "a"', ['release 1 ("records")', "spend.epsilon", "must be a number"]),
    ("epsilon = 0.05", "epsilonn = 1", ["spend.epsilonn is not known", "known are epsilon, delta, rho"]),
    ("epsilon = 0.05", "rho = 1, epsilon = 1", ["spend", "epsilon, or epsilon and delta, or rho"]),
    ("delta = 4e-7", "delta = 2", ['release 7 ("records by city"), spend', "delta must lie in [0, 1), got 2"]),
    ("delta = 1e-6", "delta = -1", ["budget", "delta must lie in [0, 1), got -1"]),
    ("epsilon = 3.5", "epsilon = 0", ["budget", "epsilon must be above 0"]),
    ("delta = 1e-6", "", ["release 7", "a pure budget takes only pure charges", "spend Pure"]),
    ('unit = { column = "person_id", rows = 2 }', "", ["table.unit is missing", 'unit = "row"']),
    ('unit = { column = "person_id", rows = 2 }', 'unit = "people"', ["table.unit", 'unit = "row"']),
    ("rows = 2 }", "rows = 0 }", ["table", "rows must be a whole number of at least 1"]),
    ('query = "count"', 'qury = "count"', ["query is missing", "qury is not known", "known are query, spend"]),
    ('query = "count"', 'query = "cuont"', ["release 1", "'cuont' is unknown", "choose one of count"]),
    ('query = "count"', 'query = "densty"\ncolumns = ["age"]\nbandwidth = 3', ["release 1", "did you mean 'density'?"]),
    ("size = 200000", 'size = "many"', ["table.size", "must be a whole number"]),
    ('where = "age >= 18"', 'where = "age >> 18"', ["release 4", "cannot read the condition", "age >> 18", "^"]),
    ('by = "state"', "by = 3", ["release 4", "by must be a list, got 3"]),
    ('columns = ["age"]', "columns = 3", ["release 8", "columns must be a list, got 3"]),
    ('columns = ["age"]', "columns = [[]]", ["release 8", "each of columns must be a text"]),
    ("edges = [0, 10,", "count = 3, edges = 4, kept = [0, 10,", ["release 3", "a key of `by`"]),
    ("size = 200000", "size = 2000000000000000000000", ["table", "at most 2^53"]),
    ('type = "interval"', 'type = "record"\nparts = 3', ["columns.age", "parts must be a mapping"]),
    ('type = "interval"', 'type = "record"\nparts.a = 3', ["columns.age", "parts.a must be a mapping"]),
    ('by = "state"', 'by = "city"', ["release 4", "'city' are not public", "discovered"]),
    ("epsilon = 3.5", 'epsilon = 3.5\nsplit = "even"', ["budget.split must be 'auto', got 'even'"]),
    ("size = 200000", 'size = 200000\nquoted_lines = "yes"', ["table.quoted_lines must be true or false, got 'yes'"]),
    ("k = 3", "k = 30", ["release 6", "k=30", "10 declared items"]),
    ("high = 200000", 'high = "lots"', ["columns.salary", "high must be a finite number"]),
    ('type = "interval"', 'type = "range"', ["columns.age", "'range'", "choose one of interval"]),
    ('name = "records by city"', 'name = "records"', ["release 7", "occurs twice", "name each release once"]),
    ('adjacency = "add-remove"', 'adjacency = "near"', ["table", "adjacency must be one of add-remove, replace"]),
    ("[table]", "[[table]]", ["table", "add a [table] part"]),
    ("sfumato-plan/2", "sfumato-plan/9", ["not a plan of this version", 'format = "sfumato-plan/2"']),
    ("[budget]", "[budget", ["not valid TOML", "line"]),
]


@pytest.mark.parametrize(("old", "new", "words"), MISTAKES)
def test_a_mistake_names_place_reason_and_fix(tmp_path, old, new, words):
    message = broken(tmp_path, old, new)
    assert "broken.toml" in message
    for word in words:
        assert word in message
    assert len(message) < 700
    assert "pydantic" not in message


def test_blanks_of_a_draft_are_refused_by_name(tmp_path):
    message = broken(tmp_path, "low = 0\n", 'low = "FILL IN"\n')
    assert "columns.age.low still says 'FILL IN'" in message
    assert "never by what you read in it" in message


def test_many_mistakes_stay_on_one_screen(tmp_path):
    path = tmp_path / "many.toml"
    path.write_text(EXAMPLE.read_text().replace("spend = {", "spent = {"))
    with pytest.raises(SchemaError) as caught:
        read_plan(path)
    message = str(caught.value)
    assert "17 places" in message
    assert "and 11 more" in message
    assert len(message.splitlines()) <= 12


def test_a_missing_or_binary_plan_is_refused(tmp_path):
    with pytest.raises(SchemaError, match=r"there is no plan .*sfumato draft FILE"):
        read_plan(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="UTF-8"):
        read_plan(tmp_path / "bytes.toml")


def test_an_unknown_release_is_named():
    with pytest.raises(SchemaError, match=r"no release 'x'; the plan has 'records'"):
        read_plan(EXAMPLE).release("x")


# the documented format


def test_every_part_of_the_format_is_documented():
    page = (EXAMPLE.parents[1] / "docs/formats/plan.md").read_text()
    for model in (
        document.TableSection,
        document.PersonSection,
        document.Amount,
        document.LedgerSection,
        document.ReleaseSection,
    ):
        for part in model.model_fields.keys() - {"details"}:
            assert re.search(rf"`{part}`|{part} = ", page), part
    for kind in (
        "interval",
        "integers",
        "categories",
        "subsets",
        "texts",
        "curves",
        *KINDS,
        *ALIASES,
    ):
        assert f"`{kind}`" in page


def test_a_workload_is_read_like_any_question(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("""
format = "sfumato-plan/1"
table = { path = "t.csv", unit = "row" }
columns.age = { type = "interval", low = 0, high = 120, step = 1 }
budget = { epsilon = 1 }
[[release]]
query = "workload"
by = { bins = "age", edges = [0, 18, 65, 120] }
workload = [{ rows = ["prefix"] }]
spend = { epsilon = 0.5 }
""")
    (planned,) = read_plan(path).releases
    assert planned.name == "workload over age"
    assert read_plan(write_plan(read_plan(path), tmp_path / "plan.json")).releases == (planned,)


def test_a_kind_of_query_brings_parts_of_its_own(tmp_path):
    text = """
format = "sfumato-plan/1"
table = { path = "t.csv", unit = "row" }
columns.age = { type = "interval", low = 0, high = 120, step = 1 }
budget = { epsilon = 1, delta = 1e-6 }
[[release]]
query = "density"
columns = ["age"]
bandwidth = [5.0]
spend = { epsilon = 0.5, delta = 1e-7 }
"""
    path = tmp_path / "plan.toml"
    path.write_text(text)
    (planned,) = read_plan(path).releases
    assert planned.name == "density of age"
    assert read_plan(write_plan(read_plan(path), tmp_path / "plan.json")).releases == (planned,)
    path.write_text(text.replace("bandwidth", "bandwith"))
    with pytest.raises(SchemaError, match=r"release 1: .*'bandwith'"):
        read_plan(path)


def test_a_plan_names_several_files_by_a_list(tmp_path):
    from sfumato.plans.outlook import opened_table

    for month in (1, 2, 3):
        pq.write_table(pa.table({"age": [20.0 * month, 30.0]}), tmp_path / f"{month}.parquet")
    plan = {
        "format": "sfumato-plan/2",
        "table": {"path": ["1.parquet", "3.parquet"], "unit": "row", "dataset": "months"},
        "columns": {"age": {"type": "integers", "low": 0, "high": 90}},
        "budget": {"epsilon": 1.0},
        "release": [{"name": "all", "query": "sum", "column": "age", "spend": {"epsilon": 0.1}}],
    }
    place = tmp_path / "plan.json"
    place.write_text(json.dumps(plan))
    read = read_plan(place)
    assert read.table.to_record(tmp_path)["path"] == ["1.parquet", "3.parquet"]
    assert sum(sum(batch["age"]) for batch in opened_table(read).rows(["age"])) == 140
    for change, words in (
        ({"path": []}, "a list of texts"),
        ({"path": ["1.parquet", 3]}, "a list of texts"),
        ({"path": ["1.parquet", "s3://bucket/2.parquet"]}, "of this machine"),
        ({"path": ["1.parquet", "3.parquet"], "engine": "spark"}, "stands alone"),
        ({"path": ["1.parquet", "3.parquet"], "dataset": None}, "say dataset"),
    ):
        table = {name: value for name, value in (plan["table"] | change).items() if value is not None}
        place.write_text(json.dumps(plan | {"table": table}))
        with pytest.raises(SchemaError, match=words) as refused:
            read_plan(place)
        assert str(refused.value).count("table.path") <= 1
