"""sfumato sanitize and show: a free preview, then one charge and a file that reads back."""

import json

import pytest

import sfumato as sf


@pytest.fixture
def plan(place):
    """The plan under replacement of single rows."""
    text = (place / "plan.toml").read_text()
    changed = text.replace('unit = { column = "id", rows = 1 }', 'unit = "row"\nadjacency = "replace"')
    (place / "rows.toml").write_text(changed)
    return "rows.toml"


def test_without_out_it_previews_for_free(place, run, plan):
    done = run("sanitize", plan, "--epsilon", 2, "--column", "age", "--column", "state")
    assert done.code == 0, done.err
    for words in ("would cost", "wrong with probability", "--out", "nothing was spent"):
        assert words in done.out
    assert not list(place.glob("*.ledger"))
    shown = json.loads(run("sanitize", plan, "--rho", 0.1, "--column", "state", "--json").out)
    assert (shown["mechanism"], shown["columns"], shown["shuffled"]) == ("sanitization", 1, False)
    assert 0 < shown["mean_error of state"] < 1


def test_what_the_noise_makes_least_is_said(place, run, plan):
    arguments = ["sanitize", plan, "--epsilon", 2, "--column", "age", "--json"]
    spread, distance = (json.loads(run(*arguments, "--least", least).out) for least in ("spread", "distance"))
    assert distance["mean_error of age"] < spread["mean_error of age"]
    assert "least must be one of 'spread', 'distance'" in run(*arguments, "--least", "most").err


def test_with_out_it_publishes_once_and_shows(place, run, plan):
    arguments = ["sanitize", plan, "--epsilon", 3, "--column", "age", "--column", "hobbies"]
    assert run(*arguments, "--out", "made.parquet").code == 0
    made = sf.load(place / "made.parquet")
    assert len(made) == 300
    assert run(*arguments, "--out", "again.parquet").code == 0
    assert sf.load(place / "again.parquet").to_bytes() == made.to_bytes()
    shown = run("show", "made.parquet")
    assert "every later query on this table is free" in shown.out
    assert shown.out.count("\n") >= 15
    ledger = next(place.glob("*.ledger"))
    assert json.loads(run("ledger", "show", ledger, "--json").out)["spent"]["epsilon"] == pytest.approx(3.0)


def test_a_plan_without_a_public_size_is_told_what_to_declare(place, run):
    done = run("sanitize", "plan.toml", "--epsilon", 1, "--column", "age")
    assert done.code != 0
    assert "adjacency" in done.out + done.err
    assert not list(place.glob("*.ledger"))
