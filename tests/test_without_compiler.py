"""Without the extra `compiled`: the same gauges, draws and tallies by slower routes; walks say what they need."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.deferred import compiled
from sfumato.errors import UnsupportedQuery
from sfumato.local.protocols import OptimizedUnary
from sfumato.local.tallying import tally
from sfumato.mechanisms import NoiseBody
from sfumato.mechanisms.geometry.noise_body import Columns
from sfumato.planner import options
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from sfumato.sampling.bodies import Hull, knorm, sampler

ROOT = Path(__file__).parent.parent
ALL = frozenset({"real-arithmetic", "mixing"})


def matrix(seed: int, rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, (rows, columns)).astype(np.float64)


def questions(seed: int) -> dict[str, object]:
    """What both interpreters compute, from public figures and fixed seeds."""
    hull = Hull(matrix(seed, 7, 14))
    flat = Hull(np.vstack([matrix(seed, 3, 8), matrix(seed, 3, 8).sum(axis=0)]))  # of rank 3 in four dimensions
    points = np.random.default_rng(seed).normal(size=(12, 7))
    inside = np.asarray(flat.vertices).T[:4] / 3
    drawn, _ = knorm(hull, 1.0, 1, seeded(seed), method="rejection")
    protocol = OptimizedUnary.calibrate(40, Pure(1.0))
    reports = protocol.randomize(np.arange(500) % 40, seeded(seed))
    small = NoiseBody.calibrate(Columns("small", matrix(seed, 2, 6).astype(np.int64)), Pure(1.0))
    return {
        "gauges": [hull.gauge(points).tolist(), flat.gauge(inside).tolist()],
        "bounds": [hull.gauge_bound(points).tolist(), flat.tight_gauge_bound(inside).tolist()],
        "sampler": [sampler(hull), sampler(Hull(matrix(seed, 10, 16)))],
        "drawn": drawn.tolist(),
        "tally": tally(protocol, reports).tolist(),
        "small": [small.error(), small.guarantee().epsilon],
    }


def refusals() -> dict[str, object]:
    """What needs a walk, and what is planned instead."""
    query = Columns("wide", matrix(5, 10, 16).astype(np.int64))
    try:
        NoiseBody.calibrate(query, Pure(1.0)).error()
        said = ""
    except UnsupportedQuery as error:
        said = str(error)
    schema = sf.Schema({"x": sf.Categories([f"c{i}" for i in range(16)])})
    workload = sf.workload("x", matrix(5, 10, 16).tolist())
    from sfumato.queries.binding import bind

    found = [option.name for option in options(bind(workload, schema), Pure(1.0), ALL)]
    return {"said": said, "planned": found}


def elsewhere(seed: int) -> dict[str, object]:
    """The same in an interpreter that finds no compiler."""
    code = (
        "import sys, json; sys.modules['numba'] = None; sys.modules['llvmlite'] = None\n"
        "import test_without_compiler as t; from sfumato.deferred import compiled\n"
        f"print(json.dumps({{'compiled': compiled(), 'answers': t.questions({seed}), 'no': t.refusals()}}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def without() -> dict[str, object]:
    return elsewhere(1)


def assert_alike(without: dict[str, object], seed: int) -> None:
    assert compiled()
    assert not without["compiled"]
    slow, fast = without["answers"], questions(seed)
    for name in ("sampler", "tally"):
        assert slow[name] == fast[name]
    for name in ("gauges", "drawn", "small"):
        for ours, theirs in zip(slow[name], fast[name], strict=True):
            assert ours == pytest.approx(theirs, rel=1e-7)
    for ours, theirs, gauges in zip(slow["bounds"], fast["bounds"], fast["gauges"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)
        assert np.all(np.array(ours) >= np.array(gauges) * (1 - 1e-12))  # both are rounded up


def test_answers_agree_with_the_compiled_ones(without):
    assert_alike(without, 1)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [2, 3])
def test_answers_agree_with_the_compiled_ones_on_other_bodies(seed):
    assert_alike(elsewhere(seed), seed)


def test_a_walk_says_which_extra_it_needs_and_is_not_planned(without):
    here = refusals()
    assert here["said"] == ""
    assert "sfumato[compiled]" in without["no"]["said"]
    assert "k-norm" in here["planned"]
    assert set(here["planned"]) - set(without["no"]["planned"]) <= {"k-norm", "nim"}
    assert "k-norm" not in without["no"]["planned"]
    assert without["no"]["planned"]


def test_the_compiler_is_an_extra_and_every_dependency_is_pinned_and_used():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [line.split(">")[0].split("[")[0].split("<")[0] for line in project["dependencies"]]
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().split()}
    assert "numba" not in needed
    assert any(line.startswith("numba") for line in project["optional-dependencies"]["compiled"])
    assert {name.lower() for name in needed} <= pinned
    text = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    imports = {"ibis-framework": "ibis", "vl-convert-python": "vl_convert"}
    kept = {"duckdb", "pandas", "sqlglot"}  # pinned for Ibis, which imports them itself
    assert [name for name in needed if name not in kept and f"import {imports.get(name, name)}" not in text
            and f"from {imports.get(name, name)}" not in text] == []  # fmt: skip
