"""Every mistake of a user: one screen that names the argument, the reason and the fix; nothing is charged."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf

PLAN_MISTAKES = [
    ("wrong column", 'column = "age"', 'column = "agge"', ["agge", "no column", "did you mean 'age'"]),
    ("column not in the file", "age = {", "years = {", ["years", "no column", "Correct the name"]),
    ("missing bounds", "low = 0, high = 120, ", "", ["columns.age", "low is missing", "declare low"]),
    ("epsilon zero", "epsilon = 0.5 }", "epsilon = 0 }", ["spend", "epsilon must be above 0", "often between"]),
    ("epsilon negative", "epsilon = 0.5 }", "epsilon = -0.5 }", ["spend", "epsilon must be above 0", "often between"]),
    ("epsilon NaN", "epsilon = 0.5 }", "epsilon = nan }", ["spend", "epsilon must be above 0", "often between"]),
    ("delta above 1", "delta = 1e-6", "delta = 1.5", ["spend", "delta must lie in [0, 1)", "1.5"]),
    ("delta of the budget", "delta = 1e-5", "delta = -0.5", ["budget", "delta must lie in [0, 1)", "-0.5"]),
    ("file that is not there", "people.parquet", "poeple.parquet", ["poeple.parquet", "there is no file", "check"]),
    ("type that does not fit", 'age = { type = "interval", low = 0, high = 120, step = 1 }',
     'age = { type = "categories", values = ["x"] }', ["age", "Categories", "numeric"]),
    ("spend type against budget", "delta = 1e-5", "", ["release 5", "a pure budget takes only pure", "spend Pure"]),
    ("discovery without delta", ", delta = 1e-6 }", " }", ['release 5 ("cities")', "delta"]),
    ("budget exceeded", "epsilon = 4.0", "epsilon = 3.4", ["budget", "'cities'", "Lower the spends"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "words"), [pytest.param(*case[1:], id=case[0]) for case in PLAN_MISTAKES])
def test_a_refused_plan_charges_nothing(place, run, old, new, words):
    text = (place / "plan.toml").read_text()
    if old.startswith("age = {") and "years" in new:
        text = text.replace('column = "age"', 'column = "years"')
    if "categories" in new:  # the rest of the plan must still fit, so that the file's type is what is refused
        start, end = text.index('[[release]]\nname = "mean age by state"'), text.index('[[release]]\nname = "hobbies"')
        text = text[:start] + text[end:]
        start, end = text.index('[[release]]\nname = "median age"'), text.index('[[release]]\nname = "cities"')
        text = text[:start] + text[end:]
        words = ["age", "Categories", "float64", "declare a space that fits"]
    assert old in text
    (place / "plan.toml").write_text(text.replace(old, new, 1))
    done = run("publish", "plan.toml", "--out", "out")
    assert done.code == (3 if "budget" in words and "'cities'" in words else 1)
    for word in words:
        assert word in done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) <= 12
    assert done.out == ""
    ledger = place / "people.ledger"
    assert not ledger.exists() or [entry.kind for entry in sf.Ledger.existing(ledger).entries()] == ["open"]


def test_an_unreadable_table_leaves_no_ledger(place, run):
    (place / "people.parquet").write_bytes(b"this is not parquet, but 31337")
    done = run("publish", "plan.toml")
    assert done.code == 1
    assert "cannot be read as a .parquet file" in done.err
    assert "check that it is complete" in done.err
    assert "31337" not in done.err
    assert not (place / "people.ledger").exists()


def test_a_ledger_of_another_dataset_is_refused(place, run):
    assert run("publish", "plan.toml", "--out", "out").code == 0
    text = (place / "plan.toml").read_text()
    other = text.replace('unit = { column = "id", rows = 1 }', 'unit = "row"\ndataset = "people"')
    (place / "plan.toml").write_text(other)
    done = run("publish", "plan.toml", "--out", "out")
    assert done.code == 1
    assert "unit is Row()" in done.err
    assert "bound to" in done.err


def test_the_same_name_for_another_question_is_refused_and_charges_nothing(place, run):
    assert run("publish", "plan.toml", "--out", "out").code == 0
    (place / "plan.toml").write_text((place / "plan.toml").read_text().replace("k = 2", "k = 1"))
    done = run("publish", "plan.toml", "--out", "out")
    assert done.code == 1
    assert "'hobbies' is already used" in done.err
    assert "new name" in done.err
    assert len(sf.Ledger.existing(place / "people.ledger").entries()) == 11


def test_an_engine_failure_shows_no_data(place, run, monkeypatch):
    def failing(self, statistic):
        raise RuntimeError("the value Zanzibar-canary is in row 7")

    monkeypatch.setattr("sfumato.engines.table.Table.answer", failing)
    done = run("publish", "plan.toml", "--out", "out")
    assert done.code == 1
    assert "failed after its charge, which is spent" in done.err
    assert "Zanzibar" not in done.out + done.err


def test_an_unexpected_failure_is_one_generic_line(place, run, monkeypatch):
    def failing(*_, **__):
        raise RuntimeError("Zanzibar-canary")

    monkeypatch.setattr("sfumato.cli.preview.read_plan", failing)
    done = run("preview", "plan.toml")
    assert done.code == 1
    assert done.err == (
        "sfumato: an unexpected failure; its details are withheld, since they may hold data (kind: RuntimeError)\n"
    )


def test_errors_for_programs_are_json_on_standard_error(place, run):
    done = run("preview", "nowhere.toml", "--json")
    assert done.out == ""
    record = json.loads(done.err)
    assert (record["error"], record["exit_code"], done.code) == ("SchemaError", 1, 1)


@pytest.mark.parametrize(
    "arguments", [["preview"], ["publish", "plan.toml", "--frob"], ["nonsense"], ["ledger", "frob"]]
)
def test_wrong_usage_is_code_2(run, arguments):
    done = run(*arguments)
    assert done.code == 2
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_a_missing_ledger_is_named(place, run, command):
    done = run("ledger", command, "nowhere.ledger")
    assert done.code == 1
    assert "there is no ledger nowhere.ledger" in done.err


def test_a_file_that_is_no_release_is_refused(place, run):
    assert "does not hold a release" in run("show", "people.parquet").err
    assert "another version" in run("show", write(place / "x.json", '{"format": "else"}')).err


def test_a_place_that_cannot_be_written_is_named_before_anything_is_charged(place, run):
    (place / "file").write_text("in the way")
    done = run("publish", "plan.toml", "--out", "file/below")
    assert done.code == 1
    assert "--out: file/below cannot be written" in done.err
    assert "choose a place" in done.err
    ledger = place / "people.ledger"
    assert not ledger.exists() or len(sf.Ledger.existing(ledger).entries()) == 1
    assert "--out: file/x.toml cannot be written" in run("draft", "people.parquet", "--out", "file/x.toml").err


def test_files_that_cannot_be_written_are_made_by_the_next_run_at_no_cost(place, run, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("sfumato.release.Release.save", full)
        done = run("publish", "plan.toml", "--out", "out")
    assert done.code == 1
    assert "No space left" in done.err
    assert "run the same command again at no further cost" in done.err
    assert run("publish", "plan.toml", "--out", "out").code == 0
    assert len(sf.Ledger.existing(place / "people.ledger").entries()) == 11


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan.toml"], ["--release is missing", "'everyone'"]),
        (["plan.toml", "--release", "nobody"], ["no release 'nobody'", "'everyone'"]),
        (["plan.toml", "--release", "cities"], ["discovers its keys", "module:function"]),
        (["plan.toml", "--release", "everyone", "--delta", "0.1"], ["--delta needs --epsilon"]),
        (["plan.toml", "--release", "everyone", "--inputs", "[1]"], ["--inputs", "module:function"]),
        (["os:getcwd", "--epsilon", "1", "--inputs", "open('x')"], ["--inputs must be a Python list"]),
        (["os:getcwd", "--epsilon", "1", "--adjacency", "twins"], ["adjacency must be one of"]),
        (["os:getcwd", "--epsilon", "1", "--fixed-size"], ["fixed_size", "replace"]),
        (["nothing", "--epsilon", "1"], ["module:function"]),
        (["no_such_module:f", "--epsilon", "1"], ["no_such_module"]),
        (["os:sep", "--epsilon", "1"], ["not a function"]),
        (["os:getcwd", "--epsilon", "nan"], ["epsilon must be a finite number"]),
        (["os:getcwd", "--delta", "1.5"], ["delta must lie in"]),
        (["os:getcwd", "--rho", "0.1", "--epsilon", "1"], ["epsilon, or epsilon and delta, or rho"]),
    ],
)
def test_a_wrong_audit_is_explained(place, run, arguments, words):
    done = run("audit", *arguments)
    assert done.code == 1
    for word in words:
        assert word in done.err


def test_hostile_rows_are_published_like_any_others(place, run):
    table = pq.read_table(place / "people.parquet")
    hostile = pa.table({
        "id": pa.array([None, 1, 2], pa.int64()), "age": [float("nan"), 1e308, float("-inf")],
        "state": ["Mars", None, "CA"], "hobbies": [None, ["x"] * 50, []], "city": [None, "", "Big"],
    })  # fmt: skip
    pq.write_table(pa.concat_tables([table, hostile.cast(table.schema)]), place / "people.parquet")
    assert run("publish", "plan.toml", "--out", "out").code == 0
