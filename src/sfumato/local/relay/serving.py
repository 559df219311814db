"""A relay as a process: devices post messages to it over HTTP, and batches appear as files of a folder.

`POST /` with a message as its body is answered when the message is durable: 200 if it is taken or known already; 400
if it will never be; 429 if its sender has to wait, and 503 if something failed, after which it is to be sent again.  No
address, time or message is written anywhere, neither to a log nor in an error.  Encryption on the way (TLS) is the
business of whatever stands in front; senders are limited by the address that a connection comes from, so where that
hides theirs, they are to be limited there.  Connections beyond the most, and those that live too long, are closed
without a word.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR, socket
from time import monotonic

from sfumato.errors import ParameterError, SfumatoError
from sfumato.local.client.wire import HEADER, NAME
from sfumato.local.collection.collector import Receipt
from sfumato.local.collection.door import Gathering
from sfumato.local.relay.limit import Limit
from sfumato.local.relay.relay import Relay

__all__ = ["Server"]

PATIENCE = 30.0  # seconds that a sender may be silent
LIFETIME = 300.0  # seconds that a connection may live, however it is used
MOST = 256  # connections at a time
LENGTH = re.compile("[0-9]{1,9}", re.ASCII)


class Server(ThreadingHTTPServer):
    """A relay that listens at an address (port 0: any that is free) and puts its batches into a folder."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, relay: Relay, out: str | Path, address: tuple[str, int], limit: Limit | None = None) -> None:
        self.relay, self.out, self.limit = relay, Path(out), limit
        self.longest = HEADER.size + 2 * NAME + 64 + relay.collection.protocol.report_bytes  # of a single report
        if not self.out.is_dir():
            raise ParameterError(f"{self.out} is no folder; make it first, batches are put there")
        self.gathering, self.open = Gathering(self._taken), dict[socket, float]()
        try:
            super().__init__(address, _Handler)  # which closes what it cannot open
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "the system refused"
            raise ParameterError(f"cannot listen at {address[0]}:{address[1]} ({reason}); choose another") from None
        self._deliver()  # what an earlier process left

    @property
    def url(self) -> str:
        """Where devices post."""
        host, port = self.server_address[:2]
        return f"http://{host if isinstance(host, str) else host.decode()}:{port}/"

    def server_close(self) -> None:
        """Finish those who wait, and let nobody else in."""
        super().server_close()
        self.gathering.close()

    def process_request(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Serve one more connection, if there are not too many."""
        assert isinstance(request, socket)
        if len(self.open) >= MOST:
            return super().shutdown_request(request)
        self.open[request] = monotonic()
        return super().process_request(request, client_address)

    def shutdown_request(self, request: socket | tuple[bytes, socket]) -> None:
        """Forget a connection that ends."""
        assert isinstance(request, socket)
        self.open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End those that live too long: one byte at a time keeps a thread for ever otherwise."""
        for request, since in list(self.open.items()):
            if monotonic() - since > LIFETIME:
                with suppress(OSError):
                    request.shutdown(SHUT_RDWR)

    def handle_error(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Say nothing: a broken connection is nobody's business, and the usual words hold an address."""

    def _taken(self, messages: list[bytes]) -> list[Receipt]:
        receipts = self.relay.add_all(messages)
        self._deliver()
        return receipts

    def _deliver(self) -> None:
        """Put batches into the folder; what fails is kept and tried again, since its reports are durable."""
        try:
            self.relay.deliver(self.out)
        except (OSError, SfumatoError) as error:
            print(f"batches are kept: {getattr(error, 'strerror', None) or error}", file=sys.stderr, flush=True)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version, timeout = "HTTP/1.1", PATIENCE
    disable_nagle_algorithm, wbufsize = True, -1  # an answer is one packet, at once

    def do_POST(self) -> None:
        length = self._length()
        if length is None:
            self.close_connection = True
            return self._answer(400, "a message of one report is posted with its length")
        body = self.rfile.read(length)
        if self.server.limit is not None and not self.server.limit.admits(self.client_address[0]):
            return self._answer(429, "too many messages; send it again later")
        try:
            receipt = self.server.gathering.send(body).result()
        except Exception:  # whatever it was, devices keep the message
            return self._answer(503, "not taken; send it again later")
        return self._answer(200 if receipt.accepted else 400, receipt.words)

    def _length(self) -> int | None:
        """What a message is said to be long, once and in one way: others in front might read two ways otherwise."""
        given = self.headers.get_all("Content-Length", [])
        if len(given) != 1 or "Transfer-Encoding" in self.headers or not LENGTH.fullmatch(given[0]):
            return None
        return int(given[0]) if int(given[0]) <= self.server.longest else None

    def version_string(self) -> str:
        return "sfumato"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the usual line holds an address and a time."""

    def _answer(self, status: int, words: str) -> None:
        body = words.encode(errors="replace")
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
