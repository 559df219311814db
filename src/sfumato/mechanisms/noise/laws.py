"""The laws of noise by their stored names, and the choice among them.

Proof: docs/proofs/laws.md.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.errors import ParameterError
from sfumato.mechanisms.noise.gauges import BALL, CUBE, LAPLACE
from sfumato.mechanisms.noise.law import NoiseLaw
from sfumato.mechanisms.noise.normals import NORMAL

__all__ = ["LAWS", "law_named", "must_be_known", "pure_laws"]

LAWS: dict[str, NoiseLaw] = {law.name: law for law in (NORMAL, CUBE, BALL, LAPLACE)}
MOST_IN_CUBE = 10_000  # dimensions that cube noise is drawn in
MOST_IN_BALL = 50_000


def law_named(name: object, among: Iterable[NoiseLaw] = tuple(LAWS.values())) -> NoiseLaw:
    """The law of this stored name; others are refused."""
    known = {law.name: law for law in among}
    if not isinstance(name, str) or name not in known:
        raise ParameterError(f"body must be one of {', '.join(known)}, got {name!r:.40}")
    return known[name]


def must_be_known(law: object) -> None:
    """Refuse what is none of these laws: a mechanism could not be read back."""
    if law not in LAWS.values():
        raise ParameterError(f"body must be one of the laws {', '.join(LAWS)}, as values; got {law!r:.40}")


def pure_laws(dimension: int) -> tuple[NoiseLaw, ...]:
    """The laws of pure noise on whole vectors that can be drawn in this many dimensions, Laplace where no other can."""
    if dimension > MOST_IN_BALL:
        return (LAPLACE,)
    return (CUBE, BALL) if dimension <= MOST_IN_CUBE else (BALL,)
