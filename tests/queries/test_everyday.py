"""Shares, ratios, differences of groups, survey weights and standard deviations, from files to stored releases."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.answers.certificate import Certificate
from sfumato.bounds.certificates import certify
from sfumato.errors import ParameterError, SfumatoError
from sfumato.planner import options
from sfumato.plans import read_plan
from sfumato.plans.writing import write_plan
from sfumato.queries import bind
from sfumato.queries.query import Query
from sfumato.queries.vector import VectorQuestion
from sfumato.sampling import DiscreteLaplace, RoundedNormal

SPACES = {
    "x": sf.Interval(-2, 8, 0.5),
    "d": sf.Interval(1, 5, 0.25),
    "w": sf.Interval(0, 3, 0.1),
    "g": sf.Categories(["F", "M", "?"]),
    "s": sf.Categories(["n", "s"], other="s", missing="s"),
}


def between(of, groups=("F", "M")):
    return sf.difference(of, across="g", between=groups)


QUESTIONS = [
    sf.share("x >= 3"), sf.share("g == 'F' or x < 0", weight="w"), sf.share("x >= 3").by("s").where("d <= 4"),
    sf.std("x"), sf.mean("x", weight="w").by("s"), sf.sum("x", weight="w"), sf.count(weight="w").by("s"),
    sf.ratio("x", "d"), sf.ratio("x", "w", bounds=(-3, 6)).by("s"), between(sf.count()), between(sf.sum("x")).by("s"),
    between(sf.mean("x")), between(sf.mean("x", weight="w")), between(sf.share("x >= 3")).by("s"),
    between(sf.std("x")), between(sf.ratio("x", "d")), between(sf.sum("x", weight="w"), ("M", "?")),
    sf.correlation("x", "d"), sf.correlation("x", "w").by("s"),
]  # fmt: skip


def frame(n, seed=5):
    rng = np.random.default_rng(seed)
    held = pd.DataFrame({
        "x": rng.normal(3, 4, n).round(1), "d": rng.gamma(3, 1, n).round(2), "w": rng.gamma(2, 0.7, n).round(1),
        "g": rng.choice(["F", "M", "?", "other"], n, p=[0.5, 0.3, 0.1, 0.1]), "s": rng.choice(["n", "s", "e"], n),
    })  # fmt: skip
    for name, bad in itertools.product("xdw", (np.nan, np.inf, -np.inf, 1e300)):
        held.loc[rng.integers(n), name] = bad
    return held


def answered(query, held):
    """What is asked, by pandas on values coerced by the spaces themselves."""
    coerced = pd.DataFrame({name: [space.coerce(v) for v in held[name]] for name, space in SPACES.items()})
    coerced[["x", "d", "w"]] = coerced[["x", "d", "w"]].astype(float)
    kept = coerced[coerced.d <= 4] if query.condition is not None else coerced
    cells = [kept[kept.s == label] for label in ("n", "s")] if query.keys else [kept]
    return np.array([statistic(query.details, cell) for cell in cells])


def statistic(details, rows):
    if details.kind == "difference":
        one, other = (statistic(details.of, rows[rows.g == label]) for label in details.between)
        return one - other
    if details.kind == "count":
        return len(rows)
    weight = rows[details.weight] if getattr(details, "weight", None) else pd.Series(1.0, rows.index)
    if details.kind == "share":
        words = details.condition.words()
        holds = rows.x >= 3 if words == "x >= 3" else (rows.g == "F") | (rows.x < 0)
        return (weight * holds).sum() / weight.sum()
    if details.kind == "ratio":
        both = rows[rows[details.numerator].notna() & rows[details.denominator].notna()]
        return both[details.numerator].sum() / both[details.denominator].sum()
    if details.kind == "correlation":
        return rows[list(details.columns)].dropna().corr().iloc[0, 1]
    column = rows[details.column]
    if details.kind == "std":
        return column.std(ddof=0)
    present = weight.where(column.notna())
    return (present * column).sum() / (present.sum() if details.kind == "mean" else 1)


# from files to stored releases

HEAD = 'format = "sfumato-plan/2"\n[table]\npath = "t.csv"\nunit = "row"\n'


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_answers_from_files_are_those_of_coerced_values(tmp_path, form):
    held = frame(800)
    path = tmp_path / f"t.{form}"
    held.to_csv(path, index=False) if form == "csv" else held.to_parquet(path)
    table = sf.read(path, schema=SPACES, unit=None, size=800)
    for query in QUESTIONS:
        question = bind(query, table.schema)
        assert question.estimate(question.answer(table)) == pytest.approx(answered(query, held), rel=1e-9), query.name


def test_a_plan_asks_for_each_and_its_releases_open_again(tmp_path):
    frame(800).to_csv(tmp_path / "t.csv", index=False)
    columns = "\n".join(
        f"[columns.{name}]\ntype = {type(space).__name__.lower()!r}\n{parts}"
        for name, space, parts in (
            ("x", SPACES["x"], "low = -2\nhigh = 8\nstep = 0.5"), ("w", SPACES["w"], "low = 0\nhigh = 3\nstep = 0.1"),
            ("g", SPACES["g"], 'values = ["F", "M", "?"]'),
        )
    )  # fmt: skip
    releases = [
        'query = "share"\ncondition = "x >= 3"\nweight = "w"\nby = "g"',
        'query = "ratio"\nnumerator = "x"\ndenominator = "w"\nbounds = [-3, 6]',
        'query = "difference"\nof = { query = "mean", column = "x", weight = "w" }\nacross = "g"\nbetween = ["F", "M"]',
        'query = "std"\ncolumn = "x"', 'query = "sum"\ncolumn = "x"\nweight = "w"', 'query = "count"\nweight = "w"',
    ]  # fmt: skip
    asked = "\n".join(f"[[release]]\n{one}\nspend = {{ epsilon = 1 }}" for one in releases)
    (tmp_path / "p.toml").write_text(f"{HEAD}size = 800\n{columns}\n[budget]\nepsilon = 9\n{asked}")
    plan = read_plan(tmp_path / "p.toml")
    assert read_plan(write_plan(plan, tmp_path / "again.json")).releases == plan.releases
    assert [one.query for one in plan.releases][-1] == sf.sum("w")
    session = sf.Session(sf.read(plan.table.path, schema=plan.schema), budget=plan.budget, ledger=tmp_path / "l.ledger")
    for one in plan.releases:
        preview, release = (ask(one.query, spend=one.spend) for ask in (session.preview, session.release))
        assert preview.half_width or preview.half_widths, one.name
        assert isinstance(release.certificate, Certificate)
        path = release.save(tmp_path / f"{one.query.kind}-{len(one.name)}.json")
        again = sf.load(path)
        assert again.table().equals(release.table())
        release.plot()


def test_a_weight_beside_a_share_in_the_budget_is_written_down(tmp_path):
    frame(50)[["x", "w"]].to_csv(tmp_path / "t.csv", index=False)
    columns = "".join(f'[columns.{name}]\ntype = "interval"\nlow = 0\nhigh = 1\n' for name in "xw")
    asked = '[[release]]\nquery = "mean"\ncolumn = "x"\nweight = { column = "w", share = 2 }\n'
    (tmp_path / "p.toml").write_text(f'{HEAD}size = 50\n{columns}[budget]\nepsilon = 1\nsplit = "auto"\n{asked}')
    plan = read_plan(tmp_path / "p.toml")
    assert (plan.releases[0].query, plan.releases[0].weight) == (sf.mean("x", weight="w"), 2)
    assert read_plan(write_plan(plan, tmp_path / "again.json")).releases == plan.releases


def test_records_without_the_new_parts_are_those_of_before():
    assert sf.mean("x").to_record() == {"query": "mean", "column": "x"}
    assert sf.sum("x").to_record() == {"query": "sum", "column": "x"}
    assert sf.count().to_record() == {"query": "count"}


def test_a_cross_table_has_every_pair_both_margins_and_the_total():
    query = sf.crosstab("s", "g")
    assert sf.Query.from_record({"query": "crosstab", "by": ["s", "g"]}) == query
    schema = sf.Schema(SPACES, size=800)
    question, table = bind(query, schema), sf.read(frame(800), schema=schema)
    counts = np.asarray(bind(sf.histogram("s", "g"), schema).answer(table)).reshape(2, 3)
    wanted = [*counts.reshape(-1), *counts.sum(axis=1), *counts.sum(axis=0), counts.sum()]
    assert question.linear.apply(counts.reshape(-1)).tolist() == wanted
    assert query == sf.crosstab(["s", "g"]) == sf.workload(["s", "g"], *query.details.parts)
    assert query.where("x > 2").name.startswith("s by g where")
    with pytest.raises(ParameterError, match="2 to 6 keys"):
        sf.crosstab("s")
    with pytest.raises(ParameterError, match="2 to 6 keys"):
        sf.Query.from_record({"query": "crosstab", "by": "s"})


# intervals

TRIALS = 4000
WIDE = {between(of).name for of in (sf.std("x"), sf.ratio("x", "d"), sf.mean("x", weight="w"))}  # see docs/limits.md
WIDE |= {sf.correlation("x", "d").name}  # of few rows


def coverage(question, exact, noise, rng):
    """How often the interval holds the answer, over so many tables like this one."""
    vector = np.tile(np.asarray(exact, dtype=np.float64), TRIALS)
    if isinstance(noise, RoundedNormal):
        drawn = np.rint(rng.normal(0, noise.sigma, len(vector)))
    else:
        lost = 1 - math.exp(-1 / noise.scale)
        drawn = rng.geometric(lost, len(vector)) - rng.geometric(lost, len(vector))
    low, high = question.interval(vector + drawn, noise, 0.05)
    (truth,) = question.estimate(np.asarray(exact, dtype=object))
    return float(((low <= truth) & (truth <= high)).mean())


@pytest.mark.parametrize("rows", [40, 2000])
def test_intervals_hold_the_answer_as_often_as_they_say_and_hardly_more(rows):
    rng, seen = np.random.default_rng(rows), {}
    schema = sf.Schema(SPACES, size=rows)
    table = sf.read(frame(rows, seed=8), schema=schema)
    for query in QUESTIONS:
        if query.keys:
            continue
        question = bind(query, schema)
        assert isinstance(question, VectorQuestion)
        exact, far = question.answer(table), question.sensitivity("l1")
        for noise in (DiscreteLaplace(far / 0.5), RoundedNormal(question.sensitivity("l2") / 0.5)):
            seen[query.name, type(noise).__name__] = coverage(question, exact, noise, rng)
    low = {name: rate for name, rate in seen.items() if rate < 0.95 - 4 * math.sqrt(0.05 * 0.95 / TRIALS)}
    assert low == {}
    wide = {name for (name, _), rate in seen.items() if rate > 0.985}
    assert rows < 1000 or wide <= WIDE


# certificates


def test_no_mechanism_beats_its_certificate_and_most_have_one():
    rng, certified = np.random.default_rng(6), set()
    for query in QUESTIONS:
        for adjacency in (sf.AddRemove(), sf.Replace()):
            unit = [sf.Row(), sf.Person("id", 2)][rng.integers(2)]
            schema = sf.Schema(SPACES, unit, adjacency, size=int(rng.integers(20, 5000)))
            epsilon = float(10 ** rng.uniform(-1.5, 0.7))
            spend = [sf.Pure(epsilon), sf.Concentrated(epsilon**2 / 2), sf.Approximate(epsilon, 1e-6)][rng.integers(3)]
            question = bind(query, schema)
            verdict = certify(question, options(question, spend)[0].mechanism)  # a broken bound raises
            certified |= {query.name} if isinstance(verdict, Certificate) else set()
    unknown = {query.name for query in QUESTIONS} - certified
    correlations = {query.name for query in QUESTIONS if query.kind == "correlation"}
    assert unknown == {between(sf.std("x")).name, between(sf.ratio("x", "d")).name, *correlations}


@pytest.mark.parametrize(
    "query",
    [sf.share("x >= -2"), sf.share("x >= 3").by(sf.bins("x", -2, 3, 8)), sf.share("g == 'F'").where("g != '?'"),
     sf.mean("x", weight="w").where("w > 1"), between(sf.share("g == 'F'"))],
)  # fmt: skip
def test_where_groups_or_conditions_decide_the_answer_no_bound_is_claimed(query):
    question = bind(query, sf.Schema({**SPACES, "x": sf.Interval(-2, 8, 0.5, missing=0)}, size=100))
    assert not isinstance(certify(question, options(question, sf.Pure(1.0))[0].mechanism), Certificate)


# refusals


PEOPLE_BETWEEN = {"query": "difference", "of": {"query": "count_people"}, "across": "g", "between": ["F", "M"]}


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: sf.share(3), "condition"),
        (lambda: sf.share("x >= 3", weight="g"), "not negative"),
        (lambda: sf.mean("x", weight="x"), "not negative"),
        (lambda: sf.ratio("x", "w"), "bounds"),
        (lambda: sf.ratio("x", "g", bounds=(0, 1)), "numbers"),
        (lambda: sf.ratio("d", "x", bounds=(0, 1)), "negative"),
        (lambda: sf.ratio("x", "d", bounds=(1, 0)), "rise"),
        (lambda: sf.ratio("x", "x"), "two columns"),
        (lambda: between(sf.mean("x"), ("F", "f")), "declared"),
        (lambda: between(sf.mean("x"), ("F", "F")), "two categories"),
        (lambda: between(sf.median("x")), "difference"),
        (lambda: between(sf.mean("x").where("d > 2")), "itself"),
        (lambda: between(sf.mean("x")).by("g"), "key"),
        (lambda: Query.from_record(PEOPLE_BETWEEN), "per_person on the difference"),
        (lambda: sf.difference(sf.mean("x"), across="x", between=(1, 2)), "categories"),
        (lambda: sf.std("g"), "numeric"),
    ],
)
def test_public_mistakes_are_refused_in_words(ask, said):
    with pytest.raises(SfumatoError, match=said):
        bind(ask(), sf.Schema(SPACES, size=100))
