"""All rounds of a collection, and what changed between two, from the command line."""

import json
import re

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
    assert "compared with itself" in run("estimate", "apps.json", "--against", "tue").err
    picture = (tmp_path / "apps.svg").read_text()
    symbols = re.findall(r'role-legend-symbol.*?stroke="(#\w+)".*?opacity="(\S+)"', picture)
    assert len({color for color, _ in symbols}) == 3
    assert {opacity for _, opacity in symbols} == {"1"}


def test_what_is_printed_of_rounds_is_what_the_file_holds(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    apps = Collection("apps", GeneralizedResponse.calibrate(2, Pure(1.0)), ["mail", "maps"], rounds=["mon", "tue"])
    apps.save("apps.json")
    collector = Collector(apps, "apps.journal")
    for day in apps.rounds:
        collector.add(encode_batch(apps, randomized(apps.protocol, np.arange(500) % 2, seeded(4)), round=day))
    for more, joint in (((), False), (("--joint", "--level", "0.9"), True)):
        done = run("estimate", "apps.json", "--series", "--out", "apps.parquet", *more)
        table = pq.read_table("apps.parquet").to_pydict()
        assert table["joint"] == [joint] * 4
        assert all(f"{low:.4g}" in done.out for low in table["low"])
        told = "level 0.9, jointly over 2 values in 2 rounds" if joint else "level 0.95, each value by itself"
        assert told in done.out
    assert "intervals: level 0.95, jointly over 2 values" in run("estimate", "apps.json", "--joint").out
    assert run("estimate", "apps.json", "--round", "mon", "--out", "mon.json").code == 0
    told = run("explain", "mon.json")
    assert (told.code, "could learn at most from one report" in told.out, "over all rounds: epsilon 2" in told.out) == (
        0,
        True,
        True,
    ), told.err
    assert json.loads(run("explain", "mon.json", "--json").out)["beliefs"]
    assert "apps.json is no release, but a declaration" in run("explain", "apps.json").err
    shown = run("collect", "apps.json", "--people", "500")
    assert "half width, level 0.95" in shown.out
    assert len(json.loads(run("collect", "apps.json", "--people", "500", "--json").out)["table"]["half_width"]) == 3
    assert "collects nothing" in run("collect", "apps.json", "--people", "500", "--close").err
