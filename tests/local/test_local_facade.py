"""sf.local: every protocol and question by its name, nothing imported before it is used."""

import subprocess
import sys

import pytest

import sfumato as sf


def test_every_protocol_and_question_has_its_name():
    named = [getattr(sf.local, name) for name in sf.local.__all__]
    assert all(kind in named for kind in (*sf.local.PROTOCOLS.values(), *sf.local.QUESTIONS.values()))
    assert dir(sf.local) == sorted(sf.local.__all__)


def test_nothing_else_is_there():
    with pytest.raises(AttributeError, match=r"sfumato\.local"):
        _ = sf.local.nothing


def test_importing_the_facade_imports_no_part_of_it():
    code = "import sys, sfumato.local; print([m for m in sys.modules if m.startswith('sfumato.local.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
