"""The playground: true answers by plain arithmetic, answers that say they are not private, and no ledger anywhere."""

import math
from itertools import pairwise

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.samples import tidy_people
from sfumato.server.playground.questions import EDGES, QUESTIONS
from sfumato.server.playground.trial import DRAWS, INTERVALS, MOST_ROWS, Trial, Wish

WISH = {"question": "mean", "epsilon": 0.5, "low": 0, "high": 200_000, "rows": 1000, "seed": 3}
SINGLE = [name for name, posed in QUESTIONS.items() if not posed.grouped]


def wish(**changed):
    return Wish(**{**WISH, **changed})


def people(rows):
    """Ages and salaries by another route: the first row of each person, in the order of the table."""
    table = tidy_people(MOST_ROWS).to_pandas().drop_duplicates("person_id").head(rows)
    return table["age"].to_numpy(), table["salary"].to_numpy()


def test_the_truth_is_that_of_the_people():
    age, salary = people(1000)
    found = Trial(wish()).record()
    assert found["truth"] == pytest.approx([salary.mean()])
    assert found["kept"] == pytest.approx([np.clip(salary, 0, 200_000).mean()])
    assert Trial(wish(question="median")).record()["truth"] == pytest.approx([np.median(salary)])
    assert Trial(wish(question="count")).record()["truth"] == [(age >= 65).sum()]
    assert Trial(wish(question="ages")).record()["truth"] == np.histogram(age, EDGES)[0].tolist()


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_answer_says_that_it_is_not_private_and_holds_an_interval_for_each_label(question):
    found = Trial(wish(question=question)).record()
    assert found["guarantee"].startswith("NOT PRIVATE")
    assert "epsilon = 0.5" in found["guarantee"]
    assert found["laboratory"] == "drawn in a laboratory from seed 3"
    assert len(found["labels"]) == len(found["truth"]) == len(found["private"]["estimate"])
    assert all(low <= high for low, high in zip(found["private"]["low"], found["private"]["high"], strict=True))


def test_the_same_sliders_give_the_same_answer_and_another_seed_another():
    assert Trial(wish()).record() == Trial(wish()).record()
    assert Trial(wish()).record()["private"] != Trial(wish(seed=4)).record()["private"]


def test_narrow_bounds_mean_less_noise_and_cut_what_lies_outside():
    wide, narrow = Trial(wish(high=400_000)).record(), Trial(wish(high=60_000)).record()
    assert narrow["errors"][0]["error"] < wide["errors"][0]["error"] / 3
    assert narrow["outside"] > 0.2 > 0.01 > wide["outside"]
    assert narrow["kept"][0] < narrow["truth"][0] - 5000


def test_predicted_errors_fall_with_epsilon_and_with_the_number_of_people():
    few, many = Trial(wish(rows=200)).record()["errors"], Trial(wish(rows=2000)).record()["errors"]
    assert [one["epsilon"] for one in few][:: len(few) - 1] == [0.01, 10.0]
    assert all(before["error"] >= after["error"] for before, after in pairwise(few))
    assert few[0]["error"] > 50 * few[-1]["error"]
    assert few[-1]["error"] > 5 * many[-1]["error"]


@pytest.mark.parametrize("question", SINGLE)
def test_presence_draws_answers_with_one_person_and_without(question):
    """Of 100 intervals at 95 % fewer than 80 cover with probability below 1e-6 (binomial tail: 4e-8)."""
    found = Trial(wish(question=question)).presence()
    assert sum(one["with"] for one in found["bins"]) == sum(one["without"] for one in found["bins"]) == DRAWS
    assert 80 <= found["covered"] <= INTERVALS
    assert found["with"] != found["without"]


def test_the_two_distributions_part_at_a_large_epsilon_only():
    """One person moves a count by one: at epsilon 10 two counts in three are exact, at 0.05 the noise hides it."""

    def apart(epsilon):
        found = Trial(wish(question="count", epsilon=epsilon)).presence()
        assert found["with"] == found["without"] + 1
        return sum(abs(one["with"] - one["without"]) for one in found["bins"]) / (2 * DRAWS)

    assert apart(10) > 0.95
    assert apart(0.05) < 0.4  # 25 bins of 200 draws differ by chance


def test_odds_and_guess_are_those_of_the_guarantee():
    found = Trial(wish(epsilon=1.0)).record()
    assert found["odds"] == pytest.approx(math.e)
    assert found["guess"] == pytest.approx(math.e / (1 + math.e))


def test_no_file_and_no_ledger_is_made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def opened(*_, **__):
        raise AssertionError("the playground opened a ledger")

    monkeypatch.setattr("sfumato.session.opened", opened)
    Trial(wish()).record()
    Trial(wish()).presence()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("question", "salary of Bob"), ("epsilon", 0.0), ("epsilon", 11.0), ("epsilon", math.nan), ("low", -10),
        ("high", 0), ("high", 2_000_000), ("low", 5), ("rows", 10), ("rows", 10**9), ("seed", -1), ("seed", 2**32),
    ],
)  # fmt: skip
def test_what_no_slider_says_is_refused(name, value):
    with pytest.raises(ParameterError, match=r"must be"):
        wish(**{name: value})


def test_a_question_with_several_answers_has_no_single_distribution():
    with pytest.raises(ParameterError, match="several answers"):
        Trial(wish(question="ages")).presence()
