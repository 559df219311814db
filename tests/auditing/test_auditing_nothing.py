"""An audit in which no run could have shown anything says so, and is no audit."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.auditing import (
    Target,
    audit,
    audit_reconstruction,
    audit_sensitivity,
    audit_table,
    largest_epsilon,
    render,
)
from sfumato.errors import ParameterError

CLAIM = sf.Pure(1.0)


def typo(rows: Any, rng: Any) -> Any:
    """What a slip of the pen makes of a noisy count."""
    return len(rows) + rng.laplase(0, 0.1)


def stub(rows: Any) -> int:
    """What somebody leaves to be written later."""
    return 0


def gone(rows: Any) -> None:
    """Ends the process, whatever it is given."""
    os._exit(3)


class Failing:
    """Fails when asked for many at once."""

    def batch(self, rows: Any, count: int, rng: Any) -> Any:
        raise KeyError("missing")

    def __call__(self, rows: Any) -> Any:
        return self.batch(rows, 1, None)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (
            typo,
            "every run raised AttributeError: 'numpy.random._generator.Generator' object has no attribute 'laplase'",
        ),
        (stub, "every run gave the same output, 0"),
        (gone, "every pair that was tried has an input that ends the process"),
        (Failing(), "every run raised KeyError: 'missing'"),
    ],
    ids=["typo", "stub", "gone", "batch"],
)
def test_a_target_that_shows_nothing_is_not_audited(target: Any, words: str) -> None:
    finding = audit(target, CLAIM, inputs=[1.0, 2.0], bounds=(0.0, 3.0), seconds=0.5)
    assert not finding.audited
    assert not finding.refuted
    assert re.fullmatch(f"{re.escape(words)}; nothing (else )?was audited", finding.notes[0])
    assert "nothing was audited" in str(finding)
    assert "no evidence found" not in str(finding)


def test_a_shape_that_nobody_gave_is_no_answer() -> None:
    """Data of some shapes are tried before the audit; what they give is not counted."""
    assert not audit(typo, CLAIM, seconds=0.5).audited
    assert not largest_epsilon(typo, seconds=0.5).audited


def test_raising_on_some_inputs_is_a_finding_and_noise_is_an_audit() -> None:
    def some(rows: Any, rng: Any) -> int:
        return 1 // (3.0 not in rows)

    finding = audit(some, CLAIM, inputs=[1.0, 3.0], seconds=5)
    assert finding.refuted
    assert finding.audited
    noisy = audit(lambda rows, rng: len(rows) + round(rng.laplace(0, 2)), CLAIM, inputs=[1.0], seconds=0.5)
    assert noisy.audited
    assert not any("nothing was audited" in note for note in noisy.notes)


def test_other_doors_say_so_too() -> None:
    assert not audit_sensitivity(lambda rows: rows.total, 1.0).audited
    assert audit_sensitivity(lambda rows: 0, 0.0).audited  # a constant has no sensitivity: that was seen
    assert not audit_reconstruction(lambda bits: bits.total, np.eye(3), CLAIM, seconds=0.2).audited
    table = audit_table([Target("typo", typo, CLAIM)], seconds=0.5)
    assert "NOTHING AUDITED: every run raised AttributeError" in render(table)


@pytest.mark.parametrize("arguments", [["--epsilon", "1"], ["--json"]], ids=["claim", "largest"])
def test_the_command_ends_with_1(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "slip.py").write_text("def typo(rows, rng):\n    return len(rows) + rng.laplase(0, 0.1)\n")
    command = [sys.executable, "-m", "sfumato.cli", "audit", "slip:typo", "--seconds", "0.5", "--cores=1", *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "every run raised AttributeError" in done.stderr
    assert ('"audited": false' in done.stdout) == ("--json" in arguments)


# generators


def geometric(rows: Any, rng: Any) -> int:
    """Two-sided geometric noise of half the scale that epsilon 1 needs, from random words."""
    steps = np.log((rng.bits64(2) + 1.0) / 2.0**64) // -2.0
    return len(rows) + int(steps[0] - steps[1])


@pytest.mark.parametrize("generator", [sf.reference.seeded, sf.reference.secure])
def test_generators_take_a_seed_or_nothing_and_scripts_bring_them_along(generator: Any, tmp_path: Path) -> None:
    finding = audit(geometric, CLAIM, inputs=[1.0, 2.0], bounds=(0.0, 3.0), seconds=20, generator=generator)
    assert finding.evidence is not None
    assert math.isclose(finding.epsilon, 2.0, abs_tol=1.0)
    script = tmp_path / "evidence.py"
    script.write_text(finding.evidence.script)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "claimed 1" in done.stdout


def test_a_generator_in_place_of_its_maker_is_refused() -> None:
    with pytest.raises(ParameterError, match="give the function, not what it makes"):
        audit(geometric, CLAIM, seconds=0.5, generator=np.random.default_rng(1))  # type: ignore[arg-type]
