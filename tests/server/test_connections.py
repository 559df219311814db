"""Sockets of several processes: connections are shared out, and nobody else takes the address."""

import contextlib
import socket
import threading

import pytest

from sfumato.errors import ParameterError
from sfumato.server.connections import bound


@contextlib.contextmanager
def held(count):
    """Sockets at one free address."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(one) for one in bound(("127.0.0.1", 0), count)]


def test_connections_are_shared_out_between_sockets_at_one_address():
    with held(2) as sockets:
        calls = [socket.create_connection(sockets[0].getsockname(), timeout=300) for _ in range(64)]
        taken = [_waiting(one) for one in sockets]
        for call in calls:
            call.close()
    assert sum(taken) == 64
    assert min(taken) >= 8  # a fair coin gives fewer once in 10^10


def _waiting(listening):
    """How many connections wait at a socket."""
    listening.setblocking(False)
    count = 0
    while True:
        try:
            listening.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


@pytest.mark.parametrize("again", [1, 2])
@pytest.mark.parametrize("count", [1, 2])
def test_a_second_service_at_the_same_address_is_refused(count, again):
    with held(count) as sockets, pytest.raises(ParameterError, match="cannot listen"):
        bound(sockets[0].getsockname(), again)


@pytest.mark.parametrize("options", [(), (socket.SO_REUSEADDR,)])
@pytest.mark.parametrize("host", ["127.0.0.1", ""])
def test_nobody_takes_the_address_before_a_process_has_started(options, host):
    with held(2) as sockets, socket.socket() as thief:
        for option in options:
            thief.setsockopt(socket.SOL_SOCKET, option, 1)
        with pytest.raises(OSError, match="in use"):
            thief.bind((host, sockets[0].getsockname()[1]))


def test_one_socket_is_enough_for_one_process():
    with held(1) as (listening,):
        said = threading.Thread(target=lambda: socket.create_connection(listening.getsockname(), timeout=300).close())
        said.start()
        listening.accept()[0].close()
        said.join()
