"""Reports sealed to the collector: whoever carries them sees their number and nothing in them.

Hybrid public-key encryption (RFC 9180, base mode, one shot) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256 and
AES-128-GCM.  Its `info` is that of the round: the collection's digest and the round's name, so that a sealed report
opens in no other one.  All records of a protocol are equally long, and so are the sealed ones.  What seals is loaded
when a client of a collection that declares a key is opened; others need numpy alone.  See docs/formats/reports.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, UnsupportedQuery

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.hpke import Suite

__all__ = ["SEAL", "SealingMissing", "check_sealing", "checked_key", "context", "sealed", "unsealed"]

KEY = 32  # bytes of a public key
SEAL = 32 + 16  # bytes by which a record grows: an encapsulated key before it, a tag behind


class SealingMissing(UnsupportedQuery, ImportError):
    """What seals reports is not installed."""


def check_sealing(key: str | None) -> None:
    """Refuse to open a client that could not seal what its collection declares sealed; without a key all is well."""
    if key is not None:
        _suite()


def checked_key(key: object) -> str:
    """A public key as 64 hexadecimal digits, or a refusal."""
    if isinstance(key, str) and len(key) == 2 * KEY and all(digit in "0123456789abcdef" for digit in key):
        return key
    raise ParameterError(f"key must be a public key in {2 * KEY} hexadecimal digits, as `sfumato key` prints it")


def context(digest: str, round: str) -> bytes:
    """What a sealed report is bound to."""
    return b"sfumato-collection/4" + bytes.fromhex(digest) + round.encode()


def sealed(record: bytes, key: str, info: bytes) -> bytes:
    """A record that only the holder of the private key can read."""
    suite = _suite()
    try:
        return suite.encrypt(record, _public(key), info=info)
    except ValueError:
        raise ParameterError("key is no public key of X25519; declare one that `sfumato key` made") from None


def unsealed(record: bytes, key: X25519PrivateKey, info: bytes) -> bytes | None:
    """What was sealed; nothing if it was for another key, collection or round, or was changed."""
    from cryptography.exceptions import InvalidTag

    try:
        return _suite().decrypt(record, key, info=info)
    except (InvalidTag, ValueError):  # the latter of points that are none
        return None


@lru_cache(maxsize=1)
def _suite() -> Suite:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise SealingMissing(
            "the collection seals its reports, and sealing needs the extra: pip install 'sfumato-client[sealed]' "
            "(cryptography 47 or later); nothing was sent"
        ) from None
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


@lru_cache(maxsize=64)
def _public(key: str) -> X25519PublicKey:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    return X25519PublicKey.from_public_bytes(bytes.fromhex(key))
