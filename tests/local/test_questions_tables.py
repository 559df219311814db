"""Marginals of several attributes: exact channel, exact variances, smaller tables from larger ones."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sfumato.errors import ParameterError
from sfumato.local.client import Client, decode_batch
from sfumato.local.questions.marginals import Marginals
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import ALPHA

SIZES = (2, 3, 2)
QUESTION = Marginals.calibrate(SIZES, Pure(2.0))


def population(n, seed):
    """Three dependent attributes, and the joint law they come from."""
    joint = np.array([[[4.0, 1], [2, 2], [1, 1]], [[1, 3], [1, 2], [2, 4]]])
    joint /= joint.sum()
    cells = np.random.default_rng(seeded(seed).word()).choice(12, n, p=joint.reshape(-1))
    return np.stack(np.unravel_index(cells, SIZES), axis=1), joint


# claims


def test_the_channel_is_exact_and_within_its_claim():
    rows = QUESTION.channel()
    assert len(rows) == 12
    assert all(sum(row) == 1 for row in rows)
    worst = max(a / b for one, two in itertools.combinations(rows, 2) for a, b in zip(one, two, strict=True))
    assert math.log(worst) <= QUESTION.guarantee().epsilon <= 2.0


def test_smaller_tables_are_exact_on_exact_tallies():
    """Without noise: counts that are exactly the expected supports give the exact tables."""
    _, joint = population(10, 1)
    pieces = []
    for subset, protocol in zip(QUESTION.subsets, QUESTION.tables, strict=True):
        table = joint.sum(axis=tuple(i for i in range(3) if i not in subset)).reshape(-1)
        law = np.array([[float(p) for p in row] for row in protocol.channel()])
        tallies = np.array([protocol.tally(protocol.outputs()[i : i + 1]) for i in range(len(law[0]))])
        pieces.append(np.concatenate([[10**9], np.rint(10**9 * (table @ law @ tallies))]))
    tally = np.concatenate(pieces).astype(np.int64)
    for chosen in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2)):
        expected = joint.sum(axis=tuple(i for i in range(3) if i not in chosen))
        found, variance = QUESTION.table(tally, chosen)
        assert found == pytest.approx(expected, abs=1e-6)
        assert variance.shape == expected.shape
    assert QUESTION.estimate(tally, 3 * 10**9).sum() == pytest.approx(3, abs=1e-5)


# accuracy


def test_tables_have_the_stated_mean_and_variance():
    """400 collections of 900 owners; chi-square and normal tests at ALPHA / 20, which refuse 40 % off."""
    runs, n = 400, 900
    values, joint = population(runs * n, 2)
    reports = QUESTION.randomize(values, seeded(3)).reshape(runs, n, -1)
    tallies = [QUESTION.tally(part) for part in reports]
    truth = np.concatenate(
        [joint.sum(axis=2).reshape(-1), joint.sum(axis=1).reshape(-1), joint.sum(axis=0).reshape(-1)]
    )
    errors = np.array([QUESTION.estimate(tally, n) for tally in tallies]) - truth
    scores = errors / np.sqrt(QUESTION.variance(n, truth))
    assert np.all(np.abs(scores.mean(axis=0)) * math.sqrt(runs) < stats.norm.isf(ALPHA / 40))
    spread = (scores**2).sum(axis=0)
    assert np.all(spread < stats.chi2.isf(ALPHA / 40, runs))
    assert np.all(spread > stats.chi2.ppf(ALPHA / 40, runs))
    assert np.all(QUESTION.variance(n) >= QUESTION.variance(n, truth))
    single = np.array([QUESTION.table(tally, (1,))[0] for tally in tallies]) - joint.sum(axis=(0, 2))
    stated = np.mean([QUESTION.table(tally, (1,))[1] for tally in tallies], axis=0)
    assert np.all(np.abs((single**2).mean(axis=0) / stated - 1) < 7 * math.sqrt(2 / runs))


def test_limits_cover_every_cell():
    values, joint = population(30_000, 4)
    tally = QUESTION.tally(QUESTION.randomize(values, seeded(5)))
    low, high = QUESTION.limits(tally, 30_000, ALPHA / 20)
    truth = np.concatenate(
        [joint.sum(axis=2).reshape(-1), joint.sum(axis=1).reshape(-1), joint.sum(axis=0).reshape(-1)]
    )
    assert np.all((low <= truth) & (truth <= high))
    assert (high - low).max() < 0.2


# refusals

anything = st.one_of(
    st.none(), st.integers(), st.floats(), st.text(), st.lists(st.one_of(st.none(), st.text()), max_size=4)
)


@given(rows=st.lists(anything, min_size=1, max_size=5))
def test_bad_rows_never_raise(rows):
    assert QUESTION.valid(QUESTION.randomize(rows, seeded(1))).all()


def test_a_client_sends_a_row_and_a_short_row_counts_as_the_last_cells():
    assert len(decode_batch(QUESTION, Client(QUESTION, bits=seeded(1)).report([0, 1, 1]))) == 1
    assert QUESTION.coerce([[0, 1], [0, 5, "x"]]).tolist() == [[1, 2, 1], [0, 2, 1]]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Marginals.calibrate([], Pure(1.0)), "sizes"),
        (lambda: Marginals.calibrate([2, 1], Pure(1.0)), "sizes"),
        (lambda: Marginals.calibrate([2, 2], Pure(1.0), order=3), "order"),
        (lambda: Marginals(SIZES, 1, QUESTION.tables), "tables"),
        (lambda: QUESTION.coerce(np.zeros((3, 2))), "3 columns"),
        (lambda: QUESTION.table(np.zeros(QUESTION.cells), (0, 1)), "no report"),
        (lambda: QUESTION.table(np.zeros(QUESTION.cells), (1, 0)), "in order"),
        (lambda: QUESTION.table(np.zeros(QUESTION.cells), (0, 1, 2)), "were not asked"),
    ],
)
def test_wrong_parameters_are_refused_by_name(make, said):
    with pytest.raises(ParameterError, match=said):
        make()
