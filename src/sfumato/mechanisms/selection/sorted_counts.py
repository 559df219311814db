r"""The most popular items by sorting one noisy histogram, their noisy counts beside them.

Definition.  Add independent noise to the counts of all items; release in each cell the k items whose noisy counts are
largest, with these counts, largest first.

Guarantee.   That of the noise on the whole vector of counts, since sorting looks at nothing else: one unit moves it by
at most cap in l1 and sqrt(cap) in l2 for each of its rows that is added or removed, whatever k is.
Proof: docs/proofs/sorted_counts.md.

Accuracy.    An item left out exceeds a chosen one by s or more only if the largest noise of the D - k items that are
not the true best ones exceeds the least of the k best by s or more: on every table P(loss >= s) is at most
P(max_{D-k} Z + max_k Z' >= s), attained where k items lead all others by s but for ties.  If k = D, a later item leads
an earlier one by at most twice the largest noise.

Assumes.     What the noise assumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.accounting.laws import Law
from sfumato.arguments import instance
from sfumato.errors import ParameterError
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.noise.discrete_gaussian import DiscreteGaussian
from sfumato.mechanisms.noise.gaussian import Gaussian
from sfumato.mechanisms.noise.laplace import Laplace
from sfumato.mechanisms.selection.selection import Chosen, Counts, checked_scores
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.popular import Popular
from sfumato.randomness import Rng
from sfumato.sampling import DiscreteGaussian as DiscreteGaussianLaw
from sfumato.sampling import DiscreteLaplace, RoundedNormal
from sfumato.sampling.independent import joint_quantile

__all__ = ["SortedCounts"]

Counting = Laplace | Gaussian | DiscreteGaussian
Noise = DiscreteLaplace | RoundedNormal | DiscreteGaussianLaw
STEPS = 2048  # to either side of zero, into which the noise is rounded up for its error
BEYOND = 1e-15  # the tail that is left outside of them, added to the failure probability


@dataclass(frozen=True, slots=True)
class SortedCounts(Answering):
    """The k largest noisy counts of each cell; `counting` adds the noise to all counts.

    Proof: docs/proofs/sorted_counts.md.
    """

    query: Popular
    counting: Counting

    @classmethod
    def calibrate(cls, query: Popular, target: Guarantee, kind: type[Counting] = Laplace) -> SortedCounts:
        """The least noise of this kind that meets `target`."""
        instance("query", query, Popular, "a question about popular items, as bind(sf.top(...), schema) makes it")
        return cls(query, kind.calibrate(query, target))

    @property
    def noise(self) -> Noise:
        """The law of each count's noise."""
        return self.counting.noise

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs between tables `distance` units apart."""
        return self.counting.guarantee(distance)

    def loss(self, distance: int = 1) -> Law | None:
        """That of the noise."""
        return self.counting.loss(distance)

    def error(self, beta: float = 0.05) -> float:
        """How far an item left out can lead a chosen one in any cell, but for probability `beta`.

        Where all are chosen, how far a later one can lead an earlier one: by twice the largest noise.
        """
        left, cells = len(self.query.items) - self.query.k, max(1, self.query.cells.count)
        if not left:
            return 2.0 * joint_quantile(self.noise, self.query.k * cells, beta)
        return sorting_error(self.noise, self.query.k, left, beta / cells)

    def release(self, answer: Counts, rng: Rng) -> Chosen:
        """Places and noisy counts of the chosen items, shape (cells, k, 2).  `answer`: exact counts (cells, items)."""
        scores = checked_scores(answer, self.query.cells.count, len(self.query.items), self.query.name)
        noisy = np.asarray(self.counting.release(scores.reshape(-1), rng)).reshape(scores.shape)
        places = np.argsort(-noisy, axis=1, kind="stable")[:, : self.query.k]
        return np.stack([places, np.take_along_axis(noisy, places, axis=1)], axis=-1)

    def to_record(self) -> dict[str, object]:
        """Public parameters."""
        return {"type": "sorted-counts", "counting": self.counting.to_record()}

    @classmethod
    def from_record(cls, query: Popular, record: Mapping[str, Any]) -> SortedCounts:
        """The mechanism with the recorded noise."""
        from sfumato.mechanisms import mechanism_from

        counting = mechanism_from(record["counting"], query)
        if not isinstance(counting, Counting):
            raise ParameterError("counting must be noise on a vector of counts: laplace, gaussian or discrete-gaussian")
        return cls(query, counting)


@lru_cache(maxsize=256)
def sorting_error(noise: Noise, best: int, others: int, beta: float) -> float:
    """The least whole number that max of `others` draws plus max of `best` draws exceeds with probability at most beta.

    Draws are rounded up to multiples of a width, which only adds to the sum; all terms are positive.
    """
    reach = noise.quantile(max(beta * 1e-6 / (best + others), BEYOND))
    width = -(-reach // STEPS) or 1
    ends = width * np.arange(-(reach // width) - 1, reach // width + 2)
    below = np.array([_at_most(noise, int(end)) for end in ends])
    law = np.convolve(_steps(below**others), _steps(below**best))
    tails = np.cumsum(law[::-1])[::-1] * (1 + 1e-9) + (best + others) * noise.tail(int(ends[-1])) / 2
    enough = int(np.argmax(tails <= beta))  # P(sum >= this many steps) is at most beta
    return float(max(0, 2 * int(ends[0]) + width * enough - 1))


def _at_most(noise: Noise, z: int) -> float:
    """P(Z <= z) of a symmetric law on whole numbers, rounded down where it is large."""
    return 1 - noise.tail(z) / 2 if z >= 0 else noise.tail(-z - 1) / 2


def _steps(below: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The mass of each step, from the probabilities of being at or below."""
    return np.maximum(np.diff(below, prepend=0.0), 0.0)
