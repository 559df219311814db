r"""From released second moments to components: eigenvalues, directions, and how far off they can be.

Two forms are read.  The covariance form holds noisy sums; the subspace form holds an orthonormal X, the noisy product
of the summed second moment with X, the noisy trace and count.  A leading header says which: (iterations, multiple),
with iterations = 0 for the covariance form, all sums in units of 1 / multiple.

Error bars follow from a bound e on the spectral norm of the noise: eigenvalues move by at most the norm of the
perturbation (Weyl), directions by its ratio to the gap [DavisKahan1970]; a Ritz value lies within the residual's norm
of an eigenvalue [Parlett1998, theorem 11.5.1].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.answers.answer import Columns
from sfumato.queries.components import UNIT, Moments, Whole

__all__ = ["DIRECTION", "Spectrum", "component_table", "moments", "spectrum"]

DIRECTION = 1 << 10  # lattice steps of a unit vector in the subspace form

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """Components of columns scaled to [-1, 1]; `vectors` are columns, `others` the eigenvalues left out, if known."""

    rows: float
    mean: Floats | None
    values: Floats
    vectors: Floats
    total: float
    others: Floats | None
    residual: float = 0.0

    @property
    def explained(self) -> Floats:
        """The share of each component in the total variance (or second moment)."""
        return np.clip(self.values / self.total, 0.0, 1.0) if self.total > 0 else np.zeros(len(self.values))


def moments(question: Moments, output: Whole) -> tuple[Floats, Floats | None, float]:
    """The noisy summed second moment, the summed rows (if centered) and the number of rows, in box units."""
    body = np.asarray(output)[2:].astype(np.float64) / float(output[1]) / UNIT**2
    d = question.size
    ends = np.cumsum(question.groups)
    matrix = np.diag(body[: ends[0]])
    upper = np.triu_indices(d, 1)
    matrix[upper] = body[ends[0] : ends[1]]
    matrix.T[upper] = matrix[upper]
    sums = body[ends[1] : ends[2]] if question.details.center else None
    rows = float(body[-1]) if question.counted else float(question.rows or 1)
    return matrix, sums, max(rows, 1.0)


def spectrum(question: Moments, output: Whole) -> Spectrum:
    """What a release says about the components."""
    return _covariance(question, output) if int(output[0]) == 0 else _subspace(question, output)


def _covariance(question: Moments, output: Whole) -> Spectrum:
    matrix, sums, rows = moments(question, output)
    mean = None if sums is None else sums / rows
    second = matrix / rows - (0.0 if mean is None else np.outer(mean, mean))
    values, vectors = np.linalg.eigh(second)
    k = question.details.k
    order = np.argsort(values)[::-1]
    return Spectrum(
        rows, mean, values[order[:k]], _signed(vectors[:, order[:k]]), float(np.trace(second)), values[order[k:]]
    )


def _subspace(question: Moments, output: Whole) -> Spectrum:
    d, k = question.size, question.details.k
    body = np.asarray(output)[2:].astype(np.float64) / float(output[1])
    start = body[: d * k].reshape(d, k) / DIRECTION
    moved = body[d * k : 2 * d * k].reshape(d, k) / (DIRECTION * UNIT**2)
    totals = body[2 * d * k :] / (DIRECTION * UNIT**2)
    rows = max(float(totals[1]) if question.counted else float(question.rows or 1), 1.0)
    frame, change = np.linalg.qr(start)
    image = np.linalg.solve(change.T, moved.T).T / rows  # the second moment times the orthonormal frame
    small = frame.T @ image
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    order = np.argsort(values)[::-1]
    residual = float(np.linalg.norm(image - frame @ ((small + small.T) / 2), 2))
    vectors = np.linalg.qr(image @ rotation[:, order])[0]
    return Spectrum(rows, None, values[order], _signed(vectors), float(totals[0]) / rows, None, residual)


def component_table(question: Moments, found: Spectrum, reach: float) -> Columns:
    """The public columns; `reach` bounds the spectral norm of the noise in the sums."""
    margin = _margin(question, found, reach)
    low, high = np.maximum(found.values - margin, 0.0), np.maximum(found.values + margin, 0.0)
    total = max(found.total, 0.0)
    spread = question.size * margin
    least = total - spread
    columns: Columns = {
        "component": list(range(1, len(low) + 1)),
        "estimate": found.values.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "explained": found.explained.tolist(),
        "explained_low": np.clip(low / (total + spread), 0, 1).tolist() if total + spread > 0 else [0.0] * len(low),
        "explained_high": (np.minimum(high, least) / least if least > 0 else np.sign(high)).tolist(),
        "sine_of_angle": _sines(found, margin),
    }
    names = (f"loading_{name}" for name in question.details.columns)
    return columns | {name: row.tolist() for name, row in zip(names, found.vectors, strict=True)}


def _margin(question: Moments, found: Spectrum, reach: float) -> float:
    """How far the released second moment a row, or covariance, is from the true one, in spectral norm."""
    missed = reach if question.counted else 0.0
    rows = max(found.rows - missed, 1.0)
    largest = float(np.abs(found.values).max()) + found.residual
    if found.mean is None:
        return found.residual + (reach + largest * missed) / rows
    length = float(np.linalg.norm(found.mean))
    largest += length**2
    drift = (reach + length * missed) / rows
    return (reach + largest * missed) / rows + 2 * length * drift + drift**2


def _sines(found: Spectrum, margin: float) -> list[float]:
    """For each component a bound on the sine of its angle to the true one; 1 where it is not separated."""
    if found.others is None:
        return [1.0] * len(found.values)
    every = np.concatenate([found.values, found.others])
    sines = []
    for place in range(len(found.values)):
        gaps = np.abs(np.delete(every, place) - every[place])
        gap = float(gaps.min(initial=np.inf)) - margin
        sines.append(min(1.0, margin / gap) if gap > 0 else 1.0)
    return sines


def _signed(vectors: Floats) -> Floats:
    """Each direction with its largest loading positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)
