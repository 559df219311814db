"""How well a walk did: effective sample sizes, split R-hat, and identities that its law must satisfy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.sampling.reals import Reals

__all__ = ["Diagnostics", "cubic_gap", "diagnose", "effective_size", "features", "split_rhat", "stein_gap"]

BATCHES = 60  # whose means estimate standard errors


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """What is known of a batch of draws.

    `method` names the sampler; `exact` says that only floating point stands between it and its law.  The rest is for
    walks: least effective sample size and largest split R-hat over coordinates, their squares and norms, and the
    largest deviations, in standard errors, of the identities E[z y^T] = I / rate, E[y] = 0 and the cubic field.
    """

    method: str
    exact: bool
    chains: int = 1
    effective: float | None = None
    rhat: float | None = None
    stein: float | None = None
    drift: float | None = None
    cubic: float | None = None


def features(draws: Reals) -> Reals:
    """Coordinates, squared coordinates and the l1, l2, linf norms of draws (..., d): the figures that are watched."""
    norms = [np.linalg.norm(draws, ord=order, axis=-1)[..., None] for order in (1, 2, np.inf)]
    return np.concatenate([draws, draws**2, *norms], axis=-1)


def effective_size(series: Reals) -> Reals:
    """Of each feature, from series (chains, length, features): Geyer's initial monotone sequence [Geyer1992]."""
    chains, length, count = series.shape
    centered = series - series.mean(axis=(0, 1))
    size = 1 << (2 * length - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(centered, size, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, size, axis=1)[:, :length].mean(axis=0) / length
    pairs = covariance[: length - length % 2].reshape(-1, 2, count).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.maximum(pairs, 0), axis=0) * positive
    time = (2 * pairs.sum(axis=0) - covariance[0]) / np.where(covariance[0] > 0, covariance[0], 1)
    return np.asarray(chains * length / np.maximum(time, 1e-3))


def split_rhat(series: Reals) -> Reals:
    """Of each feature, from series (chains, length, features): each chain split in two [GelmanRubin1992]."""
    length = series.shape[1] // 2
    halves = np.concatenate([series[:, :length], series[:, length : 2 * length]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    return np.asarray(np.sqrt((length - 1) / length + between / np.where(within > 0, within, 1)))


def diagnose(points: Reals, normals: Reals, method: str) -> Diagnostics:
    """Of a walk at rate 1: points and normals (chains, length, d)."""
    if points.shape[0] * points.shape[1] < BATCHES:
        return Diagnostics(method=method, exact=False, chains=points.shape[0])
    series = features(points)
    return Diagnostics(
        method=method,
        exact=False,
        chains=points.shape[0],
        effective=float(effective_size(series).min()),
        rhat=float(split_rhat(series).max()) if points.shape[1] >= 4 else None,
        stein=stein_gap(points, normals),
        drift=deviation(normals),
        cubic=cubic_gap(points, normals),
    )


def stein_gap(points: Reals, normals: Reals) -> float:
    """The largest deviation of E[z y^T] from I, in standard errors."""
    products = points[..., :, None] * normals[..., None, :] - np.eye(points.shape[-1])
    return deviation(products.reshape(*points.shape[:2], -1))


def cubic_gap(points: Reals, normals: Reals) -> float:
    """The same for 3 <a, b> E <a, z>^2 = E[<a, z>^3 <y, b>] with a and b on the axes."""
    field = points[..., :, None] ** 3 * normals[..., None, :]
    field -= 3 * np.eye(points.shape[-1]) * points[..., :, None] ** 2
    return deviation(field.reshape(*points.shape[:2], -1))


def deviation(series: Reals) -> float:
    """The largest |mean| over the features of (chains, length, features), in standard errors of BATCHES means."""
    chains, length, _ = series.shape
    pieces = max(1, min(length, BATCHES // chains))
    size = length // pieces
    means = series[:, : pieces * size].reshape(chains * pieces, size, -1).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    return float((np.abs(means.mean(axis=0)) / np.where(error > 0, error, np.inf)).max())
