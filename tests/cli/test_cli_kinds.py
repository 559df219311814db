"""A plan that asks every kind of question: published, drawn, printed, shown again, and loaded back equal."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import sfumato as sf
from sfumato.plans import read_plan, write_plan
from sfumato.queries.kinds import ALIASES, KINDS
from thinned import thinned

CURVE = [f"h{i}" for i in range(4)]
OF_PERSONS = {"rows_per_person"}  # asked only where a person may have several rows
ASKED = {
    "count": [
        {},
        {"by": "sex"},
        {"by": {"discovered": "city"}},
        {"by": [{"discovered": "city"}, "sex"]},
        {"by": {"bins": "age", "edges": [0, 50, 100]}},
    ],
    "sum": [{"column": "age"}],
    "mean": [{"column": "age", "by": ["sex", "ill"], "where": "age >= 18"}],
    "variance": [{"column": "age"}],
    "std": [{"column": "age"}],
    "share": [{"condition": "age >= 65", "by": "sex"}],
    "ratio": [{"numerator": "h0", "denominator": "age", "bounds": [-1, 1]}],
    "difference": [{"of": {"query": "mean", "column": "age"}, "across": "sex", "between": ["f", "m"]}],
    "correlation": [{"columns": ["age", "h0"], "by": "sex"}],
    "crosstab": [{"by": ["sex", "ill"]}],
    "histogram": [{"by": ["sex", "ill"]}, {"by": "age"}],
    "quantiles": [{"column": "age", "probabilities": [0.25, 0.5]}],
    "median": [{"column": "age", "by": "sex"}],
    "top": [{"column": "hobbies", "k": 2}],
    "running": [],  # of versions: tests/test_series.py
    "count_people": [],  # of persons: tests/queries/test_limits.py
    "extent": [{"column": "age", "outside": 0.05}],
    "items": [{"column": "hobbies"}],
    "keys": [{"column": "city"}],
    "choose": [{"scores": {"old": {"query": "count", "where": "age >= 65"}, "age": {"query": "sum", "column": "age"}}}],
    "most_popular": [{"column": "hobbies", "by": "sex"}],
    "workload": [
        {"by": "sex", "workload": [{"rows": ["prefix"]}], "mechanism": "laplace"},
        {
            "by": ["sex", "ill"],
            "workload": [
                {"matrix": [[1, 0, 0, 0.5], [0, 1, 1, -1]], "step": 0.5, "weight": 2},
                {"conditions": ["sex == 'f'"]},
            ],
        },
    ],
    "pca": [{"columns": ["age", *CURVE], "k": 2}],
    "thresholds": [{"column": "age", "points": 40, "rows": 10}, {"column": "age", "points": 3, "rows": 2}],
    "gaussian-mixture": [{"columns": ["age"], "centers": [[0.5]], "sigma": 2.0}],
    "smooth": [{"columns": ["age"], "degrees": [[1]], "coefficients": [1.0]}],
    "density": [{"columns": ["age"], "bandwidth": 10}],
    "distribution": [{"columns": "age", "bandwidth": 5}],
    "mean_curve": [{"columns": CURVE, "radius": 2, "waves": 2}],
    "covariance": [{"columns": CURVE, "radius": 2, "waves": 1}],
    "regression": [{"target": "h0", "columns": "age", "bandwidth": 20}],
    "classification": [{"target": "ill", "columns": ["age"], "bandwidth": [20]}],
    "synthetic": [{"columns": ["age", "sex"], "rows": 50}, {"columns": ["sex", "ill"]}],
    "sanitized": [{"columns": ["sex", {"together": CURVE, "basis": 2}]}, {"columns": ["ill"]}],
    "trigonometric": [{"columns": ["age"], "order": 3, "grid": 20}],
    "small_database": [
        {"by": ["sex", "ill"], "workload": [{"rows": ["each", "total"]}], "rows": 3, "where": "age >= 18"},
        {"by": "sex", "workload": [{"conditions": ["sex == 'f'"]}], "rows": 1, "candidates": [[1, 0], [0, 1]]},
    ],
}
EVERY_LINE = pyarrow.csv.ParseOptions(ignore_empty_lines=False)  # a missing value alone in its row
TABLES = ("synthetic", "sanitized", "trigonometric", "small_database")
PRIVATE_KEYS = {"epsilon": 1.0, "delta": 1e-6}


def plan(place, releases, size=200):
    """A table of everything, and a plan that asks it `releases`."""
    rng = np.random.default_rng(5)
    held = {
        "age": rng.normal(40, 15, 200), "sex": ["f", "m"] * 100, "ill": rng.choice(["n", "y"], 200),
        "city": ["Big", "Large"] * 100, "hobbies": [["chess"], ["judo", "opera"]] * 100,
    }  # fmt: skip
    held |= {name: rng.normal(i, 1, 200) for i, name in enumerate(CURVE)}
    held["hobbies"] = [";".join(items) for items in held["hobbies"]]
    pyarrow.csv.write_csv(pa.table(held), place / "all.csv")
    columns = {
        "age": {"type": "interval", "low": 0, "high": 100, "step": 1},
        "sex": {"type": "categories", "values": ["f", "m"]}, "ill": {"type": "categories", "values": ["n", "y"]},
        "city": {"type": "texts"}, "hobbies": {"type": "subsets", "of": ["chess", "judo", "opera"], "cap": 2},
    }  # fmt: skip
    columns |= {name: {"type": "interval", "low": -5, "high": 5, "step": 0.5} for name in CURVE}
    table = {"path": "all.csv", "unit": "row"} | ({"size": size, "adjacency": "replace"} if size else {})
    record = {
        "format": "sfumato-plan/2", "table": table, "columns": columns, "budget": {"epsilon": 100, "delta": 1e-3},
        "allow": ["mixing"],
        "release": releases,
    }  # fmt: skip
    (place / "all.json").write_text(json.dumps(record))
    return place / "all.json"


def test_every_kind_is_asked():
    assert set(ASKED) | OF_PERSONS == {*KINDS, *ALIASES}


def asked_of(size):
    return [
        {"query": kind, **parts, "name": f"{kind} {number}", "spend": PRIVATE_KEYS}
        for kind, several in ASKED.items()
        if size or kind in ("thresholds", "density", "mean_curve", "gaussian-mixture", "pca")
        for number, parts in enumerate(several)
    ]


def test_a_plan_of_every_kind_reads_back_equal_when_written(place):
    first = read_plan(plan(place, asked_of(200)))
    again = read_plan(write_plan(first, place / "again.json"))
    assert (again.schema, again.budget, again.allow) == (first.schema, first.budget, first.allow)
    assert again.releases == first.releases
    assert {release.query.kind for release in again.releases} >= {*TABLES, "pca", "thresholds", "workload"}
    assert [release.mechanism for release in again.releases if release.mechanism] == ["laplace"]
    assert again.allow == {"mixing"}


def test_every_kind_is_previewed_in_numbers(place, run):
    """Each release has a cost, a ranking and a certificate; a half-width, or words why there is none."""
    path = plan(place, asked_of(200))
    shown = json.loads(run("preview", path, "--json").out)
    assert shown["fits"]
    for seen in shown["releases"]:
        assert 0 <= seen["guarantee"]["epsilon"] <= 1.0 + 1e-9  # what follows from the declared size is free
        assert seen["ranking"][0]["mechanism"] == seen["mechanism"]
        assert seen["error_in_words"]
        assert seen["half_width"] is None or seen["half_width"] >= 0
        assert {"factor", "floor", "no_bound_known"} & seen["certificate"].keys()
    widths = {seen["name"]: seen["half_width"] for seen in shown["releases"]}
    for name in ("count 0", "mean 0", "workload 1", "density 0", "thresholds 0", "trigonometric 0", "small_database 0"):
        assert widths[name] is not None, name
    table = next(seen for seen in shown["releases"] if seen["name"] == "synthetic 0")
    assert table["pairs"] in (0, 1)
    assert 0 < table["column_noise"] < 1
    assert min(table["seconds"], table["megabytes"]) > 0
    assert not list(place.glob("*.ledger"))


@pytest.mark.parametrize("size", thinned([None, 200], 1), ids=["no size", "size"])
def test_every_kind_is_published_and_shown(place, run, size):
    asked = asked_of(size)
    path = plan(place, asked, size)
    done = run("publish", path, "--out", "out")
    assert done.code == 0, done.err
    files = sorted((place / "out" / "releases").glob("*.parquet"))
    assert len(files) == len(asked)
    page = (place / "out" / "report.html").read_text()
    for file in files:
        release = sf.load(file)
        assert all(word in done.out for word in release.name.split())  # a narrow terminal folds names
        assert f"<h2>{release.name}</h2>" in page
        assert run("show", file).code == 0
        if release.name.startswith(TABLES):
            written = pyarrow.csv.read_csv(file.with_suffix(".csv"), parse_options=EVERY_LINE)
            assert (written.num_rows, written.column_names) == (len(release), release.rows.column_names)
        else:
            assert sf.load(file.with_suffix(".json")).to_bytes() == release.to_bytes()


FEW = [
    {"query": "count", "name": "people", "spend": {"epsilon": 1.0}},
    {"query": "synthetic", "columns": ["sex"], "name": "rows", "spend": {"epsilon": 1.0}},
    {"query": "trigonometric", "columns": ["age"], "order": 3, "grid": 20, "name": "grid", "spend": {"epsilon": 1.0}},
]


def test_what_is_stored_is_not_written_again_whole_tables_too(place, run):
    path = plan(place, FEW)
    done = json.loads(run("publish", path, "--out", "out", "--json").out)
    named = [place / release["file"] for release in done["releases"]]
    assert [sf.load(file).name for file in named] == ["people", "rows", "grid"]
    kept = {file: file.stat().st_ino for file in (place / "out").rglob("*.*")}
    assert len(kept) == 7
    assert run("publish", path, "--out", "out").code == 0
    assert {file: file.stat().st_ino for file in (place / "out").rglob("*.*")} == kept
    damaged = named[1].with_suffix(".csv"), named[2]
    damaged[0].unlink()
    damaged[1].write_bytes(named[1].read_bytes())
    assert run("publish", path, "--out", "out").code == 0
    assert damaged[0].is_file()
    assert sf.load(damaged[1]).name == "grid"


def test_files_of_an_earlier_ledger_do_not_outlive_a_run_that_was_cut_short(place, run, monkeypatch):
    path = plan(place, FEW)
    assert run("publish", path, "--out", "out").code == 0
    next(place.glob("*.ledger")).unlink()
    with monkeypatch.context() as cut:
        save, written = sf.Release.save, []

        def save_one(release, target):
            written.append(target)
            if len(written) > 1:
                raise OSError(28, "No space left on device")
            return save(release, target)

        cut.setattr(sf.Release, "save", save_one)
        assert run("publish", path, "--out", "out", "--new-ledger").code == 1
    assert run("publish", path, "--out", "out", "--new-ledger").code == 0
    first = place / "out" / "releases" / "people.json"
    assert sf.load(first).to_bytes() == sf.load(first.with_suffix(".parquet")).to_bytes()
