"""Floating-point draws from random words, for the one protocol that cannot do without them."""

from __future__ import annotations

import numpy as np

from sfumato.local.protocols.protocol import Bits, Floats

__all__ = ["normals", "units"]

DROP = np.uint64(11)  # a double holds 53 of 64 bits


def units(count: int, bits: Bits) -> Floats:
    """Uniform in [0, 1), in steps of 2^-53."""
    return (bits.bits64(count) >> DROP).astype(np.float64) * 2.0**-53


def normals(count: int, bits: Bits) -> Floats:
    """Standard normal, by the method of Box and Muller [BoxMuller1958]."""
    half = (count + 1) // 2
    radius = np.sqrt(-2 * np.log1p(-units(half, bits)))
    angle = 2 * np.pi * units(half, bits)
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
