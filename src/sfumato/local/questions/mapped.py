"""A protocol behind a map: the value becomes a category (perhaps by chance), and the inner protocol reports that.

Guarantee.  The inner protocol's: each value's law of reports is a mixture of inner rows, and any two such mixtures
are within what the rows are.  Proof: docs/proofs/local-questions.md.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.local.protocols.protocol import Bits, Floats, LocalProtocol, Reports, Tally
from sfumato.privacy.guarantees import Approximate, Pure

__all__ = ["Mapped"]


class Mapped(LocalProtocol):
    """Everything but the map is the inner protocol's.

    Proof: docs/proofs/local-questions.md.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def inner(self) -> LocalProtocol:
        """The protocol that reports."""

    @abstractmethod
    def positions(self, values: npt.ArrayLike, bits: Bits) -> npt.NDArray[np.int64]:
        """The category of each value, drawn where chance decides."""

    def guarantee(self) -> Pure | Approximate:
        """The inner protocol's."""
        return self.inner.guarantee()

    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One inner report for each value."""
        return self.inner.randomize(self.positions(values, bits), bits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The inner protocol's."""
        return self.inner.dtype

    @property
    def columns(self) -> int:
        """The inner protocol's."""
        return self.inner.columns

    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """The inner protocol's."""
        return self.inner.valid(reports)

    @property
    def cells(self) -> int:
        """The inner protocol's."""
        return self.inner.cells

    def tally(self, reports: Reports) -> Tally:
        """The inner protocol's."""
        return self.inner.tally(reports)

    def estimate(self, tally: Tally, n: int) -> Floats:
        """Of the categories of the map."""
        return self.inner.estimate(tally, n)

    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """Of the categories of the map."""
        return self.inner.variance(n, truth)

    def risk(self, n: int) -> float:
        """At least the sum of the variances of all estimates, for every truth."""
        return float(self.variance(n).sum())

    def outputs(self) -> Reports:
        """The inner protocol's."""
        return self.inner.outputs()
