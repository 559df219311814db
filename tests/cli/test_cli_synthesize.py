"""sfumato synthesize: a free preview, then one charge and a file."""

import json
import os
import signal
import subprocess
import sys
import tomllib

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.ledger import Ledger
from sfumato.mechanisms.synthetic.marginals import mechanism
from sfumato.release.tables import METADATA


def test_without_out_it_previews_for_free(place, run):
    done = run("synthesize", "plan.toml", "--epsilon", 2, "--column", "age", "--column", "state")
    assert done.code == 0
    for words in ("would cost", "for 300 rows", "--out"):
        assert words in done.out
    assert not list(place.glob("*.ledger"))
    shown = json.loads(run("synthesize", "plan.toml", "--rho", 0.1, "--column", "state", "--json").out)
    assert shown["pairs"] == 0


def test_with_out_it_publishes_once(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 2, "--column", "age", "--column", "state", "--rows", 50]
    done = run(*arguments, "--out", "made.parquet")
    assert done.code == 0, done.err
    made = sf.load(place / "made.parquet")
    assert len(made) == 50
    assert set(made.to_pandas()["state"].dropna()) <= {"CA", "NY", "TX"}
    again = run(*arguments, "--out", "made.csv", "--json")
    assert json.loads(again.out)["file"] == "made.csv"
    assert pyarrow.csv.read_csv(place / "made.csv").num_rows == 50
    ledger = next(place.glob("*.ledger"))
    assert json.loads(run("ledger", "show", ledger, "--json").out)["spent"]["epsilon"] == 2.0


def test_texts_are_discovered_where_a_delta_is_given(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 3, "--delta", 1e-6, "--column", "age", "--column", "city"]
    assert "those of city are discovered first, for 0.3 of epsilon" in " ".join(run(*arguments).out.split())
    done = run(*arguments, "--out", "made.parquet")
    assert done.code == 0, done.err
    made = sf.load(place / "made.parquet")
    assert set(made.to_pandas()["city"].dropna()) <= {*made.method["texts"]["city"], "other"}
    assert "texts found" in run("show", "made.parquet").out
    assert run("ask", "made.parquet", "count", "--by", "city").code == 0
    assert run("more", "made.parquet", "--rows", 7, "--out", "more.csv").code == 0
    assert pyarrow.csv.read_csv(place / "more.csv").column_names == ["age", "city"]


WIDE = "low = 0, high = 1000000, step = 1"


def widened(place):
    """The plan with ages in bounds that are far too wide; its part before the releases."""
    text = (place / "plan.toml").read_text().replace("low = 0, high = 120, step = 1", WIDE)
    assert WIDE in text
    (place / "plan.toml").write_text(text)
    return text.split("[[release]]")[0]


def test_where_values_lie_is_found_where_cuts_are_named(place, run):
    widened(place)
    arguments = ["synthesize", "plan.toml", "--epsilon", 4, "--column", "age", "--column", "state"]
    assert "or name the column in cuts=" in " ".join(run(*arguments).out.split())
    cut = [*arguments, "--cuts", "age"]
    assert "where values of age lie is found first, for 0.4 of epsilon" in " ".join(run(*cut).out.split())
    assert run(*cut, "--out", "made.parquet").code == 0
    made = sf.load(place / "made.parquet")
    assert made.to_pandas()["age"].median() == pytest.approx(45, abs=15)
    assert run("ask", "made.parquet", "count", "--by", "state").code == 0
    assert run("more", "made.parquet", "--rows", 7, "--out", "more.csv").code == 0
    refused = run(*arguments, "--cuts", "state")
    assert refused.code == 1
    assert "name some of age" in " ".join(refused.err.split())


def test_a_plan_publishes_a_table_with_cuts(place, run):
    entry = '[[release]]\nquery = "synthetic"\ncolumns = ["age"]\ncuts = ["age"]\nspend = { epsilon = 3.0 }\n'
    (place / "plan.toml").write_text(widened(place) + entry)
    assert "synthetic age" in " ".join(run("preview", "plan.toml").out.split())
    assert run("publish", "plan.toml", "--out", "report").code == 0
    tables = [sf.load(path) for path in (place / "report").rglob("*.parquet")]
    assert [made.method["type"] for made in tables] == ["cut-synthesis"]
    assert tables[0].to_pandas()["age"].median() == pytest.approx(45, abs=15)
    assert run("ledger", "verify", next(place.glob("*.ledger"))).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give how much privacy"),
        (["--delta", "1e-6"], "give how much privacy"),
        (["--epsilon", 1, "--rho", 1], "give how much privacy"),
        (["--epsilon", 1, "--out", "made.txt"], "--out must end in .parquet or .csv"),
        (["--epsilon", 1], "the texts of city are not public, and are discovered at a delta"),
        (["--epsilon", 1, "--column", "agee"], "did you mean 'age'"),
        (["--epsilon", 1, "--weight", "age=2", "--weight", "age=3"], "--weight names 'age' twice"),
        (["--epsilon", 1, "--target", "age", "--weight", "age=500"], "at most 250 may be given"),
    ],
)
def test_mistakes_are_refused_before_anything_is_charged(arguments, words, place, run):
    done = run("synthesize", "plan.toml", *arguments)
    assert done.code != 0
    assert words in " ".join((done.out + done.err).split())
    assert not list(place.glob("*.ledger"))


@pytest.mark.parametrize("out", ["nowhere/made.csv", "folder.csv", "/proc/made.csv", "circle.csv", "lost.csv"])
def test_a_place_that_cannot_be_written_is_found_before_the_charge(out, place, run):
    (place / "folder.csv").mkdir()
    (place / "circle.csv").symlink_to(place / "circle.csv")
    (place / "lost.csv").symlink_to(place / "nowhere" / "made.csv")
    done = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "state", "--out", out)
    assert done.code == 1
    assert "cannot be written" in done.err
    assert "nothing was charged" in done.err
    assert not list(place.glob("*.ledger"))


def test_what_is_stored_says_that_it_costs_nothing(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 1, "--column", "state", "--out", "made.csv"]
    assert "stored" not in run(*arguments).out
    assert "nothing now: it was stored" in run(*arguments).out
    assert json.loads(run(*arguments, "--json").out)["stored"] is True


def test_a_preview_says_whether_the_budget_has_room(place, run):
    arguments = ["synthesize", "plan.toml", "--column", "state"]
    assert "budget fits" in " ".join(run(*arguments, "--epsilon", 1).out.split())
    assert "does NOT fit" in run(*arguments, "--epsilon", 1000).out
    text = (place / "plan.toml").read_text()
    pure = text[: text.index("[budget]")] + "[budget]\nepsilon = 4\n\n" + text[text.index("[[release]]") :]
    (place / "plan.toml").write_text(pure)
    done = run(*arguments, "--rho", 0.1)
    assert done.code == 1
    assert "pure budget" in done.err


def test_rules_are_kept_and_more_rows_are_drawn_for_nothing(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 2, "--column", "age", "--column", "state", "--rows", 60]
    done = run(*arguments, "--keep", "age >= 30", "--keep", "state != 'CA' or age < 50", "--out", "made.parquet")
    assert done.code == 0, done.err
    made = sf.load(place / "made.parquet").to_pandas()
    assert (made["age"].dropna() >= 30).all()
    assert not (made["age"][made["state"] == "CA"] >= 50).any()
    more = run("more", "made.parquet", "--rows", 40, "--given", "state != 'CA'", "--out", "more.csv")
    assert more.code == 0, more.err
    assert "nothing" in more.out
    rows = pyarrow.csv.read_csv(place / "more.csv").to_pandas()
    assert len(rows) == 40
    assert set(rows["state"]) <= {"NY", "TX"}
    assert (rows["age"].dropna() >= 30).all()
    for wrong, words in [
        (["--keep", "age > 30 and age < 20"], "no row was found"),
        (["--keep", "age >"], "cannot read the rule"),
    ]:
        refused = run(*arguments, *wrong)
        assert refused.code == 1
        assert words in refused.err
    refused = run("more", "made.parquet", "--rows", 5, "--given", "age < 10", "--out", "none.csv")
    assert refused.code == 1
    assert "0 are such" in " ".join(refused.err.split())
    assert run("more", "plan.toml", "--rows", 5, "--out", "more.csv").code == 1


def test_a_plan_names_rules_and_those_that_contradict_are_found_before_the_charge(place, run):
    head = (place / "plan.toml").read_text().split("[[release]]")[0]
    entry = '[[release]]\nname = "made"\nquery = "synthetic"\ncolumns = ["age", "state"]\nspend = { epsilon = 1.0 }\n'
    (place / "plan.toml").write_text(head + entry + """keep = ["age >= 30", "state == 'CA' or age >= 40"]\n""")
    done = run("publish", "plan.toml", "--out", "report")
    assert done.code == 0, done.err
    made = sf.load(place / "report" / "releases" / "made.parquet").to_pandas()
    assert (made["age"].dropna() >= 30).all()
    assert not (made["age"][made["state"] == "NY"] < 40).any()
    (place / "plan.toml").write_text(head + entry.replace("made", "other") + 'keep = ["age > 50", "age < 40"]\n')
    refused = run("publish", "plan.toml", "--out", "report")
    assert refused.code == 1
    assert "no row was found" in " ".join((refused.out + refused.err).split())


@pytest.mark.parametrize("command", ["synthesize", "sanitize"])
def test_what_is_read_is_never_written_over(command, place, run):
    held = {file: file.read_bytes() for file in place.iterdir() if file.is_file()}
    data = next(file for file in held if file.suffix in (".csv", ".parquet"))
    (place / "linked.csv").hardlink_to(data)
    for out in (data.name, "linked.csv"):
        done = run(command, "plan.toml", "--epsilon", 1, "--column", "state", "--out", out)
        assert done.code == 1
        assert "choose another file" in done.err
    assert {file: file.read_bytes() for file in held} == held
    assert not list(place.glob("*.ledger"))


def test_rows_do_not_join_the_files_that_a_pattern_stands_for(place, run):
    data = next(file for file in place.iterdir() if file.suffix in (".csv", ".parquet"))
    text = (place / "plan.toml").read_text()
    (place / "plan.toml").write_text(text.replace(f'"{data.name}"', f'"*{data.suffix}"\ndataset = "all"'))
    done = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "state", "--out", f"made{data.suffix}")
    assert done.code == 1
    assert "choose another file" in done.err


def test_a_second_table_of_the_same_columns_takes_a_name(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 0.5, "--column", "age", "--column", "state"]
    assert run(*arguments, "--out", "made.parquet").code == 0
    changed = [*arguments, "--keep", "age >= 18"]
    refused = run(*changed, "--out", "other.parquet")
    assert refused.code == 1
    assert "new name" in refused.err
    assert run(*changed, "--name", "adults", "--out", "other.parquet").code == 0
    assert sf.load(place / "other.parquet").name == "adults"
    saved = (place / "other.parquet").read_bytes()
    assert run("more", "other.parquet", "--rows", 5, "--out", "other.parquet").code == 1
    assert (place / "other.parquet").read_bytes() == saved


def without_releases(place):
    """The plan of the table alone."""
    text = (place / "plan.toml").read_text()
    (place / "plan.toml").write_text(text.split("[[release]]")[0])


def left_behind(place):
    return sorted(file.name for file in place.iterdir() if file.name not in ("plan.toml", "people.parquet"))


def test_a_plan_needs_no_releases_where_a_table_is_made_of_it(place, run):
    without_releases(place)
    made = ["--epsilon", 1, "--column", "state", "--rows", 1, "--out", "made.parquet"]
    done = run("synthesize", "plan.toml", *made)
    assert done.code == 0, done.err
    assert ": 1 row of state" in done.out
    assert run("check", "plan.toml").code == 0
    for command in (["preview", "plan.toml"], ["publish", "plan.toml"], ["audit", "plan.toml", "--release", "x"]):
        refused = run(*command)
        assert refused.code == 1
        assert "release is missing; add at least one [[release]]" in " ".join(refused.err.split())
    more = run("more", "made.parquet", "--rows", 1, "--out", "more.csv")
    assert more.out.startswith("1 row like those of")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (["--keep", "age < 10", "--keep", "age > 20"], 1),
        (["--keep", "'chess' in hobbies", "--column", "hobbies"], 1),
        (["--person", "age", "--keep", "age > 3"], 1),
        (["--good-for", "smooth"], 1),
        (["--workload", "none.toml"], 1),
        (["--epsilon", 1000], 3),
        (["--rho", 1, "--epsilon", 1], 1),
        (["--name", "bell \u0007"], 1),
    ],
)
def test_what_is_refused_leaves_nothing_behind(wrong, code, place, run):
    without_releases(place)
    columns = ["--column", "age", "--column", "state"]
    done = run("synthesize", "plan.toml", "--epsilon", 1, *columns, *wrong, "--out", "made.parquet")
    assert done.code == code, done.out
    assert "new, started" not in done.out
    assert left_behind(place) == []


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_workload_is_read_from_a_file(kind, place, run):
    queries = [{"query": "count", "where": "age >= 65"}, {"query": "mean", "column": "age", "by": "state"}]
    lines = ['{ query = "count", where = "age >= 65" }', '{ query = "mean", column = "age", by = "state" }']
    (place / "asked.json").write_text(json.dumps(queries))
    (place / "asked.toml").write_text(f"workload = [\n{','.join(lines)}\n]")
    columns = ["--epsilon", 1, "--column", "age", "--column", "state", "--workload", f"asked.{kind}"]
    shown = run("synthesize", "plan.toml", *columns)
    assert "all of its 2 queries are measured" in " ".join(shown.out.split())
    assert run("synthesize", "plan.toml", *columns, "--rows", 30, "--out", "made.parquet").code == 0
    made = sf.load(place / "made.parquet")
    assert [goal.query for goal in made.question.goals] == [
        sf.count().where("age >= 65"),
        sf.mean("age").by("state"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("workload = []", "workload is empty"),
        ("workload = 3", "a workload is a list"),
        ('workload = ["count"]', "query 1: a query must be a mapping"),
        ('workload = [{ query = "count" }, { query = "count", where = "agee > 3" }]', "did you mean 'age'"),
        ('workload = [{ query = "count" }, { query = "cont" }]', "query 2: "),
        ('workload = [{ query = "count" }]\nother = 1', "nothing beside it"),
        ("workload = [", "is not valid TOML"),
    ],
)
def test_a_workload_that_is_none_is_refused_in_words(text, words, place, run):
    (place / "asked.toml").write_text(text)
    done = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "age", "--workload", "asked.toml")
    assert done.code == 1
    assert words in " ".join(done.err.split())


def test_an_empty_workload_is_refused_in_plans_too(place, run):
    head = (place / "plan.toml").read_text().split("[[release]]")[0]
    entry = '[[release]]\nquery = "synthetic"\ncolumns = ["age"]\nworkload = []\nspend = { epsilon = 1.0 }\n'
    (place / "plan.toml").write_text(head + entry)
    refused = run("publish", "plan.toml", "--out", "report")
    assert refused.code == 1
    assert "workload is empty" in " ".join(refused.err.split())
    assert left_behind(place) == []


def test_a_file_that_cannot_be_replaced_whole_stays_as_it_was(place, run, monkeypatch):
    """A disk that fills up while the file is written: the table is stored, and no half of it lies there."""
    assert run("synthesize", "plan.toml", "--epsilon", 1, "--column", "age", "--out", "made.parquet").code == 0
    before = (place / "made.parquet").read_bytes()
    columns = ["--epsilon", 1, "--column", "state", "--out", "made.parquet"]

    def full(table, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as filled:
        filled.setattr("sfumato.release.tables.TableRelease.save", full)
        done = run("synthesize", "plan.toml", *columns)
    assert done.code == 1
    assert "the same command again at no further cost" in " ".join(done.err.split())
    assert (place / "made.parquet").read_bytes() == before
    assert not [name for name in left_behind(place) if name.startswith(".")]
    assert run("synthesize", "plan.toml", *columns).code == 0
    assert sf.load(place / "made.parquet").rows.column_names == ["state"]


KILLED = """
import os, signal, sys
import sfumato.release.tables as tables
from sfumato.cli import main
from sfumato.mechanisms.synthetic.marginals import mechanism
from sfumato.release.tables import METADATA

def die(*given, **named):
    if sys.argv[1] == "writing":
        given[1].write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[1] == "computing":
    mechanism.synthesized = die
else:
    tables.TableRelease.save = die
main(sys.argv[2:])
"""


@pytest.mark.parametrize(("moment", "charges"), [("computing", 2), ("writing", 1)])
def test_a_killed_command_leaves_a_charge_and_can_be_run_again(moment, charges, place, run):
    """Killed while it computes: the charge stands and nothing was released.  While it writes: the table is stored."""
    earlier = pa.table({"state": ["CA"]}).replace_schema_metadata({METADATA: b'{"provenance": {"dataset": "before"}}'})
    pq.write_table(earlier, place / "made.parquet")
    before = (place / "made.parquet").read_bytes()
    asked = ["synthesize", "plan.toml", "--epsilon", "1", "--column", "state", "--out", "made.parquet"]
    killed = subprocess.run([sys.executable, "-c", KILLED, moment, *asked], cwd=place, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (place / "made.parquet").read_bytes() == before
    kinds = [entry.kind for entry in Ledger.existing(place / "people.ledger").entries()]
    assert kinds == ["open", "charge", "release"][: 2 if moment == "computing" else 3]
    for draft in place.glob(".*.new.parquet"):
        os.utime(draft, (0, 0))  # long ago
    done = run(*asked)
    assert done.code == 0, done.err
    assert ("charged      2 times" in done.out) == (charges == 2)
    assert len(sf.load(place / "made.parquet")) > 0
    ledger = Ledger.existing(place / "people.ledger")
    assert sum(entry.kind == "charge" for entry in ledger.entries()) == charges
    assert ledger.spent().epsilon == charges
    assert ledger.verify().holds
    assert not list(place.glob(".*"))


def test_an_interrupt_waits_for_the_table_that_is_charged(place, run, monkeypatch):
    made = mechanism.synthesized

    def interrupted(*given):
        os.kill(os.getpid(), signal.SIGINT)
        return made(*given)

    monkeypatch.setattr(mechanism, "synthesized", interrupted)
    handler = signal.getsignal(signal.SIGINT)
    done = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "state", "--out", "made.csv")
    assert done.code == 0, done.err
    assert "finishing the release under way" in done.err
    assert (place / "made.csv").exists()
    assert signal.getsignal(signal.SIGINT) is handler


def test_persons_without_columns_of_their_own_are_kept_together(place, run):
    asked = ["synthesize", "plan.toml", "--epsilon", 1, "--column", "age", "--column", "state", "--person", ""]
    done = run(*asked, "--rows", 20, "--out", "made.parquet")
    assert done.code == 0, done.err
    assert sf.load(place / "made.parquet").question.person == ()


def test_a_ledger_without_a_folder_is_refused_and_nothing_is_left(place, run):
    without_releases(place)
    (place / "plan.toml").write_text((place / "plan.toml").read_text() + '[ledger]\npath = "no/people.ledger"\n')
    done = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "state", "--out", "made.csv")
    assert done.code == 1
    assert "directory" in done.err
    assert left_behind(place) == []


@pytest.mark.heavy
def test_a_saved_table_is_asked_for_nothing_and_shows_all_its_errors(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 2, "--column", "age", "--column", "state"]
    assert run(*arguments, "--out", "made.parquet").code == 0
    made = sf.load(place / "made.parquet")
    asked = json.loads(run("ask", "made.parquet", "mean", "--column", "age", "--by", "state", "--json").out)
    assert asked["answers"] == made.ask(sf.mean("age").by("state")).table().to_pylist()
    for query, parts, same in (
        (
            "quantiles",
            ["--column", "age", "--probability", 0.25, "--probability", 0.5],
            sf.quantiles("age", [0.25, 0.5]),
        ),
        ("share", ["--condition", "age >= 40"], sf.share("age >= 40")),
    ):
        asked = json.loads(run("ask", "made.parquet", query, *parts, "--json").out)
        assert asked["answers"] == made.ask(same).table().to_pylist()
    assert "correlation" in run("ask", "made.parquet", "correlation", "--column", "age").err
    shown = run("ask", "made.parquet", "count", "--where", "age >= 40", "--level", 0.5).out
    low, high = made.ask(sf.count().where("age >= 40")).interval(0.5)
    for words in ("count where age >= 40", f" {low:,.0f} ", f" {high:,.0f} ", "cost nothing", "at 0.5"):
        assert words in " ".join(shown.split())
    every = json.loads(run("show", "made.parquet", "--errors", "--json").out)["errors"]
    assert {tuple(row["columns"]) for row in every} == {("age",), ("state",), ("age", "state")}
    assert "age x state" in run("show", "made.parquet", "--errors").out
    for wrong, words in [
        (["made.parquet", "mean", "--column", "agee"], "did you mean 'age'"),
        (["made.parquet", "means"], "is unknown"),
        (["made.csv", "count"], "rows alone"),
        (["plan.toml", "count"], "is asked by sfumato sql plan.toml"),
    ]:
        refused = run("ask", *wrong)
        assert refused.code == 1
        assert words in refused.err


def test_a_csv_says_where_its_record_is(place, run):
    arguments = ["synthesize", "plan.toml", "--epsilon", 1, "--column", "state"]
    assert "record is in the ledger" in " ".join(run(*arguments, "--out", "made.csv").out.split())
    done = run(*arguments, "--out", "made.parquet").out
    assert "record" not in done
    assert "nothing now: it was stored" in done
    assert "sfumato ask made.parquet" in " ".join(done.split())
    assert "next, free" not in run(*arguments, "--out", "made.csv").out


def test_refusals_of_the_budget_say_what_was_asked_what_is_left_and_what_to_do(place, run):
    """The budget is epsilon 4 and delta 1e-5."""
    arguments = ["synthesize", "plan.toml", "--column", "age", "--column", "state"]
    seen = " ".join(run(*arguments, "--epsilon", 1, "--delta", 1e-4).out.split())
    assert "does NOT fit: epsilon 1, delta 0.0001 was asked for" in seen
    assert "and epsilon 4, delta 1e-05 is left (too little delta)" in seen
    assert run(*arguments, "--epsilon", 1, "--delta", 1e-5, "--out", "made.parquet").code == 0
    done = run(*arguments, "--epsilon", 1, "--delta", 1e-5, "--name", "other", "--out", "other.parquet")
    assert done.code == 3
    assert "is left (no delta: spend epsilon alone)" in done.err
    taken = run(*arguments, "--epsilon", 1, "--out", "other.parquet")
    assert taken.code == 1
    assert "in the shell --name" in taken.err


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--target", "stat"], "did you mean 'state'?"),
        (["--keep", "agee > 3"], "did you mean 'age'?"),
        (["--person", "age"], "in a plan unit = {"),
    ],
)
def test_names_that_are_nearly_right_are_guessed_in_the_words_of_the_shell(wrong, words, place, run):
    text = (place / "plan.toml").read_text()
    (place / "plan.toml").write_text(text.replace('unit = { column = "id", rows = 1 }', 'unit = "row"'))
    done = run("synthesize", "plan.toml", "--epsilon", 1, "--column", "age", "--column", "state", *wrong)
    assert done.code == 1
    assert words in done.err


def test_a_page_links_to_the_files_beside_it(place, run):
    head = (place / "plan.toml").read_text().split("[[release]]")[0]
    entry = '[[release]]\nname = "my table"\nquery = "synthetic"\ncolumns = ["age"]\nspend = { epsilon = 1.0 }\n'
    (place / "plan.toml").write_text(head + entry)
    assert run("publish", "plan.toml", "--out", "report").code == 0
    page = (place / "report" / "report.html").read_text()
    [file] = (place / "report" / "releases").glob("*.parquet")
    assert f'<a href="releases/{file.name}">releases/{file.name}</a>' in page


def test_files_that_are_there_and_folders_that_are_read_are_left_alone(place, run):
    """More rows replace no file, and nothing is published among the files of a plan."""
    arguments = ["--epsilon", 2, "--column", "age", "--column", "state"]
    assert run("synthesize", "plan.toml", *arguments, "--out", "made.parquet").code == 0
    (place / "real.csv").write_text("age,state\n30,CA\n")
    refused = run("more", "made.parquet", "--rows", 5, "--out", "real.csv")
    assert refused.code == 1
    assert "is there already" in " ".join(refused.err.split())
    assert (place / "real.csv").read_text() == "age,state\n30,CA\n"
    months = place / "months"
    months.mkdir()
    pq.write_table(pa.table({"age": [30, 40], "state": ["CA", "NY"]}), months / "first.parquet")
    plan = tomllib.loads((place / "plan.toml").read_text())
    plan["table"] = {"path": "months", "dataset": "months", "unit": "row"}
    plan["columns"] = {name: plan["columns"][name] for name in ("age", "state")}
    plan["release"] = [{"name": "all", "query": "count", "spend": {"epsilon": 0.1}}]
    (place / "months.json").write_text(json.dumps(plan))
    refused = run("publish", "months.json", "--out", "months")
    assert refused.code == 1, refused.out
    assert "would replace or join what is read here" in " ".join(refused.err.split())
    assert [path.name for path in months.iterdir()] == ["first.parquet"]
    assert not list(place.glob("months*.ledger"))
