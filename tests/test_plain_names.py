"""Names and docstrings get plainer, never less plain: the figures of `tests/house.py` may only shrink."""

from __future__ import annotations

import ast

import pytest

from house import RIDDLES, is_adverb, is_participle, iterate_docstrings, iterate_functions, measure_house, read_stored


@pytest.mark.parametrize("figure", sorted(read_stored()))
def test_a_figure_never_grows(figure):
    now, stored = measure_house()[figure], read_stored()[figure]
    assert now == stored, (
        f"{figure}: {stored} are stored, now there are {now}; if there are more, give plain names (functions are verb "
        "phrases, docstrings begin with a verb or a noun); if there are fewer, run `python tests/house.py --write`"
    )


def test_bare_participles_and_adverbs_are_recognized():
    assert all(map(is_participle, ("kept", "_opened", "joined", "shown", "told")))
    assert all(map(is_adverb, ("beyond", "alone", "_under", "again")))
    plain = ("open_session", "stored_release", "need", "speed", "interval", "is_closed", "release", "read", "put")
    assert not any(is_participle(name) or is_adverb(name) for name in plain)


def test_riddles_and_functions_are_counted():
    tree = ast.parse('def kept():\n    "What is kept."\ndef __repr__(): ...\nclass A:\n    async def open_it(): ...')
    assert [function.name for function in iterate_functions(tree)] == ["kept", "open_it"]
    assert [text.split()[0] in RIDDLES for text in iterate_docstrings(tree)] == [True]
