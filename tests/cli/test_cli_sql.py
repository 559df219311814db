"""sfumato sql: how a text is read for nothing, what it would cost for nothing, and one charge with --release."""

import json

import pytest

STATEMENT = "SELECT state, count(*) AS n, avg(age) FROM plan WHERE age >= 18 GROUP BY state"


def test_a_statement_is_read_and_previewed_for_free_then_released_and_stored(place, run):
    read = json.loads(run("sql", "plan.toml", STATEMENT, "--json").out)
    assert [(one["name"], one["question"]) for one in read["questions"]] == [
        ("n", "count by state where age >= 18"), (None, "mean of age by state where age >= 18"),
    ]  # fmt: skip
    seen = run("sql", "plan.toml", STATEMENT, "--epsilon", 0.5)
    assert seen.code == 0, seen.err
    assert "Nothing was spent" in seen.out
    assert "fits" in seen.out
    assert not list(place.glob("*.ledger"))
    refused = run("sql", "plan.toml", STATEMENT, "--release")
    assert refused.code != 0
    assert "--epsilon" in refused.err
    done = json.loads(run("sql", "plan.toml", STATEMENT, "--epsilon", 0.5, "--release", "--json").out)
    ledger = next(place.glob("*.ledger"))
    spent = json.loads(run("ledger", "show", ledger, "--json").out)["spent"]["epsilon"]
    assert 0.49 < spent <= 0.5
    again = json.loads(run("sql", "plan.toml", STATEMENT, "--epsilon", 0.5, "--release", "--json").out)
    assert again == done
    assert json.loads(run("ledger", "show", ledger, "--json").out)["spent"]["epsilon"] == pytest.approx(spent)
    shown = run("sql", "plan.toml", STATEMENT, "--epsilon", 0.5, "--release")
    assert "95% interval" in shown.out


def test_what_is_not_supported_leaves_nothing_behind(place, run):
    for text in ("SELECT * FROM plan", "SELECT count(*) FROM other", "DROP TABLE plan", "SELECT avg(agee) FROM plan"):
        refused = run("sql", "plan.toml", text, "--epsilon", 0.5, "--release")
        assert refused.code == 1
    too_much = run("sql", "plan.toml", "SELECT count(*) FROM plan", "--epsilon", 1e6, "--release")
    assert too_much.code == 3
    assert not list(place.glob("*.ledger"))
