"""Accounting from the command line: options belong to the noise before them, and both ends are printed outward."""

from __future__ import annotations

import json

import pytest

from sfumato.accounting.lines import Line, reading
from sfumato.cli.epsilon import lines_of


def test_a_thousand_gaussians(run):
    done = run("epsilon", "--gaussian", "20", "--times", "1000", "--delta", "1e-6")
    assert done.code == 0
    assert "at most 8.3063" in done.out
    assert "At least 8.3061" in done.out or "At least 8.3062" in done.out
    assert "fixed before the first answer" in done.out


def test_options_belong_to_the_noise_before_them(run):
    arguments = ("--gaussian=20", "--times", "9", "--laplace", "5", "--gaussian", "30", "--sensitivity", "2")
    done = run("epsilon", *arguments, "--delta", "1e-6", "--json")
    lines = [Line("gaussian", 20.0, times=9), Line("laplace", 5.0), Line("gaussian", 30.0, sensitivity=2.0)]
    found = json.loads(done.out)
    assert found["lines"] == [line.words() for line in lines]
    both = reading(lines, delta=1e-6)
    assert found["epsilon"] == [both.lower, both.upper]


def test_delta_at_an_epsilon_of_shuffled_reports_has_no_lower_end(run):
    done = run("epsilon", "--pure", "1", "--shuffled", "2000", "--at", "0.1")
    assert done.code == 0
    assert "delta at epsilon = 0.1: at most" in done.out
    assert "is not known" in done.out
    assert "one is replaced" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--times", "3", "--delta", "1e-6"), "begin with one of --gaussian"),
        (("--pure", "1", "--times", "3", "--times", "4", "--delta", "1e-6"), "given twice"),
        (("--pure", "1"), "give a delta"),
        (("--delta", "1e-6"), "at least one line"),
        (("--approximate", "1", "--delta", "1e-6"), "with a comma between"),
        (("--approximate", "1,1e-3", "--delta", "1e-6"), "raise it"),
        (("--pure", "1", "--delta", "0"), "delta must lie in"),
        (["--gaussian", "1e-300", "--delta", "1e-6"], "beyond what can be computed"),
        (["--pure", "1e308", "--delta", "1e-6"], "beyond what can be computed"),
        (["--laplace", "5", "--times", str(10**20), "--delta", "1e-6"], "beyond what can be computed"),
    ],
)
def test_refuses_with_what_to_do(run, arguments, words):
    done = run("epsilon", *arguments)
    assert done.code == 1
    assert words in " ".join(done.err.split())


def test_an_approximate_line_carries_its_own_delta():
    (line,) = lines_of(["approximate", "times", "delta"], {"approximate": ["0.5,1e-9"], "times": [3]})
    assert line == Line("approximate", 0.5, times=3, delta=1e-9)
