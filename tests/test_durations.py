"""What is long leaves the quick run, and of each test one case stays at least."""

from durations import LONGEST, SHARE, find_long


def test_a_long_case_is_found_and_one_stays():
    assert find_long({"a.py::test_x[1]": 3.0, "a.py::test_x[2]": 0.1, "a.py::test_y": 0.9}) == {"a.py::test_x[1]"}
    assert find_long({"a.py::test_x[1]": 0.9, "a.py::test_x[2]": 0.8}) in ({"a.py::test_x[1]"}, {"a.py::test_x[2]"})
    assert find_long({"a.py::test_y": 3.0}) == {"a.py::test_y"}


def test_many_cases_share_what_one_test_may_take():
    seconds = {f"a.py::test_x[{place}]": 0.25 for place in range(50)}
    quick = seconds.keys() - find_long(seconds)
    assert len(quick) == SHARE / 0.25
    assert find_long(dict.fromkeys(list(seconds)[:5], 0.2)) == set()
    assert max(seconds.values()) < LONGEST


def test_nets_stay_whole():
    assert find_long({"tests/test_nets.py::test_x[contract]": 9.0, "tests/test_layers.py::test_y": 5.0}) == set()
