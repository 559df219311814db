"""Compilation that is put off: several threads may come to it at once."""

import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from sfumato import deferred
from waiting import let_pass

SOURCE = """
def inner(x):
    return x + 1
def outer(x):
    return found(x)
"""


@pytest.fixture
def slow_compiler(monkeypatch):
    """One that takes its time, and whose functions refuse to call what is not compiled, as numba's do."""

    def njit(**options):
        def made(plain):
            let_pass(0.02)

            def call(x):
                held = plain.__globals__.get("found")
                if plain.__name__ == "outer" and isinstance(held, deferred.Compiled):
                    raise TypeError("the function that it calls is not compiled")
                return plain(x)

            return call

        return made

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=njit))
    monkeypatch.setattr(deferred, "compiled", lambda: True)
    monkeypatch.setattr(deferred, "_WAITING", [])


def test_threads_that_meet_at_the_first_call_find_functions_that_are_wholly_made(slow_compiler):
    names = {}
    exec(SOURCE, names)
    outer = deferred.njit()(names["outer"])
    names["found"] = deferred.njit()(names["inner"])
    others = [deferred.njit()(names["inner"]) for _ in range(3)]  # between what is made first and what is made last

    def late(wait):
        let_pass(wait / 100)
        return outer(wait)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(late, range(8))) == [wait + 1 for wait in range(8)]
    assert [one(1) for one in others] == [2, 2, 2]
    assert deferred._WAITING == []
