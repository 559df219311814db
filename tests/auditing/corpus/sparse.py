"""Row 5: the sparse vector technique and the variants of Lyu, Su and Li, on lists of query answers."""

from __future__ import annotations

from typing import Any

from corpus.case import Case, snap
from sfumato.privacy.guarantees import Pure

OPTIONS = {"inputs": [0.0] * 8, "adjacency": "linf"}


def above(answers: list[float], rng: Any) -> list[bool]:
    """One positive answer, then stop: threshold noise 2, query noise 4."""
    threshold = rng.laplace(0.0, 2.0)
    out = []
    for answer in answers:
        out.append(bool(answer + rng.laplace(0.0, 4.0) >= threshold))
        if out[-1]:
            break
    return out


def no_query_noise(answers: list[float], rng: Any) -> list[bool]:
    """Only the threshold is noisy."""
    threshold = rng.laplace(0.0, 2.0)
    return [bool(answer >= threshold) for answer in answers]


def no_stop(answers: list[float], rng: Any) -> list[bool]:
    """Query noise is there, but positives are not counted: the threshold is used for all."""
    threshold = rng.laplace(0.0, 2.0)
    return [bool(answer + rng.laplace(0.0, 2.0) >= threshold) for answer in answers]


def values_for_free(answers: list[float], rng: Any) -> list[Any]:
    """All of epsilon finds the query, and its value comes with it, noisy but not charged."""
    threshold = rng.laplace(0.0, 2.0)
    out: list[Any] = []
    for answer in answers:
        hit = answer + rng.laplace(0.0, 4.0) >= threshold
        out.append(snap(answer + rng.laplace(0.0, 1.0)) if hit else None)
        if hit:
            break
    return out


def values_paid(answers: list[float], rng: Any) -> list[Any]:
    """Half of epsilon finds the query, half answers it with fresh noise."""
    threshold = rng.laplace(0.0, 4.0)
    out: list[Any] = []
    for answer in answers:
        hit = answer + rng.laplace(0.0, 8.0) >= threshold
        out.append(snap(answer + rng.laplace(0.0, 2.0)) if hit else None)
        if hit:
            break
    return out


def unscaled(answers: list[float], rng: Any) -> list[bool]:
    """Four positives allowed, query noise as if there were one."""
    threshold, out = rng.laplace(0.0, 4.0), []
    for answer in answers:
        out.append(bool(answer + rng.laplace(0.0, 4 / 3) >= threshold))
        if sum(out) == 4:
            break
    return out


def scaled(answers: list[float], rng: Any) -> list[bool]:
    """Four positives, query noise 2 * 4 * 2."""
    threshold, out = rng.laplace(0.0, 2.0), []
    for answer in answers:
        out.append(bool(answer + rng.laplace(0.0, 16.0) >= threshold))
        if sum(out) == 4:
            break
    return out


CASES = [
    Case("sparse vector without query noise", 5, no_query_noise, above, Pure(1.0), OPTIONS),
    Case("sparse vector without stop", 5, no_stop, above, Pure(1.0), OPTIONS, heavy=True),
    Case("sparse vector with values for free", 5, values_for_free, values_paid, Pure(1.0), OPTIONS, heavy=True),
    Case("sparse vector unscaled", 5, unscaled, scaled, Pure(1.0), OPTIONS, heavy=True),
]
