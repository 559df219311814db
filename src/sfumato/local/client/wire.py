"""The wire format of reports: a header of 48 bytes, then fixed-width records.  See docs/formats/reports.md.

A batch names what it belongs to (`binding`), so that reports are read with the parameters that they were made with and
counted where they were meant to be, and itself by sixteen random bytes, so that a copy is recognized.  Those bytes are
drawn afresh for each batch and tied to nothing else.  A relay that joins batches keeps the names as one token a report.
In a sealed batch (`sealing`) each record is a token and a report that only the collector can read.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, ReportError
from sfumato.local.client.binding import BOUND, SEALED, UNBOUND, Address
from sfumato.local.client.randomized import Randomized
from sfumato.local.client.sealing import SEAL, context, sealed
from sfumato.local.protocols.protocol import LocalProtocol, Reports

__all__ = [
    "HEADER",
    "MAGIC",
    "Batch",
    "Declared",
    "Header",
    "batch_of",
    "decode_batch",
    "elsewhere",
    "encode_batch",
    "header_of",
    "join",
    "packed",
    "rows_of",
]

MAGIC = b"SFLR"
HEADER = struct.Struct("<4sHH16s16sQ")  # magic, version, flags, what it belongs to, name of the batch, count
TOKENS = 1  # flag: sixteen bytes before each report
NAME = 16  # bytes of a batch's name and of a token
MOST = 1 << 40  # reports in one batch
HOW = {
    UNBOUND: "names its protocol alone",
    BOUND: "belongs to a round of a collection and is not sealed",
    SEALED: "is sealed to a collector",
}


class Declared(Protocol):
    """What a client needs of a collection (`collection.declaration.Collection`)."""

    @property
    def protocol(self) -> LocalProtocol:
        """The protocol, with all its parameters."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its categories."""
        ...

    @property
    def other(self) -> str | None:
        """The label of unknown and missing values."""
        ...

    @property
    def most(self) -> int | None:
        """How many different values an owner randomizes, to answer from those."""
        ...

    @property
    def digest(self) -> str:
        """What it is told from others by."""
        ...

    @property
    def rounds(self) -> tuple[str, ...]:
        """The names of its rounds."""
        ...

    @property
    def key(self) -> str | None:
        """The public key that its reports are sealed to."""
        ...

    def address(self, round: str | None = None) -> Address:
        """What messages of a round carry; a collection of one round needs no name."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of one protocol that arrived together; `tokens` (n, 16) names each report, where a relay kept them."""

    name: bytes
    reports: Reports
    tokens: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.reports)


@dataclass(frozen=True, slots=True)
class Header:
    """The first 48 bytes of a message, read."""

    address: Address
    flags: int
    name: bytes
    count: int

    def width(self, protocol: LocalProtocol) -> int:
        """The bytes of one record."""
        if self.address.version == SEALED:
            return protocol.report_bytes + NAME + SEAL
        return protocol.report_bytes + (NAME if self.flags & TOKENS else 0)


def encode_batch(
    source: LocalProtocol | Declared,
    reports: Randomized,
    name: bytes | None = None,
    tokens: npt.NDArray[np.uint8] | None = None,
    round: str | None = None,
) -> bytes:
    """Reports as bytes to send, for a round of a collection; without `name`, under a fresh random one."""
    protocol, to = _addressed(source, round)
    if not isinstance(reports, Randomized):
        raise ParameterError("reports must be what `randomized` draws from values; values are never sent as they are")
    if reports.protocol != protocol:
        raise ParameterError(f"reports were drawn by another {reports.protocol.name} than the one they are sent for")
    name = os.urandom(NAME) if name is None else name
    if len(name) != NAME:
        raise ParameterError(f"name must have {NAME} bytes, got {len(name)}")
    if to.version == SEALED and tokens is None:
        tokens = np.frombuffer(os.urandom(NAME * len(reports)), dtype=np.uint8).reshape(len(reports), NAME)
    payload = protocol.encode(reports.reports)
    if tokens is not None:
        if tokens.shape != (len(reports), NAME):
            raise ParameterError(f"tokens must have the shape ({len(reports)}, {NAME}), got {tokens.shape}")
        body = np.frombuffer(payload, dtype=np.uint8).reshape(len(reports), protocol.report_bytes)
        payload = np.hstack([tokens.astype(np.uint8), body]).tobytes()
    if to.version == SEALED:
        payload = _sealed(source, round, payload, len(reports))
    return packed(to, name, len(reports), payload, tokens is not None)


def packed(to: Address, name: bytes, count: int, payload: bytes, tokens: bool = True) -> bytes:
    """A header and the records behind it."""
    flags = TOKENS if tokens and to.version != SEALED else 0
    return HEADER.pack(MAGIC, to.version, flags, to.binding, name, count) + payload


def decode_batch(source: LocalProtocol | Declared, message: bytes, round: str | None = None) -> Batch:
    """The batch in a message; whatever this round of `source` cannot have got from an owner is refused, and why."""
    protocol, to = _addressed(source, round)
    head = header_of(message)
    if head.address != to:
        raise ReportError(elsewhere(head.address, to, protocol))
    return batch_of(protocol, head, message)


def batch_of(protocol: LocalProtocol, head: Header, message: bytes) -> Batch:
    """The batch behind a header that belongs here."""
    if head.address.version == SEALED:
        raise ReportError("the batch is sealed: a collector that holds the key reads it")
    _sized(protocol, head, message)
    body, tokens = message[HEADER.size :], None
    if head.flags & TOKENS:
        table = rows_of(protocol, head, message)
        tokens, body = table[:, :NAME].copy(), table[:, NAME:].tobytes()
    reports = protocol.decode(body)
    wrong = int(np.count_nonzero(~protocol.valid(reports))) if head.count else 0
    if wrong:
        raise ReportError(f"reports out of range: {wrong} of {head.count} cannot have been sent by {protocol.name}")
    return Batch(head.name, reports, tokens)


def rows_of(protocol: LocalProtocol, head: Header, message: bytes) -> npt.NDArray[np.uint8]:
    """The records behind a header that belongs here, as they are."""
    _sized(protocol, head, message)
    return np.frombuffer(message, dtype=np.uint8, offset=HEADER.size).reshape(head.count, head.width(protocol))


def _sized(protocol: LocalProtocol, head: Header, message: bytes) -> None:
    """Refuse a message that is not as long as it says."""
    width, size = head.width(protocol), len(message) - HEADER.size
    if head.count > MOST or size != head.count * width:
        raise ReportError(
            f"length differs: {head.count} reports of {width} bytes were announced, {size} bytes arrived; "
            "the message is truncated or too long"
        )


def header_of(message: bytes) -> Header:
    """The header of a message, checked."""
    if len(message) < HEADER.size:
        raise ReportError(f"message is truncated: {len(message)} bytes, a header alone has {HEADER.size}")
    magic, version, flags, binding, name, count = HEADER.unpack_from(message)
    if magic != MAGIC:
        raise ReportError(f"message does not begin with {MAGIC.decode()}: these are no reports")
    if version not in (UNBOUND, BOUND, SEALED):
        raise ReportError(f"version {version} is unknown; this reads versions {UNBOUND}, {BOUND} and {SEALED}")
    if flags & ~(TOKENS if version != SEALED else 0):
        raise ReportError(f"flags {flags:#x} are unknown; this reads versions {UNBOUND}, {BOUND} and {SEALED}")
    return Header(Address(version, binding), flags, name, count)


def join(source: LocalProtocol | Declared, messages: list[bytes], round: str | None = None) -> bytes:
    """Batches of one round as one, with a token for each report: what a relay sends on, shuffled if it wants to."""
    batches = [decode_batch(source, message, round) for message in messages]
    if not batches:
        raise ParameterError("messages must hold at least one batch")
    tokens = [_tokens(batch) for batch in batches]
    together = Randomized(_addressed(source, round)[0], np.concatenate([batch.reports for batch in batches]))
    return encode_batch(source, together, None, np.concatenate(tokens), round)


def _addressed(source: LocalProtocol | Declared, round: str | None) -> tuple[LocalProtocol, Address]:
    """The protocol, and what its messages carry: those of a bare protocol name it alone."""
    if isinstance(source, LocalProtocol):
        return source, Address(UNBOUND, source.digest)
    return source.protocol, source.address(round)


def _sealed(source: LocalProtocol | Declared, round: str | None, payload: bytes, count: int) -> bytes:
    """Each record sealed for itself."""
    if isinstance(source, LocalProtocol) or source.key is None:
        raise ParameterError("only a collection that declares a key has sealed reports")
    info = context(source.digest, source.rounds[0] if round is None else round)
    width = len(payload) // max(1, count)
    return b"".join(sealed(payload[i * width : (i + 1) * width], source.key, info) for i in range(count))


def elsewhere(found: Address, wanted: Address, protocol: LocalProtocol) -> str:
    """Why a message that carries `found` is not read where `wanted` is: in words, and without hashing the terms."""
    if found.version != wanted.version:
        how = HOW[found.version]
        return f"version differs: the batch is of version {found.version}, which {how}; {wanted.version} is read here"
    if wanted.version != UNBOUND:
        return (
            f"collection differs: the batch was made for {found.binding.hex()}, this round is {wanted.binding.hex()}; "
            "it belongs to another collection, another version of this one, or another round"
        )
    return (
        f"protocol differs: the batch was made by protocol {found.binding.hex()}, this is {protocol.name} "
        f"{protocol.digest.hex()}; read it with the record it was made with"
    )


def _tokens(batch: Batch) -> npt.NDArray[np.uint8]:
    if batch.tokens is not None:
        return batch.tokens
    if len(batch) != 1:
        raise ReportError("only batches of one report, or with tokens, can be joined: a report would lose its name")
    return np.frombuffer(batch.name, dtype=np.uint8).reshape(1, NAME)
