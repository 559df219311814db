"""Pictures and the page: every kind of release is drawn, labeled, and explained, with nothing fetched."""

import json
import re
import subprocess
import sys

import pyarrow as pa
import pytest
import vl_convert

import sfumato as sf
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.report import marks, plot_budget, plot_release, write_report
from sfumato.report.answers import answers, cost, spaced

SECRET = "Zanzibar-canary"
SALARY = 48_777.31  # one person's


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    count = 600
    table = pa.table({
        "age": [float(i % 90) for i in range(count)],
        "salary": [SALARY if i == 5 else 30_000.0 + 100 * (i % 300) for i in range(count)],
        "state": [("CA", "NY", "TX")[i % 3] for i in range(count)],
        "hobbies": [["chess"] if i % 3 else ["judo", "opera"] for i in range(count)],
        "city": [SECRET if i == 7 else ("Big", "Large")[i % 2] for i in range(count)],
    })  # fmt: skip
    people = sf.read(
        table, dataset="people & <co>", size=count,
        schema={
            "age": sf.Interval(0, 120, step=1), "salary": sf.Interval(0, 100_000, step=10),
            "state": sf.Categories(["CA", "NY", "TX"]), "hobbies": sf.Subsets(["chess", "judo", "opera"], cap=2),
            "city": sf.Texts(30),
        },
    )  # fmt: skip
    ledger = tmp_path_factory.mktemp("report") / "people.ledger"
    return sf.Session(people, budget=sf.Approximate(40.0, 1e-5), ledger=ledger)


AGES = sf.bins("age", 0, 18, 65, 120)
QUERIES = {
    "everyone": sf.count(),
    "total age": sf.sum("age"),
    "mean salary": sf.mean("salary"),
    "spread": sf.variance("age"),
    "by state": sf.count().by("state"),
    "salary by state": sf.mean("salary").by("state"),
    "ages": sf.histogram(AGES),
    "all ages": sf.count().by("age"),
    "grid": sf.count().by("state", AGES),
    "cross table": sf.crosstab("state", AGES),
    "quartiles": sf.quantiles("salary", [0.25, 0.5, 0.75]),
    "medians by state": sf.median("salary").by("state"),
    "hobbies": sf.top("hobbies", 2),
    "hobbies by state": sf.top("hobbies", 2).by("state"),
    "thresholds": sf.Query.from_record(
        {
            "query": "workload",
            "by": [{"bins": "age", "edges": [0, 18, 65, 120]}],
            "workload": [{"rows": ["prefix"]}],
        }
    ),
    "cities": sf.count().by(sf.discovered("city")),
}


@pytest.fixture(scope="module")
def releases(session):
    spends = {"cities": sf.Approximate(2.0, 1e-6)}
    return {name: session.release(q, spend=spends.get(name, sf.Pure(2.0)), name=name) for name, q in QUERIES.items()}


def texts(chart):
    drawn = vl_convert.vegalite_to_svg(chart.to_json())
    return re.sub(r"<[^>]+>", "\n", drawn)


@pytest.mark.parametrize("name", QUERIES)
def test_every_kind_of_release_is_drawn_with_its_name_cost_and_labels(releases, name):
    release = releases[name]
    shown = texts(plot_release(release))
    assert name in shown
    assert "ε 2" in shown
    for column, labels in release.answer.keys.items():
        assert column == "query" or column in shown
        if len(set(labels)) < 10:
            for label in labels:
                assert ("total" if label is None else str(label)) in shown
    if release.question.query.kind == "top":
        assert set(release.value) <= set(shown.split("\n"))
    assert "undefined" not in shown
    assert "NaN" not in shown


@pytest.mark.parametrize(
    ("labels", "angle"), [(["a", "b"], 0), (["Asian or Pacific Islander", "American Indian"], -40)]
)
def test_long_labels_of_a_grid_are_turned_and_do_not_overlap(labels, angle):
    rows = [
        {"row": row, "column": label, "estimate": 5.0, "shown": "5", "summed": False}
        for row in ("x", "y")
        for label in (*labels, "total")
    ]
    assert marks.heatmap(rows, ["one", "other"], "rows", 0).to_dict()["layer"][0]["encoding"]["x"]["axis"] == {
        "labelAngle": angle
    }


def test_release_plot_is_the_same_picture(releases):
    assert releases["ages"].plot().to_dict() == plot_release(releases["ages"]).to_dict()


def test_error_bars_are_the_release_s_own(releases):
    rows = plot_release(releases["by state"]).to_dict()["data"]["values"]
    drawn = {row["cell"]: (row["low"], row["high"]) for row in rows}
    columns = releases["by state"].table().to_pydict()
    wanted = dict(zip(columns["state"], zip(columns["low"], columns["high"], strict=True), strict=True))
    assert drawn == wanted


def test_bars_of_quantiles_are_drawn_for_each_group(session):
    release = session.release(sf.median("salary", bars=True).by("state"), spend=sf.Pure(0.5))
    chart = plot_release(release).to_dict()
    rules = [layer["encoding"] for layer in chart["layer"] if layer["mark"]["type"] == "rule"]
    assert [(rule["x"]["field"], rule["x2"]["field"]) for rule in rules] == [("low", "high")]
    assert chart["title"]["subtitle"] == ["95% error bars · ε 0.5"]


def test_times_and_days_are_labeled_as_such(tmp_path):
    rows = pa.table({"at": ["06:00", "12:30", "18:00"] * 20, "day": ["2026-01-01", "2026-01-31", "2026-02-01"] * 20})
    spaces = {"at": sf.TimeOfDay(step=1800), "day": sf.Dates("2026-01-01", "2026-03-01")}
    held = sf.read(rows, schema=spaces, dataset="d", size=60)
    asked = sf.Session(held, budget=sf.Pure(100), ledger=tmp_path / "ledger")
    median = asked.release(sf.median("at"), spend=sf.Pure(20))
    assert "12:30" in json.dumps(plot_release(median).to_dict())
    mean = asked.release(sf.mean("day"), spend=sf.Pure(20))
    assert "interval 2026-01-" in json.dumps(plot_release(mean).to_dict())


def test_curves_of_groups_have_the_colors_of_their_legend(session):
    release = session.release(sf.regression("salary", "age", bandwidth=40).by("state"), spend=sf.Pure(0.5))
    layers = plot_release(release).to_dict()["layer"]
    assert all(layer["encoding"]["color"]["legend"] == {"symbolOpacity": 1} for layer in layers)


def test_numbers_are_readable(releases):
    shown = texts(plot_release(releases["mean salary"]))
    assert re.search(r"\n\d\d,\d{3}(\.\d)?\n", shown)
    assert not re.search(r"\d\.\d{4}", shown)
    (row,) = answers(releases["everyone"]).rows
    assert re.fullmatch(r"\d{3}", row[0])
    assert spaced(1234.0, 0) == "1,234"


def test_the_gauge_shows_what_is_spent_and_left(session, releases):
    shown = texts(plot_budget(session.ledger))
    assert "epsilon" in shown
    assert "of 40" in shown
    assert "delta" in shown
    assert f"spent ε {session.ledger.spent().epsilon:g} of ε 40, both at delta 1e-5" in shown


def test_of_delta_the_gauge_shows_what_charges_have_taken(tmp_path):
    table = sf.read(pa.table({"job": ["a"] * 500}), schema={"job": sf.Texts()}, dataset="jobs")
    session = sf.Session(table, budget=sf.Approximate(3.0, 1e-5), ledger=tmp_path / "l")
    session.release(sf.keys("job"), spend=sf.Approximate(1.0, 1e-6))
    assert session.ledger.remaining().delta > 8e-6
    (said,) = re.findall(r"delta\s+(\S+) of 1e-5", texts(plot_budget(session.ledger)))
    assert 0 < float(said) < 2e-6


def test_more_than_two_keys_have_no_picture_but_a_table_in_the_report(session, tmp_path):
    query = sf.count().by("state", AGES, sf.bins("salary", 0, 50_000, 100_000))
    release = session.release(query, spend=sf.Pure(1.0), name="cube")
    with pytest.raises(UnsupportedQuery, match=r"at most two.*table\(\)"):
        plot_release(release)
    page = write_report([release], session.ledger, tmp_path / "cube.html").read_text()
    assert page.count("<svg") == 1  # the budget alone
    assert ">cube</h2>" in page
    assert page.count("<tr") > 8


# the page


@pytest.fixture(scope="module")
def page(session, releases, tmp_path_factory):
    path = write_report(list(releases.values()), session.ledger, tmp_path_factory.mktemp("page") / "report.html")
    return path.read_text()


def test_the_page_states_guarantee_certificate_coverage_and_head(page, session, releases):
    text = re.sub(r"\s+", " ", page)
    assert "grows to at most" in text
    assert "times what it was" in text
    assert "adding or removing any one row" in text
    assert "ithin a factor 1.00 of the best possible" in text
    assert "on the worst table of " in text  # a mean over a private number of rows
    assert "what was clipped or left out is not in them" in text
    assert f"sfumato ledger verify people.ledger --head {session.ledger.head}" in text
    for release in releases.values():
        assert release.provenance.head in text
        assert f">{release.name}</h2>" in text


def test_the_page_is_whole_and_fetches_nothing(page):
    assert page.count("<svg") == len(QUERIES) + 1
    assert "<script" not in page
    assert "<link" not in page
    assert "@import" not in page
    links = set(re.findall(r'(?:href|src|url\()="?([^")\s>]+)', page))
    assert all(link.startswith("#") for link in links)
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page


def test_the_page_escapes_names_and_shows_no_data(page):
    assert "people &amp; &lt;co&gt;" in page
    assert "<co>" not in page
    assert "Big" in page
    assert SECRET not in page
    assert "48,777" not in page
    assert "48777" not in page


def test_dark_colors_replace_every_light_one(page):
    from sfumato.report.style import DARK

    used = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', page))
    assert set(DARK) <= used
    for light, dark in DARK.items():
        assert f'svg [fill="{light}"]{{fill:{dark}}}' in page


def test_a_report_of_nothing_is_refused(session, tmp_path):
    with pytest.raises(ParameterError, match="releases is empty"):
        write_report([], session.ledger, tmp_path / "r.html")


def test_a_discovery_that_finds_nothing_says_so(session):
    few = sf.count().by(sf.discovered("city")).where("age >= 89")
    release = session.release(few, spend=sf.Approximate(0.1, 1e-9), name="few")
    assert release.keys == ()
    assert "no key is held by enough units" in texts(plot_release(release))


def test_importing_the_report_does_not_import_altair():
    code = "import json, sys, sfumato.report.plots; print(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout)
    assert "sfumato.report.plots" in loaded
    assert not {"altair", "vl_convert", "ibis"} & set(loaded)


def test_the_page_promises_no_more_than_holds_after_the_next_charge(session, tmp_path):
    release = session.release(sf.count(), spend=sf.Pure(0.1), name="first of two")
    page = re.sub(r"\s+", " ", write_report([release], session.ledger, tmp_path / "page.html").read_text())
    assert "when this page was written" in page
    assert "what is released later adds to it" in page
    assert f"stays within its budget {cost(session.ledger.terms.budget)}" in page
