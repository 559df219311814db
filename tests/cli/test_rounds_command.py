"""All rounds of a collection, and what changed between two, from the command line."""

import json

import numpy as np
import pyarrow.parquet as pq

from sfumato.local.client import encode_batch, randomized
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import GeneralizedResponse
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded


def test_rounds_are_told_from_the_command(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    protocol = GeneralizedResponse.calibrate(3, Pure(1.0))
    apps = Collection("apps", protocol, ("mail", "maps", "news"), rounds=("mon", "tue", "wed"))
    apps.save("apps.json")
    collector = Collector(apps, "apps.journal")
    for seed, day in enumerate(("mon", "tue")):
        reports = randomized(protocol, np.arange(2000) % (2 + seed), seeded(seed))
        collector.add(encode_batch(apps, reports, round=day))
    done = run("estimate", "apps.json", "--series", "--out", "apps.parquet", "--plot", "apps.svg")
    assert (done.code, "2 of 3 rounds" in done.out) == (0, True), done.err
    assert pq.read_table("apps.parquet").num_rows == 6
    moved = run("estimate", "apps.json", "--against", "mon", "--json")
    assert json.loads(moved.out)["table"]["label"] == ["mail", "maps", "news"]
    assert "from round mon to round tue" in run("estimate", "apps.json", "--against", "mon", "--round", "tue").out
    assert run("estimate", "apps.json", "--round", "tue", "--out", "tue.parquet").code == 0
    assert pq.read_table("tue.parquet").num_rows == 3
    assert "saved as .parquet" in run("estimate", "apps.json", "--series", "--out", "apps.json2").err
    assert "has no reports" in run("estimate", "apps.json", "--against", "wed").err
