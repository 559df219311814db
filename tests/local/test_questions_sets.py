"""Sets by padding and sampling, and the same question over time."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import LedgerError, ParameterError
from sfumato.local import Client, Collection, Device, estimate
from sfumato.local.client import decode_batch
from sfumato.local.protocols import Duchi, GeneralizedResponse, Rappor
from sfumato.local.questions.longitudinal import Diary, Longitudinal
from sfumato.local.questions.sets import Sets
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import seeded
from statistical import ALPHA

QUESTION = Sets.calibrate(4, Pure(2.0), size=2)
HELD = [[0], [0, 1], [1, 2], [], [0, 2]]  # shares 0.6, 0.4, 0.4, 0
SHARES = np.array([0.6, 0.4, 0.4, 0.0])


# claims: sets


def test_the_channel_is_exact_and_within_its_claim():
    rows = QUESTION.channel()
    assert len(rows) == 5
    assert all(sum(row) == 1 for row in rows)
    worst = max(a / b for one, two in itertools.permutations(rows, 2) for a, b in zip(one, two, strict=True))
    assert math.log(worst) <= QUESTION.guarantee().epsilon <= 2.0


def test_shares_have_the_stated_mean_and_variance():
    """400 collections of 500 owners; chi-square and normal tests at ALPHA / 8, which refuse 40 % off."""
    runs, n = 400, 500
    chosen = np.random.default_rng(seeded(1).word()).integers(0, 5, runs * n)
    reports = QUESTION.randomize([HELD[i] for i in chosen], seeded(2)).reshape(
        runs, n, *QUESTION.response.outputs().shape[1:]
    )
    found = np.array([QUESTION.estimate(QUESTION.tally(part), n) for part in reports])
    scores = (found - SHARES) / np.sqrt(QUESTION.variance(n, SHARES))
    assert np.all(np.abs(scores.mean(axis=0)) * math.sqrt(runs) < stats.norm.isf(ALPHA / 16))
    assert np.all((scores**2).sum(axis=0) < stats.chi2.isf(ALPHA / 16, runs))
    assert np.all((scores**2).sum(axis=0) > stats.chi2.ppf(ALPHA / 16, runs))
    assert np.all(QUESTION.variance(n) >= QUESTION.variance(n, SHARES))


def test_limits_cover_and_larger_sets_lose_items():
    values = HELD * 4000
    tally = QUESTION.tally(QUESTION.randomize(values, seeded(3)))
    low, high = QUESTION.limits(tally, len(values), ALPHA / 4)
    assert np.all((low <= SHARES) & (high >= SHARES))
    full = QUESTION.tally(QUESTION.randomize([[0, 1, 2, 3]] * 20_000, seeded(4)))
    scores = (QUESTION.estimate(full, 20_000) - 0.5) / np.sqrt(QUESTION.variance(20_000, np.full(4, 0.5)))
    assert np.all(np.abs(scores) < stats.norm.isf(ALPHA / 8))  # two of four are kept


def test_what_larger_sets_lose_is_told_where_it_is_declared_sent_and_read(tmp_path):
    apps = Collection("apps", QUESTION, ("a", "b", "c", "d"))
    assert "nobody has more items than 2" in QUESTION.caution()
    found = estimate(apps, [Client(apps).report(["a", "b"])])
    for told in (Client(apps).describe(), Device(apps, tmp_path / "d.db").describe(), found.words(), str(found)):
        assert QUESTION.caution() in " ".join(told.split())
    with pytest.raises(ParameterError, match="one of the 4 labels"):
        Client(apps).report(["a", "zoo"])  # a column drops it, a client does not


anything = st.one_of(
    st.none(), st.integers(), st.text(), st.lists(st.one_of(st.integers(-2, 9), st.text(), st.floats()))
)


@given(values=st.lists(anything, min_size=1, max_size=6))
def test_bad_sets_never_raise(values):
    assert QUESTION.valid(QUESTION.randomize(values, seeded(1))).all()


def test_unknown_and_repeated_items_are_dropped():
    assert QUESTION.coerce([[3, 3, 9, -1, "x", 0], 7, "text"]).tolist() == [[0, 3], [4, 4], [4, 4]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Sets.calibrate(0, Pure(1.0), size=2), "k must"),
        (lambda: Sets.calibrate(4, Pure(1.0), size=0), "size"),
        (lambda: Sets(5, 2, QUESTION.response), "6 categories"),
        (lambda: QUESTION.randomize(3, seeded(1)), "values must be a list"),
        (lambda: Longitudinal(GeneralizedResponse.calibrate(3, Pure(1.0)), 0), "most"),
        (lambda: Longitudinal(Duchi.calibrate(0, 1, Pure(1.0)), 3), "categories"),
    ],
)
def test_wrong_parameters_are_refused_by_name(make, said):
    with pytest.raises(ParameterError, match=said):
        make()


# claims: over time


def test_a_history_costs_as_many_randomizations_as_it_has_values():
    """Exactly: all pairs of histories of one pattern over two values, by enumeration of their joint laws."""
    protocol = GeneralizedResponse.calibrate(3, Pure(1.0))
    rows = protocol.channel()
    losses = []
    for (a, b), (c, d) in itertools.product(itertools.permutations(range(3), 2), repeat=2):
        ratio = max(rows[a][y] * rows[b][z] / (rows[c][y] * rows[d][z]) for y in range(3) for z in range(3))
        losses.append(math.log(ratio))
    claim = Longitudinal(protocol, 2).history().epsilon
    assert max(losses) <= claim <= 2.0
    assert max(losses) == pytest.approx(claim)
    assert Longitudinal(Rappor.calibrate(5, Pure(2.0)), 3).history().implies(Pure(6.0))
    approximate = GeneralizedResponse.calibrate(3, Approximate(1.0, 0.1))
    assert Longitudinal(approximate, 2).history().implies(Approximate(2.0000001, 0.2000001))


def test_the_words_say_what_is_not_protected():
    words = Longitudinal(GeneralizedResponse.calibrate(3, Pure(1.0)), 2).words()
    assert "Not protected: that the value changed, and when" in words
    assert "prove that the value changed" in words
    assert "3rd different value" in words
    assert "can be told from many reports" in Longitudinal(Rappor.calibrate(5, Pure(2.0)), 10).words()


def test_a_diary_repeats_itself_and_never_answers_for_more_values_than_it_may(tmp_path):
    protocol = GeneralizedResponse.calibrate(1000, Pure(2.0))
    diary = Diary(Longitudinal(protocol, 3), tmp_path / "diary", bits=seeded(1))

    def sent(value):
        return int(decode_batch(protocol, diary.report(value)).reports[0])

    first = [sent(value) for value in (5, 6, 7)]
    assert [sent(value) for value in (5, 6, 7, 5)] == [*first, first[0]]
    assert [sent(value) for value in (8, 9, 999)] == [first[0]] * 3  # as the last: 5
    assert [sent(value) for value in (6, 8, 7, 9, 5, 8)] == [first[i] for i in (1, 1, 2, 2, 0, 0)]
    again = Diary(Longitudinal(protocol, 3), tmp_path / "diary", bits=seeded(99))
    assert int(decode_batch(protocol, again.report(8)).reports[0]) == first[0]
    assert int(decode_batch(protocol, again.report(6)).reports[0]) == first[1]
    with pytest.raises(LedgerError, match="another protocol"):
        Diary(Longitudinal(GeneralizedResponse.calibrate(9, Pure(2.0)), 3), tmp_path / "diary").report(1)
