"""Files that claim to be releases and are not: whatever they hold, only errors of this package come out."""

from __future__ import annotations

import copy
import json
import random
import zipfile
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.release.archive import load, read
from thinned import thinned

OLD = Path(__file__).parent / "fixtures/v0_2_0"
ODD = [None, True, -1, 0, 10**30, 1.5, 1e308, "", "x", [], [1], [[]], ["x"], {}, {"type": "pure"}, {"a": {"b": []}}]
KINDS = [
    "count-where",
    "mean",
    "quantiles",
    "top",
    "prefix",
    "predicates",
    "density",
    "pca",
    "thresholds",
    "regression",
]


def originals():
    """One release a kind and mechanism, in the format of 0.2.0 and in today's."""
    with zipfile.ZipFile(OLD / "releases.zip") as bundle:
        names = [name for name in bundle.namelist() if name.startswith("rows-") and any(k in name for k in KINDS)]
        chosen = {(name.split("-")[1], json.loads(bundle.read(name))["mechanism"]["type"]): name for name in names}
        for name in chosen.values():
            content = bundle.read(name)
            yield json.loads(content)
            yield json.loads(read(content).to_bytes())


def edited(record, draw):
    """A copy with one value, somewhere, replaced or removed."""
    new = copy.deepcopy(record)
    place = new
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = draw.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.8:
            place = place[key]
            continue
        if draw.random() < 0.2:
            del place[key]
        else:
            place[key] = copy.deepcopy(draw.choice(ODD))
        return new


@pytest.mark.parametrize("seed", thinned(range(2), 1))
def test_edited_releases_load_or_are_refused_in_words(tmp_path, seed):
    draw, place, refused = random.Random(seed), tmp_path / "crafted.json", 0
    for record in originals():
        for _ in range(3):
            place.write_text(json.dumps(edited(record, draw)))
            try:
                release = load(place)
            except SfumatoError:
                refused += 1
                continue
            assert release.words()
            assert repr(release)
            assert release.to_bytes()
            assert release.table() is not None
    assert refused > 15


@pytest.mark.parametrize("name", ["sanitized", "synthetic", "weighted", "discovered"])
def test_damaged_tables_load_or_are_refused_in_words(tmp_path, name):
    whole, draw = (OLD / f"tables/{name}.parquet").read_bytes(), random.Random(1)
    place = tmp_path / "damaged.parquet"
    for turn in range(60):
        damaged = bytearray(whole)
        for _ in range(draw.choice([1, 3, 40])):
            damaged[draw.randrange(4, len(damaged))] = draw.randrange(256)
        place.write_bytes(damaged[: draw.randrange(len(damaged))] if turn % 10 == 0 else damaged)
        try:
            table = load(place)
        except SfumatoError:
            continue
        assert table.words()


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "5", '"x"', "{", "PAR1", "[" * 100_000, '{"format": []}', "\ufeff{}"]
)
def test_what_is_no_release_is_refused_in_words(tmp_path, text):
    place = tmp_path / "no.json"
    place.write_text(text)
    with pytest.raises(SfumatoError):
        load(place)
    with pytest.raises(SfumatoError):
        sf.load(tmp_path)  # a folder
