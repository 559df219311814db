"""Claims as plain values, as ledgers, releases, plans and commands hold them, and back from those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import CLAIMS, GUARANTEES, Claim, GaussianPrivacy, Guarantee, Renyi

__all__ = ["claim_from", "guarantee_from", "guarantee_of", "to_record"]


def to_record(claim: Claim) -> dict[str, object]:
    """The whole claim as plain values, for ledgers and releases.

    >>> from sfumato.privacy.guarantees import Pure
    >>> to_record(Pure(0.5))
    {'type': 'pure', 'epsilon': 0.5, 'assumptions': []}
    """
    name = next(name for name, kind in CLAIMS.items() if type(claim) is kind)
    return {"type": name, **claim.parts(), "assumptions": sorted(claim.assumptions)}


def claim_from(record: dict[str, object]) -> Claim:
    """The claim that `to_record` wrote; unknown types and parts are refused."""
    parts = dict(record)
    name = parts.pop("type", None)
    if name not in CLAIMS:
        raise ParameterError(f"unknown guarantee {name!r}; known are {', '.join(CLAIMS)}")
    try:
        return CLAIMS[str(name)](**parts)  # type: ignore[arg-type]
    except TypeError:
        raise ParameterError(f"a {name} guarantee cannot have the parts {sorted(parts)}") from None


def guarantee_from(record: dict[str, object]) -> Guarantee:
    """As `claim_from`, for the claims that are spent: pure, approximate and concentrated."""
    claim = claim_from(record)
    if isinstance(claim, Renyi | GaussianPrivacy):
        raise ParameterError(
            f"unknown guarantee {record.get('type')!r} in a ledger; known are {', '.join(GUARANTEES)}: convert it first"
        )
    return claim


def guarantee_of(amounts: Mapping[str, float | None], assumptions: Iterable[str] = ()) -> Guarantee:
    """The guarantee that has exactly these named numbers, as plans and commands give them; None is not given.

    >>> guarantee_of({"epsilon": 1.0, "delta": 1e-6, "rho": None})
    Approximate(epsilon=1.0, delta=1e-06)
    """
    given = {name: amount for name, amount in amounts.items() if amount is not None}
    for kind in GUARANTEES.values():
        if set(kind.names()) == set(given):
            return kind(**given, assumptions=frozenset(assumptions))
    ways = ", or ".join(" and ".join(kind.names()) for kind in GUARANTEES.values())
    raise ParameterError(f"give how much privacy: {ways}; got {' and '.join(given) or 'nothing'}")
