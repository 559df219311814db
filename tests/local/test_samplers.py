"""The test vectors for other languages are those of this version, for every protocol; and they are read as written."""

import json

import numpy as np
import pytest
from described import Words, report
from samplers import PLACE, vector

from sfumato.local.protocols import PROTOCOLS, protocol_from

VECTORS = json.loads(PLACE.read_text())


def test_every_protocol_has_three():
    kinds = [one["protocol"]["type"] for one in VECTORS]
    assert {name for name in PROTOCOLS if kinds.count(name) < 3} == set()


@pytest.mark.parametrize("place", range(len(VECTORS)))
def test_a_vector_is_what_the_sampler_draws(place):
    """By the stored record: calibrations may differ in their last digits from machine to machine.

    If a sampler changed on purpose, run `python tests/local/samplers.py --write`.
    """
    one = VECTORS[place]
    protocol = protocol_from(one["protocol"])
    if one["protocol"]["type"] != "privunit":  # whose floating numbers may differ in their last digits
        assert vector(protocol, one["value"], place % 3) == one
    words = iter(one["words"])

    class Given:
        def bits64(self, count):
            return np.array([int(next(words)) for _ in range(count)], dtype=np.uint64)

    held = np.empty(1, dtype=object)
    held[0] = one["value"]
    made = protocol.encode(protocol.randomize(held, Given()))
    assert _near(one, made)
    assert next(words, None) is None


SPELLED = ("grr", "oue", "sue", "olh", "duchi")  # these are drawn by the JavaScript client as well (tests/node)


@pytest.mark.parametrize("place", [i for i, one in enumerate(VECTORS) if one["protocol"]["type"] not in SPELLED])
def test_the_description_makes_the_report_of_every_vector(place):
    """A second implementation, by the text alone: the same reports from the same words, and no other word taken."""
    one = VECTORS[place]
    words = iter(map(int, one["words"]))
    assert _near(one, report(one["protocol"], one["value"], Words(words)))
    assert next(words, None) is None


def test_every_protocol_is_described():
    text = (PLACE.parent / "samplers.md").read_text()
    assert [name for name in PROTOCOLS if f"`{name}`" not in text.split("| protocol |")[1]] == []
    assert "no description" not in text


def _near(one, made):
    """The same bytes; of floating numbers the same up to one step of 65,535."""
    if one["protocol"]["type"] != "privunit":
        return made.hex() == one["report"]
    held = np.frombuffer(bytes.fromhex(one["report"]), dtype="<u2").astype(int)
    return np.abs(np.frombuffer(made, dtype="<u2").astype(int) - held).max() <= 1
