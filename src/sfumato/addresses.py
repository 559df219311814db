"""Addresses of servers and stores, and whether one holds a secret."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

from sfumato.errors import SchemaError

__all__ = ["SERVERS", "held_in", "holds_secret"]

SERVERS = ("postgresql://", "postgres://")
SECRETS = ("pass", "secret", "key", "token", "sig")  # in the names of parameters: password, client_secret, sas_token


def holds_secret(address: str) -> bool:
    """Whether an address holds a password, or a parameter that is called like one.

    Programs divide an address differently at `?` and `#`, so either may begin a parameter, or stand in a name.

    >>> [holds_secret(one) for one in ("postgresql://me@host:5432/db", "postgresql://m#e:hush@host/db", "s3://b?Key=1")]
    [False, True, True]
    """
    rest = address.partition("://")[2]
    user = rest.partition("/")[0].rpartition("@")[0]
    names = [unquote(part.partition("=")[0]).lower() for part in re.split("[?&#;]", rest)[1:]]
    return ":" in user or any(word in name for name in names for word in SECRETS)


def held_in(variable: str) -> str:
    """The address of a server that an environment variable holds; it may hold a password, and is never repeated."""
    address = os.environ.get(variable, "")
    if not address.startswith(SERVERS):
        said = "holds no address of a server" if address else "is not set"
        raise SchemaError(
            f"the environment variable {variable} {said}; set it to an address such as "
            "postgresql://reader:PASSWORD@host/database"
        )
    return address
