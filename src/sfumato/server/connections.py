"""Connections of a server: few at a time, none for ever, and not a word about them anywhere.

The usual server of this kind writes lines with addresses and times, waits as long as a sender likes for the rest of a
request, and trusts whoever says on whose behalf a request comes.  This one does not.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from sfumato.errors import ParameterError

__all__ = ["Guarded", "address_of", "bound", "serve", "server_of"]

PATIENCE = 30  # seconds that a connection may be silent between requests
LIFETIME = 300.0  # seconds that a connection may live, however it is used: one byte at a time keeps it otherwise
MOST = 256  # connections at a time; further ones are closed without a word
GRACE = 10  # seconds that requests have when the server is told to stop
HEADERS = 16 << 10  # bytes of the headers of a request
QUIET = ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio")


class Guarded(H11Protocol):
    """A connection that ends in time."""

    _end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let it in, if there are not too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._end = self.loop.call_later(LIFETIME, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)


class Processes(Multiprocess):
    """Several processes at one address; one that dies is replaced at once, however long others take to start.

    Each takes connections from a socket of its own, among which the system shares them out: from one for all, the first
    that waits would take most.  The sockets are this process's, so what waits for one that died waits for the next.
    """

    def init_processes(self) -> None:
        """Start one for each socket."""
        self.processes = [self._started(one) for one in self.sockets]

    def _started(self, listening: socket.socket) -> Process:
        made = Process(self.config, [listening])
        made.start()
        return made

    def keep_subprocess_alive(self) -> None:
        """Replace those that ended; where one cannot even start, none can, and the service ends."""
        for place, process in enumerate(self.processes):
            if process.process.is_alive() or self.should_exit.is_set():
                continue
            process.join()
            if process.exitcode == STARTUP_FAILURE:
                self.should_exit.set()
                return
            self.processes[place] = self._started(self.sockets[place])

    def restart_all(self) -> None:
        """Replace all, one after the other (SIGHUP); meanwhile connections wait."""
        for place, process in enumerate(self.processes):
            process.terminate()
            process.join()
            self.processes[place] = self._started(self.sockets[place])

    def handle_ttin(self) -> None:
        """No more processes than sockets."""

    def handle_ttou(self) -> None:
        """No fewer: connections would wait for nobody."""


def address_of(text: str) -> tuple[str, int]:
    """HOST:PORT.

    >>> address_of("[::1]:8100")
    ('::1', 8100)
    """
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise ParameterError(f"--listen is HOST:PORT, such as 127.0.0.1:8100, not {text!r}")
    return host.strip("[]"), int(port)


def bound(address: tuple[str, int], count: int = 1) -> list[socket.socket]:
    """Sockets that listen there (port 0: any that is free), so that a mistake is told before anything starts.

    Several share the address among them alone: that nobody listens there is found by one that shares with nobody.
    """
    held: list[socket.socket] = []
    try:
        held.append(_listening(address, shared=False))
        if count > 1:
            place = held[0].getsockname()
            held.pop().close()
            held.extend(_listening(place, shared=True) for _ in range(count))
    except (OSError, OverflowError) as error:
        for one in held:
            one.close()
        reason = getattr(error, "strerror", None) or "the system refused"
        raise ParameterError(f"cannot listen at {address[0]}:{address[1]} ({reason}); choose another") from None
    return held


def _listening(address: tuple[str, int], shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named: only then answers leave at once
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind(address)
        made.listen(1024)
    except (OSError, OverflowError):
        made.close()
        raise
    return made


def server_of(
    application: Callable[..., object] | str,
    certificate: tuple[str, str] | None = None,
    proxy: str | None = None,
    workers: int = 1,
) -> uvicorn.Server:
    """What serves an application, and says nothing; for several processes, the name of the function that makes it.

    `certificate` names the files of a certificate and of its key.  `proxy` is the address of whatever stands in front:
    what that one says of senders (X-Forwarded-For) is believed, and nobody else.
    """
    for name in QUIET:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [logging.NullHandler()], False
    config = uvicorn.Config(
        application,
        http=Guarded,
        ws="none",
        loop="asyncio",
        lifespan="auto",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
        timeout_keep_alive=PATIENCE,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=HEADERS,
        ssl_certfile=None if certificate is None else certificate[0],
        ssl_keyfile=None if certificate is None else certificate[1],
        workers=workers,
        factory=isinstance(application, str),
    )
    return uvicorn.Server(config)


def serve(server: uvicorn.Server, listening: list[socket.socket]) -> None:
    """Serve until told to stop (SIGTERM, SIGINT), then finish what was begun."""
    if server.config.workers > 1:
        Processes(server.config, listening).run()
        return
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises the signal again when it has finished
        signal.signal(number, lambda *_: None)
    server.run(sockets=listening)
