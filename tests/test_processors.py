"""Linear algebra on one thread while releases are made, and on as many as before afterwards."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from threadpoolctl import ThreadpoolController

from sfumato.processors import alone

# In a process of its own, which may have two threads: those of the tests have one.
BEGIN = """
import numpy as np
from threadpoolctl import threadpool_info
from sfumato.processors import alone

def threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

assert threads() == {2}
"""
TWICE = """
with alone():
    assert threads() == {1}
    with alone():
        assert threads() == {1}
    assert threads() == {1}
assert threads() == {2}
try:
    with alone():
        raise KeyError
except KeyError:
    assert threads() == {2}
"""
RELEASE = """
import pandas as pd
import sfumato as sf
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis

seen, usual = [], MarginalSynthesis.release

def release(self, answer, rng):
    seen.append(threads())
    return usual(self, answer, rng)

MarginalSynthesis.release = release
table = sf.read(pd.DataFrame({"c": ["a", "b"] * 50}), schema={"c": sf.Categories(["a", "b"])}, dataset="c")
sf.Session(table, budget=sf.Pure(1.0), ledger="c.ledger").synthesize(spend=sf.Pure(1.0))
assert seen == [{1}], seen
assert threads() == {2}
"""


def held(script: str, place: Path) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_setting_is_put_back(tmp_path: Path) -> None:
    held(TWICE, tmp_path)


def test_releases_are_made_on_one_thread(tmp_path: Path) -> None:
    held(RELEASE, tmp_path)


def test_libraries_are_looked_for_again_only_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    searches, original = [], ThreadpoolController._load_libraries

    def search(controller: ThreadpoolController) -> None:
        searches.append(controller)
        original(controller)

    monkeypatch.setattr(ThreadpoolController, "_load_libraries", search)
    for number in (1, 2):
        monkeypatch.setitem(sys.modules, f"imported_meanwhile_{number}", ModuleType("imported"))
        for _ in range(3):
            with alone():
                pass
        assert len(searches) == number
