"""Help is quick: nothing heavy is imported before a command needs it."""

import json
import subprocess
import sys

import pytest

from sfumato.cli.app import app
from sfumato.cli.commands import command_for

HEAVY = ("scipy", "altair", "ibis", "duckdb", "pandas", "pyarrow", "numba", "numpy", "vl_convert", "cryptography")
LOOK = """
import json, sys
from sfumato.cli import main
try:
    main({arguments})
except SystemExit as ended:
    assert ended.code == 0
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["publish", "--help"], ["ledger", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    code = LOOK.format(arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert "sfumato.cli.app" in loaded
    assert [name for name in loaded if name.split(".")[0] in HEAVY] == []
    assert len(loaded) < 700  # what starting takes grows with what is imported


def test_a_named_command_is_made_alone_and_all_are_where_none_is_named():
    everything = set(command_for(app, []).commands)
    assert {"publish", "ledger", "analyst", "ask"} < everything
    for words, made in ((["publish", "plan.toml"], {"publish"}), (["ledger", "show"], {"ledger"})):
        assert set(command_for(app, words).commands) == made
    for words in (["--help"], ["publich"], ["--version", "publish"]):
        assert set(command_for(app, words).commands) == everything


def test_help_documents_exit_codes_and_shows_examples():
    for command, words in (
        ([], ["draft", "preview", "publish", "ledger", "show", "audit", "3 budget exceeded", "4 the ledger"]),
        (["publish"], ["Example: sfumato publish people.toml"]),
        (["preview"], ["Example: sfumato preview people.toml", "--json"]),
        (["ledger", "verify"], ["Example: sfumato ledger verify", "--head"]),
    ):
        arguments = [sys.executable, "-m", "sfumato.cli", *command, "--help"]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        text = " ".join(done.stdout.split())
        for word in words:
            assert word in text


RELEASE = """
import json, sys, tempfile
import pyarrow as pa
import sfumato as sf
table = sf.read(pa.table({"age": [1.0, 2.0]}), schema={"age": sf.Interval(0, 100, step=1)}, dataset="d")
session = sf.Session(table, budget=sf.Pure(1), ledger=tempfile.mkdtemp() + "/ledger")
session.release(sf.count(), spend=sf.Pure(0.1))
print(json.dumps(sorted(sys.modules)))
"""


def test_a_first_count_starts_without_compilers_solvers_and_pictures():
    done = subprocess.run([sys.executable, "-c", RELEASE], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert not loaded & {"scipy", "numba", "altair", "vl_convert", "pydantic", "typer"}


def test_parts_of_the_library_are_there_from_the_start():
    code = (
        "import sfumato as sf; print(sf.local.__name__, sf.bounds.__name__, sf.mechanisms.Laplace, sf.privacy.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sfumato.local sfumato.bounds" in done.stdout
    assert "sfumato.privacy" in done.stdout
    listed = subprocess.run(
        [sys.executable, "-c", "import sfumato, sys; print(dir(sfumato), 'sfumato.privacy' in sys.modules)"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert all(f"'{part}'" in listed for part in ("local", "bounds", "mechanisms", "privacy"))
    assert listed.strip().endswith("False")
