"""What mechanisms share that add noise to a measurement of the histogram and answer by least squares.

Proof: docs/proofs/measuring.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.additive import Lattice
from sfumato.queries.linear.measurements import Measurement
from sfumato.queries.linear.reading import answers_of, checked_histogram, measurement_of
from sfumato.queries.linear.workload import Workload
from sfumato.queries.question import Source
from sfumato.randomness import Rng
from sfumato.sampling.independent import Single

__all__ = ["Measured"]


class Measured(Answering):
    """A workload, a measurement that spans it, and a law of noise on each measured number."""

    __slots__ = ()

    query: Workload
    measurement: Measurement

    @property
    def noise(self) -> Single:
        """The law of each measurement's noise."""
        raise NotImplementedError

    def margins(self, beta: float) -> npt.NDArray[np.float64]:
        """For each row a distance that its error exceeds with probability at most `beta`."""
        raise NotImplementedError

    def take(self, table: Source) -> Lattice:
        """The exact, secret histogram below the answers."""
        return self.query.counts(table)

    def error(self, beta: float = 0.05) -> float:
        """The largest error of a row in lattice units, exceeded with probability at most `beta`."""
        return float(self.margins(beta / self.query.dimension).max())

    @property
    def root_mean_square(self) -> float:
        """sqrt(E ||error||_2^2 / d), in lattice units."""
        return math.sqrt(self.noise.variance * float(self.measurement.variances(self.query.linear).mean()))

    def release(self, answer: Lattice, rng: Rng) -> Lattice:
        """Measure and add the noise.  `answer` is the exact, secret histogram."""
        exact = self.measurement.apply(checked_histogram(answer, self.query))
        return np.asarray(exact + self.noise.sample(self.measurement.size, rng))

    def answers(self, output: Lattice) -> npt.NDArray[np.float64]:
        """The workload's answers, from the release alone."""
        return answers_of(self.query, self.measurement, output)

    def read_measurement(self) -> None:
        """Rebuild a measurement that was stored as plain values."""
        stored: object = self.measurement
        if isinstance(stored, Mapping):
            object.__setattr__(self, "measurement", measurement_of(stored))
