r"""Both ends of a composed loss: one grid law above, one below, and the step that makes them meet.

For smooth laws, or rough ones whose atoms lie on the grid, the lower end comes from the lowered
grids.  For other rough laws it comes from the raised ones: n spread losses of step h exceed the
true sum by more than h sqrt(n ln(1/eta) / 2) + n h^2 / 8 with probability at most eta
(each moves by less than h, in the mean by at most h^2 / 8).  Proof: docs/proofs/accounting-loss.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sfumato.accounting.convolution import Part, Sum, convolve
from sfumato.accounting.laws import Law
from sfumato.accounting.loss import Grid, lowered, raised

__all__ = ["Ends", "Parts", "aligned_step", "grids", "smooth_step"]

COARSE = 400  # grid points of the first look at one law
FINE = 1 << 17  # grid points of one law at most
FEW = 8  # at most so many atoms are put on the grid

Parts = tuple[tuple[Law, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The summed loss from above and from below; `shift` and `eta` are for the spread route."""

    above: Sum
    below: Sum
    jitter: float
    shift: float
    eta: float

    @classmethod
    def of(cls, parts: Parts, tilt: float, width: float, spare: float, eta: float) -> Ends:
        """Grids fine enough that epsilon is known to about `width`."""
        units = sum(n for _, n in parts)
        wobble = math.sqrt(units * math.log(1 / eta) / 2)
        smooth = smooth_step(parts, tilt, width)
        aligned = aligned_step(parts, max(smooth, _finest(parts, spare)))
        step = aligned or min(smooth, max(0.45 * width / min(wobble, units), _finest(parts, spare)))
        upper, lower = (grids(kind, parts, step, spare) for kind in (raised, lowered))
        shift = min(wobble, units) * step + math.fsum(n * grid.drift for grid, n in upper)
        lost = eta + math.fsum(n * grid.cut for grid, n in upper)
        jitter = math.fsum(n * grid.drift for grid, n in lower)
        return cls(convolve(upper, tilt), convolve(lower, tilt), jitter, shift, lost)

    def lower_delta(self, epsilon: float) -> float:
        """A delta that the composition is not below."""
        merged = self.below.delta(epsilon + self.jitter)[0]
        return max(merged, self.above.delta(epsilon + self.shift)[0] - self.eta)


def smooth_step(parts: Parts, tilt: float, width: float) -> float:
    """The step at which spreading and merging a smooth law move epsilon by less than `width`.

    Spreading adds about n (1 + tilt) step^2 / 8 to epsilon, merging takes twice that.
    """
    return math.sqrt(1.6 * width / (sum(n for _, n in parts) * (1 + tilt)))


def grids(kind: Callable[[Law, float, float], Grid], parts: Parts, step: float | None, spare: float) -> list[Part]:
    """Every law on a grid: one step for all, or a coarse one each for a first look."""
    share = spare / sum(n for _, n in parts)
    return [(kind(law, step or _coarse(law, share), share), n) for law, n in parts]


def _finest(parts: Parts, spare: float) -> float:
    """The step that one law's span allows without undue time; a bracket may then stay wider."""
    spans = [law.span(spare / n) for law, n in parts]
    return max(high - low for low, high in spans) / FINE


def _coarse(law: Law, tail: float) -> float:
    low, high = law.span(tail)
    return max(high - low, abs(high), 1e-9) / COARSE


def aligned_step(parts: Parts, step: float) -> float | None:
    """A step not above the given one whose multiples hold every atom; None if there is none near."""
    atoms = sorted({abs(atom) for law, _ in parts for atom in law.atoms} - {0.0})
    if not atoms:
        return step
    if len(atoms) > FEW:
        return None
    unit = Fraction(1)
    for atom in atoms[:-1]:
        ratio = Fraction(atom / atoms[-1]).limit_denominator(1000)
        if abs(float(ratio) * atoms[-1] - atom) > 2.0**-50 * atoms[-1]:
            return None
        unit = Fraction(1, math.lcm(unit.denominator, ratio.denominator))
    common = atoms[-1] / unit.denominator
    chosen = common / math.ceil(common / step)
    return chosen if chosen > step / 16 else None
