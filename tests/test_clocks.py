"""What judges by a clock is found, however the seconds come there; calls are counted the same each time."""

import pytest

from clocks import count_calls, find_clocks

JUDGING = """
begun = time.perf_counter()
work()
{judged}
"""


@pytest.mark.parametrize(
    "judged",
    [
        "assert time.perf_counter() - begun < 1",
        "spent = time.perf_counter() - begun\nassert spent < 1",
        "times.append(time.perf_counter() - begun)\nassert min(times) < 1",
        "slowest = max(0, time.perf_counter() - begun)\nbest = {'a': slowest}\nassert best['a'] < 1",
        "for one in [begun]:\n    assert one < 3",
        "def spent():\n    return resource.getrusage(0)\nassert spent() < 3",
        "while time.monotonic() < begun + 3:\n    pass",
        "time.sleep(1)",
        "page.wait_for_timeout(300)",
        "from time import sleep as rest\nrest(1)",
        "from time import monotonic\nassert monotonic() < 3",
        "assert datetime.datetime.now() - day < limit",
        "asyncio.run(asyncio.sleep(3))",
    ],
)
def test_judging_by_a_clock_and_sleeping_are_noticed(judged):
    assert len(find_clocks(JUDGING.format(judged=judged))) == 1


def test_other_uses_of_time_are_not():
    for text in (
        "os.utime(path, (time.time() - 3600,) * 2)",
        "clock.now = time.process_time",
        "assert value == datetime.time(11, 40)",
        "wait_until(lambda: done())\nassert done()",
        "from calm import sleep\nsleep(3)",
    ):
        assert find_clocks(text) == []


def test_calls_are_counted_the_same_each_time():
    def work(times):
        return [str.split("a b") for _ in range(times)]

    counts = [count_calls(lambda: work(100)) for _ in range(3)]
    assert counts[0] == counts[1] == counts[2] > 100
    assert count_calls(lambda: work(1000)) > 5 * counts[0]
