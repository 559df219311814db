"""Scores times public weights: relations that matter less are chosen less often, for the same price.

The weight of a pair, or of three columns, is the product of its columns' weights, over that of the heaviest: k / 2^16,
k whole, at most 1.
A whole score v becomes floor(v k / 2^16).  Where one unit moves v by at most a whole s, it moves that by at most s too:
v k / 2^16 moves by no more than s, and so the floor by no more than the whole number s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.mechanisms.synthetic.marginals.selection import Offer, Scores
from sfumato.queries.encoding import Column

__all__ = ["weighted"]

BITS = 16  # scores stay below 2^45, so that products are exact


def weighted(scores: Scores[Offer], columns: Sequence[Column]) -> Scores[Offer]:
    """The scores, less where the columns' weights say that some matter less."""
    weights = [column.weight for column in columns]
    if len(set(weights)) == 1 or not scores.candidates:
        return scores
    heaviest = math.prod(sorted(weights)[-len(scores.candidates[0].columns) :])
    shares = [math.prod(weights[column] for column in one.columns) / heaviest for one in scores.candidates]
    parts = np.clip(np.floor(np.array(shares) * 2**BITS), 1, 2**BITS).astype(np.int64)
    return Scores(scores.candidates, scores.values * parts >> BITS)
