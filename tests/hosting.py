"""An application behind a real socket, in a thread of the test."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from sfumato.server.connections import bound, server_of
from waiting import wait_until


@contextmanager
def hosted(application, host="127.0.0.1", proxy=None, certificate=None) -> Iterator[str]:
    """Its address, as long as the block lasts."""
    (listening,) = bound((host, 0))
    server = server_of(application, certificate, proxy)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http{'' if certificate is None else 's'}://{host}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def asked(url, method="GET", body=None, headers=None):
    """Status, headers and text of one request."""
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.netloc, timeout=300)
    try:
        with contextlib.suppress(BrokenPipeError):  # refused before all was sent: the answer is there
            line.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body, headers or {})
        answer = line.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
    finally:
        line.close()


def posted(url, message, **headers):
    """Status and words of one message."""
    status, _, words = asked(url, "POST", message, headers)
    return status, words
