"""Lower bounds as values, one's own among them, and the certificate that they give a mechanism."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sfumato import arguments
from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.guarantees import Guarantee
from sfumato.reference.calibrated import Measured
from sfumato.reference.moments import order_of

__all__ = ["Bound", "certify"]


@dataclass(frozen=True, slots=True)
class Bound:
    """E ||error||^power >= value on the worst input, for every mechanism of a class that meets `guarantee`.

    `name` says where it comes from, `among` which class it speaks about.  Where more than the guarantee makes the
    class, `setting` names it in a word, such as "metric" or "local": only mechanisms with that `setting` are compared.

    >>> from sfumato.privacy.guarantees import Pure
    >>> Bound(4.0, Pure(1.0), "mine", "pure mechanisms", power=2).root
    2.0
    """

    value: float
    guarantee: Guarantee
    name: str
    among: str
    power: float = 1.0
    norm: str | float = "l2"
    worst: str = "table"
    setting: str = ""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value > 0):
            raise ParameterError(f"value must be finite and positive, got {self.value!r}: a bound of zero says nothing")
        if not (math.isfinite(self.power) and self.power > 0):
            raise ParameterError(f"power must be finite and positive, got {self.power!r}")
        arguments.instance("guarantee", self.guarantee, Guarantee, "the claim it speaks about, such as Pure(1.0)")
        arguments.text("name", self.name)
        arguments.text("among", self.among)
        order_of(self.norm)

    @property
    def root(self) -> float:
        """The bound in the units of the error: value^(1 / power)."""
        return float(self.value ** (1 / self.power))

    @property
    def measure(self) -> str:
        """What it bounds, in words."""
        norm = self.norm if isinstance(self.norm, str) else f"l{self.norm:g}"
        if self.power == 1:
            return f"mean {norm} error"
        return f"root mean square {norm} error" if self.power == 2 else f"root of the {self.power:g}-th {norm} moment"


def certify(mechanism: Measured, *bounds: Bound) -> Certificate | NoBoundKnown:
    """The certificate of a mechanism by the bound that leaves the least room.

    A mechanism is anything with `guarantee()` and `moment(power, norm)`, and an attribute `setting` if its class is a
    narrower one.  An error below a bound is a contradiction, and raises `BoundBroken`: the claim, the stated error or
    the bound is false, or the mechanism is not of the class that the bound is about.
    """
    if not bounds:
        return NoBoundKnown("none was given")
    claim, found = mechanism.guarantee(), []
    bare = replace(claim, assumptions=frozenset())  # bounds hold whatever a claim takes for granted
    for bound in bounds:
        arguments.instance("each bound", bound, Bound, "a Bound, such as volume_bound(F, epsilon)")
        if not bare.implies(bound.guarantee):
            raise UnsupportedQuery(
                f"the bound {bound.name!r} speaks about mechanisms that meet {bound.guarantee!r}, the mechanism claims "
                f"{claim!r}; state the bound for its claim"
            )
        if bound.setting not in ("", getattr(mechanism, "setting", "")):
            raise UnsupportedQuery(
                f"the bound {bound.name!r} is about {bound.among}, and the mechanism does not say that it is one of "
                f"them: give it the attribute setting = {bound.setting!r} if it is; otherwise take a bound about every "
                "mechanism with its claim, such as those of sf.bounds.staircase for a sum"
            )
        achieved = mechanism.moment(bound.power, bound.norm) ** (1 / bound.power)
        found.append(Certificate(achieved, bound.root, bound.measure, bound.name, bound.among, bound.worst))
    return min(found, key=lambda certificate: certificate.factor)
