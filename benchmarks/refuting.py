"""Attempts to beat the lower bounds: random small instances, the bound that we state against an error that is achieved.

Each trial asks a bound (through `session.preview` where a release would state it, or the function itself), and solves
the same problem by a program of `least_errors.py`.  Planted bounds are false, so that the programs must beat them.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from least_errors import Promise, Reached, mechanism, noise, on_chain, worst_loss

import sfumato as sf
from sfumato.bounds import line
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Guarantee

__all__ = ["FAMILIES", "Trial", "planted", "trials"]

Rng = np.random.Generator
SLACK = 1e-6  # of a bound and of a program, both computed in floating point
LEVEL = 0.05  # of errors that are met with probability 0.95
BUDGETS = {"pure": sf.Pure(1e6), "approximate": sf.Approximate(1e6, 0.999), "concentrated": sf.Concentrated(1e6)}


@dataclass(frozen=True)
class Trial:
    """One instance: what was asked, the bound, and between what the least error lies; both in one measure."""

    family: str
    kind: str
    what: str
    bound: float
    reached: Reached

    @property
    def beaten(self) -> bool:
        """Whether a mechanism that keeps its promise has a smaller error than the bound allows."""
        return self.bound > self.reached.achieved * (1 + SLACK)

    @property
    def proven(self) -> bool:
        """Whether the program alone shows that the bound is true."""
        return self.bound <= self.reached.floor

    @property
    def tightness(self) -> float:
        """The bound over what is achieved."""
        return self.bound / self.reached.achieved


# ------------------------------------------------------------------------------------------------------------ asking


def guarantee(promise: Promise) -> Guarantee:
    """The promise as a spend."""
    if promise.kind == "pure":
        return sf.Pure(promise.epsilon)
    if promise.kind == "concentrated":
        return sf.Concentrated(promise.rho)
    return sf.Approximate(promise.epsilon, promise.delta)


def promised(claim: Any) -> Promise:
    """What a mechanism that was chosen promises, which may be less than what might be spent."""
    record = to_record(claim)
    return Promise(**{name: record[name] for name in ("epsilon", "delta", "rho") if name in record})


def stated(query: sf.Query, schema: sf.Schema, spend: Promise, table: dict[str, Any]) -> tuple[Any, Promise]:
    """The certificate that a release would show, and what it promises; None where no bound is known."""
    lab = sf.reference.lab(pa.table(table), schema, budget=BUDGETS[spend.kind], seed=1)
    preview = lab.preview(query, spend=guarantee(spend))
    found = preview.certificate
    return (found if isinstance(found, sf.reference.Certificate) else None), promised(preview.guarantee)


def some_promise(rng: Rng, low: float = 0.3, high: float = 2.5) -> Promise:
    """Pure, approximate or concentrated, at random; deltas up to where they matter."""
    epsilon = float(np.exp(rng.uniform(math.log(low), math.log(high))))
    kind = rng.integers(3)
    if kind == 0:
        return Promise(round(epsilon, 3))
    if kind == 1:
        return Promise(round(epsilon, 3), float(f"{10 ** rng.uniform(-4, -0.7):.2g}"))
    return Promise(rho=round(epsilon**2 / 2, 4))


def parts(promise: Promise) -> tuple[float, float, float]:
    """Its numbers."""
    return (promise.epsilon, promise.delta, promise.rho)


def radius_of(promise: Promise, farthest: float, cuts: int) -> int:
    """How far a law must be searched, in steps."""
    loss = promise.epsilon if promise.rho == math.inf else 2.2 * math.sqrt(promise.rho)
    return math.ceil(cuts * farthest * max(13 / loss, 2.0))


# -------------------------------------------------------------------------------------- numbers that a unit moves by 1


def counts(rng: Rng) -> Iterator[Trial]:
    """A count of unbounded tables: the function, and what a release says."""
    promise, cuts = some_promise(rng), int(rng.integers(1, 5))
    if promise.delta:
        promise = Promise(max(promise.epsilon, 0.1), promise.delta)
    found = noise(np.eye(1), np.array([[1]]), promise, radius_of(promise, 1, cuts), cuts)
    yield Trial("count", promise.kind, f"least_variance {promise}", line.least_variance(guarantee(promise)), found)
    schema = sf.Schema({"x": sf.Integers(0, 1)}, size=3)
    said, kept = stated(sf.count(), schema, promise, {"x": [0, 1, 1]})
    if said is not None:
        same = kept.kind == promise.kind and np.allclose(parts(kept), parts(promise), rtol=1e-9)
        own = found if same else noise(np.eye(1), np.array([[1]]), kept, radius_of(kept, 1, cuts), cuts)
        yield Trial("count", kept.kind, f"count {kept}", said.bound**2, own)


def sums(rng: Rng) -> Iterator[Trial]:
    """Sums of unbounded tables, of rows or of persons with two rows, with 0 in the range or not."""
    low, width = int(rng.integers(-3, 4)), int(rng.integers(1, 5))
    high, rows, cuts = low + width, int(rng.integers(1, 3)), int(rng.integers(1, 3))
    if low == high == 0:
        high = 1
    promise = some_promise(rng, 0.7, 3.0)
    unit = {"unit": sf.Person("id", rows)} if rows > 1 else {}
    schema = sf.Schema({"x": sf.Integers(low, high)}, size=3, **unit)
    said, kept = stated(sf.sum("x"), schema, promise, {"x": [low, high, high], "id": [1, 2, 3]})
    if said is None:
        return
    values = {sum(chosen) for k in range(1, rows + 1) for chosen in itertools.product(range(low, high + 1), repeat=k)}
    moves = np.array(sorted({abs(v) for v in values if v}))[:, None]
    found = noise(np.eye(1), moves, kept, radius_of(kept, float(moves.max()), cuts), cuts)
    yield Trial("sum", kept.kind, f"sum of {low}..{high}, {rows} rows a unit, {kept}", said.bound**2, found)


# ------------------------------------------------------------------------------------------------------------ workloads


def workloads(rng: Rng) -> Iterator[Trial]:
    """Two or three rows over two or three cells, unbounded tables: noise on the lattice of the columns, cut or not."""
    cells, rows = int(rng.integers(2, 4)), int(rng.integers(2, 4))
    while True:
        matrix = rng.integers(-2, 4, (rows, cells))
        if np.linalg.matrix_rank(matrix) >= min(rows, cells) and matrix.any(axis=0).all():
            break
    promise = some_promise(rng, 1.0 if cells == 2 else 1.6, 3.5)
    schema = sf.Schema({"g": sf.Categories(list("abc")[:cells])}, size=3)
    said, kept = stated(sf.workload("g", matrix.tolist()), schema, promise, {"g": ["a", "b", "a"]})
    if said is None:
        return
    cuts = int(rng.integers(1, 3)) if cells == 2 else 1
    most = 13 if cells == 2 else 4
    radius = min(radius_of(kept, 1, cuts), most)
    found = noise(matrix, np.eye(cells, dtype=np.int64), kept, radius, cuts)
    yield Trial("workload", kept.kind, f"workload {matrix.tolist()}, {kept}", rows * said.bound**2, found)


# ----------------------------------------------------------------------------------------------------- finite tables


def chains(rng: Rng) -> Iterator[Trial]:
    """Tables 0..K: the function, its prior, and uneven answers."""
    steps, cuts = int(rng.integers(1, 13)), int(rng.integers(3, 6))
    promise = some_promise(rng, 0.15, 3.0)
    if promise.kind == "concentrated":
        steps, cuts = min(steps, 6), 3
    claim = guarantee(promise)
    chain = line.least_on_chain(claim, steps)
    what = f"chain of {steps}, {promise}"
    yield Trial("chain", promise.kind, what, chain.mean_square, on_chain(range(steps + 1), promise, cuts))
    prior = np.zeros(steps + 1)
    prior[:: chain.step] = chain.prior
    if abs(prior.sum() - 1) > 1e-9 or prior.min() < 0:
        raise AssertionError(f"the prior of {what} is none: {prior}")
    averaged = on_chain(range(steps + 1), promise, cuts, prior)
    yield Trial("prior of a chain", promise.kind, what, chain.mean_square, averaged)
    answers = np.cumsum(rng.uniform(0.2, 2.0, steps + 1)) * rng.choice([0.01, 1.0, 30.0])
    if rng.random() < 0.3:
        rng.shuffle(answers)
    answers = np.round(answers, 4)
    least = line.least_of_answers(claim, answers.tolist())
    what = f"answers {answers.tolist()}, {promise}"
    yield Trial("chain of answers", promise.kind, what, least, on_chain(answers.tolist(), promise, cuts))


def replacements(rng: Rng) -> Iterator[Trial]:
    """Counts and sums of a public number of rows: all tables."""
    size, width = int(rng.integers(3, 13)), int(rng.integers(1, 4))
    promise = some_promise(rng, 0.3, 2.5)
    if promise.kind == "concentrated":
        size, width = min(size, 5), 1
    schema = sf.Schema({"x": sf.Integers(0, width, missing=0)}, size=size, adjacency=sf.Replace())
    query, top = (sf.sum("x"), width * size) if width > 1 else (sf.count().where("x == 1"), size)
    said, kept = stated(query, schema, promise, {"x": [0] * size})
    if said is not None:
        found = on_chain(range(top + 1), kept, 3 if width == 1 else 2, reach=width)
        yield Trial("replacement", kept.kind, f"0..{width}, {size} rows, {kept}", said.bound**2, found)


def histograms(rng: Rng) -> Iterator[Trial]:
    """Histograms of a public number of rows over two or three cells: all tables, answers that sum to anything."""
    cells = int(rng.integers(2, 4))
    size = int(rng.integers(2, 7 if cells == 2 else 5))
    promise = some_promise(rng, 0.5, 2.5)
    if promise.kind == "concentrated":
        cells, size = 2, min(size, 4)
    schema = sf.Schema({"g": sf.Categories(list("abc")[:cells], missing="a")}, size=size, adjacency=sf.Replace())
    said, kept = stated(sf.histogram("g"), schema, promise, {"g": ["a"] * size})
    if said is None:
        return
    tables = [x for x in itertools.product(range(size + 1), repeat=cells) if sum(x) == size]
    cuts = 2 if cells == 2 else 1
    grid = [x for x in itertools.product(range(cuts * size + 1), repeat=cells) if sum(x) == cuts * size]
    losses = ((np.array(grid)[None] / cuts - np.array(tables)[:, None]) ** 2).sum(axis=2)
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(tables)), 2)
        if sum(abs(a - b) for a, b in zip(tables[i], tables[j], strict=True)) == 2
    ]
    achieved = worst_loss(mechanism(losses, pairs, kept), losses)
    what = f"histogram of {cells} cells, {size} rows replaced, {kept}"
    yield Trial("replacement", kept.kind, what, cells * said.bound**2, Reached(achieved, 0.0))


# ---------------------------------------------------------------------------------------------- choices, keys, ratios


def relative(x: tuple[int, ...], depth: int) -> tuple[int, ...]:
    """How far items lie below the leader, cut off at a depth: what a mechanism may look at on tables of any size."""
    return tuple(max(v - max(x), -depth) for v in x)


def choices(items: int, k: int, cap: int, promise: Promise, most: int) -> int:
    """The least lead of k items over all others from which they are chosen with probability 0.95, on every table.

    Tables of any size: a mechanism that looks at `relative` counts is private if it is on those.
    """
    sets = list(itertools.combinations(range(items), k))
    joined = [own for n in range(1, cap + 1) for own in itertools.combinations(range(items), n)]
    for lead in range(1, most + 1):
        states = sorted({relative(x, lead) for x in itertools.product(range(lead + 1), repeat=items)})
        index = {state: i for i, state in enumerate(states)}
        pairs = set()
        for state in states:
            for chosen in joined:
                moved = relative(tuple(v + (i in chosen) for i, v in enumerate(state)), lead)
                if moved != state:
                    pairs.add((min(index[state], index[moved]), max(index[state], index[moved])))
        losses = np.array([[float(missed(x, own, sets, lead)) for own in sets] for x in states])
        if worst_loss(mechanism(losses, sorted(pairs), promise), losses) <= LEVEL * (1 - SLACK):
            return lead
    return most + 1


def missed(counts: tuple[int, ...], chosen: tuple[int, ...], sets: list[tuple[int, ...]], lead: int) -> bool:
    """Whether others than the chosen lead by so much."""
    for own in sets:
        behind = [count for i, count in enumerate(counts) if i not in own]
        if own != chosen and min(counts[i] for i in own) - max(behind) >= lead:
            return True
    return False


def shown_at(promise: Promise, most: int) -> int:
    """The least number of holders at which a key is shown with probability 0.95, if one that nobody holds never is."""
    for holders in range(1, most + 1):
        losses = np.zeros((holders + 1, 2))  # hidden, shown
        losses[0, 1], losses[-1, 0] = math.inf, 1.0
        pairs = [(i, i + 1) for i in range(holders)]
        if worst_loss(mechanism(losses, pairs, promise), losses) <= LEVEL * (1 + SLACK):
            return holders
    return most + 1


def selections(rng: Rng) -> Iterator[Trial]:
    """The most popular of a few items, or the k most popular, of categories or of sets."""
    items = int(rng.integers(2, 5))
    k, cap = int(rng.integers(1, min(items, 3))), int(rng.integers(1, 3)) if items == 3 else 1
    promise = some_promise(rng, 0.8, 3.0)
    if promise.kind == "concentrated":
        items = min(items, 3)
        k = 1
    names = list("abcd")[:items]
    space, values = (sf.Categories(names), ["a", "b"]) if cap == 1 else (sf.Subsets(names, cap=cap), [["a"], ["b"]])
    schema = sf.Schema({"g": space}, size=40)
    said, kept = stated(sf.most_popular("g") if k == 1 else sf.top("g", k), schema, promise, {"g": values * 20})
    if said is not None:
        least = choices(items, k, cap, replace(kept, strict=True), 8 if items < 4 else 5)
        yield Trial("selection", kept.kind, f"top {k} of {items}, cap {cap}, {kept}", said.bound, Reached(least, least))


def quantiles(rng: Rng) -> Iterator[Trial]:
    """One quantile by rank, of a public number of rows: all tables."""
    size, points = int(rng.integers(3, 7)), int(rng.integers(4, 6))
    share = Fraction(1, int(rng.choice([2, 2, 3, 4])))
    promise = some_promise(rng, 0.8, 3.0)
    if promise.kind == "concentrated":
        size = min(size, 3)
    schema = sf.Schema({"x": sf.Integers(0, points - 1, missing=0)}, size=size, adjacency=sf.Replace())
    said, kept = stated(sf.quantiles("x", [float(share)]), schema, promise, {"x": [0] * size})
    if said is None:
        return
    tables = [x for x in itertools.product(range(size + 1), repeat=points) if sum(x) == size]
    index = {table: i for i, table in enumerate(tables)}
    pairs = sorted(
        {
            (min(index[x], index[y]), max(index[x], index[y]))
            for x in tables
            for i, j in itertools.permutations(range(points), 2)
            if x[i]
            for y in [tuple(v - (n == i) + (n == j) for n, v in enumerate(x))]
        }
    )
    errors = [[rank_error(x, at, share) for at in range(points)] for x in tables]
    for error in sorted({error for row in errors for error in row if error}):
        losses = np.array([[float(own >= error) for own in row] for row in errors])
        if worst_loss(mechanism(losses, pairs, replace(kept, strict=True)), losses) <= LEVEL * (1 - SLACK):
            break
    what = f"quantile {share} of {size} rows on {points} values, {kept}"
    yield Trial("quantile", kept.kind, what, said.bound, Reached(float(error), float(error)))


def rank_error(table: tuple[int, ...], at: int, share: Fraction) -> Fraction:
    """How far the rank of a value is from the share that was asked."""
    target, below, upto = share * sum(table), sum(table[:at]), sum(table[: at + 1])
    return max(below - target, target - upto, Fraction(0))


def ratios(rng: Rng) -> Iterator[Trial]:
    """Means and variances of zeros and ones: all tables of as many rows as the certificate names."""
    size, kind = int(rng.integers(2, 5)), str(rng.choice(["mean", "variance"]))
    promise = some_promise(rng, 1.0, 3.0)
    schema = sf.Schema({"x": sf.Integers(0, 1)}, size=size)
    said, kept = stated(getattr(sf, kind)("x"), schema, promise, {"x": [0] * size})
    if said is None:
        return
    rows = [int(number) for number in re.findall(r"\d+", said.worst)]
    if kept.kind == "concentrated" and rows[-1] > 7:
        return
    tables = [(n, s) for n in range(rows[0], rows[-1] + 1) for s in range(n + 1)]
    index = {table: i for i, table in enumerate(tables)}
    pairs = [
        (i, index[n + 1, s + more]) for (n, s), i in index.items() for more in (0, 1) if (n + 1, s + more) in index
    ]
    shares = np.array([s / n for n, s in tables])
    answers = shares if kind == "mean" else shares * (1 - shares)
    grid = np.linspace(0, answers.max(), 17)
    losses = (grid[None] - answers[:, None]) ** 2
    achieved = worst_loss(mechanism(losses, pairs, kept), losses)
    yield Trial("ratio", kept.kind, f"{kind} of {rows} rows, {kept}", said.bound**2, Reached(achieved, 0.0))


def densities(rng: Rng) -> Iterator[Trial]:
    """A density of zeros and ones over a public number of rows, answered by a curve between that of 0 and that of 1."""
    size, bandwidth = int(rng.integers(2, 6)), float(rng.choice([0.3, 1.0, 3.0]))
    promise = some_promise(rng, 0.5, 3.0)
    schema = sf.Schema({"x": sf.Integers(0, 1, missing=0)}, size=size, adjacency=sf.Replace())
    query = sf.density("x", bandwidth=bandwidth)
    said, kept = stated(query, schema, promise, {"x": [0] * size})
    if said is None:
        return
    ends = []
    for value in (0, 1):  # with next to no noise
        lab = sf.reference.lab(pa.table({"x": [value] * size}), schema, budget=sf.Pure(1e9), seed=1)
        ends.append(np.asarray(lab.release(query, spend=sf.Pure(1e7)).curve.at([0.0, 1.0])))
    apart = float(((ends[1] - ends[0]) ** 2).mean())
    found = on_chain([t / size for t in range(size + 1)], kept, 4)
    what = f"density of {size} rows, bandwidth {bandwidth}, {kept}"
    yield Trial("density", kept.kind, what, said.bound**2, Reached(apart * found.achieved, 0.0))


def keys(rng: Rng) -> Iterator[Trial]:
    """Keys that are discovered: how many must hold one that is shown at 95 %."""
    promise = Promise(round(float(rng.uniform(0.3, 3.0)), 3), float(f"{10 ** rng.uniform(-7, -1):.2g}"))
    schema = sf.Schema({"t": sf.Texts()}, size=100)
    said, kept = stated(sf.count().by(sf.discovered("t")), schema, promise, {"t": ["a"] * 100})
    if said is not None:
        least = shown_at(kept, 80)
        yield Trial("keys", kept.kind, f"keys, {kept}", said.bound, Reached(least, least))


FAMILIES: dict[str, Callable[[Rng], Iterator[Trial]]] = {
    "count": counts, "sum": sums, "workload": workloads, "chain": chains, "replacement": replacements,
    "histogram": histograms, "selection": selections, "quantile": quantiles, "ratio": ratios, "keys": keys,
    "density": densities,
}  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- planted


def planted(rng: Rng) -> Iterator[Trial]:
    """Bounds that are false; each must be beaten."""
    one = np.eye(1)
    for steps in (5, 10):
        whole, real = (on_chain(range(steps + 1), Promise(1.0), cuts) for cuts in (1, 4))
        yield Trial("whole answers only", "pure", f"chain of {steps}", whole.achieved, real)
    for items, epsilon in ((2, 0.5), (3, 1.0)):
        wrong = math.log((1 - LEVEL) * (items - 1) / LEVEL) / epsilon
        least = choices(items, 1, 1, Promise(epsilon), 9)
        yield Trial("ln((1 - beta)(D - 1)/beta)/epsilon", "pure", f"most popular of {items}", wrong, Reached(least, 0))
    epsilon = float(rng.uniform(0.5, 2.0))
    own = noise(one, np.array([[1]]), Promise(epsilon), radius_of(Promise(epsilon), 1, 1))
    yield Trial("real tables", "pure", "count by 2/epsilon^2", 2 / epsilon**2, own)
    staircases = [noise(one, np.array([[1], [2]]), Promise(1.0), 30 * cuts, cuts) for cuts in (1, 3)]
    yield Trial("whole answers only", "pure", "sum of 0..2", staircases[0].achieved, staircases[1])
    loose = Promise(0.1, 0.3)
    laws = [noise(one, np.array([[1]]), loose, 12 * cuts, cuts) for cuts in (1, 2)]
    yield Trial("whole answers only", "approximate", "count at (0.1, 0.3)", laws[0].achieved, laws[1])
    yield Trial("delta left out", "approximate", "count at (0.1, 0.3)", 1 / (2 * math.sinh(0.05) ** 2), laws[1])
    normal = noise(one, np.array([[1]]), Promise(rho=1.0), 40, 4)
    yield Trial("normal noise is best", "concentrated", "count by 1/(2 rho)", 0.5, normal)
    turned = noise(np.array([[3, 1], [1, 0]]), np.eye(2, dtype=np.int64), Promise(1.0), 13)
    yield Trial("every real distance", "pure", "workload [[3, 1], [1, 0]]", 4.489**2, turned)
    size, steps = 5, 12
    ratio = on_chain([t / (size + t) for t in range(steps + 1)], Promise(1.0), 4)
    straight = on_chain(range(steps + 1), Promise(1.0), 4).floor / size**2
    yield Trial("linear at the first table", "pure", "mean of 5 rows", straight, ratio)
    yield Trial(
        "one holder more",
        "approximate",
        "keys",
        1 + shown_at(Promise(1.0, 1e-3), 40),
        Reached(shown_at(Promise(1.0, 1e-3), 40), 0),
    )


def trials(instances: int, seed: int) -> Iterator[Trial]:
    """Random instances of all families, in turn, until there are so many."""
    count, number = 0, 0
    while count < instances:
        for family in FAMILIES.values():
            for trial in family(np.random.default_rng([seed, number])):
                if trial.bound > 0:  # else nothing is claimed
                    count += 1
                    yield trial
        number += 1
