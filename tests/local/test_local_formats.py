"""The pages of formats say what the code does: what each type is declared with, and a message worked out by hand."""

import hashlib
import inspect
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np

from sfumato.local.client import Randomized, encode_batch
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import GeneralizedResponse
from sfumato.local.questions import QUESTIONS

FORMATS = Path(__file__).parents[2] / "docs" / "formats"


def _declared(kind):
    """The parts of a declaration, those with a default in brackets."""
    parts = inspect.signature(kind.calibrate).parameters.values()
    return {f"`{p.name}`" if p.default is p.empty else f"[`{p.name}`]" for p in parts} - {"`target`", "[`utility`]"}


def test_the_table_of_declared_parts_is_that_of_calibrate():
    text = (FORMATS / "collection.md").read_text().split("**What each type is declared with**")[1]
    rows = re.findall(r"^\| (`.*`) \| (.*) \|$", text.split("\n\n`k` is")[0], re.MULTILINE)
    told = {name.strip("`"): set(parts.split(", ")) for names, parts in rows[1:] for name in names.split(", ")}
    assert told == {name: _declared(kind) for name, kind in QUESTIONS.items()}


WORDS = (2**63, 2**63 + 2**62 + 1)


class Given:
    """Words that are given, in order."""

    def __init__(self, words):
        self.words = list(words)

    def bits64(self, count):
        taken, self.words = self.words[:count], self.words[count:]
        return np.array(taken, dtype=np.uint64)


def test_the_worked_example_is_what_file_digest_binding_and_message_are(tmp_path):
    """By hand from the file on the page, with the standard library; and by this implementation."""
    page = (FORMATS / "samplers.md").read_text().split("## An example, worked out")[1]
    written = json.loads(re.search(r"```json\n(.*?)```", page, re.DOTALL)[1])
    held = json.dumps({name: part for name, part in written.items() if name != "digest"}, sort_keys=True)
    plain = held.replace(": ", ":").replace(", ", ",")
    digest = hashlib.sha256(plain.encode())
    binding = hashlib.sha256(digest.digest() + b"tue").digest()[:16]
    message = b"SFLR" + b"\x02\x00" + b"\x00\x00" + binding + bytes(range(16)) + b"\x01" + bytes(7) + b"\x02"
    for part in (plain, digest.hexdigest(), binding.hex(), message.hex()):
        assert f"`{part}`" in page
    assert all(str(word) in page for word in WORDS)

    protocol = GeneralizedResponse(3, Fraction(1, 2))
    pets = Collection("pets", protocol, ("cat", "dog", "other"), "other", rounds=("mon", "tue"))
    assert json.loads(pets.save(tmp_path / "pets.json").read_text()) == written
    words = Given(WORDS)
    reports = Randomized(protocol, protocol.randomize([1], words))
    assert words.words == []
    assert encode_batch(pets, reports, bytes(range(16)), round="tue") == message
    assert pets.address("tue").binding == binding
