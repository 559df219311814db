"""What every local protocol is: a frozen, exactly known channel from one person's value to one report.

The life of a protocol: `calibrate(domain, target)` chooses it, `randomize` runs at the owner, `encode` and `decode`
cross the wire, `tally` turns reports into statistics that add up over pieces, `estimate` makes them unbiased,
`variance` says how far off they are.  `guarantee` is the exact loss of the channel that is really drawn, rounded up.

In a column, a value outside the domain never raises: `randomize` coerces it by the rule its class documents.  An owner
who answers alone goes through `owned`, which refuses what is not of the domain.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import fields
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Protocol, Self, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, ReportError
from sfumato.local.protocols.owned import Names
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.records import canonical_ascii, sha256

__all__ = ["Bits", "Floats", "LocalProtocol", "Matrix", "Places", "Reports", "Tally", "Words", "whole_from"]

Words = npt.NDArray[np.uint64]
Reports = npt.NDArray[np.unsignedinteger[Any]]
Places = npt.NDArray[np.int64]
Tally = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Matrix = list[list[Fraction]]

FRACTION = re.compile(r"[0-9]{1,2000}/[1-9][0-9]{0,1999}|[0-9]{1,2000}")  # as `str` writes them
WHOLE = re.compile(r"-?[0-9]{1,40}")  # numbers of a declaration are texts
REAL = re.compile(r"-?[0-9]{1,400}(?:[.][0-9]{1,400})?(?:e[+-]?[0-9]{1,4})?")
MOST_ENTRIES = 1 << 20  # of a channel that is written out in full


class Bits(Protocol):
    """Independent uniform 64-bit words: `client.SystemBits`, or a generator of `sfumato.randomness`."""

    def bits64(self, count: int) -> Words:
        """The next `count` words."""
        ...


class LocalProtocol(ABC):
    """A local randomizer with its estimator; subclasses are frozen dataclasses of public parameters."""

    __slots__ = ()

    name: ClassVar[str]  # on the wire and in records; never changes its meaning
    goal: ClassVar[str]  # what `estimate` estimates: "frequencies", "mean", "means" or "distribution"
    drawn: ClassVar[bool] = False  # whether `variance` holds what drawing the owners adds, beside the coins

    @abstractmethod
    def guarantee(self) -> Pure | Approximate:
        """The loss of one report between any two values, rounded up."""

    @abstractmethod
    def coerce(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The places in the domain that `values` count as, by the class's public rule; no value raises."""

    @abstractmethod
    def owned(self, value: object, names: Names) -> object:
        """One owner's value as this domain has it; what is not of the domain is refused (`owned`)."""

    @abstractmethod
    def randomize(self, values: npt.ArrayLike, bits: Bits) -> Reports:
        """One report for each value: (n,), or (n, columns), of unsigned integers."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The unsigned integers of a report, little-endian."""

    @property
    def columns(self) -> int:
        """How many integers a report has; 0 if it is a single one and reports are flat."""
        return 0

    @abstractmethod
    def valid(self, reports: Reports) -> npt.NDArray[np.bool_]:
        """Which reports this protocol can have sent."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """The length of the tally."""

    @abstractmethod
    def tally(self, reports: Reports) -> Tally:
        """The sufficient statistics of valid reports; those of pieces add up to those of the whole."""

    @abstractmethod
    def estimate(self, tally: Tally, n: int) -> Floats:
        """Unbiased estimates from the tally of n reports."""

    @abstractmethod
    def variance(self, n: int, truth: npt.ArrayLike | None = None) -> Floats:
        """The exact variance of each estimate for given data, over the protocol's coins; the worst without `truth`.

        `truth` is the vector of frequencies, or (for means) the values, of which one or many stand for all n.
        """

    def limits(self, tally: Tally, n: int, beta: float) -> tuple[Floats, Floats] | None:
        """Limits of the estimates, each exceeded with probability at most beta, where it has sharper ones than all."""
        return None

    @abstractmethod
    def risk(self, n: int) -> float:
        """The sum of the variances of all estimates, for the worst data."""

    @abstractmethod
    def outputs(self) -> Reports:
        """Every report, in the order of the columns of `channel`."""

    @abstractmethod
    def channel(self) -> Matrix:
        """The exact probabilities of `outputs`, a row for each value of the domain."""

    @abstractmethod
    def words(self) -> str:
        """What leaves the device, for its owner."""

    def caution(self) -> str:
        """What estimates rely on beyond honest reports and cannot show themselves; empty if there is nothing."""
        return ""

    @property
    def report_bytes(self) -> int:
        """The size of one report on the wire."""
        return max(1, self.columns) * self.dtype.itemsize

    def encode(self, reports: Reports) -> bytes:
        """Reports as fixed-width little-endian records."""
        shape = reports.shape[1:]
        if shape != ((self.columns,) if self.columns else ()):
            raise ParameterError(f"reports need the shape (n, {self.columns or ''}), got {reports.shape}")
        return np.ascontiguousarray(reports, dtype=self.dtype).tobytes()

    def decode(self, payload: bytes) -> Reports:
        """The reports of `encode`; a payload of broken length is refused."""
        if len(payload) % self.report_bytes:
            raise ReportError(
                f"payload is truncated: {len(payload)} bytes are no whole number of {self.report_bytes}-byte reports"
            )
        flat: Reports = np.frombuffer(payload, dtype=self.dtype)
        return flat.reshape(-1, self.columns) if self.columns else flat

    def to_record(self) -> dict[str, object]:
        """The public parameters as plain values; `protocol_from` reads them back."""
        return {
            "type": self.name,
            **{name: _plain(getattr(self, name), kind) for name, kind in _kinds(type(self)).items()},
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """The protocol that `to_record` wrote."""
        kinds = _kinds(cls)
        parts = {name: value for name, value in record.items() if name != "type"}
        if parts.keys() != kinds.keys() or record.get("type") != cls.name:
            raise ParameterError(f"a {cls.name} protocol has the parts {sorted(kinds)}, got {sorted(parts)}")
        return cls(**{name: _restored(name, kinds[name], value) for name, value in parts.items()})

    @property
    def digest(self) -> bytes:
        """Sixteen bytes that name the protocol with all its parameters."""
        return bytes.fromhex(sha256(canonical_ascii(self.to_record()).encode()))[:16]

    def check_entries(self, entries: int) -> None:
        """Refuse to write out a channel that is too large."""
        if entries > MOST_ENTRIES:
            raise ParameterError(f"the channel has {entries} entries, more than {MOST_ENTRIES}; use a smaller domain")


@cache
def _kinds(cls: type[LocalProtocol]) -> dict[str, Any]:
    """The type of each parameter."""
    hints = get_type_hints(cls)
    return {part.name: hints[part.name] for part in fields(cls)}  # type: ignore[arg-type]


def _plain(value: object, kind: object) -> object:
    if kind is float:
        return float(value)  # type: ignore[arg-type]  # 1 and 1.0 are the same parameter, and have the same digest
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, LocalProtocol):
        return value.to_record()
    if isinstance(value, tuple):
        return list(value)
    return value


def _restored(name: str, kind: object, value: object) -> Any:
    """A part of a record, checked against the type of its field."""
    if isinstance(value, dict) and all(issubclass(one, LocalProtocol) for one in get_args(kind) or (kind,)):
        from sfumato.local.protocols import protocol_from  # the closed list knows this module

        return protocol_from(value)
    if kind is Fraction and isinstance(value, str):
        if not FRACTION.fullmatch(value):  # no exponents: '1e999999999' would take all memory
            raise ParameterError(f"{name} must be a fraction such as '1/2'")
        return Fraction(value)
    if kind == tuple[int, ...] and isinstance(value, list):
        return tuple(whole_from(name, part) for part in value)
    if kind is int:
        return whole_from(name, value)
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if kind is float and isinstance(value, str) and REAL.fullmatch(value):
        return float(value)
    raise ParameterError(f"{name} must be of type {getattr(kind, '__name__', kind)}")


def whole_from(name: str, value: object) -> int:
    """A whole number of a record, as it is or as a text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and WHOLE.fullmatch(value):
        return int(value)
    raise ParameterError(f"{name} must be of type int")
