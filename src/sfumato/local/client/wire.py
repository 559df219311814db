"""The wire format of reports: a header of 48 bytes, then fixed-width records.  See docs/formats/reports.md.

A batch names its protocol by digest, so that reports cannot be read with other parameters than they were made with, and
itself by sixteen random bytes, so that a copy is recognized.  Those bytes are drawn afresh for each batch and tied to
nothing else.  A relay that joins batches keeps the names as one token a report.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.errors import ParameterError, ReportError
from sfumato.local.protocols.protocol import LocalProtocol, Reports

__all__ = ["HEADER", "MAGIC", "VERSION", "Batch", "decode_batch", "digest_of", "encode_batch", "join"]

MAGIC = b"SFLR"
VERSION = 1
HEADER = struct.Struct("<4sHH16s16sQ")  # magic, version, flags, digest of the protocol, name of the batch, count
TOKENS = 1  # flag: sixteen bytes before each report
NAME = 16  # bytes of a batch's name and of a token
MOST = 1 << 40  # reports in one batch


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Reports of one protocol that arrived together; `tokens` (n, 16) names each report, where a relay kept them."""

    name: bytes
    reports: Reports
    tokens: npt.NDArray[np.uint8] | None = None

    def __len__(self) -> int:
        return len(self.reports)


def encode_batch(
    protocol: LocalProtocol,
    reports: Reports,
    name: bytes | None = None,
    tokens: npt.NDArray[np.uint8] | None = None,
) -> bytes:
    """Reports as bytes to send; without `name`, a fresh random one."""
    name = os.urandom(NAME) if name is None else name
    if len(name) != NAME:
        raise ParameterError(f"name must have {NAME} bytes, got {len(name)}")
    payload, flags = protocol.encode(reports), 0
    if tokens is not None:
        if tokens.shape != (len(reports), NAME):
            raise ParameterError(f"tokens must have the shape ({len(reports)}, {NAME}), got {tokens.shape}")
        body = np.frombuffer(payload, dtype=np.uint8).reshape(len(reports), protocol.report_bytes)
        payload, flags = np.hstack([tokens.astype(np.uint8), body]).tobytes(), TOKENS
    return HEADER.pack(MAGIC, VERSION, flags, protocol.digest, name, len(reports)) + payload


def decode_batch(protocol: LocalProtocol, message: bytes) -> Batch:
    """The batch in a message; whatever `protocol` cannot have sent is refused, with the reason."""
    flags, digest, name, count = _header(message)
    if digest != protocol.digest:
        raise ReportError(
            f"protocol differs: the batch was made by protocol {digest.hex()}, this is {protocol.name} "
            f"{protocol.digest.hex()}; read it with the record it was made with"
        )
    width = protocol.report_bytes + (NAME if flags & TOKENS else 0)
    body = message[HEADER.size :]
    if count > MOST or len(body) != count * width:
        raise ReportError(
            f"length differs: {count} reports of {width} bytes were announced, {len(body)} bytes arrived; "
            "the message is truncated or too long"
        )
    tokens = None
    if flags & TOKENS:
        table = np.frombuffer(body, dtype=np.uint8).reshape(count, width)
        tokens, body = table[:, :NAME].copy(), table[:, NAME:].tobytes()
    reports = protocol.decode(body)
    wrong = int(np.count_nonzero(~protocol.valid(reports))) if count else 0
    if wrong:
        raise ReportError(f"reports out of range: {wrong} of {count} cannot have been sent by {protocol.name}")
    return Batch(name, reports, tokens)


def digest_of(message: bytes) -> bytes:
    """Which protocol made a message."""
    return _header(message)[1]


def join(protocol: LocalProtocol, messages: list[bytes]) -> bytes:
    """Batches as one, with a token for each report: what a relay sends on, shuffled if it wants to."""
    batches = [decode_batch(protocol, message) for message in messages]
    if not batches:
        raise ParameterError("messages must hold at least one batch")
    tokens = [_tokens(batch) for batch in batches]
    return encode_batch(protocol, np.concatenate([b.reports for b in batches]), None, np.concatenate(tokens))


def _tokens(batch: Batch) -> npt.NDArray[np.uint8]:
    if batch.tokens is not None:
        return batch.tokens
    if len(batch) != 1:
        raise ReportError("only batches of one report, or with tokens, can be joined: a report would lose its name")
    return np.frombuffer(batch.name, dtype=np.uint8).reshape(1, NAME)


def _header(message: bytes) -> tuple[int, bytes, bytes, int]:
    """Flags, digest, name and count, checked."""
    if len(message) < HEADER.size:
        raise ReportError(f"message is truncated: {len(message)} bytes, a header alone has {HEADER.size}")
    magic, version, flags, digest, name, count = HEADER.unpack_from(message)
    if magic != MAGIC:
        raise ReportError(f"message does not begin with {MAGIC.decode()}: these are no reports")
    if version != VERSION:
        raise ReportError(f"version {version} is unknown; this reads version {VERSION}")
    if flags & ~TOKENS:
        raise ReportError(f"flags {flags:#x} are unknown; this reads version {VERSION}")
    return flags, digest, name, count
