"""Batches on their way to the collector: a thread that takes them there, and tries again what failed.

Into a folder, or over HTTP: `POST` of the batch with the token that the collector made, to the path that takes batches.
A batch is forgotten when it is durable there; the collector counts its name once, so a batch may be sent twice.
"""

from __future__ import annotations

import http.client
import ssl
import sys
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from sfumato.errors import ParameterError, ReportError, SfumatoError
from sfumato.local.relay.relay import Relay

__all__ = ["Courier", "posted"]

AGAIN = 5.0, 300.0  # seconds after a failure: at first, and at most
PATIENCE = 60.0  # seconds that a collector may be silent


def posted(relay: Relay, url: str, token: str) -> int:
    """Post each batch that is left to a collector, and forget it when that one has it; how many."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"a collector is at an address such as https://collector.example, not {url!r}")
    count = 0
    for message in relay.outgoing():
        if parts.scheme == "https":
            line: http.client.HTTPConnection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=PATIENCE, context=ssl.create_default_context()
            )
        else:
            line = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
        try:
            line.request("POST", parts.path, message, {"Authorization": f"Bearer {token}"})
            answer = line.getresponse()
            words = answer.read(1 << 10).decode(errors="replace")
        except http.client.HTTPException:
            raise ReportError("the collector does not speak HTTP") from None
        except OSError as error:
            raise ReportError(f"the collector cannot be reached ({error.strerror or 'no answer'})") from None
        finally:
            line.close()
        if answer.status != 200:
            raise ReportError(f"the collector answers {answer.status}: {words}")
        relay.delivered(message)
        count += 1
    return count


class Courier:
    """A thread that delivers when it is woken, and again later what could not be delivered."""

    __slots__ = ("_deliver", "_ended", "_thread", "_woken")

    def __init__(self, deliver: Callable[[], object]) -> None:
        self._deliver, self._woken, self._ended = deliver, threading.Event(), threading.Event()
        self._woken.set()  # what an earlier process left
        self._thread = threading.Thread(target=self._run, name="sfumato-courier", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There may be something to deliver."""
        self._woken.set()

    def close(self) -> None:
        """Deliver what can be, and end."""
        self._ended.set()
        self._woken.set()
        self._thread.join()

    def _run(self) -> None:
        pause, told = 0.0, ""
        while not self._ended.is_set():
            if pause:  # however many messages come meanwhile
                self._ended.wait(pause)
            else:
                self._woken.wait()
            self._woken.clear()
            try:
                self._deliver()
                pause, told = 0.0, ""
            except (OSError, SfumatoError) as error:  # reports are durable here, and are kept
                pause = min(2 * pause or AGAIN[0], AGAIN[1])
                reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
                if reason != told:
                    print(f"batches are kept: {reason}", file=sys.stderr, flush=True)
                told = reason
