"""What is most easily got wrong is refused, uncharged, by argument, reason and way on.

Each line: what somebody does, then parts of the message.  Every message says where (argument, column, file, option) and
what is allowed or what to do.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from sfumato.cli import main

FRAME = pd.DataFrame(
    {"age": [30, 40] * 50, "team": ["north", "south"] * 50, "person": range(100), "day": ["2026-01-05"] * 100}
)
COLUMNS = {
    "age": sf.Integers(0, 120),
    "team": sf.Categories(["north", "south"]),
    "day": sf.Dates("2026-01-01", "2026-12-31"),
}
LETTERS = sf.local.Client(sf.local.collect("letters", ["a", "b"], spend=1.0, people=9))
TEXTS = {"team": sf.Texts(longest=9)}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    table = sf.read(FRAME, schema=COLUMNS, dataset="mistakes", size=100)
    opened = sf.Session(table, budget=sf.Pure(1.0), ledger=tmp_path_factory.mktemp("mistakes") / "ledger")
    opened.release(sf.count(), spend=0.1, name="rows")
    opened.release(sf.count().by("team"), spend=0.1, name="teams")
    return opened


def read(schema=None, source=FRAME, **terms):
    return sf.read(source, schema=COLUMNS if schema is None else schema, **({"dataset": "mistakes"} | terms))


def ask(session, query, **terms):
    return session.preview(query, **({"spend": 0.1} | terms))


def opened(**terms):
    return lambda s: sf.Session(**({"table": read(), "budget": 1.0, "ledger": s.ledger.path.parent / "new"} | terms))


DECLARING = [
    (lambda s: read(dataset=None), ["dataset=", "not a file", "name"]),
    (lambda s: read(source="people.parqet"), ["people.parqet", "no file", "check the path"]),
    (lambda s: read(["age"]), ["columns", "must map", "Interval(0, 120)"]),
    (lambda s: read({"age": int}), ["'age'", "needs a space", "Interval(low, high)"]),
    (lambda s: read({"age": (0, 120)}), ["'age'", "needs a space", "Interval(low, high)"]),
    (lambda s: read({"aeg": sf.Integers(0, 1)}), ["'aeg'", "no column", "Correct the name"]),
    (lambda s: read(unit="persn", rows=2), ["'persn'", "no column", "Correct the name"]),
    (lambda s: read(unit="person"), ["unit='person'", "rows=", "how many"]),
    (lambda s: read(rows=2), ["rows=", "unit=", "which column"]),
    (lambda s: read(unit="person", rows=0), ["rows", "at least 1", "got 0"]),
    (lambda s: read(adjacency="swap"), ["adjacency", "add-remove, replace", "'swap'"]),
    (lambda s: read(size=-5), ["size", "at least 1", "got -5"]),
    (lambda s: read(adjacency="replace"), ["size=", "public", "declare"]),
    (lambda s: read(adjacency="replace", size=50), ["size=50", "100 rows", "declare size=100"]),
    (
        lambda s: read(source=FRAME[:0], adjacency="replace", size=50),
        ["size=50", "0 rows", "of none there is nothing to replace"],
    ),
    (lambda s: sf.Integers(120, 0), ["low", "below high", "low=120"]),
    (lambda s: sf.Interval(0, float("inf")), ["high", "finite", "inf"]),
    (lambda s: sf.Interval(0, 10, step=3), ["step=3", "not a multiple", "choose a step"]),
    (lambda s: sf.Interval(0, 10, step=0), ["step", "positive", "got 0"]),
    (lambda s: sf.Categories([]), ["values", "empty", "declare at least one"]),
    (lambda s: sf.Categories(["a", "a"]), ["values", "repeats", "once"]),
    (lambda s: sf.Categories("north"), ["values", "a list", "'north'"]),
    (lambda s: sf.Categories(["a", 1]), ["values", "all texts or all whole numbers", "mixture"]),
    (lambda s: sf.Subsets(["a", "b"], cap=3), ["cap", "from 1 to", "got 3"]),
    (lambda s: sf.Dates("01.02.2026", "2026-12-31"), ["low", "a date such as", "'01.02.2026'"]),
]
OPENING = [
    (opened(budget="1"), ["budget", "guarantee such as Pure(1.0)", "str"]),
    (opened(table=FRAME), ["table", "must come from", "sfumato.read"]),
    (opened(ledger="none/x.ledger"), ["none/x.ledger", "does not exist", "create the directory"]),
    (opened(allow=["mixng"]), ["'mixng'", "unknown assumption", "known are mixing"]),
    (lambda s: opened(ledger=s.ledger.path, budget=2.0)(s), ["budget", "bound to", "give budget=Pure(epsilon=1.0)"]),
    (lambda s: sf.Pure(-1), ["epsilon", "at least 0", "got -1"]),
    (lambda s: sf.Pure("1"), ["epsilon", "finite number", "'1'"]),
    (lambda s: sf.Approximate(1.0, 2), ["delta", "[0, 1)", "got 2"]),
    (lambda s: sf.load("nothing.json"), ["nothing.json", "no file", "check the path"]),
    (lambda s: sf.connect("http://data.example", token="t"), ["token", "in the clear", "https://"]),
]
ASKING = [
    (lambda s: s.release(sf.count()), ["spend=", "may cost", "sf.Pure(0.1)"]),
    (lambda s: ask(s, sf.count(), spend="0.1"), ["spend", "Pure(epsilon)", "'0.1'"]),
    (lambda s: s.release(sf.count(), spend=sf.Concentrated(0.1)), ["pure budget", "Concentrated", "spend Pure"]),
    (lambda s: s.release(sf.count(), spend=5.0), ["'count'", "epsilon 5 was asked for", "Ask for less"]),
    (lambda s: ask(s, sf.count(), spend=None, within="small"), ["within", "number", '"1%"']),
    (lambda s: ask(s, "count"), ["query", "sfumato.count()", "str"]),
    (lambda s: ask(s, sf.count), ["query", "sfumato.count()", "function"]),
    (lambda s: ask(s, sf.mean("agee")), ["'agee'", "no column", "did you mean 'age'"]),
    (lambda s: ask(s, sf.mean("team")), ["'team'", "numeric column", "count().by('team')"]),
    (lambda s: ask(s, sf.median("team")), ["'team'", "numeric column", "count().by('team')"]),
    (lambda s: ask(s, sf.count().by("tem")), ["'tem'", "no column", "did you mean 'team'"]),
    (lambda s: ask(s, sf.count().by(sf.bins("age", [18, 65]))), ["bins('age')", "must cover", "begin and end there"]),
    (lambda s: ask(s, sf.count().by(sf.bins("team", [1, 2]))), ["bins('team')", "numeric", "group by 'team' itself"]),
    (lambda s: sf.bins("age"), ["edges", "increasing", "bins('age', 0, 18, 65, 120)"]),
    (lambda s: ask(s, sf.count().where("team == 'North'")), ["'team'", "not a declared", "mean 'north'"]),
    (lambda s: ask(s, sf.count().where("age > ")), ["condition", "ends too early", "^"]),
    (lambda s: ask(s, sf.count().where("abs(age) > 3")), ["condition", "compares a column with a constant", "derived"]),
    (lambda s: sf.count().where(lambda row: row), ["where", "condition", '"age >= 18"']),
    (lambda s: ask(s, sf.quantiles("age", [50])), ["probabilities", "between 0 and 1", "got 50"]),
    (lambda s: ask(s, sf.quantiles("age", [])), ["probabilities", "empty", "at least one"]),
    (lambda s: ask(s, sf.top("team", 0)), ["k", "at least 1", "got 0"]),
    (lambda s: ask(s, sf.top("team", 9)), ["k=9", "2 declared", "ask for fewer"]),
    (lambda s: ask(s, sf.top("age", 2)), ["'age'", "sets or categories", "bins"]),
    (lambda s: ask(s, sf.density("age", bandwidth=-1)), ["bandwidth", "positive", "got -1"]),
    (lambda s: ask(s, sf.density("team", bandwidth=1)), ["'team'", "numeric", "by(...)"]),
    (lambda s: ask(s, sf.synthetic(["aeg"])), ["'aeg'", "no column", "did you mean 'age'"]),
    (lambda s: ask(s, sf.count(), mechanism="laplas"), ["'laplas'", "none that can answer", "choose one of laplace"]),
    (lambda s: ask(s, sf.count().per_person(rows=1)), ["per_person", "several rows a person", "unit="]),
    (lambda s: ask(s, sf.running("day", "2026-01-01", months=3)), ["version", "one period at a time", "2026-01"]),
    (lambda s: s.release(sf.mean("age"), spend=0.1, name="rows"), ["'rows'", "already used", "new name"]),
    (lambda s: float(s.releases["teams"]), ["'teams'", "not one number", "table()"]),
    (lambda s: s.releases["rows"].interval(95), ["level", "between 0 and 1", "0.95"]),
    (lambda s: s.releases["rows"].save("rows.docx"), ["saved as", ".json", "'.docx'"]),
    (lambda s: sf.sql.asked("SELECT avg(agee) FROM mistakes", s.schema), ["'agee'", "no column", "'age'"]),
    (lambda s: sf.sql.asked("SELECT avg(age) FROM mistaks", s.schema), ["'mistaks'", "no table", "FROM mistakes"]),
    (lambda s: sf.sql.asked("SELECT mean(age) FROM mistakes", s.schema), ["'MEAN'", "not supported", "avg"]),
    (lambda s: sf.audit(len, 1.0, inputs=[1.0]), ["claim", "guarantee", "Pure(1.0)"]),
    (lambda s: LETTERS.report("c"), ["2 labels", "exactly as declared", "`other`"]),
    (
        lambda s: sf.Session(read(TEXTS), budget=1.0, ledger=s.ledger.path.parent / "texts").preview(
            sf.count().by("team"), spend=0.5
        ),
        ["'team'", "not public", "discovered('team')"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "parts"), [*DECLARING, *OPENING, *ASKING])
def test_what_is_wrong_is_said_with_the_argument_the_reason_and_the_way_on(wrong, parts, session):
    spent = session.spent
    with pytest.raises(sf.errors.SfumatoError) as refusal:
        wrong(session)
    assert [part for part in parts if part not in str(refusal.value)] == [], str(refusal.value)
    assert session.spent == spent


@pytest.mark.parametrize(
    ("name", "meant"),
    [("avg", "sf.mean"), ("quantile", "sf.quantiles"), ("densty", "sf.density"), ("var", "sf.variance")],
)
def test_names_of_elsewhere_lead_to_ours(name, meant):
    with pytest.raises(AttributeError, match=f"did you mean {meant}"):
        getattr(sf, name)


PLAN = """format = "sfumato-plan/2"
table = { path = "table.csv", dataset = "d", unit = "row", size = 2 }
columns.age = { type = "integers", low = 0, high = 10 }
budget = { epsilon = 1.0 }
ledger = { path = "table.ledger" }
release = [{ name = "n", query = "count", spend = { epsilon = 0.5 } }]
"""
PLANS = [  # what stands in the plan, what is written instead, and parts of the message
    ('format = "sfumato-plan/2"\n', "", ["plan.toml", "not a plan", 'format = "sfumato-plan/2"']),
    ("plan/2", "plan/9", ["plan.toml", "not a plan", 'format = "sfumato-plan/2"']),
    ("spend =", "cost =", ['release 1 ("n"), cost', "not known", "spend"]),
    ('"count"', '"cuont"', ['release 1 ("n")', "'cuont' is unknown", "did you mean 'count'"]),
    ('query = "count"', 'query = "mean", column = "agee"', ["'agee'", "no column", "did you mean 'age'"]),
    ('query = "count"', 'query = "mean"', ["release 1", "a mean needs the column", "give column"]),
    ("low = 0, ", "", ["columns.age", "low is missing", "declare low"]),
    ('"integers"', '"integer"', ["columns.age", "'integer'", "choose one of interval, integers"]),
    ("budget = { epsilon = 1.0 }\n", "", ["budget", "missing", "add [budget]"]),
    ("{ epsilon = 0.5 }", "0.5", ["spend", "no kind of privacy", "spend = { epsilon = 0.5 }"]),
    ("{ epsilon = 0.5 }", "{ eps = 0.5 }", ["spend.eps", "not known", "epsilon"]),
    ("table.csv", "other.csv", ["table", "no file other.csv", "check the path"]),
    ("epsilon = 0.5", "epsilon = 5", ["'n'", "does not fit", "Lower the spends"]),
]
COMMANDS = [
    ("preview people.toml", ["people.toml", "there is no plan", "sfumato draft"]),
    ("preview table.csv", ["table.csv", "is a table, not a plan", "sfumato draft"]),
    ("publsh plan.toml", ["'publsh'", "No such command", "Did you mean 'publish'"]),
    ("publish plan.toml --output x", ["--output", "No such option", "--out"]),
    ("synthesize plan.toml", ["epsilon", "how much privacy", "got nothing"]),
    ("synthesize plan.toml --epsilon one", ["--epsilon", "Invalid value", "number"]),
    ("ledger show none.ledger", ["none.ledger", "no ledger", "check the path"]),
    ("show none.json", ["none.json", "no file", "check the path"]),
    ("audit nothing --epsilon 1", ["target", "'nothing'", "module:function"]),
    ("audit nothing:here --epsilon 1", ["'here'", "no 'here' in a module", "where it can be imported"]),
    ("draft table.csv", ["table.csv", "only you know", "--header"]),
    ("serve plan.toml", ["plan.toml", "nobody may ask", "[analysts.NAME]"]),
    ("estimate none.json", ["none.json", "no collection", "check the path"]),
    ("epsilon --gaussian 20", ["delta", "to hear of epsilon", "--at"]),
]


def said(arguments, folder, monkeypatch, capsys, plan=PLAN):
    (folder / "table.csv").write_text("age\n1\n2\n")
    (folder / "plan.toml").write_text(plan)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code != 0
    assert not Path("table.ledger").exists() or sf.Ledger.existing("table.ledger").spent() == sf.Pure(0.0)
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("old", "new", "parts"), PLANS)
def test_mistakes_in_plans_are_said_with_their_place(old, new, parts, tmp_path, monkeypatch, capsys):
    assert old in PLAN
    words = said(["publish", "plan.toml"], tmp_path, monkeypatch, capsys, PLAN.replace(old, new))
    assert [part for part in parts if part not in words] == [], words


@pytest.mark.parametrize(("command", "parts"), COMMANDS)
def test_mistakes_in_commands_are_said_with_the_way_on(command, parts, tmp_path, monkeypatch, capsys):
    words = said(command.split(), tmp_path, monkeypatch, capsys)
    assert [part for part in parts if part not in words] == [], words


def test_there_are_at_least_fifty_of_them():
    assert len([*DECLARING, *OPENING, *ASKING, *PLANS, *COMMANDS]) >= 100


def test_shells_complete_commands_and_options(monkeypatch, capsys):
    monkeypatch.setenv("_SFUMATO_COMPLETE", "complete_bash")
    for words, place, found in [("sfumato pre", "1", "preview"), ("sfumato publish --", "2", "--new-ledger")]:
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", place)
        with pytest.raises(SystemExit):
            main([])
        assert found in capsys.readouterr().out.split()


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip() == f"sfumato {sf.__version__}"
