"""The source of bits: fresh in every process and thread, never twice the same word."""

import contextlib
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.randomness import POOL, SecureRng, SeededRng, secure, seeded

FORKS = 8
EACH = 125_000

FORKING = """
import os, sys
from sfumato.randomness import secure, seeded
kind, forks, each = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rng = secure() if kind == "secure" else seeded(1)
rng.bits64(10), rng.word()  # the pool is warm when the children split off
pipes = []
for _ in range(forks):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            for size in (1, 7, 1000, each - 1008):
                out.write(rng.bits64(size).tobytes())
        os._exit(0)
    os.close(writer)
    pipes.append(reader)
for reader in pipes:
    with os.fdopen(reader, "rb") as stream:
        sys.stdout.buffer.write(stream.read())
"""


def words_of_forks(kind: str) -> np.ndarray:
    command = [sys.executable, "-W", "ignore", "-c", FORKING, kind, str(FORKS), str(EACH)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    return np.frombuffer(done.stdout, dtype=np.uint64)


# laws: nobody shares a stream
@pytest.mark.heavy
def test_forked_processes_never_repeat_a_word():
    """10^6 words; among uniform ones a repeat has probability 3e-8."""
    words = words_of_forks("secure")
    assert words.size == FORKS * EACH
    assert np.unique(words).size == words.size


def test_the_fork_test_catches_a_generator_that_is_copied():
    words = words_of_forks("seeded")
    assert np.unique(words).size == EACH


def test_threads_never_repeat_a_word():
    rng, found = secure(), []

    def work() -> None:
        found.append(np.concatenate([rng.bits64(size) for size in (1, 20_000, 3, 30_000)]))
        found.append(np.array([rng.word() for _ in range(2000)], dtype=np.uint64))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(found)
    assert words.size == 8 * 52_004
    assert np.unique(words).size == words.size


def test_two_generators_differ_and_requests_of_all_sizes_are_met():
    first, second = secure(), secure()
    for size in (0, 1, POOL - 1, POOL, POOL + 1, 300_000):
        one, two = first.bits64(size), second.bits64(size)
        assert one.dtype == np.uint64
        assert one.shape == two.shape == (size,)
        assert size == 0 or not np.array_equal(one, two)


def test_words_are_erased_from_the_pool_and_the_key_changes():
    rng = secure()
    rng.word()
    key = rng._key
    rng.bits64(100)
    assert not rng._pool[:101].any()
    assert rng._pool[101:].any()
    rng.bits64(POOL)
    assert rng._key != key


def test_bits_are_balanced():
    """Each of 64 counts is within 6 standard deviations of half: false alarm 64 * 2e-9."""
    words = secure().bits64(200_000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0, dtype=np.int64)
    assert np.abs(bits - 100_000).max() < 6 * np.sqrt(50_000)


def test_the_seeded_generator_repeats_itself_however_it_is_asked():
    assert np.array_equal(seeded(3).bits64(1000), seeded(3).bits64(1000))
    assert not np.array_equal(seeded(3).bits64(1000), seeded(4).bits64(1000))
    one, two = seeded(5), seeded(5)
    assert [one.word() for _ in range(300)] == [two.word() for _ in range(300)]
    assert np.array_equal(one.bits64(700), two.bits64(700))


# refusals
def test_the_two_generators_are_different_types():
    assert not isinstance(seeded(1), SecureRng)
    assert not isinstance(secure(), SeededRng)


def test_a_secure_generator_shows_and_copies_nothing():
    rng = secure()
    assert repr(rng) == "SecureRng()"
    with pytest.raises(ParameterError, match=r"rng.*secure\(\)"):
        pickle.dumps(rng)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_refuses_a_bad_seed(seed):
    with pytest.raises(ParameterError, match="seed"):
        seeded(seed)


def test_refuses_a_negative_count():
    for rng in (secure(), seeded(1)):
        with pytest.raises(ParameterError, match="count"):
            rng.bits64(-1)


# interruptions: between any two steps, by handlers that draw, fork or raise
class Interruption(Exception):
    pass


def interrupted(rng: SecureRng, draw, act, step: int) -> object:
    """`draw()`, with `act()` in the same thread before its `step`-th step inside the generator."""
    left = [step]

    def trace(frame, event, argument):
        if "randomness" not in frame.f_code.co_filename or frame.f_code.co_name == "_check_count":
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            left[0] -= 1
            if left[0] == 0:
                sys.settrace(None)
                act()
        return trace

    sys.settrace(trace)
    try:
        return draw()
    finally:
        sys.settrace(None)
        interrupted.reached = left[0] <= 0


def warm(left: int) -> SecureRng:
    """A generator whose pool has this many words left."""
    rng = secure()
    rng.bits64(POOL - left)
    return rng


@pytest.mark.parametrize("left", [0, 3])
@pytest.mark.parametrize("size", [1, 5])
def test_a_draw_inside_a_draw_neither_waits_nor_shares_a_word(left, size):
    """At every step of a draw; a zero or a repeat is a word handed out twice."""
    step = 0
    while True:
        step += 1
        rng, inner = warm(left), []
        act = lambda rng=rng, inner=inner: inner.extend([rng.word(), *rng.bits64(3).tolist()])  # noqa: E731
        mine = interrupted(rng, lambda rng=rng: rng.bits64(size) if size > 1 else [rng.word()], act, step)
        if not interrupted.reached:
            break
        found = [*map(int, mine), *inner, *rng.bits64(4).tolist(), rng.word()]
        assert len(set(found)) == len(found)
        assert 0 not in found
    assert step > 20


@pytest.mark.parametrize("left", [0, 3])
def test_a_draw_that_is_broken_off_leaves_no_erased_word_behind(left):
    step = 0

    def fail():
        raise Interruption

    while True:
        step += 1
        rng = warm(left)
        with contextlib.suppress(Interruption):
            interrupted(rng, rng.word, fail, step)
        if not interrupted.reached:
            break
        found = [rng.word(), *rng.bits64(4).tolist(), *rng.bits64(POOL).tolist()]
        assert 0 not in found
        assert len(set(found)) == len(found)
    assert step > 20


FORKED_INSIDE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from test_randomness import interrupted, warm
for left in (0, 3):
    step, shared = 0, []
    while True:
        step += 1
        rng, pid = warm(left), []
        reader, writer = os.pipe()
        mine = interrupted(rng, lambda: rng.bits64(2), lambda: pid.append(os.fork()), step)
        mine = [*mine.tolist(), *rng.bits64(3).tolist(), rng.word()]
        if pid == [0]:
            os.write(writer, b" ".join(b"%d" % word for word in mine))
            os._exit(0)
        os.close(writer)
        if not pid:
            break
        theirs = [int(word) for word in os.read(reader, 4096).split()]
        os.close(reader)
        os.waitpid(pid[0], 0)
        assert len({*mine, *theirs[2:], 0}) == 11, (left, step, mine, theirs)
        if {*mine} & {*theirs}:
            shared.append(step)
    assert not shared or min(shared) > step - 6, (step, shared)  # the draw was over: only its words went along
print("none shared")
"""


@pytest.mark.heavy
def test_a_fork_inside_a_draw_shares_no_word_with_its_parent():
    command = [sys.executable, "-W", "ignore", "-c", FORKED_INSIDE, str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "none shared\n", done.stderr


HANDLED = """
import signal
from sfumato.randomness import secure
rng, seen = secure(), []
signal.signal(signal.SIGALRM, lambda *_: seen.append(rng.word()))
signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
while len(seen) < 200:
    rng.bits64(100), rng.word()
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(set(seen)) == len(seen))
"""


def test_a_signal_handler_may_draw_while_its_thread_draws():
    done = subprocess.run([sys.executable, "-c", HANDLED], capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout == "True\n", done.stderr
