"""Figures of private curves for `functions.py`: speed against scipy's kernel estimate, and how often bands cover."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import sfumato as sf
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.randomness import Rng

__all__ = ["Line", "covering", "densities"]

Line = tuple[str, float, str, bool | None]
ROWS, POINTS = 1_000_000, 100_000
BANDWIDTH, HIGH = 2.0, 100.0
FASTER = 50.0
SPEND = sf.Approximate(1.0, 1e-6)


def densities(rows_of_peer: int, points_of_peer: int) -> Iterator[Line]:
    """A million rows, released through a session and evaluated at 10^5 points, against `gaussian_kde` there.

    The peer's time is proportional to rows times points; it is measured smaller and extrapolated.
    """
    from scipy.stats import gaussian_kde

    rng = np.random.default_rng(1)
    data = np.clip(np.concatenate([rng.normal(30, 6, ROWS // 2), rng.normal(60, 12, ROWS // 2)]), 0, HIGH)
    space = sf.Interval(0, HIGH, step=0.001, missing=0.0)
    table = sf.read(pa.table({"x": data}), schema=sf.Schema({"x": space}, adjacency=sf.Replace(), size=ROWS))
    points = np.linspace(0, HIGH, POINTS)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        session = sf.Session(table, budget=SPEND, ledger=f"{folder}/ledger")
        curve = session.release(sf.density("x", bandwidth=BANDWIDTH), spend=SPEND).curve
        released = curve.at(points)
        own = time.perf_counter() - start
    some = data[:rows_of_peer]
    peer = gaussian_kde(some, bw_method=BANDWIDTH / some.std(ddof=1))
    start = time.perf_counter()
    peer(points[:: POINTS // points_of_peer])
    theirs = (time.perf_counter() - start) * (ROWS / rows_of_peer) * (POINTS / points_of_peer)
    name = "times faster than gaussian_kde, 10^6 rows at 10^5 points, with noise (peer extrapolated)"
    yield name, round(theirs / own, 1), f">= {FASTER:g}", theirs / own >= FASTER
    shown = points[:: POINTS // 50]
    exact = np.array([_kernel(data, x).mean() for x in shown.tolist()])
    question: Any = bind(sf.density("x", bandwidth=BANDWIDTH), table.schema)
    gap = float(np.abs(question.curve(question.answer(table)).at(shown) - exact).max())
    yield (
        "stated bound of the approximation, over the density's peak",
        float(f"{curve.bias / released.max():.2g}"),
        "",
        None,
    )
    yield (
        "largest distance seen to the kernel estimate, over that bound",
        round(gap / curve.bias, 3),
        "<= 1",
        gap <= curve.bias,
    )


def _kernel(data: npt.NDArray[np.float64], x: float) -> npt.NDArray[np.float64]:
    rounded = np.round(data, 3)
    return np.exp(-(((x - rounded) / BANDWIDTH) ** 2) / 2) / (BANDWIDTH * np.sqrt(2 * np.pi))


def covering(runs: int, rng: Rng) -> Iterator[Line]:
    """How often the simultaneous 95 % band of a release covers the curve without noise, at 500 points."""
    for name, question, spend, part in _asked():
        mechanism: Any = options(question, spend)[0].mechanism
        asked = mechanism.query
        exact = asked.vector(_secret(asked))
        points = np.linspace(*asked.reading.domain[0], 500)
        truth = asked.curve(exact).at(points)
        inside = 0
        times = runs // part
        for _ in range(times):
            low, high = question.read(mechanism.release(exact, rng), mechanism).curve.band(points)
            inside += bool(((low <= truth) & (truth <= high)).all())
        share = inside / times
        yield f"bands that cover: {name}", share, "0.93 to 0.97", 0.93 <= share <= 0.97


def _asked() -> Iterator[tuple[str, Any, Any, int]]:
    fixed = sf.Schema({"x": sf.Interval(0, 100, step=1, missing=0.0)}, adjacency=sf.Replace(), size=2000)
    private = sf.Schema({"x": sf.Interval(0, 100, step=1)}, size=2000)
    names = [f"h{i}" for i in range(24)]
    hours = sf.Schema({h: sf.Interval(0, 10, step=0.1, missing=0.0) for h in names}, adjacency=sf.Replace(), size=500)
    yield "density", bind(sf.density("x", bandwidth=3), fixed), SPEND, 1
    yield "density, epsilon alone", bind(sf.density("x", bandwidth=3), fixed), sf.Pure(1.0), 1
    yield "distribution", bind(sf.distribution("x", bandwidth=2), fixed), SPEND, 1
    yield "mean curve", bind(sf.mean_curve(names, radius=3, center=5, waves=4, period=24), hours), SPEND, 1
    # a band over a private number of rows is simulated anew each time, so that half as many are drawn
    yield "density, private number of rows", bind(sf.density("x", bandwidth=3), private), SPEND, 2


def _secret(question: Any) -> Any:
    """Invented data in the form that the question reads."""
    draws = np.random.default_rng(3)
    if question.kind in ("density", "distribution"):
        return [np.bincount(np.clip(draws.normal(45, 14, 2000), 0, 100).astype(int), minlength=101)]
    shape = 40 + 25 * np.sin(2 * np.pi * np.arange(24) / 24)
    values = np.clip(shape + draws.normal(0, 12, (500, 24)), 0, 100).astype(np.int64)
    return [{name: values[:, i] for i, name in enumerate(question.curves.columns)}]
