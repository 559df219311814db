"""Every picture draws every text: nothing that XML forbids reaches the renderer, and no two labels merge."""

import itertools

import altair
import pyarrow as pa
import vl_convert

import sfumato as sf
from hostile_text import LABELS, escapes_in
from sfumato.report.plots import plot_release

TEXTS = list(dict.fromkeys(LABELS.values()))


def test_a_chart_made_of_hostile_texts_is_drawn(tmp_path):
    rows = pa.table({"c": TEXTS * 30, "k": ["a", "b", "c"] * (10 * len(TEXTS))})
    schema = {"c": sf.Categories(TEXTS), "k": sf.Categories(["a", "b", "c"])}
    table = sf.read(rows, schema=schema, dataset="d")
    session = sf.Session(table, budget=sf.Pure(1000), ledger=tmp_path / "ledger")
    for query in (sf.count().by("c"), sf.count().by("c", "k"), sf.top("c", 3)):
        chart = plot_release(session.release(query, spend=sf.Pure(1)))
        assert isinstance(chart, altair.TopLevelMixin)
        drawn = vl_convert.vegalite_to_svg(chart.to_dict())
        assert escapes_in(drawn) == []


def test_labels_that_look_the_same_stay_apart(tmp_path):
    """A bar for each label: two of the same name would be stacked into one."""
    same = ["a\x1b", "a\\x1b", "x" * 400, "x" * 401]
    table = sf.read(pa.table({"c": same}), schema={"c": sf.Categories(same)}, dataset="d")
    session = sf.Session(table, budget=sf.Pure(100), ledger=tmp_path / "ledger")
    chart = plot_release(session.release(sf.count().by("c"), spend=sf.Pure(1)))
    cells = [row["cell"] for row in chart.to_dict()["data"]["values"]]
    assert all(one != other for one, other in itertools.combinations(cells, 2))
