"""The geometry of linear queries [Lodrant2019]: tables 1 and 3 done right, and what must be seen beside them.

What one unit of distance protects in table 3 is one year of one age; replacing a player is 16 units.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
from lines import Figure, Lines, Setting, check, row, seconds

import sfumato as sf
from sfumato.bounds import metric_mean_norm, volume_radius
from sfumato.bounds.workloads import certify_workload
from sfumato.mechanisms import NIM, NoiseBody
from sfumato.mechanisms.geometry.noise_body import Columns
from sfumato.mechanisms.noise.measuring import Measured
from sfumato.planner import options
from sfumato.privacy.guarantees import Pure
from sfumato.queries import bind
from sfumato.queries.linear import optimization
from sfumato.queries.linear.factors import RANGES
from sfumato.queries.linear.matrix import Block, Linear
from sfumato.randomness import seeded
from sfumato.sampling import DiscreteLaplace
from sfumato.sampling.bodies import Cube, Hull, knorm
from sfumato.sampling.bodies.body import body_noise

EVERYTHING = frozenset({"mixing", "real-arithmetic"})
FINE = 1000  # lattice points in one unit of a matrix, where continuous laws are compared
PRINTED = {  # table 3: mean errors of Laplace and K-norm, and the seconds of K-norm
    (20, 0.1): (60.1, 186.3, 241), (20, 1.0): (6.0, 18.3, 229), (20, 2.0): (3.0, 9.1, 228),
    (40, 0.1): (90.1, 326.2, 528), (40, 1.0): (8.74, 32.3, 560), (40, 2.0): (4.52, 16.3, 537),
}  # fmt: skip


def signs(d: int, n: int, seed: int = 0) -> np.ndarray:
    """A random sign matrix."""
    return np.random.default_rng(seed).choice([-1, 1], (d, n))


def mean_norm(noise: np.ndarray) -> float:
    """The mean l2 norm of the rows."""
    return float(np.linalg.norm(noise, axis=1).mean())


def laplace(scale: float, shape: tuple[int, int], rng: Any) -> np.ndarray:
    """Laplace noise on a lattice so fine that it counts as continuous, as the bounds beside it do."""
    return np.asarray(DiscreteLaplace(FINE * scale).sample(shape, rng) / FINE)


def table_one(setting: Setting) -> Lines:
    """Random queries, d = n / 10: K-norm over d sqrt(log(n / d)) stays flat, Laplace over it grows as sqrt d."""
    rises = []
    for n in (50, 100, 200, 400):
        d = n // 10
        matrix = signs(d, n, 1)
        theory = d * math.sqrt(math.log(n / d))
        noise, _ = knorm(Hull(matrix), 1.0, setting.runs(400, 40), setting.rng(6))
        least = metric_mean_norm(volume_radius(matrix, draws=500).value, d, 1.0)
        each = mean_norm(laplace(d, (2000, d), setting.rng(8)))
        rises.append({"laplace": each / theory, "k-norm": mean_norm(noise) / theory})
        yield row(**{
            "n": n, "d": d, "Laplace": each, "over d sqrt d": each / d**1.5, "K-norm": mean_norm(noise),
            "over d sqrt(log(n/d))": mean_norm(noise) / theory, "least possible (metric, 99.9 %)": least,
            "that over d min(sqrt(log(n/d)), sqrt d)": least / (d * min(math.sqrt(math.log(n / d)), math.sqrt(d))),
        })  # fmt: skip
    rise = rises[-1]["k-norm"] / rises[-2]["k-norm"]
    yield check("K-norm over its theory: rise when n and d last double (Laplace: 1.41)", rise, 1.1, rise <= 1.1)


def table_three(setting: Setting) -> Lines:
    """200 ages, sign matrices with d = 20 and 40, three epsilons."""
    answers = setting.runs(100, 20)
    for d in (20, 40):
        matrix = signs(d, 200)
        query, radius, hull = Columns("ages", matrix), volume_radius(matrix), Hull(matrix)
        knorm(hull, 1.0, 4, seeded(9), method="walk")  # compiled before it is timed
        for epsilon in (0.1, 1.0, 2.0):
            started = time.process_time()
            walk, _ = knorm(hull, epsilon, answers, setting.rng(1), method="walk")
            spent = (time.process_time() - started) / answers
            printed = PRINTED[d, epsilon]
            at_scale = mean_norm(laplace(1 / epsilon, (answers, d), setting.rng(3)))
            cells = {
                "d": d,
                "epsilon": epsilon,
                "printed Laplace": printed[0],
                "printed K-norm": printed[1],
                "Laplace at the printed scale": at_scale,
                "which is private at epsilon": d * epsilon,
                "Laplace": mean_norm(laplace(d / epsilon, (answers, d), setting.rng(4))),
                "Laplace on x": mean_norm(laplace(1 / epsilon, (answers, 200), setting.rng(2)) @ matrix.T),
                "cube": mean_norm(body_noise(Cube(d, 1.0), epsilon, answers, setting.rng(5))),
                "K-norm": mean_norm(walk),
                "NIM": NIM.calibrate(query, Pure(epsilon)).mean_error("l2"),
                "least possible (metric, 99.9 %)": metric_mean_norm(radius.value, d, epsilon),
                "replacing a player costs": 16 * epsilon,
            }
            yield row(**cells)
            best = min(cells["Laplace"], cells["Laplace on x"], cells["cube"])
            yield check(
                f"K-norm beats every other column at d = {d}, epsilon = {epsilon:g}",
                cells["K-norm"],
                best,
                cells["K-norm"] <= best,
            )
            yield seconds(f"100 answers by K-norm, d = {d}, epsilon = {epsilon:g}", 100 * spent, printed[2])
    for d, wanted, off in ((20, 41.9, 1.0), (40, 78.0, 2.0)):
        many, _ = knorm(Hull(signs(d, 200)), 1.0, setting.runs(4000, 800), setting.rng(7), method="walk")
        found = mean_norm(many)
        yield check(f"K-norm's mean error at d = {d}, epsilon = 1", found, [wanted - off, wanted + off],
                    abs(found - wanted) <= off)  # fmt: skip


def anisotropic(setting: Setting) -> Lines:
    """Rows of very different sizes: the recursive mechanism beats the document's others."""
    d, n = 8, 40
    matrix = signs(d, n) * (3 ** np.arange(d))[:, None]
    query = Columns("anisotropic", matrix)
    body = NoiseBody.calibrate(query, Pure(1.0), Cube(d, float(np.abs(matrix).max())))
    errors = {
        "NIM": NIM.calibrate(query, Pure(1.0)).root_mean_square * math.sqrt(d),
        "K-norm": NoiseBody.calibrate(query, Pure(1.0)).root_mean_square * math.sqrt(d),
        "Laplace": float(np.abs(matrix).sum(axis=0).max()) * math.sqrt(2 * d),
        "Laplace on x": math.sqrt(2 * float((matrix**2).sum())),
        "cube": body.root_mean_square * math.sqrt(d),
    }
    yield row(**errors)
    best = min(error for name, error in errors.items() if name != "NIM")
    yield check("NIM's root mean square over the best of the others", errors["NIM"] / best, 1.0, errors["NIM"] < best)


def certificates(setting: Setting) -> Lines:
    """Certificates, metric class, of the best body for cubes, cross-polytopes and sign matrices."""
    cases: list[tuple[str, np.ndarray, float]] = []
    for d, limit in ((1, 1.03), (2, 1.03), (10, 1.12)):
        corners = np.array(list(itertools.product((1, -1), repeat=d))).T[:, : 2 ** (d - 1)]
        cases += [(f"cube, d = {d}", corners, limit), (f"cross-polytope, d = {d}", np.eye(d, dtype=int), limit)]
    cases += [("signs 2 x 50", signs(2, 50), 1.03), ("signs 10 x 1000", signs(10, 1000), 1.12)]
    cases += [("signs 20 x 200", signs(20, 200), 1.13), ("signs 40 x 200", signs(40, 200), 1.20)]
    for name, matrix, limit in cases[: setting.runs(len(cases), 6)]:
        d = len(matrix)
        radius = volume_radius(matrix, draws=6000 if d <= 10 else 2500)
        name = name if radius.is_exact else f"{name}, {100 * radius.confidence:g} %"
        query = Columns(name, matrix * FINE)
        bodies = [NoiseBody.calibrate(query, Pure(1.0)), NoiseBody.calibrate(query, Pure(1.0), Cube(d, float(FINE)))]
        achieved = min(body.root_mean_square for body in bodies) * math.sqrt(d) / FINE
        least = math.sqrt(d * (d + 1)) * radius.value
        yield row(workload=name, achieved=achieved, least_possible=least, factor=achieved / least)
        yield check(f"within its limit: {name}", achieved / least, limit, 1 - 0.02 <= achieved / least <= limit)


def workloads() -> dict[str, tuple[Any, Any]]:
    """The twelve named workloads."""
    line = sf.Schema({"x": sf.Interval(0, 63, step=1)})
    grid = sf.Schema(
        {"a": sf.Categories(list("abcde")), "b": sf.Categories(list("uvw")), "c": sf.Categories(list("pqrs"))}
    )

    def over(n: int) -> Any:
        return sf.Schema({"x": sf.Interval(0, n - 1, step=1)})

    low_rank = signs(3, 30, 5).T @ signs(3, 30, 6)
    return {
        "identity": (sf.workload("x", "each"), line),
        "prefix": (sf.prefix("x"), line),
        "all ranges": (sf.ranges("x"), line),
        "one-way marginals": (sf.marginals(["a", "b", "c"], k=1), grid),
        "two-way marginals": (sf.marginals(["a", "b", "c"], k=2), grid),
        "signs 2 x 20": (sf.workload("x", signs(2, 20)), over(20)),
        "signs 5 x 50": (sf.workload("x", signs(5, 50)), over(50)),
        "signs 10 x 40": (sf.workload("x", signs(10, 40)), over(40)),
        "signs 10 x 200": (sf.workload("x", signs(10, 200)), over(200)),
        "low rank": (sf.workload("x", low_rank), over(30)),
        "anisotropic": (sf.workload("x", signs(6, 30) * (3 ** np.arange(6))[:, None]), over(30)),
        "weighted": (sf.workload("x", sf.weighted("prefix", 5), "each"), over(32)),
    }


def planner(setting: Setting) -> Lines:
    """The chosen mechanism against every single choice, predicted and measured."""
    worst, off = 0.0, 0.0
    for name, (query, schema) in workloads().items():
        question = bind(query, schema)
        ranked = options(question, Pure(1.0), EVERYTHING)
        least = min(option.predicted for option in ranked)
        measured = measured_error(question, ranked[0].mechanism, setting)
        worst, off = max(worst, ranked[0].predicted / least), max(off, abs(measured / ranked[0].predicted - 1))
        yield row(workload=name, chosen=ranked[0].name, predicted=ranked[0].predicted, measured=measured,
                  over_the_best_single_choice=ranked[0].predicted / least,
                  certificate=getattr(certify_workload(question, ranked[0].mechanism), "factor", None))  # fmt: skip
    yield check("worst of twelve over the best single choice", worst, 1.02, worst <= 1.02)
    yield check("measured error off its prediction by at most", off, 0.15, off <= 0.15 or setting.quick)


def measured_error(question: Any, mechanism: Any, setting: Setting) -> float:
    """The root mean square of a row over releases of one table."""
    counts = np.full(question.linear.cells, 1000)
    truth = question.linear.apply(counts)
    exact = counts if isinstance(mechanism, Measured) else truth
    gaps = [
        question.read(mechanism.release(exact, setting.rng(i)), mechanism).estimates / question.units - truth
        for i in range(setting.runs(60, 10))
    ]
    return float(np.sqrt(np.mean(np.square(gaps))))


def all_ranges(setting: Setting) -> Lines:
    """All ranges over 1,024 cells, pure, against identity, Haar and every branching."""
    linear = Linear((1024,), (Block((RANGES,)),))

    def error(measurement: Any) -> float:
        return math.sqrt(2 * optimization.score(measurement, linear, "l1") / linear.rows)

    best = error(optimization.hierarchy(linear, "l1"))
    others = {"identity": error(optimization.identity(1024)), "haar": error(optimization.haar(1024))}
    others |= {
        f"branching {b}": error(optimization.uniform_hierarchy(1024, b)) for b in (*range(2, 34), 64, 128, 256, 512)
    }
    least = min(others, key=lambda name: others[name])
    yield row(ours=best, identity=others["identity"], Haar=others["haar"], best_other=least, its_error=others[least])
    yield check("root mean square over the best plain strategy", best / others[least], 1.0, best <= others[least])


FIGURES = {
    "geometry-table-1": Figure(
        "Table 1: errors against n and d, and the least possible",
        table_one,
        walked=("K-norm", "over d sqrt(log(n/d))"),
        scatter=0.05,  # of four hundred draws
    ),
    "geometry-table-3": Figure(
        "Table 3: 200 ages, random queries, epsilon 0.1, 1 and 2",
        table_three,
        walked=("K-norm", "NIM"),
        scatter=0.13,  # two means of a hundred draws lie 3 % apart, more than four times as far next to never
    ),
    "geometry-anisotropic": Figure("The recursive mechanism where K is far from isotropic", anisotropic),
    "geometry-certificates": Figure(
        "How far noise bodies are from the best possible",
        certificates,
        walked=("achieved", "factor", "within its limit"),
        scatter=0.03,
    ),
    "geometry-planner": Figure("Twelve workloads: what is chosen, predicted and measured", planner),
    "geometry-ranges": Figure("All ranges over 1,024 cells", all_ranges),
}
