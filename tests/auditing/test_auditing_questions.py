"""What people ask every day as targets of the auditor: claims that are too small are refuted, true ones are not.

The plant is noise for eight times the claim, or thirty, on the same question and through the same engine.
Each audit's error rate is ALPHA over the number of audits; limits count processor time.
"""

from __future__ import annotations

import pytest

import sfumato as sf
from auditing.own import EVERYDAY
from sfumato.auditing import Target, audit
from sfumato.planner import options
from sfumato.queries import bind
from sfumato.randomness import seeded

ALPHA = 1e-6 / (2 * len(EVERYDAY))
KINDS = {
    "share", "mean", "ratio", "std", "extent", "difference", "regression", "workload", "items", "count",
    "rows_per_person", "sum", "density", "mean_curve",
}  # fmt: skip


def planted(target: Target) -> object:
    """The same question with an eighth of the noise; with a thirtieth for extents, which lose little on three rows."""
    run = target.run
    option = options(bind(run.query, run.schema), sf.Pure(30.0 if run.query.kind == "extent" else 8.0))[0]
    return type(run)(run.query, run.schema, option.mechanism)


def test_every_everyday_question_is_a_target() -> None:
    assert {target.run.query.kind for target in EVERYDAY} == KINDS


@pytest.mark.parametrize("target", EVERYDAY[::5], ids=lambda target: target.name)
def test_a_target_repeats_with_its_generator_on_hostile_records(target: Target) -> None:
    held = target.options["records"][-len(target.options["inputs"]) :]
    assert target.run(held, seeded(3)) == target.run(held, seeded(3))


@pytest.mark.heavy
@pytest.mark.parametrize("target", EVERYDAY[::5], ids=lambda target: target.name)
def test_noise_for_many_times_the_claim_is_found(target: Target) -> None:
    assert audit(planted(target), target.claim, seconds=20.0, alpha=ALPHA, **target.options).refuted


@pytest.mark.heavy
@pytest.mark.parametrize("target", EVERYDAY[::2], ids=lambda target: target.name)
def test_what_is_asked_every_day_is_not_accused(target: Target) -> None:
    finding = audit(target.run, target.claim, seconds=0.3, alpha=ALPHA, **target.options)
    assert not finding.refuted, str(finding)
