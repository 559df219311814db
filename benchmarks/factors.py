"""How far released errors are above the least possible ones, and figures of selection, local means and K-norm noise.

All through public doors: previews of sessions about tables read from Parquet files, on the worst table, adding or
removing a row, 10,000 rows, at epsilon 1, rho 0.1 or (1, 1e-6), unless it is said otherwise.
"""

from __future__ import annotations

import functools
import itertools
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from least_errors import Promise
from refuting import shown_at

import sfumato as sf
from sfumato.mechanisms.selection.key_selection import KeySelection
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.randomness import seeded

__all__ = ["Case", "cases", "knorm", "local_means", "names_only", "top_ten"]

Line = tuple[str, float, str, bool | None]
ROWS = 10_000
REDRAWINGS = 1500  # of the timed walk
SPENDS = {"epsilon 1": sf.Pure(1.0), "rho 0.1": sf.Concentrated(0.1), "(1, 1e-6)": sf.Approximate(1.0, 1e-6)}
BUDGETS = {"epsilon 1": sf.Pure(1e6), "rho 0.1": sf.Concentrated(1e6), "(1, 1e-6)": sf.Approximate(1e6, 0.5)}
TEN = [f"g{i}" for i in range(10)]
COLUMNS = {
    "x": sf.Integers(0, 100), "five": sf.Integers(0, 5), "age": sf.Integers(18, 90), "group": sf.Categories(TEN),
    "a": sf.Integers(0, 7), "b": sf.Integers(0, 63), "w": sf.Integers(0, 1023), "c": sf.Categories(list("xyz")),
    "d": sf.Categories(list("pqrst")), "thousand": sf.Integers(0, 1000), "town": sf.Texts(),
    "item": sf.Categories([f"i{i}" for i in range(1000)]),
}  # fmt: skip
FIXED = {"x": sf.Integers(0, 100, missing=0)}


@dataclass(frozen=True)
class Case:
    """A question, under a relation and a promise, and the factor asked."""

    name: str
    query: sf.Query
    spend: str
    asked: float
    fixed: bool = False

    def factor(self) -> float:
        """The released error over the bound, infinite where no bound is known."""
        found = session(self.spend, self.fixed).preview(self.query, spend=SPENDS[self.spend]).certificate
        return found.factor if isinstance(found, sf.reference.Certificate) else math.inf


@functools.cache
def session(spend: str, fixed: bool) -> sf.Session:
    """A laboratory about a table in a Parquet file."""
    rng = np.random.default_rng(2)
    table = pa.table({
        "x": rng.integers(0, 101, ROWS), "five": rng.integers(0, 6, ROWS), "age": rng.integers(18, 91, ROWS),
        "group": np.repeat(TEN, ROWS // 10), "a": rng.integers(0, 8, ROWS), "b": rng.integers(0, 64, ROWS),
        "w": rng.integers(0, 1024, ROWS), "c": rng.choice(list("xyz"), ROWS), "d": rng.choice(list("pqrst"), ROWS),
        "thousand": rng.integers(0, 1001, ROWS), "town": rng.choice(["Ulm", "Kiel"], ROWS),
        "item": [f"i{i}" for i in rng.integers(0, 1000, ROWS)],
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        pq.write_table(table, path)
        declared = sf.Schema(FIXED, size=ROWS, adjacency=sf.Replace()) if fixed else sf.Schema(COLUMNS, size=ROWS)
        read = sf.read(str(path), schema=declared)
        return sf.reference.lab(read, budget=BUDGETS[spend], seed=1)


def cases() -> Iterator[Case]:
    """Every figure that is asked of a factor."""
    for spend in SPENDS:
        yield Case(f"count, {spend}", sf.count(), spend, 1.005)
        yield Case(f"histogram, {spend}", sf.histogram("d"), spend, 1.005)
        yield Case(f"sum of 0..5, {spend}", sf.sum("five"), spend, 1.01)
        yield Case(f"sum of 0..100, {spend}", sf.sum("x"), spend, 1.01)
        yield Case(f"sum of 18..90, {spend}", sf.sum("age"), spend, 1.03)
        yield Case(f"mean, {spend}", sf.mean("x"), spend, 1.06)
        yield Case(f"mean by 10 groups of 1,000, {spend}", sf.mean("x").by("group"), spend, 1.10)
        yield Case(f"variance, {spend}", sf.variance("x"), spend, 1.08)
        yield Case(f"mean, public size, {spend}", sf.mean("x"), spend, 1.05, fixed=True)
    workloads = {
        "prefix sums of 8": (sf.prefix("a"), 1.45),
        "two-way tables of 8 x 3 x 5": (sf.marginals(["a", "c", "d"], 2), 1.45),
        "prefix sums of 1,024": (sf.prefix("w"), 2.75),
        "one-way tables of 8 x 64 x 3": (sf.marginals(["a", "b", "c"], 1), 1.70),
    }
    for name, (query, asked) in workloads.items():
        yield Case(f"{name}, epsilon 1", query, "epsilon 1", asked)
        yield Case(f"{name}, rho 0.1", query, "rho 0.1", 1.03)
    for bandwidth in (5, 10, 20, 30, 50):
        query = sf.density("x", bandwidth=bandwidth)
        yield Case(f"density, bandwidth {bandwidth} of 100, public size, rho 0.1", query, "rho 0.1", 1.2, fixed=True)
    yield Case("most popular of 1,000, 95 %, epsilon 1", sf.most_popular("item"), "epsilon 1", 1.15)
    yield Case("median on 1,001 values by rank, 95 %, epsilon 1", sf.median("thousand"), "epsilon 1", 2.25)
    keys = sf.discovered("town")
    yield Case("discovered keys with counts, 95 %, (1, 1e-6)", sf.count().by(keys), "(1, 1e-6)", 1.1)


def names_only() -> Line:
    """Keys without counts at (1, 1e-6): holders from which one is shown at 95 %, over those that a program needs."""
    question = bind(sf.count().by(sf.discovered("town")), sf.Schema({"town": sf.Texts()}, size=ROWS))
    found = KeySelection.calibrate(question, SPENDS["(1, 1e-6)"]).error(0.05) / shown_at(Promise(1.0, 1e-6), 40)
    return "discovered keys, names only, 95 %, (1, 1e-6)", round(found, 4), "<= 1", found <= 1


# ---------------------------------------------------------------------------------------------- the ten most popular


def top_ten(runs: int = 2000) -> Iterator[Line]:
    """The ten most popular of 50 categories at epsilon 0.2: how far a chosen one is below an omitted one."""
    items = [f"i{i:02}" for i in range(50)]
    question = bind(sf.top("item", 10), sf.Schema({"item": sf.Categories(items)}, size=20_000))
    mechanism = options(question, sf.Pure(0.2))[0].mechanism
    weights = np.exp(-0.05 * np.arange(50))
    falling = np.round(20_000 * weights / weights.sum()).astype(np.int64)
    found = losses(question, mechanism, falling, runs)
    yield "top 10 of 50, counts 20,000 e^(-0.05 i), 95 % loss in rows", found, "<= 10", found <= 10
    worst = max(losses(question, mechanism, 1000 + lead * (np.arange(50) < 10), runs) for lead in range(20, 56, 5))
    yield "top 10 of 50, worst table of those with ten leaders, 95 % loss in rows", worst, "<= 50", worst <= 50
    stated = float(mechanism.error(0.05))
    yield "top 10 of 50, stated 95 % loss in rows", round(stated, 2), "<= 50", stated <= 50


def losses(question: Any, mechanism: Any, counts: npt.NDArray[np.int64], runs: int) -> float:
    """The 95 % quantile of the largest omitted count less the smallest chosen one, not below 0."""
    rng, seen = seeded(5), []
    for _ in range(runs):
        answer = question.read(mechanism.release(counts[None], rng), mechanism)
        inside = np.isin(np.arange(len(counts)), [int(name[1:]) for name in answer.table()["item"]])
        seen.append(max(0, int(counts[~inside].max() - counts[inside].min())))
    return float(np.sort(seen)[math.ceil(0.95 * runs) - 1])


# ----------------------------------------------------------------------------------------------- local means, K-norm


def local_means() -> Iterator[Line]:
    """Certificates of local means of many coordinates, and bounds that never fall as coordinates are added."""
    from sfumato.bounds.minimax.means import ball_mean_error, cube_mean_error

    loose = sf.Pure(1.0, assumptions={"real-arithmetic"})
    cube, ball = sf.local.Hypercube.calibrate(100, -1.0, 1.0, sf.Pure(1.0)), sf.local.PrivUnit.calibrate(100, loose)
    for name, protocol in (("cube", cube), ("ball", ball)):
        found = sf.local.certify_local(protocol, 1000).factor
        yield f"local mean in a {name}, n 1,000, d 100, epsilon 1: factor", round(found, 2), "<= 55", found <= 55
    falls = 0
    for bound in (cube_mean_error, ball_mean_error):
        for n in (100, 1000, 100_000):
            for epsilon in (0.25, 1.0, 4.0):
                values = [bound(n, epsilon, d) for d in (1, 2, 3, 5, 8, 13, 20, 40, 64, 100, 200, 400)]
                falls += sum(b < a * (1 - 1e-9) for a, b in itertools.pairwise(values))
    yield "local mean bounds that fall as the dimension grows, over a grid", falls, "0", falls == 0


def knorm() -> Iterator[Line]:
    """K-norm noise for a sign matrix of 100 x 10,000: seconds per effective draw, also over a matrix product's."""
    from sfumato.sampling.bodies import Hull
    from sfumato.sampling.bodies.bouncing import bounce
    from sfumato.sampling.bodies.diagnostics import effective_size, features

    matrix = np.random.default_rng(1).choice([-1.0, 1.0], size=(100, 10_000))
    rng = seeded(3)
    bounce(Hull(matrix[:10, :50]).frame, 1, 1, rng)  # compiled
    frame = Hull(matrix).frame
    start = time.process_time()
    bounce(frame, 1, 1, rng)
    first = time.process_time() - start
    start = time.process_time()
    path = bounce(frame, REDRAWINGS, 1, rng)
    spent = time.process_time() - start
    ours = spent / float(effective_size(features(path.points @ frame.lift.T)[None]).min())
    start = time.process_time()
    for _ in range(100):
        matrix.T @ matrix[:, 0]
    floor = (time.process_time() - start) / 100
    name = "K-norm noise, 100 x 10,000"
    yield f"{name}: seconds per effective draw, burn-in included", round(ours, 3), "< 3", ours < 3
    yield f"{name}: matrix products per effective draw", round(ours / floor, 1), "", None
    yield f"{name}: seconds for one draw with a chain of its own", round(first, 2), "", None
