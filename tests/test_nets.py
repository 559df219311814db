"""Whatever states a guarantee and draws is held by every net: a contract, the neighbors, the auditor.

Classes are found by what they state, wherever they live.  What a net does not hold is listed with the reason; the
lists may only shrink, and an entry that a net holds by now, or that is gone, must go.
"""

from __future__ import annotations

import pytest

from auditing.own import TARGETS
from contracts.test_mechanisms import BODIES
from contracts.test_mechanisms import CASES as MECHANISMS
from local.cases import CASES as PROTOCOLS
from losses import LOSSES
from stating import place, stating

LOCAL = {type(protocol) for protocol, _ in PROTOCOLS}
SHARED = {  # what is asked of an owner in parts: every protocol that answers a part is held
    "local.interactive.quantiles.Threshold": "one round of a search, answered by randomized response",
    "local.interactive.strings.Prefixes": "one round of a search, answered by randomized response",
    "local.questions.marginals.Marginals": "one protocol on a pair of coded columns",
    "local.questions.ranges.Ranges": "one protocol on a level of the hierarchy",
    "local.questions.sets.Sets": "one protocol on a member of the set",
}
PARTS = {  # what a whole table is made with: held through the mechanism of the table
    "mechanisms.sanitized.blocks.Block": "columns of a sanitized table",
    "mechanisms.sanitized.categories.Responses": "a column of a sanitized table",
    "mechanisms.sanitized.curves.NoisedCurve": "a column of a sanitized table",
    "mechanisms.sanitized.nearest.Nearest": "a column of a sanitized table",
    "mechanisms.sanitized.nearest_label.NearestLabel": "a column of a sanitized table",
    "mechanisms.sanitized.numbers.Noised": "a column of a sanitized table",
    "mechanisms.sanitized.sets.Flipped": "a column of a sanitized table",
    "mechanisms.synthetic.smooth.plan.SmoothSynthesis": "the points that a numeric synthetic table is drawn from",
}
REFERENCE = {
    "reference.calibrated.Calibrated": "states and runs the mechanism that it wraps",
    "reference.process_path.ProcessPath": "paths in real arithmetic: tests/reference",
    "reference.real_vectors.RealBody": "real arithmetic on plain arrays: tests/reference",
    "reference.real_vectors.RealLevels": "real arithmetic on plain arrays: tests/reference",
    "reference.scored_choice.ScoredChoice": "one's own scores, their spread brought by the caller: tests/reference",
}
RESPONSE = {
    "mechanisms.noise.finite_channel.FiniteChannel": "any two records are neighbors: the contract",
    "mechanisms.noise.randomized_response.RandomizedResponse": "any two records are neighbors: the contract",
}
IN_TURN = {
    "mechanisms.selection.counted_keys.CountedKeys": "a discovery of keys, which is held",
    "mechanisms.selection.discovered_keys.DiscoveredKeys": "two mechanisms in turn, each of which is held",
}
OWNERS = {place(kind): "any two values of an owner are neighbors: held by the local contract" for kind in LOCAL}

NETS = {  # what holds a class, and what is held by other means
    "contract": ({kind for kind, *_ in MECHANISMS} | BODIES | LOCAL, SHARED | PARTS | REFERENCE),
    "neighbors": (set(LOSSES), SHARED | REFERENCE | RESPONSE | IN_TURN | OWNERS),
    "auditor": (
        {type(target.run.mechanism) for target in TARGETS} | LOCAL,
        SHARED | PARTS | REFERENCE,
    ),
}


@pytest.mark.parametrize("net", NETS)
def test_every_class_that_states_a_guarantee_and_draws_is_held(net):
    held, listed = NETS[net]
    loose = {place(kind) for kind in stating() - held}
    assert loose == set(listed), f"{sorted(loose ^ set(listed))}: held by no {net}, or listed and held by now"


def test_classes_are_found_by_what_they_state():
    found = {place(kind) for kind in stating()}
    assert len(found) > 50
    assert "mechanisms.functions.process.Process" in found  # by inheritance
    assert not {name for name in found if name.endswith((".Mechanism", ".LocalProtocol"))}
