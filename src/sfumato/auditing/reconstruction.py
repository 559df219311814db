"""Reconstruction: answers to many subset sums give back the bits, if they are too accurate.

Every database consistent with answers of error alpha is within Hamming distance 4 alpha of the truth
[DinurNissim2003, theorem 1.4 of document 002].  Small tables are searched exhaustively, larger ones
decoded by least squares and by linear programming (least l1 misfit); prefix sums by differencing.
Under pure epsilon-DP the number of uniform secret bits that anyone guesses right is stochastically
dominated by Bin(n, e^epsilon / (1 + e^epsilon)) [SteinkeNasrJagielski2023]; with delta > 0, one bit in
each independent run is right with probability at most (e^epsilon + delta) / (1 + e^epsilon).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.optimize import linprog

from sfumato.accounting.promises import points
from sfumato.auditing.findings import Attempt, Evidence, Finding
from sfumato.auditing.limits import clopper_pearson
from sfumato.auditing.reporting import shown
from sfumato.auditing.running import Runner, name_of
from sfumato.auditing.sources import source_of
from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Claim

__all__ = [
    "DECODERS",
    "audit_reconstruction",
    "consistent",
    "differencing",
    "least_squares",
    "programming",
]

EXHAUSTIVE = 14  # bits up to which all databases are listed


def consistent(queries: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The database of least worst-case misfit, by listing all of them."""
    size = queries.shape[1]
    every = np.array(list(product((0.0, 1.0), repeat=size)))
    misfit = np.abs(every @ queries.T - answers).max(axis=1)
    return np.asarray(every[int(np.argmin(misfit))])


def least_squares(queries: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Least squares, rounded to bits."""
    return np.asarray(np.linalg.lstsq(queries, answers, rcond=None)[0] > 0.5, dtype=float)


def programming(queries: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """The point of the cube of least l1 misfit, rounded to bits."""
    m, n = queries.shape
    cost = np.concatenate([np.zeros(n), np.ones(m)])
    rows = np.block([[queries, -np.eye(m)], [-queries, -np.eye(m)]])
    limits = np.concatenate([answers, -answers])
    bounds = [(0, 1)] * n + [(0, None)] * m
    found = linprog(cost, A_ub=rows, b_ub=limits, bounds=bounds, method="highs")
    return (found.x[:n] > 0.5).astype(float) if found.success else least_squares(queries, answers)


def differencing(queries: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Differences of successive prefix sums, rounded to bits; other queries by least squares."""
    if queries.shape[0] == queries.shape[1] and np.array_equal(queries, np.tril(np.ones(queries.shape))):
        return (np.diff(answers, prepend=0.0) > 0.5).astype(float)
    return least_squares(queries, answers)


DECODERS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "consistency": consistent,
    "least squares": least_squares,
    "linear programming": programming,
    "differencing": differencing,
}


def audit_reconstruction(
    target: Callable[..., Any],
    queries: np.ndarray,
    claim: Claim,
    *,
    seconds: float = 60.0,
    alpha: float = 1e-6,
    seed: int = 0,
    generator: Callable[..., Any] = np.random.default_rng,
) -> Finding:
    """Refute a claim (one bit replaced) about `target(bits) -> answers` to 0/1 `queries` (rows).

    The decoder is chosen on runs of its own; fresh random bits then decide, at a number of runs fixed
    before the first of them.
    """
    matrix = np.asarray(queries, dtype=float)
    if matrix.ndim != 2:
        raise ParameterError("queries must be a matrix with one row per subset sum")
    start = time.perf_counter()
    runner, rng = Runner(target, generator, seed), np.random.default_rng(seed)
    best = _decoder(runner, matrix, rng)
    once = time.perf_counter()
    right, bits = _round(runner, matrix, DECODERS[best], rng)
    cost = max(time.perf_counter() - once, 1e-5)
    epsilon, delta = points(claim)[0]
    rounds = int(min(2000, max(1, (seconds - (time.perf_counter() - start)) / cost / 2)))
    pure = delta == 0
    place = int(np.argmax(right))
    hits = trials = 0
    for _ in range(rounds):
        right, bits = _round(runner, matrix, DECODERS[best], rng)
        hits += int(right.sum()) if pure else int(right[place])
        trials += len(bits) if pure else 1
        if pure and trials > 200_000:
            break
    low = clopper_pearson(hits, trials, alpha)[0]
    shown_epsilon = math.log(max(low - delta, 1e-300) / max(1 - low, 1e-300)) if low > delta else 0.0
    words = f"{best} guesses {hits} of {trials} secret bits"
    tried = Attempt("reconstruction", words, runner.runs)
    name, spent = name_of(target), time.perf_counter() - start
    if low <= (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)):
        blank = runner.seen.blank
        return Finding(name, claim, None, (tried,), None, () if blank is None else (blank,), spent, blank is None)
    flipped = bits.copy()
    flipped[place] = 1 - flipped[place]
    evidence = Evidence(
        attack="reconstruction",
        neighbors=(bits, flipped),
        relation="one bit replaced, for each of the bits",
        words=f"{words}; at most {math.exp(epsilon) / (1 + math.exp(epsilon)):.4g} could be right",
        event=lambda answers: bool(DECODERS[best](matrix, np.asarray(answers))[place] == bits[place]),
        epsilon=shown_epsilon,
        delta=delta,
        alpha=alpha,
        rates=(hits / trials, 0.5),
        trials=trials,
        script=_script(target, matrix, claim),
    )
    return Finding(name, claim, evidence, (tried,), seconds=spent)


def _decoder(runner: Runner, matrix: np.ndarray, rng: np.random.Generator) -> str:
    """The most accurate decoder on runs of its own; among equals the fastest."""
    ranked = []
    for name, decoder in DECODERS.items():
        if name == "consistency" and matrix.shape[1] > EXHAUSTIVE:
            continue
        start = time.perf_counter()
        share = np.mean([_round(runner, matrix, decoder, rng)[0].mean() for _ in range(3)])
        ranked.append((-round(float(share), 2), time.perf_counter() - start, name))
    return min(ranked)[2]


def _round(
    runner: Runner,
    matrix: np.ndarray,
    decoder: Callable[[np.ndarray, np.ndarray], np.ndarray],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Fresh secret bits, one run, and which bits the decoder got right (none if the run gave no answers)."""
    bits = rng.integers(0, 2, matrix.shape[1]).astype(float)
    try:
        answers = np.asarray(runner.one(bits.copy()), dtype=float).ravel()
    except (TypeError, ValueError):
        return np.zeros(len(bits), dtype=bool), bits
    if answers.shape != (len(matrix),) or not np.all(np.isfinite(answers)):
        return np.zeros(len(bits), dtype=bool), bits
    return decoder(matrix, answers) == bits, bits


def _script(target: Callable[..., Any], matrix: np.ndarray, claim: Claim) -> str:
    return "\n".join(
        [
            "import numpy as np",
            "",
            "from sfumato.auditing.reconstruction import audit_reconstruction",
            "from sfumato.privacy.guarantees import *",
            "",
            source_of(target),
            "",
            f"queries = {shown(matrix)}",
            f"print(audit_reconstruction(target, queries, {claim!r}, seconds=10))",
            "",
        ]
    )
