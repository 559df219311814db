"""The public doors under random arguments: only errors of ours come out, no public mistake is charged, and every
stored release loads back equal.
"""

import contextlib
import copy
import datetime
import decimal
import fractions
import inspect
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.auditing import audit_sensitivity
from sfumato.cli import main
from sfumato.errors import SfumatoError
from sfumato.ledger import Ledger
from sfumato.plans import read_plan
from sfumato.reference.scored_choice import ScoredChoice
from sfumato.release import archive

ROWS = 60
ODD = [
    None, True, False, 0, 1, -1, 2**70, 10**400, 0.5, float("nan"), float("inf"), -0.0, 1e308, 5e-324, "", "age", "no",
    "\x00", "\ud800", b"x", [], [1], ["age"], ["age", "age"], [[1, 2]], {}, {"a": 1}, (), ("age", "c"), set(), object(),
    len, float, sf.Pure(1), np.float64(1.5), np.int64(3), np.array([1, 2]), decimal.Decimal("1.5"),
    fractions.Fraction(1, 3), datetime.date(2020, 1, 1), complex(1, 2), range(3), sf.col("age"), sf.count(),
    sf.Interval(0, 1), "a" * 5000, [None], {"rows": ["prefix"]}, "scott",
]  # fmt: skip
COLUMNS = {
    "age": sf.Interval(0, 100, step=1), "c": sf.Categories(["u", "v"]), "s": sf.Subsets(["p", "q"], cap=1),
    "t": sf.Texts(8), "d": sf.Integers(0, 9),
}  # fmt: skip
SPENDS = [sf.Pure(1), sf.Approximate(1, 1e-5), sf.Concentrated(0.1)]
KEYS = ["c", "d", "age", sf.discovered("t"), sf.bins("age", 0, 50, 100), ["c", "d"]]
SENSIBLE = {
    "column": list(COLUMNS), "columns": [["age"], ["age", "d"], "age"], "on": ["age"], "epsilon": [1, 0.5],
    "delta": [1e-6], "rho": [0.1], "low": [0, -5], "high": [10, 100], "step": [1, 0.5], "values": [["a", "b"]],
    "of": [["p", "q"]], "cap": [1], "keys": KEYS, "wanted": ["age >= 3"], "k": [1, 2], "probabilities": [[0.5], 0.25],
    "radius": [1.0], "points": [(0, 1, 2), 10], "spend": SPENDS, "by": ["c", ["c"]], "bandwidth": [5], "rows": [1, 2],
    "target": ["age", "c"], "conditions": [["age > 3"]], "parts": ["prefix", [[1, 0]]], "terms": [{(1,): 1.0}],
    "centers": [[[0.1]]], "sigma": [1.0], "name": ["age"], "query": [sf.count(), sf.mean("age")],
    "schema": [sf.Schema(COLUMNS)],
}  # fmt: skip
CONDITIONS = [
    "age >= 3", "c == 'u'", "c in ['u', 'v']", "'p' in s", "age in 5", "age = 40", "age > 3 AND c == 'u'", "c & t",
    "t == 'x'", "age < 'a'", "not c", "d == 3.5", "age == None", "age > 1 and c != 'v' or not d < 3", "age > 1e400",
    "-1 < age", "a.b > 3", "age[0] > 1", "f(age) > 1", "age in []", "c in 'uv'", "c == True", "1 < 2", "lambda: 0",
    "c == ['u']", "c in [['u']]", "c in {'u': 1}", "\x00", "age > 3" * 2000, " and ".join(["age > 3"] * 3000),
    "not " * 3000 + "age > 3", "(" * 500 + "age > 3" + ")" * 500, "age > " + "9" * 5000,
]  # fmt: skip
QUESTIONS = [
    sf.count(), sf.mean("age"), sf.sum("age"), sf.median("age"), sf.top("s", 1), sf.histogram("c"), sf.variance("age"),
    sf.thresholds("age", rows=3, points=5), sf.density("age", bandwidth=5), sf.workload("c", "prefix"),
]  # fmt: skip
NOT_BUILT = {"Session", "Release", "Check", "audit", "__version__"}  # what is returned, or fuzzed by its methods
DOORS = sorted(
    name
    for name in set(sf.__all__) - NOT_BUILT
    if callable(getattr(sf, name)) and not inspect.ismodule(getattr(sf, name))
)


class Storm:
    """Random calls of everything public, and what of them should not have been."""

    def __init__(self, place, seed):
        self.random, self.problems = random.Random(seed), []
        rows = pa.table({
            "age": [float(i) for i in range(ROWS)], "c": ["u", "v"] * (ROWS // 2), "s": [["p"]] * ROWS,
            "t": ["x", "y"] * (ROWS // 2), "d": [i % 10 for i in range(ROWS)],
        })  # fmt: skip
        table = sf.read(rows, schema=COLUMNS, dataset="d", size=ROWS)
        self.session = sf.Session(table, budget=sf.Approximate(1e6, 0.5), ledger=place / "ledger")

    def call(self, what, function, *given, **named):
        """The result, or None where an error of ours came out; any other is a problem."""
        try:
            return function(*given, **named)
        except SfumatoError as error:
            if len(str(error)) > 20_000:
                self.problems.append(f"{what}: a message of {len(str(error))} characters")
        except Exception as error:
            self.problems.append(f"{what}{given!r:.200}{named!r:.200}: {type(error).__name__} {error!s:.80}")
        return None

    def one(self, *several):
        return self.random.choice([*(item for items in several for item in items)])

    def arguments(self, function):
        """Sensible and odd values for the parameters of a function."""
        given, named = [], {}
        for place in inspect.signature(function).parameters.values():
            sensible = SENSIBLE.get(place.name, [])
            value = self.one(sensible) if sensible and self.random.random() < 0.6 else self.one(ODD)
            if place.kind == place.VAR_POSITIONAL:
                given += [self.one(sensible, ODD) for _ in range(self.random.randrange(3))]
            elif place.kind != place.VAR_KEYWORD and place.name != "progress":
                if place.default is place.empty and place.kind != place.KEYWORD_ONLY and len(named) == 0:
                    given.append(value)
                elif place.default is place.empty or self.random.random() < 0.4:
                    named[place.name] = value
        return given, named

    def release(self, query, spend, name=None):
        before = len(self.session.ledger.entries())
        release = self.call("release", self.session.release, query, spend=spend, name=name)
        if release is None:
            if len(self.session.ledger.entries()) != before:
                self.problems.append(f"charged for a mistake: {query!r:.300} {spend!r}")
            return
        stored = self.session.ledger.find(release.name, release.provenance.digest)
        if stored is None or archive.read(stored.content).to_bytes() != release.to_bytes():
            self.problems.append(f"not stored as shown: {query!r:.300}")
        self.call("words", release.words)
        self.call("table", release.table)

    def turn(self):
        """One random thing that a user might do."""
        turn = self.random.random()
        if turn < 0.5:
            name = self.one(DOORS)
            given, named = self.arguments(getattr(sf, name))
            made = self.call(name, getattr(sf, name), *given, **named)
            for look in ("to_record", "words", "__repr__"):
                if made is not None and hasattr(made, look) and not isinstance(made, type):
                    self.call(f"{name}.{look}", getattr(made, look))
            if isinstance(made, sf.Query):
                self.call("name", lambda: made.name)
                self.release(made, self.one(SPENDS, SPENDS, ODD))
        elif turn < 0.65:
            query = self.call("where", self.one(QUESTIONS).where, self.one(CONDITIONS, ODD))
            self.release(query or sf.count(), self.one(SPENDS))
        elif turn < 0.8:
            keys = [self.one(ODD, KEYS, KEYS) for _ in range(self.random.randrange(1, 3))]
            query = self.call("by", self.one(QUESTIONS).by, *keys)
            self.release(query or sf.count(), self.one(SPENDS))
        elif turn < 0.9:
            made = self.call(
                "compare", getattr(sf.col("age"), self.one(["__lt__", "__eq__", "isin", "contains"])), self.one(ODD)
            )
            self.release(sf.count() if made is None else sf.count().where(made), sf.Pure(1))
        elif turn < 0.95:
            self.release(self.one(QUESTIONS, ODD), self.one(ODD, SPENDS), self.one(ODD))
        else:
            method = getattr(self.session, self.one(["preview", "synthesize", "sanitize", "release"]))
            before = len(self.session.ledger.entries())
            given, named = self.arguments(method)
            if self.call(method.__name__, method, *given, **named) is None:
                assert len(self.session.ledger.entries()) == before, (method.__name__, given, named)


def test_random_calls_raise_our_errors_and_charge_no_mistake(tmp_path):
    storm = Storm(tmp_path, 20261115)
    for _ in range(300):
        storm.turn()
    assert storm.problems == []


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(4))
def test_many_random_calls_raise_our_errors_and_charge_no_mistake(tmp_path, seed):
    storm = Storm(tmp_path, seed)
    for _ in range(3000):
        storm.turn()
    assert storm.problems == []


CHOICES = {
    "good_for": lambda session, odd: session.synthesize(columns=["age"], spend=sf.Pure(1), good_for=odd),
    "cuts": lambda session, odd: session.synthesize(columns=["age"], spend=sf.Pure(1), cuts=odd),
    "split": lambda session, odd: session.release_all([{"query": sf.count()}], split=odd),
    "law": lambda session, odd: ScoredChoice(3, 1.0, 2, 0.25, odd),
    "problem": lambda session, odd: sf.reference.minimax(odd, 100, 1.0),
    "power": lambda session, odd: sf.reference.packing(1, 1.0, 10, power=odd),
    "norm": lambda session, odd: audit_sensitivity(sum, 1.0, bounds=(0.0, 1.0), norm=odd),
    "to": lambda session, odd: sf.Pure(1).to(odd),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize(
    "odd", [np.array([1, 2]), ["both"], {}, object(), pa.array([1, 2]), "no", float("nan")], ids=range(7)
)
def test_what_is_chosen_by_name_refuses_objects_of_any_kind(tmp_path, name, odd):
    session = Storm(tmp_path, 1).session
    with pytest.raises(SfumatoError, match=name):
        CHOICES[name](session, odd)
    assert [entry.kind for entry in session.ledger.entries()] == ["open"]


def test_the_storm_notices_raw_errors_and_wrong_charges(tmp_path, monkeypatch):
    storm = Storm(tmp_path, 1)
    storm.call("raw", lambda: {}["x"])
    assert storm.problems.pop().startswith("raw")
    monkeypatch.setattr(sf.engines.Table, "answer", lambda table, statistic: 1 / 0)
    storm.release(sf.count(), sf.Pure(1))
    assert storm.problems[0].startswith("charged for a mistake")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: sf.difference(sf.count(), across="c", between=0), "between must be a list"),
        (lambda: sf.difference(sf.count(), across="c", between="uv"), "between must be a list"),
        (lambda: sf.Box(0, 1, shape=3, norm=np.array(["l1", "l2"])), "norm must be one of"),
        (lambda: sf.TimeOfDay(10**400), "a time of day is"),
        (lambda: sf.covariance(["age", "d"], radius=1.0, waves=10**400), "waves must be a whole number"),
        (lambda: sf.mean_curve(["age", "d"], waves=-3), "waves must be a whole number"),
        (lambda: sf.extent("age", outside="0.1"), "outside must be a finite number"),
        (lambda: sf.Schema(COLUMNS, size=10**400), "at most 2\\^53"),
        (lambda: sf.read("no.csv", schema=COLUMNS, people="p.csv", attributes=np.array([1, 2])), "attributes must be"),
    ],
)
def test_what_is_of_another_type_or_size_is_refused_in_words(build, words):
    with pytest.raises(SfumatoError, match=words):
        build()


@pytest.mark.parametrize(
    "said", [{"unit": "id"}, {"rows": 2}, {"adjacency": "replace"}, {"size": 7}, {"version": "2"}, {"derived": {}}]
)
def test_what_is_said_beside_a_whole_schema_is_refused_and_not_left_out(said):
    rows = pa.table({"age": [1.0, 2.0]})
    declared = sf.Schema({"age": COLUMNS["age"]}, dataset="d", size=2)
    assert sf.read(rows, schema=declared, dataset="d", size=2).schema == declared
    with pytest.raises(SfumatoError, match=f"{next(iter(said))}= is said beside a Schema"):
        sf.read(rows, schema=declared, **said)


def test_the_other_adjacency_beside_a_schema_is_refused_whichever_it_is():
    rows, replacing = pa.table({"age": [1.0]}), sf.Schema({"age": COLUMNS["age"]}, adjacency=sf.Replace(), size=1)
    assert sf.read(rows, schema=replacing, adjacency="replace").schema == sf.read(rows, schema=replacing).schema
    with pytest.raises(SfumatoError, match="adjacency= is said beside a Schema"):
        sf.read(rows, schema=replacing, adjacency="add-remove")
    assert sf.read(rows, schema={"age": COLUMNS["age"]}, dataset="d").schema.adjacency == sf.AddRemove()


def test_a_share_may_be_a_fraction_and_is_stored_as_a_number():
    asked = sf.extent("age", outside=fractions.Fraction(1, 4))
    assert sf.Query.from_record(json.loads(json.dumps(asked.to_record()))) == asked
    assert "but for 0.25" in asked.name


# plans and the command line

PLAN = {
    "format": "sfumato-plan/1",
    "table": {"path": "t.parquet", "unit": {"column": "id", "rows": 1}, "size": ROWS, "dataset": "d"},
    "columns": {
        "age": {"type": "interval", "low": 0, "high": 100, "step": 1},
        "c": {"type": "categories", "values": ["u", "v"]}, "s": {"type": "subsets", "of": ["p", "q"], "cap": 1},
        "t": {"type": "texts", "longest": 8},
    },
    "budget": {"epsilon": 50.0, "delta": 1e-3},
    "ledger": {"path": "l"},
    "release": [
        {"name": "a", "query": "count", "by": {"discovered": "t"}, "where": "age >= 3",
         "spend": {"epsilon": 1, "delta": 1e-6}},
        {"name": "b", "query": "mean", "column": "age", "by": ["c"], "spend": {"epsilon": 1}},
        {"name": "c", "query": "quantiles", "column": "age", "probabilities": [0.5], "spend": {"epsilon": 1}},
        {"query": "thresholds", "column": "age", "points": 5, "rows": 3, "spend": {"epsilon": 1}},
        {"query": "density", "columns": ["age"], "bandwidth": 5, "spend": {"epsilon": 1, "delta": 1e-6}},
        {"query": "workload", "by": "c", "workload": [{"rows": ["prefix"]}], "spend": {"rho": 0.1}},
    ],
}  # fmt: skip
PLAIN = [
    None, True, 0, -1, 2**70, 10**400, 0.5, 1e308, "", "age", "\x07", "[/x]", [], [1], ["age"], [[1]], {}, {"a": 1},
    "x" * 3000, "nan", float("nan"), float("inf"), {"discovered": "t"}, {"bins": "age", "edges": [0, "x"]}, ["t", "t"],
]  # fmt: skip


SIMILAR = {int: [1, 2, 3, 60], float: [0.5, 1.0, 1e-6], str: ["age", "c", "x", "count", "sum"]}


def mutant(chance):
    """The plan with a part or two replaced, removed or added."""
    plan = copy.deepcopy(PLAN)
    for _ in range(chance.randrange(1, 3)):
        part = plan
        while True:
            key = chance.choice(list(part) if isinstance(part, dict) else range(len(part)))
            if isinstance(part[key], dict | list) and part[key] and chance.random() < 0.8:
                part = part[key]
                continue
            if chance.random() < 0.15 and isinstance(part, dict):
                del part[key]
            elif chance.random() < 0.15 and isinstance(part, dict):
                part["extra"] = chance.choice(PLAIN)
            elif chance.random() < 0.5:
                part[key] = copy.deepcopy(chance.choice(SIMILAR.get(type(part[key]), PLAIN)))
            else:
                part[key] = copy.deepcopy(chance.choice(PLAIN))
            break
    return plan


def test_mutated_plans_are_read_or_refused(tmp_path):
    chance, path = random.Random(7), tmp_path / "plan.json"
    for _ in range(400):
        described = mutant(chance)
        path.write_text(json.dumps(described))
        with contextlib.suppress(SfumatoError):
            read_plan(path)


@pytest.mark.parametrize("text", [
    '{"format": "sfumato-plan/1", "a": ' + "[" * 100_000, '{"a":' * 50_000, "[" * 100_000,
    'format = "sfumato-plan/1"\nx = ' + "[" * 5000, 'format = "sfumato-plan/1"\n' + "a." * 3000 + "b = 1",
    'format = "sfumato-plan/1"\n[[release]]\nquery = ["count"]\nspend = {epsilon = 1}', "\x00", "format = 1e999",
])  # fmt: skip
def test_deep_and_broken_documents_are_refused(tmp_path, text):
    path = tmp_path / ("plan.toml" if text.startswith("format") else "plan.json")
    path.write_text(text)
    with pytest.raises(SfumatoError):
        read_plan(path)


def test_commands_given_mutated_plans_never_charge_a_mistake(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sfumato.cli.publish._report", lambda done, directory, saving, about: directory / "report.html")
    pq.write_table(pa.table({
        "id": range(ROWS), "age": [float(i) for i in range(ROWS)], "c": ["u", "v"] * (ROWS // 2), "s": [["p"]] * ROWS,
        "t": ["x", "y"] * (ROWS // 2),
    }), "t.parquet")  # fmt: skip
    chance, published = random.Random(11), 0
    for number in range(40):
        (tmp_path / "plan.json").write_text(json.dumps(mutant(chance)))
        for file in tmp_path.glob("**/*.ledger"):
            file.unlink()
        (tmp_path / "l").unlink(missing_ok=True)
        with pytest.raises(SystemExit) as ended:
            main(["publish", "plan.json", "--out", f"out{number}"])
        shown = capsys.readouterr()
        assert "Unexpected" not in shown.err
        assert "unexpected failure" not in shown.err
        ledger = tmp_path / "l"
        if ended.value.code and ledger.exists() and "table" not in shown.err:
            assert len(Ledger.existing(ledger).entries()) == 1, shown.err
        published += not ended.value.code
    assert published > 0
