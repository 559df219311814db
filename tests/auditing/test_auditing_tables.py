"""Whole tables as targets of the auditor: their releases repeat, hostile records included."""

import pytest

from auditing.own import TARGETS, Whole
from sfumato.randomness import seeded

WHOLE = [target for target in TARGETS if isinstance(target.run, Whole)]


@pytest.mark.parametrize("target", WHOLE, ids=lambda target: target.name)
def test_a_target_repeats_with_its_generator_on_hostile_records(target):
    records = [*target.options["inputs"][1:], *target.options["records"]]
    data = records[: len(target.options["inputs"])]
    for held in (target.options["inputs"], data):
        assert target.run(held, seeded(3)) == target.run(held, seeded(3))
