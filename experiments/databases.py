"""Composition, the trigonometric mechanism and private components [Huang2014]: what theorems promise, measured.

All tables are drawn from laws with known truth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from lines import Figure, Lines, Setting, check, row

import sfumato as sf
from sfumato.mechanisms import NoisyCovariance, SubspaceIteration
from sfumato.mechanisms.noise.laws import law_named
from sfumato.mechanisms.synthetic.query_bounds import query_bound
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.queries.components import UNIT
from sfumato.queries.spectra import DIRECTION, spectrum
from sfumato.reference.calculators import net_exponent, trigonometric_exponents


def composition(setting: Setting) -> Lines:
    """Laplace II (1.12): k answers with noise of scale sqrt(2 k ln(1/delta)) / epsilon; the delta that they have."""
    for epsilon, broken in ((1.0, False), (5.0, False), (10.0, True)):
        k, delta = 1000, 1e-3
        each = epsilon / math.sqrt(2 * k * math.log(1 / delta))
        laplace = sf.accounting.compose((sf.accounting.laplace(each), k)).delta(epsilon)
        worst = sf.accounting.compose((sf.accounting.pure(each), k)).delta(epsilon)
        yield row(k=k, epsilon=epsilon, printed_delta=delta, delta_of_Laplace_noise=laplace.upper,
                  delta_of_the_worst_mechanism=worst.upper)  # fmt: skip
        holds = laplace.lower > delta if broken else worst.upper <= delta
        yield check(f"the printed noise {'breaks' if broken else 'keeps'} its claim at epsilon = {epsilon:g}",
                    laplace.lower if broken else worst.upper, delta, holds)  # fmt: skip


def sensitivity(setting: Setting) -> Lines:
    """How far one row under replacement moves the means of cos(r arccos x), r < t, in the l1 norm, times n."""
    angles = np.linspace(0, math.pi, setting.runs(4001, 801))
    for t in (2, 4, 8, 16, 32):
        features = np.cos(np.outer(angles, np.arange(t)))
        ends = features[[0, -1]]
        far = max(float(np.abs(features - end).sum(axis=1).max()) for end in ends)
        for at in range(0, len(angles), 40):
            far = max(far, float(np.abs(features - features[at]).sum(axis=1).max()))
        yield row(t=t, printed=t, moves_by_at_least=far, over_the_printed=far / t, bound_of_2_a_feature=2 * (t - 1))
        yield check(f"more than is printed from t = 4, at most 2 a feature: t = {t}", far, [t, 2 * (t - 1)],
                    far <= 2 * (t - 1) + 1e-9 and (t < 4 or far > t))  # fmt: skip


def table_exponents(setting: Setting) -> Lines:
    """Accuracy n^-a, seconds n^b and rows n^c as smoothness K grows, for two columns."""
    d = 2
    for name, K in (("K = 1", 1), ("K = 2d", 2 * d), ("K = 10d", 10 * d), ("K = 100d", 100 * d)):
        found = trigonometric_exponents(d, K)
        ratio = K / d
        printed = {1: [1 / (2 * d + 1), 2, 1 + 2 / (2 * d + 1)], 2 * d: [0.5, 0.75 * d + 0.625, 1.5 + 1 / (4 * d)]}
        far = [1 - 2 / ratio, d * (1.5 - 1 / (2 * ratio)), 2 - 1 / (2 * ratio)]
        shown = printed.get(K, far)
        yield row(
            smoothness=name,
            printed_accuracy=shown[0],
            accuracy=found.accuracy,
            printed_time=shown[1],
            time=found.time,
            printed_rows=shown[2],
            rows=found.rows,
            net_mechanism=net_exponent(d, K),
        )


def spiked(rows: int, columns: int, spikes: tuple[float, ...], rest: float, seed: int) -> np.ndarray:
    """Rows whose second moment has given leading eigenvalues."""
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.normal(size=(columns, columns)))[0]
    sizes = np.sqrt(np.array([*spikes, *[rest] * (columns - len(spikes))]))
    return np.clip((generator.choice([-1, 1], size=(rows, columns)) * sizes) @ basis.T, -1, 1)


def asked(columns: int, size: int, k: int, radius: float | None = None) -> Any:
    """Uncentered components under replacement."""
    spaces = {f"c{i}": sf.Interval(-1, 1, step=0.001, missing=0.0) for i in range(columns)}
    schema = sf.Schema(spaces, adjacency=sf.Replace(), size=size)
    return bind(sf.pca(list(spaces), k, center=False, radius=radius), schema)


def sums(question: Any, points: np.ndarray) -> Any:
    """The exact sums of points in [-1, 1]^d."""
    indices = np.rint((points + 1) * 1000).astype(np.int64)
    return question.summed([question.vectors({f"c{i}": indices[:, i] for i in range(question.size)})])


def gap(setting: Setting) -> Lines:
    """Theorem 2.11: the angle against sigma sqrt(d) / (lambda g), g = 1 - lambda_2 / lambda_1, as lambda_2 varies."""
    size, columns = 20_000, 10
    question = asked(columns, size, 1, radius=1.5)
    mechanism = SubspaceIteration.calibrate(question, sf.Concentrated(0.5), iterations=20)
    sigma = mechanism.scale / (UNIT**2 * DIRECTION) / size
    for second in (0.001, 0.1, 0.3):
        points = spiked(size, columns, (0.5, second), 0.0005, 7)
        values, vectors = np.linalg.eigh(points.T @ points / size)
        exact = sums(question, points)
        found = [spectrum(question, mechanism.release(exact, setting.rng(s))) for s in range(setting.runs(20, 3))]
        sine = float(np.mean([math.sqrt(max(0.0, 1 - (f.vectors[:, 0] @ vectors[:, -1]) ** 2)) for f in found]))
        promised = sigma * math.sqrt(columns) / (values[-1] * (1 - values[-2] / values[-1]))
        printed = sigma * math.sqrt(columns) / (values[-1] * (values[-1] / values[-2] - 1))
        yield row(
            **{
                "lambda_2 / lambda_1": values[-2] / values[-1],
                "sine of the angle": sine,
                "printed bound": printed,
                "over the printed": sine / printed,
                "bound": promised,
                "over the bound": sine / promised,
            }
        )
        yield check(
            f"within twice the bound at {values[-2] / values[-1]:.2g}", sine / promised, 2.0, sine <= 2 * promised
        )


def missing_term(setting: Setting) -> Lines:
    """Theorem 2.12: on a table without variance the printed estimate is sigma sqrt(d), not within sigma sqrt(k)."""
    for columns in (10, 40, 90):
        question = asked(columns, 5_000, 1)
        mechanism = SubspaceIteration.calibrate(question, sf.Concentrated(0.5), iterations=2)
        sigma = mechanism.scale / (UNIT**2 * DIRECTION) / 5_000
        exact = sums(question, np.zeros((1, columns)))
        norms, ritz = [], []
        for s in range(setting.runs(20, 3)):
            output = mechanism.release(exact, setting.rng(s))
            image = np.array(output[2 + columns : 2 + 2 * columns], dtype=float) / (UNIT**2 * DIRECTION)
            norms.append(float(np.linalg.norm(image)) / 5_000 / sigma)
            ritz.append(abs(float(spectrum(question, output).values[0])) / sigma)
        value = float(np.mean(norms)) / math.sqrt(columns)
        yield row(
            columns=columns,
            printed_error_over_sigma=1,
            the_printed_estimate_over_sigma=float(np.mean(norms)),
            our_estimate_over_sigma=float(np.mean(ritz)),
        )
        yield check(f"the printed estimate over sigma sqrt(d), d = {columns}", value, 1.0, abs(value - 1) < 0.2)


def components(setting: Setting) -> Lines:
    """Predicted spectral norms of the noise, in rows, at epsilon 1 (or rho 0.5), and what wins."""
    for columns, radius in ((5, None), (30, None), (30, 2.0), (100, None), (100, 2.0)):
        for target in (sf.Pure(1.0), sf.Concentrated(0.5)):
            ranked = options(asked(columns, 10_000, 2, radius), target)
            yield row(columns=columns, radius=radius, spend=repr(target), chosen=ranked[0].name,
                      predicted=ranked[0].predicted)  # fmt: skip
    for columns, radius, body in ((10, None, "cube"), (10, 1.5, "ball"), (30, 2.0, "ball")):
        question = asked(columns, 10_000, 1, radius)
        mechanism = NoisyCovariance.calibrate(question, sf.Pure(1.0), law_named(body))
        exact = sums(question, np.zeros((1, columns)))
        values = []
        for s in range(setting.runs(20, 3)):
            found = spectrum(question, mechanism.release(exact, setting.rng(s)))
            values.append(max(abs(found.values[0]), abs(found.others).max()) * found.rows)
        ratio = float(np.median(values)) / mechanism.error(0.5)
        yield check(f"median noise over its prediction, {body}, d = {columns}", ratio, 1.0,
                    abs(ratio - 1) < 0.25 or setting.quick)  # fmt: skip


def trigonometric(setting: Setting) -> Lines:
    """Worst error over 20 smooth queries against n, beside the promised exponent and the net's."""
    generator = np.random.default_rng(3)
    sizes = (300, 3_000) if setting.quick else (300, 1_000, 3_000, 10_000, 30_000)
    for columns in (1, 2):
        names = [f"c{i}" for i in range(columns)]
        queries = [sf.gaussian_mixture(names, generator.uniform(-1, 1, (10, columns)), 1.0) for _ in range(20)]
        means = []
        for size in sizes:
            frame = pd.DataFrame(100 * np.random.default_rng(4).beta(2, 5, (size, columns)), columns=names)
            spaces = {name: sf.Interval(0, 100, step=0.01, missing=0.0) for name in names}
            schema = sf.Schema(spaces, adjacency=sf.Replace(), size=size)
            error, bound, own = worst(schema, frame, queries, setting)
            means.append(error)
            yield row(columns=columns, n=size, worst_error=error, bound_of_one_query=bound, its_error=own)
            yield check(f"a query's own bound covers its error, d = {columns}, n = {size}", own, bound, bound >= own)
        slope = float(np.polyfit(np.log(sizes), np.log(means), 1)[0])
        promised, net = trigonometric_exponents(columns, 4).accuracy, net_exponent(columns, 4)
        yield check(
            f"exponent of the error in n, d = {columns} (promised {-promised:.2f}, net {-net:.2f})",
            slope,
            -0.5,
            slope <= -0.5,
        )


def worst(schema: sf.Schema, frame: pd.DataFrame, queries: list[Any], setting: Setting) -> tuple[float, float, float]:
    """The mean over runs of the worst error; the first query's bound and error in the last run."""
    mechanism = Trigonometric.calibrate(bind(sf.trigonometric(list(frame)), schema), sf.Pure(1.0))
    exact = mechanism.take(sf.read(frame, schema=schema))
    truths = [query.details.values(frame.to_numpy() / 50 - 1).mean() for query in queries]
    errors = []
    for s in range(setting.runs(5, 3)):
        output = mechanism.release(exact, setting.rng(s))
        found = mechanism.distribution(output)
        away = [abs(found.evaluate(q) - truth) for q, truth in zip(queries, truths, strict=True)]
        errors.append(max(away))
    return float(np.mean(errors)), query_bound(mechanism, output, found, queries[0]), away[0]


FIGURES = {
    "smooth-composition": Figure("Laplace II (1.12): the delta that its noise really has", composition),
    "smooth-sensitivity": Figure("How far one row moves the features of the trigonometric mechanism", sensitivity),
    "smooth-table-2-1": Figure("Table 2.1: exponents of accuracy, time and rows, two columns", table_exponents),
    "smooth-gap": Figure("Theorem 2.11: the gap as printed and as it must be", gap),
    "smooth-missing-term": Figure("Theorem 2.12: the term that is missing", missing_term),
    "smooth-components": Figure("Which noise is best for components", components),
    "smooth-trigonometric": Figure("The trigonometric mechanism: error against n", trigonometric),
}
