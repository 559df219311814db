"""What is collected over HTTP, and who may send: plain values, so that worker processes can be told."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sfumato.errors import ParameterError
from sfumato.local.collection.declaration import Collection
from sfumato.local.interactive.inquiry import declares_interaction
from sfumato.local.relay.limit import Limit

__all__ = ["NOTHING", "Collecting", "Terms"]


@dataclass(frozen=True, slots=True)
class Terms:
    """Who may send: at most so often, from pages of which other sites; and the relay that pages send to."""

    limit: Limit | None = None
    origins: Set[str] = frozenset()
    relay: str | None = None

    def __post_init__(self) -> None:
        for url in (*self.origins, *([] if self.relay is None else [self.relay])):
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not re.fullmatch("[A-Za-z0-9.:\\[\\]-]+", parts.netloc):
                raise ParameterError(f"a site has an address such as https://example.org, not {url!r}")


@dataclass(frozen=True, slots=True)
class Collecting:
    """Files that declare collections and inquiries, and the terms for all of them."""

    files: tuple[str, ...] = ()
    relay: str | None = None
    origins: tuple[str, ...] = ()
    limit: int | None = None  # messages of one sender in a window, in one process
    window: float = 3600.0

    def terms(self) -> Terms:
        """What is said, checked."""
        limit = None if self.limit is None else Limit(self.limit, self.window)
        return Terms(limit, frozenset(self.origins), self.relay)

    def directions(self, url: str) -> list[str]:
        """Where reports of each file go, once the collector is at this address: to it, or through the relay."""
        found = []
        for file in map(Path, self.files):
            here = f"{url}/local/{file.stem}"
            if declares_interaction(file) or Collection.read(file).batch is None:
                found.append(f"reports of {file} go to {here}")
            else:
                relay = f"{(self.relay or '').rstrip('/')}/local/{file.stem}"
                found.append(f"reports of {file} go to the relay, {relay}; the relay sends batches to {here}/batches")
        return found


NOTHING = Collecting()
