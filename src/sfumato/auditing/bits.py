"""Support holes and trailing bits: what floating point shows about the value under the noise.

A float near z is a multiple of the spacing at the largest intermediate result.  Noise drawn near 0
and added to 0 keeps low bits that the same output cannot have when it was added to 1, since
1 + noise is rounded to multiples of 2^-53 [Mironov2012, HaneyEtAl2022].  The exponent of the lowest
set bit of an output is therefore a feature; events on it refute a claim unless the claim rests on the
assumption `real-arithmetic`.
"""

from __future__ import annotations

import numpy as np

__all__ = ["lowest_bit"]


def lowest_bit(values: np.ndarray) -> np.ndarray:
    """The exponent of the lowest set bit of each float; 2000 for zero and what is not finite.

    >>> lowest_bit(np.array([1.0, 0.75, 6.0, 0.0])).tolist()
    [0.0, -2.0, 1.0, 2000.0]
    """
    finite = np.isfinite(values) & (values != 0)
    mantissa, exponent = np.frexp(np.where(finite, values, 1.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = whole & -whole
    trailing = np.frexp(lowest.astype(float))[1] - 1
    return np.where(finite, exponent - 53.0 + trailing, 2000.0)
