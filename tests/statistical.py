"""The one home of statistical tolerance: a test states its law, and a law a margin away must be refused.

Every helper has two halves.  The true law must pass at level ALPHA; the law off by the margin must fail at
level ALPHA, so that no test passes by being weak.  Each docstring says how many samples that takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy import stats

ALPHA = 1e-6  # false alarms of one test
POWER_MARGIN = 0.1  # a law this far off must be refused
SAMPLES = 100_000

Cdf = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
Pmf = Callable[[int], float]

LEAST_EXPECTED = 10.0  # per cell of a chi-square test; smaller cells are pooled
MOST_CELLS = 400


def assert_distribution(
    samples: npt.ArrayLike,
    family: Callable[[float], Cdf],
    parameter: float,
    margin: float = POWER_MARGIN,
    alpha: float = ALPHA,
) -> None:
    """Kolmogorov-Smirnov: `family(parameter)`, a cdf, must pass; a parameter `margin` off must fail.

    Power: with n samples the critical distance is sqrt(ln(2 / alpha) / (2 n)), 0.0085 at n = 100,000.  A
    scale 10 % off moves the cdf of a Laplace or normal law by 0.018 to 0.024, at least twice that.
    """
    values = np.asarray(samples, dtype=np.float64).reshape(-1)
    truth = ks_pvalue(values, family(parameter))
    assert truth >= alpha, f"the law is refused: p = {truth:.3g} below {alpha:g}"
    for wrong in (parameter * (1 - margin), parameter * (1 + margin)):
        p = ks_pvalue(values, family(wrong))
        assert p < alpha, f"no power: parameter {wrong:g} passes with p = {p:.3g}; draw more samples"


def assert_law(draws: npt.ArrayLike, law: Pmf, wrong: Pmf | tuple[Pmf, ...], alpha: float = ALPHA) -> None:
    """Chi-square on integer draws: the probability function `law` must pass, every `wrong` one must fail.

    Power: with n draws and cells of probability p_i the statistic of a wrong law q has mean
    n sum (p_i - q_i)^2 / q_i above its degrees of freedom k; it exceeds the critical value, about
    k + 7 sqrt(2 k), with room when n sum (p_i - q_i)^2 / q_i >= 14 sqrt(2 k).  A Laplace scale 1 % off has
    sum (p_i - q_i)^2 / q_i about 1e-4, a Gaussian one 2e-4: 10^7 draws and 200 cells give 1,000 against 280.
    """
    values = np.asarray(draws).reshape(-1)
    truth = chi_square_pvalue(values, law)
    assert truth >= alpha, f"the law is refused: p = {truth:.3g} below {alpha:g}"
    for other in wrong if isinstance(wrong, tuple) else (wrong,):
        p = chi_square_pvalue(values, other)
        assert p < alpha, f"no power: the wrong law passes with p = {p:.3g}; draw more samples"


def assert_probability(successes: int, trials: int, p: float, alpha: float = ALPHA) -> None:
    """Exact binomial test of one probability, two-sided.

    Power: an event whose probability is off by d is refused when d >= 10 sqrt(p (1 - p) / trials).
    """
    found = float(stats.binomtest(successes, trials, p).pvalue)
    assert found >= alpha, f"{successes} of {trials} against p = {p:.6g}: p-value {found:.3g}"


def ks_pvalue(samples: npt.NDArray[np.float64], cdf: Cdf) -> float:
    """Dvoretzky-Kiefer-Wolfowitz (Massart's constant): valid for discrete laws too, never too small."""
    points, counts = np.unique(samples, return_counts=True)
    below = np.cumsum(counts) / samples.size
    at = np.asarray(cdf(points), dtype=np.float64)
    before = np.asarray(cdf(np.nextafter(points, -np.inf)), dtype=np.float64)
    gap = max(np.abs(at - below).max(), np.abs(before - (below - counts / samples.size)).max())
    return float(min(1.0, 2 * math.exp(-2 * samples.size * gap * gap)))


def chi_square_pvalue(draws: npt.NDArray[np.int64], law: Pmf) -> float:
    """Goodness of fit of integers to a probability function, one cell an integer, tails pooled.

    For laws wider than a few hundred integers use `binned_pvalue` with a distribution function.
    """
    reach = 1
    while draws.size * (law(reach) + law(-reach)) > LEAST_EXPECTED / 10 and reach < MOST_CELLS:
        reach += 1
    edges = np.arange(-reach, reach + 1)
    expected = np.array([law(int(z)) for z in edges]) * draws.size
    inside = draws[(draws >= -reach) & (draws <= reach)]
    observed = np.bincount(inside + reach, minlength=edges.size).astype(np.float64)
    expected = np.append(expected, max(draws.size - expected.sum(), 0.0))
    observed = np.append(observed, draws.size - inside.size)
    return pooled_pvalue(observed, expected)


def binned_pvalue(draws: npt.NDArray[np.int64], edges: npt.NDArray[np.int64], cdf: Cdf) -> float:
    """Goodness of fit in the cells (edges[i], edges[i + 1]], and beyond both ends; cdf(z) = P(Z <= z)."""
    below = np.concatenate([[0.0], np.asarray(cdf(edges.astype(np.float64))), [1.0]])
    observed = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=edges.size + 1)
    return pooled_pvalue(observed.astype(np.float64), np.diff(below) * draws.size)


def pooled_pvalue(observed: npt.NDArray[np.float64], expected: npt.NDArray[np.float64]) -> float:
    """Chi-square with every cell that expects fewer than LEAST_EXPECTED merged into one."""
    large = expected >= LEAST_EXPECTED
    rest_observed, rest_expected = observed[~large].sum(), expected[~large].sum()
    seen, due = observed[large], expected[large]
    if rest_expected >= LEAST_EXPECTED:
        seen, due = np.append(seen, rest_observed), np.append(due, rest_expected)
    elif stats.poisson.sf(rest_observed - 1, max(rest_expected, 1e-300)) < ALPHA:
        return 0.0  # draws where the law has practically no mass
    if seen.size < 2:
        return 1.0
    statistic = float(((seen - due) ** 2 / due).sum())
    return float(stats.chi2.sf(statistic, seen.size - 1))
