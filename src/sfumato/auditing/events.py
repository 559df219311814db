"""The search for an event: the score and threshold that show most on a training sample.

What is found here is only a suspicion.  It is fixed, with its words, before fresh runs decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfumato.auditing.features import ABSENT, FeatureMap, learn
from sfumato.auditing.scores import Bayes, ColumnScore, LinearScore, Score, bayes, linear, together

__all__ = ["Event", "Suspicion", "search"]

CAUTION = 2.0  # standard errors by which training rates are discounted
TRAINING, BINNED = 60_000, 20_000  # rows beyond which linear and binned fits use a part of the sample
CELLS = 4_000_000  # the most numbers in one training matrix
PART, KEPT = 2000, 10  # of a large sample, runs that choose among scores, and scores that are swept


@dataclass(frozen=True)
class Event:
    """A set of outputs: those whose score is at or above the threshold."""

    features: FeatureMap
    score: Score
    threshold: float
    meaning: tuple[tuple[float, str], ...] = ()

    def __call__(self, output: object) -> bool:
        return bool(self.hits([output])[0])

    @np.errstate(all="ignore")
    def hits(self, outputs: Sequence[Any]) -> np.ndarray:
        """Which outputs are in the set."""
        return np.asarray(self.score(self.features.matrix(outputs)) >= self.threshold)

    @property
    def of_bits(self) -> bool:
        """Whether low bits of floats have a part in the set."""
        places = (self.score.place,) if isinstance(self.score, ColumnScore) else self.score.places
        return any(map(self.features.is_bit, places))

    @property
    def words(self) -> str:
        """The event for a reader."""
        names = self.features.columns
        if self.meaning:
            codes = np.array([[code] for code, _ in self.meaning])
            score = (
                replace(self.score, place=0)
                if isinstance(self.score, ColumnScore)
                else replace(self.score, places=(0,))
            )
            hits = score(codes) >= self.threshold
            texts = [f"({text})" for (_, text), hit in zip(self.meaning, hits, strict=True) if hit]
            return " or ".join(texts[:6]) + (" or ..." if len(texts) > 6 else "")
        if isinstance(self.score, ColumnScore):
            sense = ">=" if self.score.sign > 0 else "<="
            return f"{names[self.score.place]} {sense} {self.score.sign * self.threshold:.17g}"
        if isinstance(self.score, Bayes) and len(self.score.places) == 1:
            atoms = self.score.atoms[0]
            ratios = self.score.ratios[0][-len(atoms) - 1 : -1] if atoms else ()
            inside = [a for a, r in zip(atoms, ratios, strict=True) if r >= self.threshold]
            name = names[self.score.places[0]]
            if inside:
                shown = ", ".join("absent" if a == ABSENT else f"{a:.17g}" for a in inside[:6])
                return f"{name} in {{{shown}{', ...' if len(inside) > 6 else ''}}} or a likelier bin"
            return f"{name} in the bins where it is likelier"
        kind = "linear function" if isinstance(self.score, LinearScore) else "sum of log-ratios"
        shown = ", ".join(names[place] for place in self.score.places[:4])
        more = f", ... ({len(self.score.places)} in all)" if len(self.score.places) > 4 else ""
        return f"a learned {kind} of {shown}{more} >= {self.threshold:.6g}"


@dataclass(frozen=True)
class Suspicion:
    """An event with its training rates, at one point of the claim.  `merit` ranks suspicions."""

    event: Event
    flipped: bool
    claim: tuple[float, float]
    guess: tuple[float, float]
    cautious: tuple[float, float]
    merit: float


@np.errstate(all="ignore")
def search(
    first: Sequence[Any],
    second: Sequence[Any],
    points: tuple[tuple[float, float], ...],
    record: object,
    *,
    bits: bool,
    deep: bool,
) -> Suspicion:
    """The best event, in either direction; `deep` also fits the scores over many columns."""
    n = min(len(first), len(second), CELLS // 4)
    half = max(n // 2, 1)
    features = learn([first[:half], second[:half]], record, bits)
    n = min(n, max(64, CELLS // max(len(features.columns), 1)))
    a, b = features.matrix(first[:n]), features.matrix(second[:n])
    best: Suspicion | None = None
    for score, start in _promising(features, _scores(a, b, deep), a, b, points):
        for flipped, side in _sides(score):
            values = side(a[start:]), side(b[start:])
            found = _sweep(features, side, values[::-1] if flipped else values, points, flipped)
            if best is None or found.merit > best.merit:
                best = found
    assert best is not None
    score = best.event.score
    places = (score.place,) if isinstance(score, ColumnScore) else score.places
    meaning = features.decoded(places[0], np.vstack([a, b])) if len(places) == 1 else ()
    return replace(best, event=replace(best.event, meaning=meaning))


def _promising(
    features: FeatureMap,
    scores: list[tuple[Score, int]],
    a: np.ndarray,
    b: np.ndarray,
    points: tuple[tuple[float, float], ...],
) -> list[tuple[Score, int]]:
    """The scores worth sweeping over a large sample, by their merit on a part of it."""
    if len(a) <= 4 * PART or len(scores) <= KEPT:
        return scores
    ranked = []
    for k, (score, start) in enumerate(scores):
        merit = -math.inf
        for flipped, side in _sides(score):
            values = side(a[start : start + PART]), side(b[start : start + PART])
            merit = max(merit, _sweep(features, side, values[::-1] if flipped else values, points, flipped).merit)
        ranked.append((-merit, k))
    return [scores[k] for _, k in sorted(ranked)[:KEPT]]


def _sides(score: Score) -> list[tuple[bool, Score]]:
    """The score against the second input, and its opposite (for a column both) against the first."""
    if isinstance(score, ColumnScore):
        return [(False, score), (True, score)]
    if isinstance(score, LinearScore):
        return [(False, score), (True, replace(score, weights=tuple(-w for w in score.weights)))]
    opposite = tuple(tuple(-r for r in ratios) for ratios in score.ratios)
    return [(False, score), (True, replace(score, ratios=opposite))]


def _scores(a: np.ndarray, b: np.ndarray, deep: bool) -> list[tuple[Score, int]]:
    """Scores with the row from which their thresholds may be swept (after the rows of the fit)."""
    live = [k for k in range(a.shape[1]) if not _constant(a[:, k], b[:, k])]
    scores: list[tuple[Score, int]] = []
    for k in live or [0]:
        scores += [(ColumnScore(k, 1), 0), (ColumnScore(k, -1), 0)]
    half = min(len(a) // 2, TRAINING)
    few = min(half, BINNED)
    each = [bayes(a[:few], b[:few], (k,)) for k in live]
    scores += [(score, half) for score in each]
    if len(live) > 1:
        scores.append((together(each), half))
    if deep and len(live) > 1 and half > 4 * len(live):
        fitted = linear(a[:half], b[:half], tuple(live))
        base = [k for k in live if np.all(np.isfinite(a[:half, k])) and not np.any(a[:half, k] == ABSENT)]
        if fitted is not None:
            scores.append((fitted, half))
        if 1 < len(base) < len(live):
            narrow = linear(a[:half], b[:half], tuple(base[: max(2, len(base) // 2)]))
            if narrow is not None:
                scores.append((narrow, half))
    return scores


def _constant(x: np.ndarray, y: np.ndarray) -> bool:
    value = x[0]
    same = (x == value).all() and (y == value).all()
    return bool(same or (np.isnan(x).all() and np.isnan(y).all()))


def _sweep(
    features: FeatureMap,
    score: Score,
    values: tuple[np.ndarray, np.ndarray],
    points: tuple[tuple[float, float], ...],
    flipped: bool,
) -> Suspicion:
    """The best threshold of one score."""
    one, two = np.sort(values[0]), np.sort(values[1])
    cuts = _cuts(one, two)
    n, m = len(one), len(two)
    p = (n - np.searchsorted(one, cuts, side="left")) / n
    q = (m - np.searchsorted(two, cuts, side="left")) / m
    low, high = _wilson(p, n)[0], _wilson(q, m)[1]
    best = (-math.inf, 0, points[0])
    for point in points:
        merits = _merit(low, high, *point)
        k = int(np.argmax(merits))
        if merits[k] > best[0]:
            best = (float(merits[k]), k, point)
    merit, k, point = best
    event = Event(features, score, float(cuts[k]))
    return Suspicion(event, flipped, point, (float(p[k]), float(q[k])), (float(low[k]), float(high[k])), merit)


def _cuts(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Thresholds worth trying: quantiles of both samples, and more of them in the upper tail."""
    cuts = []
    for sample in (one, two):
        n = len(sample)
        ranks = np.unique(np.concatenate([np.linspace(0, n - 1, 120), n - np.geomspace(1, n, 60)]))
        cuts.append(sample[np.clip(ranks.astype(int), 0, n - 1)])
    found = np.unique(np.concatenate(cuts))
    found = found[found > -np.inf]
    return found if len(found) else np.array([np.inf])


def _wilson(rate: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    z = CAUTION
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    width = z / (1 + z * z / n) * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return np.clip(middle - width, 0, 1), np.clip(middle + width, 1e-12, 1)


def _merit(p: np.ndarray, q: np.ndarray, epsilon: float, delta: float) -> np.ndarray:
    """Above 0: the gap in standard deviations of one pair of runs.  Below 0: how much epsilon is short."""
    factor = math.exp(epsilon)
    gap = p - factor * q - delta
    spread = np.sqrt(p * (1 - p) + factor**2 * q * (1 - q)) + 1e-9
    with np.errstate(divide="ignore", invalid="ignore"):
        short = np.where(p > delta, np.log((p - delta) / q) - epsilon, -50.0)
    return np.where(gap > 0, gap / spread, np.clip(short, -50.0, 0.0) - 1e-9)
