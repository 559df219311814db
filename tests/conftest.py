"""Seeds: fixed in each test, or moved by one fresh offset with `make test-fresh`, which is printed.

Hypothesis follows: its examples are those of the test's name alone, or fresh ones.  So does the secure generator: its
keys, which come from the operating system, come from the name of the test or of the fixture that asks, so that a
release's noise is the same at each run, whatever ran before; only other processes, and the generator's own tests, have
true keys.  Audits
end after seconds of the processor, not of the clock, so that a busy machine finds what an idle one does.  What
collection has imported stays for good, so the collector of garbage does not walk through it again: that took a twelfth
of the time.  Tests that `long.txt` names take more than about a second each (`durations.py` writes it from a run), and
run with the heavy ones.  `--part SECONDS` takes some of what is selected, others for each commit (`rotation.py`).
"""

from __future__ import annotations

import gc
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rotation import MARKED, SEED, choose_part, find_seed, read_seconds
from seeding import FRESH, keyed
from sfumato.randomness import SeededRng

TRUE_KEYS = "tests/test_randomness.py"
OWN_SEEDS = (  # they compare with what was drawn elsewhere
    "tests/mechanisms/test_golden.py",
    "tests/reference/test_laboratory.py",
    "tests/test_without_compiler.py",
)

LONG = frozenset(Path(__file__).with_name("long.txt").read_text().splitlines())

collect_ignore_glob = ["*conftest.py"]  # they hold no doctests, and share a name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer to run a part of what is selected."""
    parser.addoption("--part", type=float, metavar="SECONDS", help="run what fits into these processor seconds")


def pytest_configure(config: pytest.Config) -> None:
    """Move every seed by the offset; `SFUMATO_FRESH_SEEDS=1` draws one, another number repeats a run."""
    if config.getoption("part") is not None:
        os.environ[SEED] = find_seed()  # workers inherit it
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers inherit it: threads of theirs wait for one another's cores
    wanted = os.environ.get(FRESH)
    examples = 40 if wanted is None else 100  # the same ones at each run, or fresh ones, of which more tell more
    settings.register_profile(
        "sfumato", derandomize=wanted is None, database=None, deadline=None, max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],  # it judges by a clock
    )  # fmt: skip
    settings.load_profile("sfumato")
    if wanted is None:
        return
    if wanted == "1":
        os.environ[FRESH] = wanted = str(secrets.randbits(40) + 2)  # workers inherit it
    offset, original = int(wanted), SeededRng.__init__

    def moved(self: SeededRng, seed: int) -> None:
        original(self, seed + (0 if os.environ.get("PYTEST_CURRENT_TEST", "").startswith(OWN_SEEDS) else offset))

    SeededRng.__init__ = moved  # type: ignore[method-assign]


def pytest_collection(session: pytest.Session) -> None:
    """Nothing that is imported is garbage."""
    gc.disable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Mark long tests as heavy before those are deselected; take a part of what is left."""
    for item in items:
        if item.nodeid in LONG:
            item.add_marker(pytest.mark.heavy)
    if moving := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"names of tests hold places in memory, which differ in each process: {moving[:3]}")
    yield
    budget = config.getoption("part")
    if budget is not None:
        marked = {item.nodeid: MARKED for item in items if item.nodeid not in LONG}
        part = choose_part([item.nodeid for item in items], marked | read_seconds(), budget, os.environ[SEED])
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in part])
        items[:] = [item for item in items if item.nodeid in part]


def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on, only what tests make may be; audits are given seconds of the processor."""
    from sfumato.auditing import clock

    clock.now = time.process_time
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Extensions that count what they leave behind find everything freed."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how to repeat a run with fresh seeds, or of a part, also where pytest is told to be quiet."""
    for name, what in ((FRESH, "seeds are moved"), (SEED, "a part was run")):
        if name in os.environ:
            terminalreporter.write_line(f"{what}; repeat with {name}={os.environ[name]}")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Iterator[None]:
    """What several tests share does not depend on which of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    with contextmanager(keyed)(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')}"):
        return (yield)


@pytest.fixture(autouse=True)
def keys(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test's keys are its name's."""
    if request.node.nodeid.startswith(TRUE_KEYS):
        yield
    else:
        yield from keyed(request.node.nodeid)
