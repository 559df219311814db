"""Pictures of answers: their parts, twenty intervals, ranks, found names, and what a ledger holds."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
from drawing import ACCENT, INK, MUTED, PALE, ROWS, WARM, finished, laboratory, spoken, values

import sfumato as sf
from sfumato.mechanisms.selection.key_selection import chances
from sfumato.samples import STATES, people

__all__ = [
    "anatomy",
    "coercion",
    "found_keys",
    "ledger",
    "mean_salary",
    "mean_salary_by_state",
    "ranks",
    "twenty_intervals",
]


def anatomy() -> Any:
    """One release, its parts named."""
    release = laboratory(seed=4).release(sf.count().where("age >= 65"), spend=sf.Pure(0.05), name="65 or older")
    low, high = release.interval(0.95)
    value, found = float(release), release.certificate
    spread = high - low
    domain = [low - 0.9 * spread, high + 0.9 * spread]
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    axis = alt.Axis(title="rows", grid=False, tickCount=6)
    bar = (
        alt.Chart(values([{"x": low, "x2": high, "y": 1}]))
        .mark_rule(color=ACCENT, strokeWidth=4)
        .encode(
            x=alt.X("x:Q", scale=scale, axis=axis),
            x2="x2:Q",
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-1.7, 2.4])),
        )
    )
    point = (
        alt.Chart(values([{"x": value, "y": 1}]))
        .mark_point(filled=True, size=140, color=INK, opacity=1)
        .encode(x="x:Q", y="y:Q")
    )
    about = {"x": domain[0]}
    said = [
        spoken(value, 1.75, f"the answer: {value:,.0f} rows", align="center", fontWeight=600, fontSize=14),
        spoken(
            high, 1, f"its error bar: ± {spread / 2:,.0f}, which holds the truth 95 times in 100", color=ACCENT, dx=10
        ),
        spoken(
            y=0.25,
            text="its guarantee: epsilon 0.05. The probability of anything that can be concluded grows to at most",
            **about,
        ),
        spoken(y=-0.15, text="1.052 times what it was through adding or removing any one row", dx=82, **about),
        spoken(
            y=-0.75,
            text="its certificate: within a factor "
            f"{found.factor:.2f} of the best possible error of pure mechanisms on the worst table",
            **about,
        ),
        spoken(
            y=-1.35,
            text="its charge: in the ledger before the answer was computed; asking again costs nothing",
            **about,
        ),
    ]
    return finished(
        alt.layer(bar, point, *said).properties(width=700, height=200),
        "How many people are 65 or older?",
        "One release of an invented table of 10,000 rows.",
    )


def coercion() -> Any:
    """What a declared column makes of what it is given."""
    space = sf.Interval(0, 100, step=10)
    rows = [{"stored": float(x), "counted": space.coerce(float(x))} for x in np.arange(-30, 131, 0.5)]
    line = (
        alt.Chart(values(rows))
        .mark_line(color=ACCENT, interpolate="step")
        .encode(
            x=alt.X("stored:Q", title="what stands in the table", scale=alt.Scale(domain=[-30, 130], nice=False)),
            y=alt.Y("counted:Q", title="what is counted"),
        )
    )
    return finished(
        line.properties(width=420, height=200),
        "Beyond the bounds: the bound. Between two steps: the nearer one.",
        "sf.Interval(0, 100, step=10); null, NaN and texts that are no number are missing.",
    )


def found_keys() -> Any:
    """How likely a name is shown, by how many units hold it."""
    rows = []
    for epsilon in (0.5, 1.0, 2.0):
        found = chances(epsilon, 1e-6)
        for holders in range(41):
            chance = Fraction(found[holders] if holders < len(found) else found[-1], 1 << 120)
            rows.append({"epsilon": f"epsilon {epsilon:g}", "holders": holders, "chance": float(min(chance, 1))})
    chart = (
        alt.Chart(values(rows))
        .mark_line(point=alt.OverlayMarkDef(size=18))
        .encode(
            x=alt.X("holders:Q", title="units that hold it"),
            y=alt.Y("chance:Q", title="shown with probability", axis=alt.Axis(format="%")),
            color=alt.Color("epsilon:N", title=None, scale=alt.Scale(range=[WARM, "#7a5ba8", ACCENT])),
        )
        .properties(width=460, height=200)
    )
    return finished(
        chart,
        "A text that one unit holds is shown with probability delta at most",
        "sf.keys at delta 1e-6, one text a unit; one that nobody holds is never shown.",
    )


def ledger() -> Any:
    """What a ledger holds after some charges, a stop and a retry, and a charge that does not fit."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        book = sf.Ledger.open(
            Path(folder) / "x.ledger", dataset="people", adjacency=sf.AddRemove(), unit=sf.Row(), budget=sf.Pure(1.0)
        )
        steps = [
            ("count", 0.1, "stored"),
            ("ages", 0.3, "stored"),
            ("mean", 0.2, "stopped: charged, never stored"),
            ("mean, again", 0.2, "stored"),
            ("map", 0.4, "refused: nothing charged"),
        ]
        for place, (name, epsilon, fate) in enumerate(steps):
            before = 1.0 - book.remaining().epsilon
            try:
                charge = book.charge(name, f"{place}" * 64, sf.Pure(epsilon), {"mechanism": "laplace", "query": name})
            except sf.errors.BudgetExceeded:
                assert fate.startswith("refused")
            else:
                if fate == "stored":
                    book.store(charge, b"{}")
            rows.append({"place": place, "name": name, "from": before, "to": before + epsilon, "fate": fate})
    fates = ["stored", "stopped: charged, never stored", "refused: nothing charged"]
    bars = (
        alt.Chart(values(rows))
        .mark_bar(width=44)
        .encode(
            x=alt.X("name:O", title=None, sort=[row["name"] for row in rows], axis=alt.Axis(labelAngle=0)),
            y=alt.Y("from:Q", title="epsilon spent", scale=alt.Scale(domain=[0, 1.3])),
            y2="to:Q",
            color=alt.Color(
                "fate:N",
                title=None,
                sort=fates,
                scale=alt.Scale(domain=fates, range=[ACCENT, WARM, "#c9ced4"]),
                legend=alt.Legend(orient="top", labelLimit=300),
            ),
        )
    )
    limit = alt.Chart(values([{"y": 1.0}])).mark_rule(color=INK, strokeDash=[4, 3]).encode(y="y:Q")
    return finished(
        (bars + limit).properties(width=480, height=220),
        "A budget of 1, charge by charge",
        "A release that stopped in between stays charged; what does not fit is refused before anything is computed.",
    )


def mean_salary() -> Any:
    """The first answer of the guide: a mean by group."""
    release = laboratory(seed=6).release(sf.mean("salary").by("team"), spend=sf.Pure(0.5))
    rows = release.to_pandas().to_dict("records")
    base = alt.Chart(values(rows)).encode(y=alt.Y("team:N", title=None, sort=["north", "south", "east", "west"]))
    bars = base.mark_rule(color=PALE, strokeWidth=8).encode(
        x=alt.X("low:Q", title="mean salary", scale=alt.Scale(zero=False), axis=alt.Axis(format=",.0f", tickCount=5)),
        x2="high:Q",
    )
    points = base.mark_point(filled=True, color=ACCENT, size=60, opacity=1).encode(x="estimate:Q")
    return finished(
        (bars + points).properties(width=480, height=120),
        "Small groups have wider bars",
        "Mean salary by team with 95 % intervals; half of 10,000 invented people are in north, a twentieth in west.",
    )


def mean_salary_by_state() -> Any:
    """What `make demo` publishes of salaries, from a seed."""
    columns = {
        "age": sf.Interval(0, 120, step=1),
        "salary": sf.Interval(0, 200_000, step=10),
        "state": sf.Categories(STATES),
    }
    table = sf.read(people(200_000), schema=columns, unit="person_id", rows=2, size=200_000, dataset="people")
    session = sf.reference.lab(table, budget=sf.Pure(1.0), seed=1)
    question = sf.mean("salary").by("state").where("age >= 18")
    release = session.release(question, spend=sf.Pure(0.6), name="mean salary by state")
    rows = sorted(release.to_pandas().to_dict("records"), key=lambda row: -row["estimate"])
    base = alt.Chart(values(rows)).encode(
        x=alt.X(
            "state:N", title=None, sort=[row["state"] for row in rows], axis=alt.Axis(labelAngle=0, labelOverlap=False)
        )
    )
    bars = base.mark_rule(color=PALE, strokeWidth=7).encode(
        y=alt.Y("low:Q", title="mean salary", scale=alt.Scale(zero=False), axis=alt.Axis(format=",.0f")), y2="high:Q"
    )
    points = base.mark_point(filled=True, color=ACCENT, size=22, opacity=1).encode(y="estimate:Q")
    return finished(
        (bars + points).properties(width=1000, height=240),
        "Mean salary by state",
        "200,000 invented people, epsilon 0.6, 95 % intervals",
    )


def ranks() -> Any:
    """Forty private medians of two tables: alike in ranks, unlike in dollars."""
    rng, rows = np.random.default_rng(2), []
    dense = np.round(rng.normal(50_000, 6_000, 3000), -1)
    halves = np.concatenate([rng.normal(30_000, 3_000, 1480), rng.normal(70_000, 3_000, 1520)]).round(-1)
    for name, paid in (("values lie close around the middle", dense), ("few values lie near the middle", halves)):
        schema = sf.Schema({"paid": sf.Interval(0, 100_000, step=10)}, size=3000, dataset="paid")
        session = sf.reference.lab(pa.table({"paid": paid}), schema, budget=sf.Pure(100.0), seed=3)
        order = np.sort(paid)
        for number in range(40):
            value = float(session.release(sf.median("paid"), spend=sf.Pure(0.1), name=f"median {number}"))
            off = abs(int(np.searchsorted(order, value)) - 1500)
            rows += [
                {"table": name, "what": "in dollars", "off": abs(value - float(np.median(paid)))},
                {"table": name, "what": "in ranks", "off": off},
            ]
    chart = (
        alt.Chart(values(rows))
        .mark_tick(color=ACCENT, opacity=0.6, thickness=2)
        .encode(
            x=alt.X("off:Q", title="distance from the true median", axis=alt.Axis(format=",.0f", tickCount=5)),
            y=alt.Y("table:N", title=None, sort="descending", axis=alt.Axis(labelLimit=260)),
        )
        .properties(width=230, height=70)
        .facet(facet=alt.Facet("what:N", title=None, sort=["in ranks", "in dollars"]), columns=2)
        .resolve_scale(x="independent")
    )
    return finished(
        chart,
        "A median is private in ranks",
        "Forty medians of each of two invented tables of 3,000 salaries, epsilon 0.1.",
    )


def twenty_intervals() -> Any:
    """Twenty releases of one count, each with its interval, and the true answer."""
    truth, rows, session = ROWS, [], laboratory(seed=1)
    for number in range(20):
        release = session.release(sf.count(), spend=sf.Pure(0.05), name=f"count {number}")
        low, high = release.interval(0.95)
        rows.append(
            {
                "release": number,
                "value": float(release),
                "low": low,
                "high": high,
                "covers": "holds the truth" if low <= truth <= high else "misses it",
            }
        )
    missed = sum(row["covers"] == "misses it" for row in rows)
    color = alt.Color(
        "covers:N",
        title=None,
        scale=alt.Scale(domain=["holds the truth", "misses it"], range=[ACCENT, WARM]),
        legend=alt.Legend(orient="top"),
    )
    base = alt.Chart(values(rows)).encode(
        y=alt.Y("release:O", title="releases", axis=alt.Axis(labels=False, ticks=False)), color=color
    )
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="rows", scale=alt.Scale(zero=False), axis=alt.Axis(format=",.0f", tickCount=7)),
        x2="high:Q",
    )
    line = alt.Chart(values([{"x": truth}])).mark_rule(color=MUTED, strokeDash=[4, 3]).encode(x="x:Q")
    chart = (line + bars + base.mark_point(filled=True, size=40, opacity=1).encode(x="value:Q")).properties(
        width=520, height=240
    )
    times = {0: "None misses it", 1: "One misses it"}.get(missed, f"{missed} miss it")
    return finished(
        chart,
        "Twenty releases of the same count, with their 95 % intervals",
        f"Epsilon 0.05; the true count, 10,000, is dashed. {times}; on average one in twenty does.",
    )
