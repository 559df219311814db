"""Files that version 0.2.0 wrote are read for good: releases, tables, ledgers, plans, local collections."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.ledger import Ledger
from sfumato.local.client import Budget, Client
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.questions.longitudinal import Diary, Longitudinal
from sfumato.plans import read_plan
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.queries.functions.question import SHOWN
from sfumato.release.archive import load, read

OLD = Path(__file__).parent / "fixtures/v0_2_0"
MANIFEST = json.loads((OLD / "manifest.json").read_text())
BUNDLED = [name for name in MANIFEST if "/" not in name and name != "local"]
# Counts beside differences of neighbors under replacement: 0.2.0 claimed less than its noise gives.
DISPUTED = {"replaced-contrasts-concentrated-elliptic-gaussian--hierarchy.json"}
LEDGERS = [name for name in MANIFEST if name.startswith("ledgers/")]


def as_shown_then(release):
    """The values of a curve at the points that 0.2.0 showed, some of which lie beyond the declared bounds."""
    whole = replace(release.curve, bounds=None)
    axes = [np.linspace(low, high, SHOWN[len(whole.domain)]) for low, high in whole.domain]
    return whole.at(np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1))


def must_match(release, noted) -> None:
    assert release.name == noted["name"]
    assert release.to_record()["mechanism"]["type"] == noted["mechanism"]
    assert (None if release.keys is None else list(release.keys)) == noted["keys"]
    framed = release.answer.kind == "curve" and (release.curve.pull or release.curve.frame)
    value = as_shown_then(release) if framed else release.value
    found = [value] if isinstance(value, str) else np.asarray(value, dtype=object).ravel().tolist()
    assert len(found) == len(noted["value"])
    for one, other in zip(found, noted["value"], strict=True):
        if isinstance(other, str):
            assert str(one) == other
        else:
            assert float(one) == pytest.approx(other, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("share", range(4))
def test_every_kind_of_release_by_every_mechanism_is_read(share):
    with zipfile.ZipFile(OLD / "releases.zip") as bundle:
        assert sorted(bundle.namelist()) == sorted(BUNDLED)
        for name in BUNDLED[share::4]:
            release = read(bundle.read(name))
            must_match(release, MANIFEST[name])
            assert release.table().num_rows > 0
            assert release.disputed == (name in DISPUTED)
            content = release.to_bytes()  # in today's format
            assert read(content).to_bytes() == content
            assert read(content).mechanism == release.mechanism


@pytest.mark.parametrize("name", ["tables/discovered.json", "tables/discovered.parquet"])
def test_discovered_keys_are_read(name):
    must_match(load(OLD / name), MANIFEST[name])


@pytest.mark.parametrize("name", ["tables/sanitized.parquet", "tables/synthetic.parquet", "tables/weighted.parquet"])
def test_tables_are_read(name):
    table, noted = load(OLD / name), MANIFEST[name]
    assert (table.name, len(table), table.rows.column_names) == (noted["name"], noted["rows"], noted["columns"])
    assert {column: str(table.rows[column][0].as_py()) for column in noted["columns"]} == noted["first"]
    assert to_record(table.guarantee) == noted["guarantee"]
    assert table.words()


@pytest.mark.parametrize("name", LEDGERS)
def test_ledgers_verify_and_hold_their_releases(name, tmp_path):
    noted = MANIFEST[name]
    place = Path(shutil.copy(OLD / name, tmp_path))
    ledger = Ledger.existing(place)
    assert ledger.head == noted["head"]
    assert ledger.terms.budget == guarantee_from(noted["budget"])
    assert list(ledger.entries()[-1].total) == noted["total"]
    assert len(ledger.entries()) == noted["entries"]
    assert ledger.verify([noted["head"]]).holds
    kept = [entry for entry in ledger.entries() if entry.kind == "release"]
    assert kept
    for entry in kept:
        stored = ledger.find(entry.name, entry.digest)
        assert read(stored.content).name == entry.name


def test_ledgers_go_on(tmp_path):
    place = Path(shutil.copy(OLD / "ledgers/pure.sqlite", tmp_path))
    terms = Ledger.existing(place).terms
    ledger = Ledger.open(place, dataset=terms.dataset, adjacency=terms.adjacency, unit=terms.unit, budget=terms.budget)
    charge = ledger.charge("one more", "0" * 64, sf.Pure(0.25), {})
    ledger.store(charge, b"{}")
    assert ledger.verify([MANIFEST["ledgers/pure.sqlite"]["head"], ledger.head]).holds


@pytest.mark.parametrize("name", ["plan.toml", "plan.json"])
def test_plans_are_read(name):
    plan = read_plan(OLD / name)
    assert plan.schema.dataset == "people-2026"
    assert [release.name for release in plan.releases][:2] == ["records", "mean height"]
    assert len(plan.releases) == 8


def test_collections_journals_and_estimates_are_read(tmp_path):
    for file in (OLD / "local").iterdir():
        shutil.copy(file, tmp_path)
    collection = Collection.read(tmp_path / "collection.json")
    estimate = Collector(collection, tmp_path / "journal.sqlite").estimate()
    assert estimate.reports == MANIFEST["local"]["reports"]
    assert np.allclose(estimate.values, MANIFEST["local"]["values"])


def test_a_journal_of_before_goes_on_and_loses_what_it_should_not_have_kept(tmp_path):
    """Rounds had numbers, and a hash of each message's bytes stood beside that of its name."""
    for file in (OLD / "local").iterdir():
        shutil.copy(file, tmp_path)
    path, query = tmp_path / "journal.sqlite", "SELECT mark, content FROM batches"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        ((mark, content),) = connection.execute(query).fetchall()
    collector = Collector(Collection.read(tmp_path / "collection.json"), path)
    assert collector.estimate("1").reports == MANIFEST["local"]["reports"]
    held = path.read_bytes()
    assert mark in held
    assert content not in held
    collector.add(Client(collector.collection.protocol).report(1))
    assert collector.close().reports == MANIFEST["local"]["reports"] + 1
    assert collector.state.name == "2"


def test_what_owners_keep_is_read(tmp_path):
    for file in (OLD / "local").iterdir():
        shutil.copy(file, tmp_path)
    protocol = Collection.read(tmp_path / "collection.json").protocol
    budget = Budget(sf.Pure(3.0), tmp_path / "budget.json")
    assert budget.remaining().epsilon == pytest.approx(2.0)
    diary = Diary(Longitudinal(protocol, 2), tmp_path / "diary.json")
    assert diary.report(1) is not None
    assert json.loads((tmp_path / "diary.json").read_text())["places"] == [1]  # known, so nothing was added


def test_a_smaller_claim_than_the_mechanism_gives_is_disputed_wherever_it_is_shown(tmp_path):
    (name,) = DISPUTED
    with zipfile.ZipFile(OLD / "releases.zip") as bundle:
        release = read(bundle.read(name))
    assert release.stated == sf.Concentrated(0.1)
    assert release.guarantee.rho == pytest.approx(0.12679, rel=1e-4)
    assert "DISPUTED" in release.words()
    assert "disputed" in repr(release)
    again = load(release.save(tmp_path / "again.json"))
    assert (again.disputed, again.guarantee, again.stated) == (True, release.guarantee, release.stated)


@pytest.mark.parametrize("share", [0.002, 0.999999])
def test_an_edited_claim_is_not_believed(tmp_path, share):
    with zipfile.ZipFile(OLD / "releases.zip") as bundle:
        for name in ("rows-count-pure-laplace.json", "rows-mean-concentrated-gaussian.json"):
            record = json.loads(bundle.read(name))
            part = "rho" if "rho" in record["guarantee"] else "epsilon"
            given = record["guarantee"][part]
            record["guarantee"][part] = given * share
            (tmp_path / "edited.json").write_text(json.dumps(record))
            release = load(tmp_path / "edited.json")
            assert release.disputed
            assert getattr(release.guarantee, part) == given
            record["guarantee"][part] = given * 2  # more than it costs is true
            (tmp_path / "edited.json").write_text(json.dumps(record))
            assert not load(tmp_path / "edited.json").disputed


def test_a_journal_is_its_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        Collector(Collection.read(OLD / "local/collection.json"), tmp_path / "journal.sqlite")
    finally:
        os.umask(before)
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
