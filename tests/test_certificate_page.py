"""The page about certificates shows what previews say: rows of its grid are asked again, and compared."""

from __future__ import annotations

import re

import pytest

from benchmarking import benchmarks

with benchmarks():
    from certificate_page import PAGE, between, sentence
    from certified import DAILY, OTHERS, line, page

NUMBER = re.compile(r"\d+\.\d\d")
LAST = 0.0101  # of the second digit: where a third is near five, linear algebra of another processor may round it so
FEW = ("count where", "most popular", "sanitized table")


def shown() -> str:
    return between(PAGE.read_text())


def test_the_grid_of_the_page_lists_every_question_once():
    names = [row.split(" | ")[0].removeprefix("| ") for row in shown().splitlines() if row.startswith("| ")]
    assert names == ["question", *DAILY, *OTHERS]


@pytest.mark.parametrize("name", FEW)
def test_rows_of_the_grid_are_what_previews_say(name):
    assert line(name) in shown().splitlines()


@pytest.mark.heavy
def test_the_whole_grid_is_what_previews_say():
    says, is_so = shown(), f"{page()}\n\n{sentence()}"
    assert NUMBER.sub("", says) == NUMBER.sub("", is_so)
    for said, so in zip(NUMBER.findall(says), NUMBER.findall(is_so), strict=True):
        assert abs(float(said) - float(so)) <= LAST, (said, so)
