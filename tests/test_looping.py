"""Every check that fails is reported, and none that passes."""

import pytest

from looping import run_checks


def check_even(number):
    assert number % 2 == 0


def check_small(number):
    assert number < 5, "too large"


def test_every_failing_check_is_named():
    run_checks((check_even, check_small), 4)
    with pytest.raises(ExceptionGroup, match="broken: check_even; broken: check_small") as both:
        run_checks((check_even, check_small), 7)
    assert "too large" in str(both.value.exceptions[1])
    with pytest.raises(ExceptionGroup, match=r"^broken: check_small"):
        run_checks((check_even, check_small), number=8)
