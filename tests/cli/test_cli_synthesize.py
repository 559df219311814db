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
        (["--epsilon", 1], "'hobbies' must hold numbers, dates or categories"),
        (["--epsilon", 1, "--column", "agee"], "did you mean 'age'"),
    ],
)
def test_mistakes_are_refused_before_anything_is_charged(arguments, words, place, run):
    done = run("synthesize", "plan.toml", *arguments)
    assert done.code != 0
    assert words in " ".join((done.out + done.err).split())
    assert not list(place.glob("*.ledger"))


@pytest.mark.parametrize("out", ["nowhere/made.csv", "folder.csv"])
def test_a_place_that_cannot_be_written_is_found_before_the_charge(out, place, run):
    (place / "folder.csv").mkdir()
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
