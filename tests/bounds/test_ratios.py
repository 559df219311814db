"""Means and variances over private numbers of rows: no program beats the bound, and what is released is near it."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import sfumato as sf
from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.bounds import certify
from sfumato.bounds.ratios import PLACES, least_place
from sfumato.planner import best
from sfumato.privacy.adjacency import AddRemove, Person, Replace
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import bind
from sfumato.queries.ratio_error import mean_place_mean_square, variance_place_mean_square
from sfumato.sampling import DiscreteLaplace, RoundedNormal
from sfumato.spaces.schema import Schema

COLUMNS = {"x": sf.Integers(0, 120), "s": sf.Categories(list("abcdefghij"))}
KINDS = {"mean": sf.mean("x"), "variance": sf.variance("x"), "groups": sf.mean("x").by("s")}


def certificate(query, spend, **declared):
    question = bind(query, Schema(COLUMNS, **declared))
    return certify(question, best(question, spend))


def attained(answers, epsilon, delta=0.0, cuts=4):
    """The least worst mean square of mechanisms whose answers lie among `cuts` points a step, by linear programming."""
    outputs = np.interp(np.arange((len(answers) - 1) * cuts + 1) / cuts, np.arange(len(answers)), answers)
    tables, places = len(answers), len(outputs)
    law = np.arange(tables * places).reshape(tables, places)
    pairs = [(law[t], law[t + 1]) for t in range(tables - 1)]
    pairs += [(b, a) for a, b in pairs]
    first = tables * places + 1
    count = first + (len(pairs) * places if delta else 0)
    rows, limits = [], []
    for number, (a, b) in enumerate(pairs):
        over = first + number * places + np.arange(places)
        for o in range(places):
            row = np.zeros(count)
            row[a[o]], row[b[o]] = 1.0, -math.exp(epsilon)
            if delta:
                row[over[o]] = -1.0
            rows.append(row)
            limits.append(0.0)
        if delta:
            row = np.zeros(count)
            row[over] = 1.0
            rows.append(row)
            limits.append(delta)
    for t in range(tables):
        row = np.zeros(count)
        row[law[t]], row[first - 1] = (outputs - answers[t]) ** 2, -1.0
        rows.append(row)
        limits.append(0.0)
    whole = np.zeros((tables, count))
    for t in range(tables):
        whole[t, law[t]] = 1.0
    goal = np.zeros(count)
    goal[first - 1] = 1.0
    found = linprog(goal, np.array(rows), limits, whole, np.ones(tables), method="highs")
    return float(found.fun)


def answers_of(kind, replaced, units, steps):
    return [units * PLACES[kind, replaced].at(t / units) for t in range(steps + 1)]


@pytest.mark.parametrize(("kind", "replaced"), list(PLACES))
def test_no_program_on_a_longer_chain_beats_the_bound(kind, replaced):
    """What a program attains on a chain that holds the bound's is no less: also with delta."""
    generator = np.random.default_rng(len(kind) + replaced)
    for delta in (0.0, 0.0, 0.01):
        epsilon, units = float(generator.uniform(0.7, 2.5)), float(generator.integers(2, 12))
        claim = Approximate(epsilon, delta) if delta else Pure(epsilon)
        steps = int(min(10, units * PLACES[kind, replaced].turn))
        answers = answers_of(kind, replaced, units, steps)
        least = least_place(claim, units, kind, replaced) * units**2
        assert least <= attained(answers, epsilon, delta) * (1 + 1e-6)


def test_linearizing_at_the_lower_end_would_be_false():
    """The planted wrong version: the count's least mean square over the squared number of rows."""
    from sfumato.bounds.line import least_on_chain

    for epsilon, units, steps in ((1.0, 4.0, 8), (0.6, 6.0, 9)):
        answers = answers_of("mean", False, units, steps)
        attainable = attained(answers, epsilon)
        assert least_on_chain(Pure(epsilon), steps).mean_square > 1.1 * attainable
        assert least_place(Pure(epsilon), units, "mean", False) * units**2 <= attainable


@pytest.mark.parametrize("claim", [Pure(1.0), Concentrated(0.1), Approximate(1.0, 1e-6)])
@pytest.mark.parametrize("kind", ["mean", "variance"])
def test_the_bound_falls_with_the_number_of_rows_and_rises_in_units_of_rows(claim, kind):
    """So a lower limit of a noisy count would state a bound that a table at hand can beat."""
    sizes = (40.0, 100.0, 350.0, 1000.0, 10_000.0)
    least = [least_place(claim, units, kind, False) for units in sizes]
    assert all(a > 1.5 * b for a, b in itertools.pairwise(least))
    scaled = [value * units**2 for value, units in zip(least, sizes, strict=True)]
    assert scaled == sorted(scaled)


@pytest.mark.parametrize(("kind", "most"), [("mean", 1.06), ("variance", 1.08), ("groups", 1.10)])
@pytest.mark.parametrize("spend", [Pure(1.0), Approximate(1.0, 1e-6), Concentrated(0.1)])
def test_releases_of_ten_thousand_rows_are_near_the_best(kind, most, spend):
    found = certificate(KINDS[kind], spend, size=10_000)
    assert isinstance(found, Certificate)
    assert 1 <= found.factor < most
    assert ("1,000 rows in each group" if kind == "groups" else "of 10,000 to 10,") in found.words()


@pytest.mark.parametrize("adjacency", [AddRemove(), Replace()])
@pytest.mark.parametrize("unit", [None, Person("id", 3)])
@pytest.mark.parametrize("spend", [Pure(0.5), Approximate(0.5, 1e-6), Concentrated(0.05)])
def test_every_unit_adjacency_and_guarantee_is_certified(adjacency, unit, spend):
    declared = {"adjacency": adjacency, "size": 20_000, **({"unit": unit} if unit else {})}
    for query in (*KINDS.values(), sf.mean("x").where(sf.col("s") == "a")):
        found = certificate(query, spend, **declared)
        assert isinstance(found, Certificate), query.name
        assert found.factor < (2.4 if isinstance(adjacency, Replace) else 1.5)


@pytest.mark.parametrize("law", [DiscreteLaplace, RoundedNormal])
def test_the_error_on_any_table_stays_below_what_is_said(law):
    generator = np.random.default_rng(4)
    for _ in range(6):
        scale, rows = float(generator.uniform(5, 200)), float(10 ** generator.uniform(0.8, 3))
        noise, total = law(scale), scale * rows
        place = float(generator.choice([0.0, 1.0, min(3 / rows, 0.5), generator.random()]))
        draws = generator.laplace(scale=scale, size=(3, 50_000))
        if law is RoundedNormal:
            draws = generator.normal(scale=scale, size=(3, 50_000))
        a, b, z = np.rint(draws)
        summed = total + a + b
        estimate = np.where(summed > 0, np.clip((place * total + a) / np.where(summed > 0, summed, 1), 0, 1), 0.5)
        assert ((estimate - place) ** 2).mean() < 1.05 * mean_place_mean_square(noise, total)
        summed = np.where((more := total + a + b + z) > 0, more, np.inf)
        square, mean = (place * total + z) / summed, (b / 2 + place * total + z) / summed
        estimate = np.where(more > 0, np.clip(square - mean**2, 0, 0.25), 0.125)
        off = estimate - place * (1 - place)
        assert (off**2).mean() < 1.05 * variance_place_mean_square(noise, total)
    assert mean_place_mean_square(law(50.0), 1e6) < 1.001 * law(50.0).variance / 1e12


def test_a_release_is_certified_for_its_noisy_number_of_rows(tmp_path):
    frame = {"x": np.arange(3000) % 121, "s": np.where(np.arange(3000) % 3, "a", "b")}
    table = sf.read(pa.table(frame), schema=COLUMNS, dataset="d")
    session = sf.Session(table, budget=Pure(9.0), ledger=tmp_path / "ledger")
    asked = sf.mean("x").where(sf.col("s") == "a")
    assert isinstance(session.preview(asked, spend=Pure(1.0)).certificate, NoBoundKnown)  # no size is declared
    found = session.release(asked, spend=Pure(1.0)).certificate
    lower = int(found.worst.split()[2].replace(",", ""))
    assert 2000 <= lower < 2040  # the upper limit of a noisy count of 2,000 rows
    assert found.factor < 1.09
    grouped = session.release(sf.mean("x").by("s"), spend=Pure(1.0)).certificate
    assert isinstance(grouped, Certificate)  # eight of ten groups are empty
    assert "upper limits of its noisy counts" in grouped.words()


def test_groups_of_several_sizes_add_up():
    question = bind(sf.mean("x").by("s"), Schema(COLUMNS, size=10_000))
    mechanism = best(question, Pure(1.0))
    output = np.full(20, 60_000)
    equal = certify(question, mechanism, output)
    output[:2] = 600_000
    unequal = certify(question, mechanism, output)
    assert equal.factor == pytest.approx(unequal.factor, rel=0.01)  # nine small groups weigh most
    assert unequal.bound < equal.bound


def test_groups_have_no_more_rows_together_than_the_declared_size():
    question = bind(sf.mean("x").by("s"), Schema(COLUMNS, adjacency=Replace(), size=100))
    found = certify(question, best(question, Pure(1.0)), np.full(20, 60_000))  # noisy counts of 1,000 and more
    assert found.worst == "table with 10 rows in each group"
    few = bind(sf.mean("x").by("s"), Schema(COLUMNS, adjacency=Replace(), size=7))
    assert isinstance(certify(few, best(few, Pure(1.0)), np.full(20, 60_000)), NoBoundKnown)
