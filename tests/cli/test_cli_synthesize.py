"""sfumato synthesize: a free preview, then one charge and a file."""

import json

import pyarrow.csv
import pytest

import sfumato as sf


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give what to spend"),
        (["--delta", "1e-6"], "give what to spend"),
        (["--epsilon", 1, "--rho", 1], "give what to spend"),
        (["--epsilon", 1, "--out", "made.txt"], "--out must end in .parquet or .csv"),
        (["--epsilon", 1], "'hobbies' must hold numbers or categories"),
        (["--epsilon", 1, "--column", "agee"], "did you mean 'age'"),
    ],
)
def test_mistakes_are_refused_before_anything_is_charged(arguments, words, place, run):
    done = run("synthesize", "plan.toml", *arguments)
    assert done.code != 0
    assert words in " ".join((done.out + done.err).split())
    assert not list(place.glob("*.ledger"))
