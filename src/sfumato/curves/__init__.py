"""Private curves as public values: waves, readings, bands, repairs."""

from sfumato.curves.covariance import Covariance
from sfumato.curves.curve import Curve, Divisor, Pull
from sfumato.curves.expansion import Antiderivative, Expansion, Reading, Surface
from sfumato.curves.repair import Repaired
from sfumato.curves.suprema import Padded, Silence, margins, supremum
from sfumato.curves.waves import Axis, Cosine, Floats, Fourier

__all__ = [
    "Antiderivative",
    "Axis",
    "Cosine",
    "Covariance",
    "Curve",
    "Divisor",
    "Expansion",
    "Floats",
    "Fourier",
    "Padded",
    "Pull",
    "Reading",
    "Repaired",
    "Silence",
    "Surface",
    "margins",
    "supremum",
]
