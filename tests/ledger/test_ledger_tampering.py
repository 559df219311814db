"""Edits behind the ledger's back are noticed: by the chain, by the totals, or by printed heads."""

import contextlib
import hashlib
import json
import shutil
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.errors import LedgerError
from sfumato.ledger import Entry, Ledger
from sfumato.ledger.database import SCHEMA
from sfumato.privacy.adjacency import AddRemove, Row
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Pure
from sfumato.records import canonical_ascii as canonical

DIGEST = "d" * 64


def opened(path):
    return Ledger.open(path, dataset="people", adjacency=AddRemove(), unit=Row(), budget=Pure(1.0))


@pytest.fixture
def path(tmp_path):
    """A ledger of three releases; entries 1, 3, 5 are charges and 2, 4, 6 releases."""
    ledger = opened(tmp_path / "people.ledger")
    for turn in range(3):
        charge = ledger.charge(f"release {turn}", DIGEST, Pure(0.25), {"scale": 4})
        ledger.store(charge, b"content %d" % turn)
    return ledger.path


@contextlib.contextmanager
def behind_its_back(path, restore=True):
    """A raw connection without triggers and checks, which puts the triggers back at the end."""
    with contextlib.closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("PRAGMA ignore_check_constraints = ON")
        triggers = [sql for sql in SCHEMA if sql.startswith("CREATE TRIGGER")]
        for sql in triggers:
            raw.execute(f"DROP TRIGGER {sql.split()[2]}")
        yield raw
        for sql in triggers if restore else ():
            raw.execute(sql)


def rewrite(raw, edit, dumps=canonical):
    """Apply `edit` to the list of records and store a whole new, consistent chain.

    A record may carry "row", the number of the row it is stored under.
    """
    records = [json.loads(body) for (body,) in raw.execute("SELECT body FROM entries ORDER BY sequence")]
    edit(records)
    raw.execute("DELETE FROM entries")
    previous = "0" * 64
    for record in records:
        row = record.pop("row", record["sequence"])
        record["previous"] = previous
        body = dumps(record)
        previous = hashlib.sha256(body.encode()).hexdigest()
        values = (row, body, previous)
        raw.execute("INSERT INTO entries (sequence, body, hash) VALUES (?, ?, ?)", values)


# the file itself refuses


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET body = body WHERE sequence = 1",
        "DELETE FROM entries WHERE sequence = 6",
        "INSERT OR REPLACE INTO entries (sequence, body, hash) SELECT sequence, body, hash FROM entries",
        'INSERT INTO entries (sequence, body, hash) VALUES (9, \'{"sequence":9,"kind":"open"}\', \'\')',
        'INSERT INTO entries (sequence, body, hash) VALUES (7, \'{"sequence":7,"kind":"refund"}\', \'\')',
        "UPDATE contents SET content = x'00'",
        "DELETE FROM contents",
        "INSERT OR REPLACE INTO contents VALUES (6, x'00')",
        "INSERT INTO contents VALUES (1, x'00')",
    ],
)
def test_the_file_is_append_only(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as raw, pytest.raises(sqlite3.IntegrityError):
        raw.execute(statement)
    assert opened(path).verify().holds


def test_missing_triggers_are_noticed(path):
    with behind_its_back(path, restore=False):
        pass
    assert "triggers" in opened(path).verify().words()


# edits that leave the chain inconsistent


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sequence=st.integers(0, 6),
    part=st.sampled_from(["time", "name", "digest", "guarantee", "amounts", "total", "description", "previous"]),
    rehash=st.booleans(),
)
def test_every_edit_of_one_entry_is_noticed(path, sequence, part, rehash):
    edited = path.with_name("edited.ledger")
    shutil.copy(path, edited)
    last = Ledger.existing(path).head
    with behind_its_back(edited) as raw:
        (body,) = raw.execute("SELECT body FROM entries WHERE sequence = ?", (sequence,)).fetchone()
        record = json.loads(body)
        kind = type(record[part])
        other = {str: "1" * 64, list: [7], dict: {"scale": 5}, type(None): to_record(Pure(0.0))}
        record[part] = other[kind]
        body = canonical(record)
        raw.execute("UPDATE entries SET body = ? WHERE sequence = ?", (body, sequence))
        if rehash:
            head = Entry.read(body).hash
            raw.execute("UPDATE entries SET hash = ? WHERE sequence = ?", (head, sequence))
    try:
        noticed = not Ledger.existing(edited).verify([last]).holds
    except LedgerError:  # an edited opening or end is refused at once
        noticed = True
    assert noticed


@pytest.mark.parametrize("sequence", range(7))
def test_a_removed_entry_is_noticed(path, sequence):
    heads = [entry.hash for entry in opened(path).entries()]
    with behind_its_back(path) as raw:
        raw.execute("DELETE FROM entries WHERE sequence = ?", (sequence,))
    if sequence == 0:
        with pytest.raises(LedgerError, match="missing"):
            opened(path)
    else:
        assert not opened(path).verify(heads).holds


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE contents SET content = x'00' WHERE sequence = 4",
        "DELETE FROM contents WHERE sequence = 4",
    ],
)
def test_an_edited_content_is_noticed_and_never_returned(path, statement):
    with behind_its_back(path) as raw:
        raw.execute(statement)
    ledger = opened(path)
    assert "entry 4: its stored content" in ledger.verify().words()
    with pytest.raises(LedgerError, match="missing or damaged"):
        ledger.find("release 1", DIGEST)
    assert ledger.find("release 2", DIGEST).content == b"content 2"


# chains rewritten consistently: wrong by their meaning, or by printed heads


def _cheaper(records):
    records[1]["amounts"] = [1]
    for record in records[1:]:
        record["total"] = [record["total"][0] - 25 * 10**10 + 1]


def _overspent(records):
    records[5].update(guarantee=to_record(Pure(0.75)), amounts=[75 * 10**10])
    for record in records[5:]:
        record["total"] = [125 * 10**10]


def _reset_total(records):
    for record in records[3:]:
        record["total"] = [0]


def _stored_twice(records):
    records[6]["description"]["charge"] = 3


def _unpaid(records):
    records[6]["description"]["charge"] = 6


def _renamed(records):
    records[5]["digest"] = records[6]["digest"] = "e" * 64
    records[5]["name"] = records[6]["name"] = "release 1"


def _reopened(records):
    records[3].update(kind="open", guarantee=to_record(Pure(9.0)))


def _unknown_kind(records):
    records[3]["kind"] = "refund"


def _unknown_guarantee(records):
    records[3]["guarantee"]["type"] = "excellent"


def _gap(records):
    del records[3:5]


def _misnumbered(records):
    records[3].update(row=3, sequence=30)


def _elsewhere(records):
    records[4]["description"]["place"] = "elsewhere"


def _paid_twice(records):
    records[4]["amounts"] = [7]


def _prepaid(records):
    records[0]["total"] = [5]


@pytest.mark.parametrize(
    ("edit", "finding"),
    [
        (_cheaper, "entry 1: its amounts are below what its guarantee costs"),
        (_overspent, "entry 5: its total exceeds the budget"),
        (_reset_total, "entry 3: its total does not add up"),
        (_unpaid, "entry 6: no charge of its own paid for this release"),
        (_renamed, "entry 5: its name stands for another digest"),
        (_reopened, "entry 3: a ledger is opened only once"),
        (_unknown_kind, "entry 3: unknown kind of entry"),
        (_unknown_guarantee, "entry 3: unknown guarantee"),
        (_gap, "entry 5: an entry before it is missing"),
        (_misnumbered, "entry 3: it carries another number"),
        (_elsewhere, "entry 4: its content is in an unknown place"),
        (_paid_twice, "entry 4: a release must leave the total as it is"),
        (_prepaid, "entry 0: a ledger opens with nothing spent"),
    ],
)
def test_a_consistent_chain_must_also_make_sense(path, edit, finding):
    with behind_its_back(path) as raw:
        rewrite(raw, edit)
    assert finding in opened(path).verify().words()


def test_text_that_is_not_canonical_is_noticed(path):
    with behind_its_back(path) as raw:
        rewrite(raw, lambda records: None, dumps=json.dumps)
    with pytest.raises(LedgerError, match="does not match its hash"):
        Ledger.existing(path)
    with behind_its_back(path) as raw:
        rewrite(raw, lambda records: None)
        (body,) = raw.execute("SELECT body FROM entries WHERE sequence = 3").fetchone()
        body = body.replace(",", ", ")
        head = hashlib.sha256(body.encode()).hexdigest()
        raw.execute("UPDATE entries SET body = ?, hash = ? WHERE sequence = 3", (body, head))
    assert "entry 3: its text is not in canonical form" in opened(path).verify().words()


def test_a_second_release_of_a_name_for_one_charge_is_refused_by_the_file(path):
    def of_one_name(records):
        _stored_twice(records)
        records[6]["name"] = records[4]["name"]

    with pytest.raises(sqlite3.IntegrityError), behind_its_back(path) as raw:
        rewrite(raw, of_one_name)


def test_a_second_release_for_one_charge_is_found(path):
    with behind_its_back(path) as raw:
        rewrite(raw, _stored_twice)
    assert "entry 6: no charge of its own paid for this release" in opened(path).verify().words()


def test_a_plausible_rewrite_is_noticed_only_by_printed_heads(path):
    printed = [entry.hash for entry in opened(path).entries() if entry.kind == "release"]

    def flatter(records):
        records[1]["guarantee"] = to_record(Pure(0.125))
        records[1]["amounts"] = [125 * 10**9]
        for record in records[1:]:
            record["total"] = [record["total"][0] - 125 * 10**9]

    with behind_its_back(path) as raw:
        rewrite(raw, flatter)
    assert opened(path).verify().holds  # why heads are printed
    found = opened(path).verify(printed)
    assert [head for head in printed if head not in found.words()] == []


@pytest.mark.parametrize("kept", range(1, 7))
def test_a_cut_off_ledger_is_noticed_from_printed_heads(path, kept):
    printed = [entry.hash for entry in opened(path).entries() if entry.kind == "release"]
    with behind_its_back(path) as raw:
        raw.execute("DELETE FROM entries WHERE sequence >= ?", (kept,))
        raw.execute("DELETE FROM contents WHERE sequence >= ?", (kept,))
    assert opened(path).verify().holds
    found = opened(path).verify(printed)
    assert "cut off" in found.words()
    assert printed[-1] in found.words()


def test_a_rolled_back_copy_is_noticed_from_printed_heads_and_by_open_sessions(path):
    ledger = opened(path)
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    charge = ledger.charge("late", DIGEST, Pure(0.25), {})
    printed = ledger.store(charge, b"late")
    shutil.copy(copy, path)
    for attempt in (
        lambda: ledger.charge("again", DIGEST, Pure(0.25), {}),
        lambda: ledger.find("late", DIGEST),
        ledger.remaining,
    ):
        with pytest.raises(LedgerError, match="rolled back"):
            attempt()
    assert opened(path).verify().holds
    assert printed in opened(path).verify([printed]).words()


def test_another_ledger_in_its_place_is_noticed(path):
    ledger = opened(path)
    path.unlink()
    opened(path)
    with pytest.raises(LedgerError, match="replaced"):
        ledger.charge("a", DIGEST, Pure(0.25), {})


def test_an_edited_last_entry_is_refused_before_the_next_charge(path):
    ledger = opened(path)
    with behind_its_back(path) as raw:
        raw.execute("UPDATE entries SET body = replace(body, '750000000000', '0') WHERE sequence = 6")
    with pytest.raises(LedgerError, match="does not match its hash"):
        ledger.charge("a", DIGEST, Pure(0.25), {})
