"""Draws of every protocol with the words they took, for other languages: `python tests/local/samplers.py --write`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from cases import CASES

from sfumato.local.client.binding import texts
from sfumato.local.protocols.protocol import LocalProtocol
from sfumato.randomness import seeded

PLACE = Path(__file__).parents[2] / "docs" / "formats" / "samplers.json"


class Noted:
    """Random words, and what was taken of them."""

    def __init__(self, seed: int) -> None:
        self._source, self.taken = seeded(seed), []

    def bits64(self, count: int) -> Any:
        found = self._source.bits64(count)
        self.taken += found.tolist()
        return found


def vector(protocol: LocalProtocol, value: Any, place: int) -> dict[str, Any]:
    """One draw."""
    bits, held = Noted(1000 + place), np.empty(1, dtype=object)
    held[0] = value
    report = protocol.encode(protocol.randomize(held, bits)).hex()
    words = [str(word) for word in bits.taken]
    return {
        "protocol": texts(protocol.to_record()),
        "value": np.asarray(value).tolist(),
        "words": words,
        "report": report,
    }


def vectors() -> list[dict[str, Any]]:
    """Of every protocol, three values with their reports."""
    return [vector(protocol, values[place], place) for protocol, values in CASES for place in range(3)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        PLACE.write_text("[\n" + ",\n".join(map(json.dumps, vectors())) + "\n]\n")
