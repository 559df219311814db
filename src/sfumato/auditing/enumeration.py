"""Exact enumeration: the whole (epsilon, delta) curve of a small discrete law, without sampling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from sfumato.accounting.promises import points
from sfumato.auditing.findings import Attempt, Finding
from sfumato.auditing.reporting import exact_finding
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Claim

__all__ = ["audit_law", "exact_delta", "exact_epsilon"]

SLACK = 1e-12  # differences of probabilities below this are rounding


def exact_delta(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """The least delta at epsilon: the sum of what exceeds e^epsilon times the other law.

    >>> round(exact_delta(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0), 12)
    0.5
    """
    return math.fsum(np.maximum(first - math.exp(epsilon) * second, 0.0).tolist())


def exact_epsilon(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """The least epsilon at delta, by bisection on the curve; infinite when delta is never reached."""
    if math.fsum(first[second == 0].tolist()) > delta:
        return math.inf
    low, high = 0.0, 1.0
    while exact_delta(first, second, high) > delta + 1e-300:
        low, high = high, 2 * high
        if high > 700:
            return math.inf
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if exact_delta(first, second, middle) > delta else (low, middle)
    return low


def audit_law(
    laws: Sequence[Sequence[float]] | np.ndarray,
    claim: Claim,
    *,
    neighbors: Sequence[tuple[int, int]] | None = None,
    name: str = "law",
) -> Finding:
    """Refute a claim about a channel: row k of `laws` is the law of the output on input k.

    `neighbors` lists pairs of rows that are neighbors; without it all rows are (one record).

    >>> from sfumato.privacy.guarantees import Pure
    >>> audit_law([[0.75, 0.25], [0.25, 0.75]], Pure(1.0)).refuted
    True
    """
    table = np.asarray(laws, dtype=float)
    if table.ndim != 2 or np.any(table < 0) or np.any(np.abs(table.sum(axis=1) - 1) > 1e-9):
        raise ParameterError("laws must be a matrix whose rows are probabilities that add up to 1")
    chosen = list(permutations(range(len(table)), 2))
    if neighbors is not None:
        chosen = [pair for a, b in neighbors for pair in ((a, b), (b, a))]
    worst = (-math.inf, 0.0, 0.0, (0, 0))
    for epsilon, delta in points(claim):
        for a, b in chosen:
            excess = exact_delta(table[a], table[b], epsilon) - delta
            worst = max(worst, (excess, epsilon, delta, (a, b)))
    excess, epsilon, delta, (a, b) = worst
    if excess <= SLACK * (1 + math.exp(epsilon)):
        tried = Attempt("enumeration", f"{len(chosen)} ordered pairs of laws", 0)
        return Finding(name, claim, None, (tried,))
    inside = np.flatnonzero(table[a] > math.exp(epsilon) * table[b])
    event = set(inside.tolist())
    return exact_finding(
        name,
        claim,
        attack="enumeration",
        neighbors=(a, b),
        relation=f"inputs {a} and {b}",
        words=f"output in {sorted(event)}; delta is {delta + excess:.6g} at epsilon = {epsilon:.6g}",
        epsilon=exact_epsilon(table[a], table[b], delta),
        delta=delta,
        event=lambda output: output in event,
        rates=(float(table[a][inside].sum()), float(table[b][inside].sum())),
        script=(
            f"import math\nfirst = {table[a].tolist()!r}\nsecond = {table[b].tolist()!r}\n"
            f"excess = math.fsum(max(p - math.exp({epsilon!r}) * q, 0.0) for p, q in zip(first, second))\n"
            f"print('delta is', excess, 'and', {delta!r}, 'was claimed')\n"
        ),
    )
