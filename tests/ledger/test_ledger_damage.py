"""Whatever happened to a ledger's file, checking it finds that: only findings and ledger errors come out."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import random
import shutil
import sqlite3
import stat
import time
from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from sfumato.errors import LedgerError, SfumatoError
from sfumato.ledger import Entry, Ledger, contents
from sfumato.ledger.protocol import in_words
from sfumato.ledger.verification import verify_chain
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.records import canonical_ascii as canonical
from sfumato.records import sha256
from sfumato.release.verification import verify

OLD = Path(__file__).parents[1] / "fixtures/v0_2_0/ledgers"
TERMS = {"dataset": "people", "adjacency": AddRemove(), "unit": Row()}


BUDGET = sf.Pure(4.0)


def opened(path, budget=BUDGET):
    return Ledger.open(path, budget=budget, **TERMS)


@pytest.fixture
def path(tmp_path):
    ledger = opened(tmp_path / "people.ledger", sf.Approximate(4.0, 1e-5))
    for turn, claim in enumerate([sf.Pure(0.5), sf.Approximate(0.5, 1e-6), sf.Concentrated(0.01)]):
        ledger.store(ledger.charge(f"release {turn}", "0" * 64, claim, {"query": "count"}), b'{"value": 3}')
    return ledger.path


def checked(path):
    """What checking finds; a ledger that cannot be opened is found too."""
    try:
        return verify(Ledger.existing(path))
    except LedgerError:
        return None


def test_random_damage_gives_findings_only(path, tmp_path):
    whole, draw = path.read_bytes(), random.Random(7)
    for turn in range(150):
        damaged = bytearray(whole)
        for _ in range(draw.choice([1, 1, 2, 30])):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        if turn % 10 == 0:
            damaged = damaged[: draw.randrange(len(damaged))]
        place = tmp_path / "damaged.ledger"
        place.write_bytes(damaged)
        found = checked(place)
        assert found is None or isinstance(found.holds, bool)
        (tmp_path / "damaged.ledger-journal").unlink(missing_ok=True)


ODD = [
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "x",
    "\ud800",
    [],
    [1],
    [[]],
    {},
    {"type": "pure"},
    {"a": {"b": []}},
    float("inf"),
]


def edited(record, draw):
    """A copy with one part, somewhere, replaced, removed or added."""
    new = copy.deepcopy(record)
    place = new
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return new
        key = draw.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.6:
            place = place[key]
            continue
        if draw.random() < 0.2 and isinstance(place, dict):
            del place[key]
        elif draw.random() < 0.15 and isinstance(place, dict):
            place[draw.choice(["account", "batch", "surplus"])] = draw.choice(ODD)
        else:
            place[key] = copy.deepcopy(draw.choice(ODD))
        return new


def test_edited_entries_with_fitting_hashes_give_findings_only(path):
    ledger, draw = Ledger.existing(path), random.Random(8)
    records = [entry.record() for entry in ledger.entries()]
    caught = 0
    for _ in range(300):
        place, previous, rows = draw.randrange(len(records)), "0" * 64, []
        for number, record in enumerate(records):
            record = edited(record, draw) if number == place else {**record, "previous": previous}
            body = json.dumps(record, sort_keys=True, separators=(",", ":"))
            previous = hashlib.sha256(body.encode()).hexdigest()
            rows.append((number, body, previous))
        found = verify_chain(rows, ledger.content, frozenset())
        caught += not found.holds
        assert found.holds or found.words()
    assert caught > 200  # a changed time, description or name is consistent in itself


def test_rows_that_are_no_entries_are_findings(path):
    ledger = Ledger.existing(path)
    for body in ("", "{", "[]", "null", "[" * 100_000, '{"kind": "open"}'):
        found = verify_chain([(0, body, hashlib.sha256(body.encode()).hexdigest())], ledger.content, frozenset())
        assert not found.holds
    for row in [(0, b"\xff", "x"), (0, None, None), ("0", 5, 5)]:
        assert not verify_chain([row], ledger.content, frozenset()).holds


def test_a_crafted_opening_is_a_ledger_error(path):
    first = Ledger.existing(path).entries()[0].record()
    draw = random.Random(9)
    for _ in range(60):
        body = canonical_or_none(edited(first, draw))
        if body is None:
            continue
        with contextlib.closing(sqlite3.connect(path)) as raw, contextlib.suppress(sqlite3.Error):
            raw.execute("DROP TRIGGER IF EXISTS entries_update")
            row = (body, hashlib.sha256(body.encode()).hexdigest())
            raw.execute("UPDATE entries SET body = ?, hash = ? WHERE sequence = 0", row)
            raw.commit()
        with contextlib.suppress(SfumatoError):
            ledger = Ledger.existing(path)
            ledger.verify()
            ledger.spent()
            ledger.remaining()


def canonical_or_none(record):
    try:
        return canonical(record)
    except ValueError:
        return None


# what the format is ready for
def chained(ledger, *entries):
    """The ledger's own rows, then these entries."""
    rows = [(e.sequence, e.body(), e.hash) for e in ledger.entries()]
    for entry in entries:
        made = Entry(**{**entry, "sequence": len(rows), "previous": rows[-1][2]})
        rows.append((made.sequence, made.body(), made.hash))
        assert Entry.read(made.body()) == made
    return rows


def entry(kind, total, amounts=0, **parts):
    claim = {"type": "pure", "epsilon": amounts / 10**12, "assumptions": []}
    shape = {
        "kind": kind, "time": "2026-01-01T00:00:00+00:00", "name": "x", "digest": "1" * 64, "amounts": (amounts,),
        "guarantee": None if kind == "release" else claim, "total": (total,), "description": {},
    }  # fmt: skip
    return {**shape, **parts}


def kept(charge, content=b"{}"):
    place = {"content": sha256(content), "size": len(content), "place": "inside"}
    return {"charge": charge, **place}


def test_corrections_add_to_the_total_and_batches_pay_for_several(tmp_path):
    ledger = opened(tmp_path / "a.ledger")
    both, allowed = (("a", "1" * 64), ("b", "2" * 64)), {"type": "pure", "epsilon": 1.0, "assumptions": []}
    said = {"account": "Ann", "description": {"allowance": allowed}}
    charge = entry("charge", 10**12, 10**12, name="both", batch=both, **said)
    stored = [
        entry("release", 10**12, name="a", digest="1" * 64, description=kept(1)),
        entry("release", 10**12, name="b", digest="2" * 64, description=kept(1)),
    ]
    correction = entry("correction", 3 * 10**12, 2 * 10**12, description={"charge": 1})
    good = chained(ledger, charge, *stored, correction)
    found = verify_chain(good, lambda _: b"{}", frozenset())
    assert found.holds, found.problems
    assert found.spent == sf.Pure(3.0)
    unsaid = chained(ledger, {**charge, "description": {}})
    assert "beyond what it was allowed" in verify_chain(unsaid, lambda _: b"{}", frozenset()).words()
    again = chained(ledger, charge, stored[0], stored[0])
    assert "no charge of its own" in verify_chain(again, lambda _: b"{}", frozenset()).words()
    astray = chained(ledger, charge, {**correction, "description": {"charge": 7}})
    assert "corrects no earlier charge" in verify_chain(astray, lambda _: b"{}", frozenset()).words()
    beyond = chained(ledger, charge, {**correction, "amounts": (4 * 10**12,), "total": (5 * 10**12,)})
    assert "exceeds the budget" in verify_chain(beyond, lambda _: b"{}", frozenset()).words()


def test_format_1_knows_no_such_entries(tmp_path):
    ledger = Ledger.existing(Path(shutil.copy(OLD / "pure.sqlite", tmp_path)))
    assert ledger.terms.format == 1
    total = ledger.entries()[-1].total[0]
    rows = chained(ledger, entry("correction", total, description={"charge": 1}))
    assert "format 1 knows no such entry" in verify_chain(rows, ledger.content, frozenset()).words()


# what was really spent
def test_the_true_total_of_a_ledger_with_a_disputed_release(tmp_path):
    ledger = Ledger.existing(Path(shutil.copy(OLD / "replaced.sqlite", tmp_path)))
    assert ledger.verify().holds  # the chain is whole
    found = verify(ledger)
    assert not found.holds
    (told,) = found.disputes
    assert "'contrasts'" in told
    assert "charged rho 0.1," in told
    assert found.true.epsilon > found.spent.epsilon
    for word in ("does NOT hold", "true total", in_words(found.true)):
        assert word in found.words()


@pytest.mark.parametrize("name", ["pure", "approximate", "concentrated", "persons"])
def test_ledgers_without_disputes_hold(name, tmp_path):
    found = verify(Ledger.existing(Path(shutil.copy(OLD / f"{name}.sqlite", tmp_path))))
    assert found.holds, found.words()
    assert found.true is None


def test_a_release_that_costs_more_than_its_charge_is_disputed(tmp_path):
    table = sf.read(pd.DataFrame({"x": [1, 2, 3]}), schema={"x": sf.Integers(0, 5)}, dataset="people")
    release = sf.Session(table, budget=sf.Pure(9.0), ledger=tmp_path / "rich").release(sf.count(), spend=sf.Pure(5.0))
    terms = {"dataset": "people", "adjacency": table.schema.adjacency, "unit": table.schema.unit}
    for number, charged in enumerate((0.01, 5.0)):
        ledger = Ledger.open(tmp_path / f"poor{number}", **terms, budget=sf.Pure(9.0))
        ledger.store(ledger.charge("count", "digest", sf.Pure(charged), {}), release.to_bytes())
        assert ledger.verify().holds
        found = verify(ledger)
        assert found.holds == (charged == 5.0), found.words()
        assert found.true == (None if found.holds else sf.Pure(5.0))


# the file itself
def test_only_its_owner_reads_a_ledger_and_what_lies_beside_it(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "INSIDE_BYTES", 10)
    before = os.umask(0o022)
    try:
        ledger = opened(tmp_path / "people.ledger")
        ledger.store(ledger.charge("large", "0" * 64, sf.Pure(0.5), {}), b"x" * 100)
    finally:
        os.umask(before)
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name


def test_drafts_that_a_kill_left_are_removed_when_they_are_old(tmp_path):
    opened(tmp_path / "people.ledger")
    stale = [f".people.ledger.{'a' * 16}.new", f".{'b' * 64}.release.{'0' * 16}.new", f".{'c' * 16}.new"]
    for name in (*stale, ".mine.new", f".{'d' * 16}.new"):
        (tmp_path / name).write_text("paid")
    for name in (*stale, ".mine.new"):
        os.utime(tmp_path / name, (time.time() - 3600,) * 2)
    opened(tmp_path / "people.ledger")
    assert {file.name for file in tmp_path.iterdir() if file.name.endswith(".new")} == {".mine.new", f".{'d' * 16}.new"}


@pytest.mark.parametrize("length", [200, 240, 241, 250])
def test_long_names_work_or_are_refused_in_words(tmp_path, length):
    place = tmp_path / ("a" * length)
    if length > 240:
        with pytest.raises(SfumatoError, match="at most 240 bytes"):
            opened(place)
        assert not place.exists()
        return
    ledger = opened(place)
    ledger.store(ledger.charge("one", "0" * 64, sf.Pure(0.5), {}), b"{}")
    assert ledger.verify().holds
