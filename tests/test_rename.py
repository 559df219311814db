"""The tool that renames: it knows code that is the same but for a map, and refuses maps that name nothing."""

import ast

import pytest

from rename import SOURCE, find_targets, iterate_definitions, read_map, same_but_for

BEFORE = 'def kept(rows):\n    "Keep rows."\n    return [row for row in rows if row.kept()]\n'
PAIRS = {("kept", "keep_rows")}


def test_code_is_the_same_but_for_the_map():
    after = BEFORE.replace("def kept", "def keep_rows").replace("row.kept", "row.keep_rows")
    assert same_but_for(PAIRS, ast.parse(BEFORE), ast.parse(after))
    for other in (after.replace("if row", "if not row"), after.replace("rows)", "lines)"), after + "pass\n"):
        assert not same_but_for(PAIRS, ast.parse(BEFORE), ast.parse(other))


def test_definitions_are_found_with_their_qualified_names():
    tree = ast.parse("class A:\n    def b(self):\n        def c(): ...\ndef d(): ...\n")
    assert [(name, is_method) for name, _, is_method in iterate_definitions(tree)] == [
        ("A.b", True),
        ("A.b.c", False),
        ("d", False),
    ]


def test_a_map_that_names_nothing_is_refused(tmp_path):
    path = tmp_path / "map.tsv"
    path.write_text("numeric.py\tnowhere\tfind_it\n")
    with pytest.raises(SystemExit, match="what is not there"):
        find_targets(read_map(path))
    assert (SOURCE / "numeric.py").is_file()
