"""Correlations: how far one row moves the six sums, intervals that hold, and what is refused."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.queries import bind
from sfumato.sampling import DiscreteLaplace, RoundedNormal


def asked(one, other, adjacency=None, size=None):
    """The question about two columns of so many steps."""
    columns = {"x": sf.Integers(0, one), "y": sf.Integers(0, other)}
    return bind(sf.correlation("x", "y"), sf.Schema(columns, sf.Row(), adjacency or sf.AddRemove(), size=size))


def sums(question, t, u):
    """The exact answer for rows with these numbers of steps."""
    t, u = np.asarray(t, dtype=object), np.asarray(u, dtype=object)
    totals = [len(t), t.sum(), u.sum(), (t * t).sum(), (u * u).sum(), (t * u).sum()]
    return question.vector(np.array([[total] for total in totals], dtype=object))


@pytest.mark.parametrize(("one", "other"), [(1, 1), (1, 6), (2, 2), (3, 5), (7, 4)])
def test_no_row_moves_the_sums_further_than_claimed_and_some_move_them_that_far(one, other):
    question = asked(one, other)
    points = [sums(question, [t], [u]) for t in range(one + 1) for u in range(other + 1)]
    nothing = [0 * points[0]]
    added = _norms(points)
    assert added == pytest.approx([question.sensitivity(norm) for norm in ("l1", "l2", "linf")], rel=1e-12)
    replaced = asked(one, other, sf.Replace(), size=9)
    found = _norms([a - b for a, b in itertools.combinations(points + nothing, 2)])
    claimed = [replaced.sensitivity(norm) for norm in ("l1", "l2", "linf")]
    assert all(far <= most * (1 + 1e-15) for far, most in zip(found, claimed, strict=True))
    assert found[1:] == pytest.approx(claimed[1:], rel=1e-12)
    assert found[0] >= 0.88 * claimed[0]


def _norms(vectors):
    sizes = np.abs(np.array(vectors)).astype(np.float64)
    return [sizes.sum(axis=1).max(), math.sqrt((sizes**2).sum(axis=1).max()), sizes.max()]


def noisy(question, exact, noise, rng, trials):
    vector = np.tile(exact.astype(np.float64), trials)
    if isinstance(noise, RoundedNormal):
        return vector + np.rint(rng.normal(0, noise.sigma, len(vector)))
    return vector + np.rint(rng.laplace(0, noise.scale, len(vector)))


@pytest.mark.parametrize("strength", [0.0, 0.7, -0.97])
def test_intervals_hold_as_often_as_they_say_and_are_about_as_wide_as_the_noise(strength):
    rng, question, trials = np.random.default_rng(7), asked(100, 4000), 2000
    one, other = rng.normal(size=(2, 20_000))
    other = strength * one + math.sqrt(1 - strength**2) * other
    t = np.clip(np.rint(50 + 15 * one), 0, 100).astype(int)
    u = np.clip(np.rint(2000 + 600 * other), 0, 4000).astype(int)
    exact = sums(question, t, u)
    (truth,) = question.estimate(exact)
    assert truth == pytest.approx(np.corrcoef(t, u)[0, 1], abs=1e-9)
    for noise in (DiscreteLaplace(question.sensitivity("l1") / 0.5), RoundedNormal(question.sensitivity("l2") / 0.5)):
        drawn = noisy(question, exact, noise, rng, trials)
        low, high = question.interval(drawn, noise, 0.05)
        assert 0.95 - 4 * math.sqrt(0.05 * 0.95 / trials) < ((low <= truth) & (truth <= high)).mean() < 0.985
        assert (high - low).mean() / 2 < 1.2 * 1.96 * question.estimate(drawn).std()


def test_where_a_column_hardly_varies_nothing_is_said():
    rng, question = np.random.default_rng(8), asked(10, 10)
    noise = DiscreteLaplace(question.sensitivity("l1"))
    for rows in (0, 3, 5000):
        exact = sums(question, np.full(rows, 4), rng.integers(0, 11, rows)) if rows else sums(question, [], [])
        assert question.estimate(exact) == 0
        low, high = question.interval(noisy(question, exact, noise, rng, 300), noise, 0.05)
        assert ((low == -1) & (high == 1)).mean() > 0.95


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sf.correlation("x", "x"), "two different columns"),
        (lambda: sf.correlation("x", "g"), "columns of numbers"),
        (lambda: sf.correlation("x", "far"), "2\\^30 steps"),
        (lambda: sf.correlation("x", "y").per_person(total=(0, 1)), "per_person"),
        (lambda: sf.Query.from_record({"query": "correlation", "columns": ["x"]}), "two different columns"),
        (lambda: sf.Query.from_record({"query": "correlation", "columns": ["x", "y"], "k": 1}), "no part 'k'"),
    ],
)
def test_mistakes_are_refused_in_words(ask, said):
    columns = {"x": sf.Integers(0, 5), "y": sf.Integers(0, 5), "far": sf.Integers(0, 2**31)}
    with pytest.raises(SfumatoError, match=said):
        bind(ask(), sf.Schema({**columns, "g": sf.Categories(["a", "b"])}))
