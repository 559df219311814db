"""The test vectors for other languages are those of this version, for every protocol; and they are read as written."""

import json

import numpy as np
import pytest
from samplers import PLACE, vector

from sfumato.local.protocols import PROTOCOLS, protocol_from

VECTORS = json.loads(PLACE.read_text())


def test_every_protocol_has_three():
    kinds = [one["protocol"]["type"] for one in VECTORS]
    assert {name for name in PROTOCOLS if kinds.count(name) < 3} == {"privunit"}  # draws floating numbers


@pytest.mark.parametrize("place", range(len(VECTORS)))
def test_a_vector_is_what_the_sampler_draws(place):
    """By the stored record: calibrations may differ in their last digits from machine to machine.

    If a sampler changed on purpose, run `python tests/local/samplers.py --write`.
    """
    one = VECTORS[place]
    protocol = protocol_from(one["protocol"])
    assert vector(protocol, one["value"], place % 3) == one
    words = iter(one["words"])

    class Given:
        def bits64(self, count):
            return np.array([int(next(words)) for _ in range(count)], dtype=np.uint64)

    held = np.empty(1, dtype=object)
    held[0] = one["value"]
    assert protocol.encode(protocol.randomize(held, Given())).hex() == one["report"]
    assert next(words, None) is None
