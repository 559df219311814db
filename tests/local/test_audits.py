"""Each protocol as a target of the project's auditor, its report as the output; and one that it must catch."""

from dataclasses import replace

import numpy as np
import pytest
from cases import CASES, NAMES

from sfumato.auditing import audit, audit_law
from sfumato.local.client import Client, decode_batch
from sfumato.local.protocols import GeneralizedResponse, OptimizedUnary
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

FAR = {"frequencies": [(0, 9), (3, None)], "mean": [(-1.0, 3.0), (0.25, "x")], "distribution": [(-1.0, 3.0)]}
FINITE = [case for case, _ in CASES if case.name not in ("laplace", "privunit", "square", "hybrid", "piecewise")]
FINITE = [case for case in FINITE if getattr(case, "k", 0) < 100]  # a channel that is quickly written out
VECTORS = [([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]), ([0.5, 0.5, 0.5], None)]


def report(protocol):
    """What an observer of the wire sees of one person."""
    return lambda value, rng: protocol.randomize([value], rng).tolist()


@pytest.mark.parametrize(("protocol", "values"), CASES, ids=NAMES)
def test_audit_does_not_refute_the_claim(protocol, values):
    pairs = FAR.get(protocol.goal, VECTORS)
    finding = audit(report(protocol), protocol.guarantee(), pairs=pairs, seconds=0.25, generator=seeded, seed=630)
    assert not finding.refuted


@pytest.mark.parametrize("protocol", FINITE, ids=[protocol.name for protocol in FINITE])
def test_the_exact_law_keeps_the_claim_and_breaks_a_smaller_one(protocol):
    channel = np.array(protocol.channel(), dtype=np.float64)[[0, -1]]
    assert not audit_law(channel, protocol.guarantee()).refuted
    smaller = replace(protocol.guarantee(), epsilon=protocol.guarantee().epsilon * 0.6)
    assert audit_law(channel, smaller).refuted


def test_audit_catches_flips_that_are_too_rare():
    honest, careless = (OptimizedUnary.calibrate(4, Pure(epsilon)) for epsilon in (1.0, 2.0))
    finding = audit(report(careless), honest.guarantee(), pairs=[(0, 1)], seconds=6, generator=seeded, seed=631)
    assert finding.refuted


def test_audit_of_the_client_sees_only_the_report():
    """The random name of a message carries nothing: the message without it is audited at the claim."""
    response = GeneralizedResponse.calibrate(3, Pure(1.0))

    def message(value, rng):
        return decode_batch(response, Client(response, bits=rng).report(value)).reports.tolist()

    assert not audit(message, response.guarantee(), pairs=[(0, 2)], seconds=0.4, generator=seeded, seed=633).refuted
