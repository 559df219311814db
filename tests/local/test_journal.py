"""The journal: a batch and its effect are on disk together, once, and a closed round leaves no marks."""

import sqlite3

import numpy as np
import pytest

from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.journal import TWICE, Incoming, Journal

DIGEST = "d" * 64


def opened(tmp_path, name="j.journal", length=3):
    return Journal.open(tmp_path / name, DIGEST, length)


def fold(journal, mark, tally, tokens=(), refused=None, round=None):
    """Fold one report for each unit of the tally; replayed tokens take one from the first entry."""
    full = np.array(tally, dtype=np.int64)

    def settle(replays):
        return int(full.sum()) - len(replays), full - np.array([len(replays), 0, 0])

    (receipt,) = journal.fold([Incoming(mark, list(tokens), settle, refused or {}, round)])
    return receipt


# claims


def test_folding_adds_and_survives_reopening(tmp_path):
    journal = opened(tmp_path)
    assert fold(journal, b"a", [1, 2, 0]).accepted == 3
    assert fold(opened(tmp_path), b"b", [0, 0, 5], refused={"out of range": 2}).refused == {"out of range": 2}
    state = opened(tmp_path).round()
    assert (state.reports, state.tally.tolist(), state.refused) == (8, [1, 2, 5], {"out of range": 2})


def test_a_repeated_batch_returns_its_receipt_and_counts_nothing(tmp_path):
    journal = opened(tmp_path)
    first = fold(journal, b"a", [1, 2, 0], refused={"out of range": 1})
    again = fold(journal, b"a", [1, 2, 0])
    assert (again.accepted, again.refused, again.before) == (first.accepted, first.refused, True)
    assert journal.round().reports == 3
    assert journal.round().refused == {"out of range": 1, "repeated batch": 1}


def test_tokens_are_counted_once_within_and_across_batches(tmp_path):
    journal = opened(tmp_path)
    first = fold(journal, b"a", [3, 0, 0], tokens=[b"x" * 16, b"y" * 16, b"x" * 16])
    assert (first.accepted, first.refused) == (2, {"repeated report": 1})
    many = [bytes([i]) * 16 for i in range(100)]
    assert fold(opened(tmp_path, "many"), b"m", [103, 0, 0], tokens=[*many, *many[:3]]).refused == {
        "repeated report": 3
    }
    second = fold(journal, b"b", [3, 0, 0], tokens=[b"y" * 16, b"z" * 16, b"x" * 16])
    assert (second.accepted, second.refused) == (1, {"repeated report": 2})
    assert journal.round().tally.tolist() == [3, 0, 0]


def test_a_closed_round_keeps_its_tally_and_can_forget_its_marks(tmp_path):
    journal = opened(tmp_path)
    token = b"linkable-token-0"
    fold(journal, b"batch-identifier", [1, 0, 0], tokens=[token])
    assert token in journal.path.read_bytes()
    closed = journal.close(forget=True)
    assert (closed.closed, closed.tally.tolist()) == (True, [1, 0, 0])
    assert token not in journal.path.read_bytes()
    assert b"batch-identifier" not in journal.path.read_bytes()
    assert journal.round().number == 2
    assert journal.round("1").reports == 1
    assert fold(journal, b"new", [0, 1, 0]).accepted == 1
    assert (journal.round().reports, journal.round("1").reports) == (1, 1)


def test_a_round_that_is_not_forgotten_still_knows_its_replays(tmp_path):
    journal = opened(tmp_path)
    fold(journal, b"a", [1, 0, 0], tokens=[b"t" * 16])
    journal.close(forget=False)
    assert fold(journal, b"a", [1, 0, 0], tokens=[b"t" * 16]).before
    assert fold(journal, b"b", [1, 0, 0], tokens=[b"t" * 16]).refused == {"repeated report": 1}
    assert journal.round().reports == 0


# merging


def test_merged_pieces_are_the_whole_and_merge_once(tmp_path):
    whole, left, right = opened(tmp_path, "w"), opened(tmp_path, "l"), opened(tmp_path, "r")
    for name, piece, tally in (("1", left, [1, 2, 3]), ("2", right, [0, 5, 0]), ("3", right, [4, 0, 0])):
        fold(piece, name.encode(), tally, tokens=[name.encode() * 16])
        fold(whole, name.encode(), tally, tokens=[name.encode() * 16])
    total = opened(tmp_path, "t")
    total.merge(left)
    total.merge(right)
    assert total.merge(left).before
    assert total.round().tally.tolist() == whole.round().tally.tolist()
    assert total.round().reports == whole.round().reports
    with pytest.raises(CollectionError, match="frozen"):
        fold(left, b"more", [1, 0, 0])
    assert fold(total, b"1", [1, 2, 3]).before  # a batch of a piece is known to the whole


def test_pieces_that_were_sent_the_same_do_not_merge(tmp_path):
    left, right = opened(tmp_path, "l"), opened(tmp_path, "r")
    tokens = [bytes([place]) * 16 for place in range(20)]
    fold(left, b"a", [20, 0, 0], tokens=tokens)
    fold(right, b"b", [20, 0, 0], tokens=tokens[:17] + [bytes([place]) * 16 for place in (30, 31, 32)])
    before = left.round()
    with pytest.raises(CollectionError, match=r"share 17 of 20 reports"):
        left.merge(right)
    assert left.round().reports == before.reports
    assert fold(right, b"c", [1, 0, 0]).accepted == 1  # it is not frozen
    with pytest.raises(CollectionError, match="itself"):
        left.merge(left)


def test_a_report_that_came_to_two_pieces_costs_that_report_only(tmp_path):
    """It made every later merge of the second piece fail, and 501 of 1,001 reports were lost."""
    left, right = opened(tmp_path, "l"), opened(tmp_path, "r")
    fold(left, b"a", [500, 0, 0])
    fold(right, b"b", [0, 500, 0])
    for piece in (left, right):
        fold(piece, b"s" * 16, [1, 0, 0], tokens=[b"s" * 16])
    fold(left, b"n" * 16, [1, 0, 0], tokens=[b"t" * 16])
    fold(right, b"n" * 16, [1, 0, 0], tokens=[b"u" * 16])  # the name of another message
    left.merge(right)
    assert left.round().tally.tolist() == [504, 500, 0]
    assert left.round().refused == {TWICE: 2}
    assert left.merge(right).before
    assert fold(left, b"s" * 16, [1, 0, 0], tokens=[b"s" * 16]).before


# refusals


def test_foreign_files_other_collections_and_missing_directories_are_explained(tmp_path):
    opened(tmp_path)
    with pytest.raises(CollectionError, match="another collection"):
        Journal.open(tmp_path / "j.journal", "e" * 64, 3)
    with sqlite3.connect(tmp_path / "foreign.db") as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(CollectionError, match="not a journal"):
        Journal.open(tmp_path / "foreign.db", DIGEST, 3)
    (tmp_path / "noise").write_bytes(b"SQLite format 3\0" + bytes(3000))
    with pytest.raises(CollectionError, match=r"not a journal|damaged"):
        Journal.open(tmp_path / "noise", DIGEST, 3)
    with pytest.raises(CollectionError, match="directory does not exist"):
        Journal.open(tmp_path / "no" / "where", DIGEST, 3)
    with pytest.raises(CollectionError, match="no round 7"):
        opened(tmp_path).round("7")


def test_a_failure_while_folding_leaves_nothing_behind(tmp_path):
    journal = opened(tmp_path)

    def fails(replays):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        journal.fold(
            [
                Incoming(b"z", [], lambda _: (1, np.ones(3, dtype=np.int64))),
                Incoming(b"a", [b"t" * 16], fails),
            ]
        )
    assert journal.round().reports == 0
    assert fold(journal, b"a", [1, 0, 0], tokens=[b"t" * 16]).accepted == 1
