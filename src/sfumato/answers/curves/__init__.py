"""Private curves as public values: waves, readings, bands, repairs."""

from sfumato.answers.curves.covariance import Covariance
from sfumato.answers.curves.curve import Curve, Divisor, Pull
from sfumato.answers.curves.expansion import Antiderivative, Expansion, Reading, Surface
from sfumato.answers.curves.pooling import Tallies
from sfumato.answers.curves.repair import Repaired
from sfumato.answers.curves.suprema import Padded, Silence, margins, supremum
from sfumato.answers.curves.trend import COVERED, Trend
from sfumato.answers.curves.waves import Axis, Cosine, Floats, Fourier

__all__ = [
    "COVERED",
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
    "Tallies",
    "Trend",
    "margins",
    "supremum",
]
