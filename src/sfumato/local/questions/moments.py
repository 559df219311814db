r"""The exact variance of any linear functional of estimated frequencies.

A report supports its own category with probability p and another one with q; two categories, one of them its own,
together with probability r, and two others together with s.  These four numbers fix the mean and the variance of
sum_v w_v 1(supports v) for every weight w and every true category, hence the variance of w . estimates.  They also
bound it: each estimate is linear, so one report moves w . estimates by at most sum |w_v| / (n (p - q)).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sfumato.errors import UnsupportedQuery
from sfumato.local.protocols.generalized import GeneralizedResponse
from sfumato.local.protocols.protocol import Floats, LocalProtocol
from sfumato.local.protocols.subset import SubsetSelection
from sfumato.local.protocols.unary import Unary

__all__ = ["Supports", "supports"]


@dataclass(frozen=True, slots=True)
class Supports:
    """p, q, r, s above, for a protocol of k categories."""

    k: int
    own: Fraction
    other: Fraction
    with_own: Fraction
    with_other: Fraction

    @property
    def gap(self) -> float:
        """p - q."""
        return float(self.own - self.other)

    def means(self, weights: Floats) -> Floats:
        """E[sum_v w_v 1(supports v)] for each true category; weights may have leading axes."""
        total = weights.sum(axis=-1, keepdims=True)
        return np.asarray(float(self.other) * (total - weights) + float(self.own) * weights)

    def squares(self, weights: Floats) -> Floats:
        """E[(sum_v w_v 1(supports v))^2] for each true category."""
        total, squared = weights.sum(axis=-1, keepdims=True), (weights**2).sum(axis=-1, keepdims=True)
        rest, rest_squared = total - weights, squared - weights**2
        alone = float(self.other) * rest_squared + float(self.own) * weights**2
        pairs = 2 * float(self.with_own) * weights * rest + float(self.with_other) * (rest**2 - rest_squared)
        return np.asarray(alone + pairs)

    def coin_variance(self, weights: Floats) -> Floats:
        """For each true category, the variance of one report's share in w . estimates, over its coins."""
        return np.asarray(np.maximum(self.squares(weights) - self.means(weights) ** 2, 0.0) / self.gap**2)

    def variance(self, weights: Floats, truth: Floats) -> Floats:
        """The variance of one report's share when the true category is drawn from `truth`."""
        mean = (self.means(weights) * truth).sum(axis=-1)
        square = (self.squares(weights) * truth).sum(axis=-1)
        return np.asarray(np.maximum(square - mean**2, 0.0) / self.gap**2)

    def worst_variance(self, weights: Floats) -> Floats:
        """At least the variance under every truth: the worst coins, and weights as far apart as they go."""
        apart = weights.max(axis=-1) - weights.min(axis=-1)
        return np.asarray(self.coin_variance(weights).max(axis=-1) + apart**2 / 4)

    def span(self, weights: Floats) -> Floats:
        """At least as far as one report's share can move."""
        return np.asarray(np.abs(weights).sum(axis=-1) / self.gap)


def supports(protocol: LocalProtocol) -> Supports:
    """The four numbers of a frequency protocol."""
    match protocol:
        case GeneralizedResponse():
            lie = (1 - protocol.truthful) / protocol.k
            return Supports(protocol.k, protocol.truthful + lie, lie, Fraction(0), Fraction(0))
        case Unary():
            p, q = protocol.own, protocol.other
            return Supports(protocol.bits, p, q, p * q, q * q)
        case SubsetSelection():
            return _subsets(protocol.k, protocol.size, protocol.inclusion)
    raise UnsupportedQuery(f"protocol {protocol.name!r} does not estimate frequencies from supports")


def _subsets(k: int, size: int, p: Fraction) -> Supports:
    """A uniform set of m of the k - 1 others holds two given ones with probability m (m - 1) / ((k - 1) (k - 2))."""
    pairs = p * (size - 1) * (size - 2) + (1 - p) * size * (size - 1)
    both = pairs / ((k - 1) * (k - 2)) if k > 2 else Fraction(0)
    return Supports(k, p, (size - p) / (k - 1), p * (size - 1) / (k - 1), both)
