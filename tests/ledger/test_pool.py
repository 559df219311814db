"""Connections of a process: never more than the bound, a queue with a limit, idle ones given back."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sfumato.ledger.pool import LEAST, ConnectionPool, Unreachable
from waiting import wait_until


class Line:
    """A connection that counts how many of its kind are open."""

    open, most, lock = 0, 0, threading.Lock()

    def __init__(self, address):
        if address == "nowhere":
            raise Unreachable("nobody there")
        self.address = address
        with Line.lock:
            Line.open += 1
            Line.most = max(Line.most, Line.open)

    def close(self):
        with Line.lock:
            Line.open -= 1


@pytest.fixture
def pool():
    Line.open = Line.most = 0
    return ConnectionPool(Line, bound=4, wait=30.0, idle=30.0)


def use(pool, address):
    line, _ = pool.take(address)
    assert line.address == address
    pool.give_back(address, line, True)


def test_many_threads_and_several_servers_stay_within_the_bound_and_all_are_served(pool):
    with ThreadPoolExecutor(24) as threads:
        done = [threads.submit(use, pool, f"server {number % 3}") for number in range(600)]
        assert [one.result() for one in done] == [None] * 600
    assert Line.most <= 4
    assert pool.count == Line.open <= 4
    pool.close_idle()
    assert pool.count == Line.open == 0


def test_who_waits_longer_than_the_limit_is_told_to_come_again(pool):
    short = ConnectionPool(Line, bound=2, wait=0.01)
    held = [short.take("a")[0] for _ in range(2)]
    with pytest.raises(Unreachable, match="nothing was charged"):
        short.take("a")
    short.give_back("a", held[0], True)
    use(short, "a")


def test_who_came_first_is_served_first(pool):
    held, order = [pool.take("a")[0] for _ in range(4)], []

    def wait(number):
        line, _ = pool.take("a")
        order.append(number)
        pool.give_back("a", line, True)

    threads = []
    for number in range(3):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        wait_until(lambda: len(pool._queue) == len(threads))
    pool.give_back("a", held[0], True)
    for thread in threads:
        thread.join(30)
    assert order == [0, 1, 2]


def test_turns_leave_connections_for_those_who_charge(pool):
    with pool.hold_turn(0.0) as first, pool.hold_turn(0.0) as second, pool.hold_turn(0.0) as third:
        assert (first, second, third) == (True, True, False)
    with pool.hold_turn(0.0) as again:
        assert again


def test_idle_connections_are_given_back_by_themselves():
    Line.open = 0
    pool = ConnectionPool(Line, bound=4, idle=0.02)
    held = [pool.take("a")[0] for _ in range(4)]
    for line in held:
        pool.give_back("a", line, True)
    wait_until(lambda: pool.count == Line.open == 0)


def test_broken_connections_make_room_and_those_beside_them_are_looked_at(pool):
    held = [pool.take("a")[0] for _ in range(4)]
    pool.give_back("a", held[0], True)
    pool.give_back("a", held[1], False)
    assert pool.count == 3
    _, since = pool.take("a")
    assert since == 0.0  # so long ago that it is asked whether it lives


def test_a_server_that_is_away_is_not_asked_by_everybody_and_takes_no_room(pool):
    with pytest.raises(Unreachable, match="nobody there"):
        pool.take("nowhere")
    with pytest.raises(Unreachable, match="in a moment"):
        pool.take("nowhere")
    assert pool.count == 0
    for _ in range(5):
        use(pool, "a")


def test_a_smaller_bound_holds_once_connections_come_back(pool):
    held = [pool.take("a")[0] for _ in range(4)]
    pool.set_bound(1)
    assert pool.bound == LEAST == 4
    wide = ConnectionPool(Line, bound=6)
    held = [wide.take("a")[0] for _ in range(6)]
    wide.set_bound(4)
    for line in held:
        wide.give_back("a", line, True)
    assert wide.count == 4


def test_a_fork_starts_with_no_connection_and_ends_none_of_its_parent(pool):
    use(pool, "a")
    child = os.fork()
    if child == 0:
        os._exit(pool.count * 10 + (Line.open != 1))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert pool.count == 1
