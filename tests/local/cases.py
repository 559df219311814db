"""One small protocol of every kind, with values of its domain: for the tests that run on all of them."""

from fractions import Fraction

from sfumato.local.protocols import (
    Duchi,
    GeneralizedResponse,
    HadamardResponse,
    Hybrid,
    Hypercube,
    LocalHashing,
    LocalLaplace,
    OptimizedUnary,
    OptimizedWindow,
    Piecewise,
    PrivUnit,
    Rappor,
    SampledCoordinates,
    SquareWave,
    SubsetSelection,
    SymmetricUnary,
    Tabulated,
)
from sfumato.privacy.guarantees import Approximate, Pure

TARGET = Pure(1.0, assumptions=frozenset(["real-arithmetic"]))
CATEGORIES = (0, 3, 9)
NUMBERS = (-1.0, 0.25, 3.0)
VECTORS = ([0.5, 0.0, -0.25], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
SMALL_WINDOW = OptimizedWindow(-1.0, 3.0, 2, Fraction(1, 4), (-5, -2, -1, 1, 2, 5))

CASES = [
    (GeneralizedResponse.calibrate(10, TARGET), CATEGORIES),
    (GeneralizedResponse.calibrate(10, Approximate(0.5, 0.01)), CATEGORIES),
    (OptimizedUnary.calibrate(10, TARGET), CATEGORIES),
    (SymmetricUnary.calibrate(10, TARGET), CATEGORIES),
    (Rappor.calibrate(10, TARGET), CATEGORIES),
    (SubsetSelection.calibrate(10, TARGET), CATEGORIES),
    (SubsetSelection.calibrate(1000, Pure(6.0)), CATEGORIES),
    (LocalHashing.calibrate(10, TARGET), CATEGORIES),
    (HadamardResponse.calibrate(10, TARGET), CATEGORIES),
    (Tabulated.calibrate(10, TARGET), CATEGORIES),
    (LocalLaplace.calibrate(-1, 3, TARGET), NUMBERS),
    (Duchi.calibrate(-1, 3, TARGET), NUMBERS),
    (Piecewise.calibrate(-1, 3, TARGET), NUMBERS),
    (Hybrid.calibrate(-1, 3, TARGET), NUMBERS),
    (OptimizedWindow.calibrate(-1, 3, TARGET), NUMBERS),
    (SMALL_WINDOW, NUMBERS),
    (SquareWave.calibrate(-1, 3, TARGET), NUMBERS),
    (Hypercube.calibrate(3, -1, 1, TARGET), VECTORS),
    (SampledCoordinates(3, Duchi.calibrate(-1, 1, TARGET)), VECTORS),
    (PrivUnit.calibrate(3, TARGET), VECTORS),
]
NAMES = [f"{protocol.name}-{i}" for i, (protocol, _) in enumerate(CASES)]
