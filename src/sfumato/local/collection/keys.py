"""The private key of a collection whose reports are sealed: one file, its owner's alone, never shown.

The file is a private key in the usual form (PEM, PKCS 8), readable by nobody else (mode 0600); one that others may
read is refused.  Whoever loses it can open no report any more; whoever gets it can open all of them.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sfumato.errors import ParameterError
from sfumato.local.client.sealing import unsealed
from sfumato.local.collection.database import CollectionError

__all__ = ["Key", "new_key"]

LARGEST = 1 << 16  # bytes of a key file; this one has 119


class Key:
    """What opens the reports of collections that declare `public`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     public = new_key(f"{place}/pets.key")
    ...     print(Key.read(f"{place}/pets.key").public == public, len(public))
    True 64
    """

    __slots__ = ("_private", "public")

    def __init__(self, private: X25519PrivateKey) -> None:
        self._private, self.public = private, private.public_key().public_bytes_raw().hex()

    def __repr__(self) -> str:
        return f"Key of {self.public[:12]}"

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Key:
        """The key in a file; refused if others than its owner may read it."""
        place = Path(path)
        try:
            handle = os.open(place, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
            with os.fdopen(handle, "rb") as file:
                rights, held = os.fstat(file.fileno()).st_mode, file.read(LARGEST)
        except OSError as error:
            reason = error.strerror or "the system refused"
            raise CollectionError(f"key {place} cannot be read ({reason}); give the file `sfumato key` made") from None
        if os.name != "nt" and stat.S_IMODE(rights) & 0o077:
            raise CollectionError(
                f"key {place} may be read by others than its owner; take their rights away (chmod 600), or make "
                "another key if somebody may have read it"
            )
        try:
            private = serialization.load_pem_private_key(held, None)
        except (ValueError, TypeError):
            private = None
        if not isinstance(private, X25519PrivateKey):
            raise CollectionError(f"{place} is no key for reports; give the file that `sfumato key` made")
        return cls(private)

    def open(self, record: bytes, info: bytes) -> bytes | None:
        """What a device sealed; nothing if it was not meant for this key, collection and round."""
        return unsealed(record, self._private, info)


def new_key(path: str | os.PathLike[str]) -> str:
    """Make a key pair: the private key stays in the file, the public one is returned, to be declared."""
    place, private = Path(path), X25519PrivateKey.generate()
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    held = private.private_bytes(serialization.Encoding.PEM, form, plain)
    try:
        with open(place, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:  # by one process alone
            file.write(held)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise ParameterError(
            f"{place} exists; a key is never written over: reports that are sealed to it would be lost"
        ) from None
    except OSError as error:
        reason = error.strerror or "the system refused"
        raise CollectionError(f"key {place} cannot be written ({reason}); choose a folder that can be") from None
    return Key(private).public
