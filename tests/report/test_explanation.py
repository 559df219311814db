"""A release explained: every sentence is said of its values, whatever kind of release it is."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.accounting.posteriors import beliefs
from sfumato.cli import main
from sfumato.numeric import shown_up
from sfumato.privacy.adjacency import Replace
from sfumato.release.archive import read
from sfumato.report.explanation import explained

OLD = Path(__file__).parent.parent / "fixtures" / "v0_2_0"
SPENDS = {"pure": sf.Pure(0.5), "rho": sf.Concentrated(0.05), "normal": sf.Approximate(0.4, 1e-7)}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    place = tmp_path_factory.mktemp("explained")
    table = sf.read(pa.table({"age": [31, 47, 52] * 40}), schema={"age": sf.Integers(0, 100)}, dataset="ages")
    session = sf.Session(table, budget=sf.Approximate(9.0, 1e-5), ledger=place / "ages.ledger")
    asked = {"pure": sf.count(), "rho": sf.mean("age"), "normal": sf.histogram("age")}
    made = {name: session.release(query, spend=SPENDS[name], name=name) for name, query in asked.items()}
    for name, release in made.items():
        release.save(place / f"{name}.json")
    return place, made


def said(found) -> str:
    return " ".join((*found.promised(), *found.attack(), *found.limits(), *found.accuracy(), *found.adding_up()))


def test_numbers_are_those_of_the_claim(releases):
    for name, release in releases[1].items():
        found, text = explained(release), said(explained(release))
        claim = release.guarantee
        assert found.learned == beliefs(claim), name
        assert f"by a factor of at most {claim.statement().factor}, up or down" in text
        assert f"is at most {claim.group(2).statement().factor}" in text
        assert release.accuracy() in text
        assert release.provenance.claimed(claim) in text
        assert "wonders whether the table holds any one row" in text
        assert ("no exception" in text) == (claim.statement().delta == 0)
        assert ("exception counted in" in text) == (claim.statement().delta > 0)
        for delta, start in (
            (claim.statement().delta, "at worst it is as if, with probability "),
            (claim.group(2).statement().delta, ", but for a probability of "),
        ):
            assert (f"{start}{shown_up(delta, 3)}" in text) == (start in text) == (delta > 0)
        assert f"in at least {100 * release.error().probability:g} % of all draws" in text


def test_replacing_speaks_of_facts_and_not_of_presence(tmp_path):
    table = sf.read(
        pa.table({"age": [31, 47, 52]}),
        schema={"age": sf.Integers(0, 100)},
        dataset="ages",
        adjacency=Replace(),
        size=3,
    )
    session = sf.Session(table, budget=sf.Pure(2.0), ledger=tmp_path / "ages.ledger")
    text = said(explained(session.release(sf.sum("age"), spend=sf.Pure(math.log(3)), name="total")))
    assert "wonders whether something is true of any one row" in text
    assert "removal" not in text


def test_every_kind_of_stored_release_is_explained():
    with zipfile.ZipFile(OLD / "releases.zip") as bundle:
        names = [name for name in bundle.namelist() if name.endswith((".json", ".parquet"))][::4]
        for name in names:
            record = explained(read(bundle.read(name))).to_record()
            assert all(record[part] for part in ("promised", "attack", "error", "adding_up")), name
            json.dumps(record, allow_nan=False)


def test_the_command_prints_it(releases, capsys):
    place, made = releases
    with pytest.raises(SystemExit) as ended:
        main(["explain", str(place / "pure.json")])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "a guess is right at most" in text
    assert "6.31 % (1 to 14.84)" in text
    assert "15.5 % (1.649 to 9)" in text
    for sentence in explained(made["pure"]).attack():
        assert " ".join(sentence.split()) in text
    with pytest.raises(SystemExit):
        main(["explain", str(place / "pure.json"), "--json"])
    assert json.loads(capsys.readouterr().out)["beliefs"][0]["before"] == 0.01
