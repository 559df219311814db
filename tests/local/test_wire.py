"""The wire format: round trips of everything, and a reason for everything that is refused."""

import struct

import numpy as np
import pytest
from cases import CASES, NAMES
from hypothesis import given, settings
from hypothesis import strategies as st

from sending import sent
from sfumato.errors import ParameterError, ReportError
from sfumato.local.client import decode_batch, header_of, join
from sfumato.local.client.wire import HEADER, MAGIC
from sfumato.local.protocols import GeneralizedResponse, OptimizedUnary
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

every = pytest.mark.parametrize(("protocol", "values"), CASES, ids=NAMES)
RESPONSE = GeneralizedResponse.calibrate(10, Pure(1.0))
MESSAGE = sent(RESPONSE, np.array([1, 2, 3], dtype=np.uint8), b"n" * 16)


@every
def test_batches_round_trip_with_and_without_tokens(protocol, values):
    reports = protocol.randomize([*values] * 5, seeded(601))
    tokens = np.arange(15 * 16, dtype=np.uint8).reshape(15, 16)
    for held in (None, tokens):
        message = sent(protocol, reports, b"x" * 16, held)
        batch = decode_batch(protocol, message)
        assert batch.name == b"x" * 16
        assert len(batch) == 15
        assert np.array_equal(batch.reports, reports)
        assert held is None or np.array_equal(batch.tokens, held)
        assert len(message) == HEADER.size + 15 * (protocol.report_bytes + (16 if held is not None else 0))
        assert header_of(message).address.binding == protocol.digest


def test_the_layout_is_the_documented_one():
    assert HEADER.size == 48
    assert (
        b"SFLR" + struct.pack("<HH", 1, 0) + RESPONSE.digest + b"n" * 16 + struct.pack("<Q", 3) + bytes([1, 2, 3])
    ) == MESSAGE


def test_names_are_fresh():
    names = {decode_batch(RESPONSE, sent(RESPONSE, np.array([1], dtype=np.uint8))).name for _ in range(50)}
    assert len(names) == 50


def test_a_relay_keeps_a_name_for_each_report():
    singles = [sent(RESPONSE, np.array([i], dtype=np.uint8), bytes([i]) * 16) for i in range(4)]
    joined = decode_batch(RESPONSE, join(RESPONSE, singles))
    assert joined.reports.tolist() == [0, 1, 2, 3]
    assert joined.tokens.tolist() == [[i] * 16 for i in range(4)]
    again = decode_batch(RESPONSE, join(RESPONSE, [join(RESPONSE, singles[:2]), *singles[2:]]))
    assert np.array_equal(again.tokens, joined.tokens)
    with pytest.raises(ReportError, match="would lose its name"):
        join(RESPONSE, [MESSAGE])
    with pytest.raises(ParameterError, match="at least one batch"):
        join(RESPONSE, [])


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "truncated: 0 bytes"),
        (MESSAGE[:47], "truncated"),
        (b"JUNK" + MESSAGE[4:], "does not begin with SFLR"),
        (MAGIC + b"\x04\x00" + MESSAGE[6:], "version 4 is unknown"),
        (MAGIC + b"\x02\x00" + MESSAGE[6:], "version differs: the batch is of version 2"),
        (MESSAGE[:6] + b"\x80\x00" + MESSAGE[8:], "flags 0x80 are unknown"),
        (MESSAGE[:-1], "length differs: 3 reports of 1 bytes were announced, 2 bytes arrived"),
        (MESSAGE + b"\x00", "length differs"),
        (MESSAGE[:40] + b"\xff" * 8 + MESSAGE[48:], "length differs"),
        (MESSAGE[:-1] + b"\x0a", "reports out of range: 1 of 3"),
    ],
)
def test_malformed_messages_are_refused_with_the_reason(message, reason):
    with pytest.raises(ReportError, match=reason):
        decode_batch(RESPONSE, message)


def test_another_protocol_is_refused_by_its_digest_even_if_it_looks_alike():
    alike = GeneralizedResponse.calibrate(10, Pure(1.1))
    with pytest.raises(ReportError, match=f"made by protocol {RESPONSE.digest.hex()}"):
        decode_batch(alike, MESSAGE)


@settings(deadline=None, max_examples=300)
@given(st.binary(max_size=120), st.booleans())
def test_any_bytes_are_read_or_refused(noise, with_header):
    message = MESSAGE[:48] + noise if with_header else noise
    try:
        batch = decode_batch(RESPONSE, message)
    except ReportError:
        return
    assert sent(RESPONSE, batch.reports, batch.name, batch.tokens) == message


def test_bad_arguments_are_named():
    reports = np.array([1], dtype=np.uint8)
    with pytest.raises(ParameterError, match="name must have 16 bytes"):
        sent(RESPONSE, reports, b"short")
    with pytest.raises(ParameterError, match="tokens must have the shape"):
        sent(RESPONSE, reports, None, np.zeros((2, 16), dtype=np.uint8))
    with pytest.raises(ParameterError, match="reports need the shape"):
        sent(OptimizedUnary.calibrate(10, Pure(1.0)), reports)
