"""Messages belong to one collection and one of its rounds; rounds close once, and pieces add up by name."""

import hashlib
import json
import random
import shutil
import sqlite3
import tempfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sending import sent
from sfumato.errors import ParameterError, ReportError, SchemaError
from sfumato.local.client import Client, Randomized, decode_batch, encode_batch, header_of, randomized
from sfumato.local.client.binding import declared_digest
from sfumato.local.collection import declaration
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.interactive.quantiles import QuantileSearch
from sfumato.local.protocols import (
    PROTOCOLS,
    Duchi,
    GeneralizedResponse,
    Hypercube,
    OptimizedUnary,
    OptimizedWindow,
    SquareWave,
)
from sfumato.local.questions import Marginals, Ranges, Sets
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

PETS = ("cat", "dog", "fish", "other")
DAYS = ("2026-11-14", "2026-11-15", "2026-11-16")
GRR = GeneralizedResponse.calibrate(4, Pure(1.0))
DAILY = Collection("pets", GRR, PETS, rounds=DAYS)
MANY = [
    GRR, OptimizedUnary.calibrate(4, Pure(1.0)), Duchi.calibrate(-1, 1, Pure(1.0)),
    OptimizedWindow.calibrate(0, 5, Pure(1.0)), Hypercube.calibrate(3, -1, 1, Pure(1.0)),
    SquareWave.calibrate(0, 1, Pure(1.0)), Ranges.calibrate(16, Pure(1.0)), Sets.calibrate(4, Pure(1.0), size=2),
    Marginals.calibrate([2, 3], Pure(1.0), order=2),
]  # fmt: skip


def reports(n, seed=1):
    return GRR.randomize(np.arange(n) % 4, seeded(seed))


# binding


def hashed(declaration):
    """The digest and what messages carry, by nothing but the text of the file: what a foreign client does."""
    held = json.loads(declaration)
    terms = {name: part for name, part in held.items() if name != "digest"}
    text = json.dumps(terms, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).digest()
    return digest.hex(), [hashlib.sha256(digest + name.encode()).digest()[:16] for name in held["rounds"]]


@pytest.mark.parametrize("protocol", MANY, ids=lambda protocol: protocol.name)
def test_what_messages_carry_follows_from_the_text_of_the_file(tmp_path, protocol):
    declared = Collection("größe", protocol, rounds=("Montag", "Dienstag"), version="2", salt="5f")
    text = declared.save(tmp_path / "c.json").read_text(encoding="utf-8")
    assert not numbers(json.loads(text))
    digest, bindings = hashed(text)
    assert digest == declared.digest == json.loads(text)["digest"]
    assert [declared.address(name).binding for name in declared.rounds] == bindings
    assert Collection.read(tmp_path / "c.json") == declared


def numbers(value):
    """Whether there is a number anywhere."""
    if isinstance(value, dict | list):
        return any(map(numbers, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float)


def test_every_protocol_is_tried_or_known_to_have_the_same_record():
    kinds = {type(protocol).name for protocol in MANY}
    assert len(kinds & PROTOCOLS.keys()) >= 6


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "name": st.just("cats"), "version": st.just("2"), "salt": st.text("0123456789", min_size=1, max_size=9),
            "labels": st.just(("dog", "cat", "fish", "other")), "other": st.just("other"), "rounds": st.just(DAYS[:2]),
            "protocol": st.just(GeneralizedResponse.calibrate(4, Pure(1.1))),
        },
    ).filter(bool)
)  # fmt: skip
def test_a_message_of_anything_else_is_refused(changed):
    terms = {"name": "pets", "protocol": GRR, "labels": PETS, "rounds": DAYS}
    other = Collection(**(terms | changed))
    message = sent(other, reports(3), round=DAYS[0])
    assert decode_batch(other, message, DAYS[0]).reports.tolist() == reports(3).tolist()
    with pytest.raises(ReportError, match="collection differs"):
        decode_batch(DAILY, message, DAYS[0])


def test_a_report_of_a_sibling_or_of_another_order_of_labels_counts_nowhere_else(tmp_path):
    daily, medical = (Collection(name, GRR, PETS) for name in ("daily", "medical condition"))
    turned = Collection("daily", GRR, PETS[::-1], version="2")
    message = Client(daily).report("cat")
    for place, other in enumerate((medical, turned)):
        receipt = Collector(other, tmp_path / str(place)).add(message)
        assert (receipt.accepted, receipt.refused) == (0, {"another collection": 1})
        assert "another collection, another version of this one, or another round" in receipt.words
    assert Collector(daily, tmp_path / "own").add(message).accepted == 1


def test_the_terms_are_hashed_once_however_many_rounds_there_are(tmp_path, monkeypatch):
    hashed = []
    monkeypatch.setattr(declaration, "declared_digest", lambda record: hashed.append(1) or declared_digest(record))
    many = Collection("pets", GRR, PETS, rounds=tuple(map(str, range(200))))
    assert many.addresses() == {many.address(name): name for name in many.rounds}
    hashed.clear()
    Collector(many, tmp_path / "j")
    assert len(hashed) < 10
    counted = Collection("pets", GRR, PETS, bound=False)
    assert counted.addresses() == {counted.address(): None}


def test_a_changed_declaration_is_noticed(tmp_path):
    path = DAILY.save(tmp_path / "pets.json")
    record = json.loads(path.read_text())
    for part, value in (("labels", list(PETS[::-1])), ("name", "cars"), ("rounds", ["x"]), ("salt", "1")):
        path.write_text(json.dumps({**record, part: value}))
        with pytest.raises(SchemaError, match="changed after it was saved"):
            Collection.read(path)
    path.write_text("[" * 200_000)
    with pytest.raises(SchemaError, match="is not a readable"):
        Collection.read(path)
    del record["digest"]
    path.write_text(json.dumps({**record, "version": 2}))
    assert Collection.read(path).version == "2"


# reports are a type of their own


def test_values_are_never_sent_as_reports():
    values = np.array([0, 1, 257])
    for wrong in (values, [1, 2], values.astype(np.uint8)):
        with pytest.raises(ParameterError, match="values are never sent"):
            encode_batch(DAILY, wrong, round=DAYS[0])
    for wrong in (values, [0, 1], values.astype(float)):
        with pytest.raises(ParameterError, match="values are never sent"):
            Randomized(GRR, wrong)
    with pytest.raises(ParameterError, match="1 of 1 reports cannot have been sent"):
        Randomized(GRR, np.array([200], dtype=np.uint8))
    with pytest.raises(ParameterError, match="drawn by another grr"):
        encode_batch(DAILY, randomized(GeneralizedResponse.calibrate(4, Pure(2.0)), [1]), round=DAYS[0])
    assert decode_batch(DAILY, encode_batch(DAILY, randomized(GRR, values), round=DAYS[1]), DAYS[1]).reports.size == 3


# what is declared is checked when it is


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"rounds": ()}, "from 1 to 10,000 rounds"),
        ({"rounds": ("a", "a")}, "rounds must be different"),
        ({"rounds": ("",)}, "rounds must be texts"),
        ({"rounds": [1]}, "rounds must be texts"),
        ({"labels": ("a", "\ud800")}, "labels must be texts"),
        ({"version": 2}, "version must be a text"),
        ({"salt": "x" * 201}, "salt must be a text of at most 200"),
        ({"protocol": QuantileSearch.calibrate(16, 0.5, Pure(1.0), users=1000)}, "protocol must be a local protocol"),
        (
            {"protocol": Marginals.calibrate([2, 3], Pure(1.0))},
            "labels must name all 2 or 5 attributes, or all their values, of 'marginals', got 4",
        ),
        ({"protocol": Duchi.calibrate(0, 1, Pure(1.0))}, "labels must name 1 estimates of 'duchi', got 4"),
        ({"protocol": SquareWave.calibrate(0, 1, Pure(1.0))}, "labels must name no estimates of 'square', got 4"),
    ],
)
def test_wrong_terms_are_refused_before_anything_is_collected(terms, said):
    with pytest.raises(ParameterError, match=said):
        Collection(**({"name": "pets", "protocol": GRR, "labels": PETS} | terms))


def test_a_round_that_there_is_not_costs_nothing(tmp_path):
    client = Client(DAILY, tmp_path / "memory")
    for wrong, said in ((None, "round must name one of the 3 rounds of 'pets', such as '2026-11-14'"),
                        ("2026-11-17", "declares no round '2026-11-17'; its rounds are '2026-11-14'")):  # fmt: skip
        with pytest.raises(ParameterError, match=said):
            client.report("cat", round=wrong)
    assert list(tmp_path.iterdir()) == []
    for wrong in (tmp_path, "pets.json", 7):
        with pytest.raises(ParameterError, match="source must be a collection"):
            Client(wrong)
    with pytest.raises(ParameterError, match="a message is bytes, got PosixPath; add_file reads files"):
        Collector(DAILY, tmp_path / "j").add(tmp_path)


# rounds


def test_a_late_report_counts_in_its_own_round_until_that_closes(tmp_path):
    one = Collector(DAILY, tmp_path / "j")
    first, late, later = (Client(DAILY).report("cat", round=DAYS[0]) for _ in range(3))
    one.add(first)
    one.add(Client(DAILY).report("dog", round=DAYS[1]))
    assert one.add(late).accepted == 1
    assert [state.reports for state in one.journal.rounds()] == [2, 1]
    closed = one.close(DAYS[0])
    assert (closed.closed, closed.reports) == (True, 2)
    receipt = one.add(later)
    assert (receipt.accepted, receipt.refused) == (0, {"closed round": 1})
    assert one.add(first).refused == {"closed round": 1}
    assert (one.estimate(DAYS[0]).reports, one.estimate().reports) == (2, 1)
    assert one.estimate(DAYS[0]).to_record()["round"] == DAYS[0]


def test_closing_is_idle_the_second_time_and_never_raises(tmp_path):
    one = Collector(DAILY, tmp_path / "j")
    for _ in range(2):
        assert (one.close(DAYS[1]).closed, one.close(DAYS[1]).reports) == (True, 0)
    one.add(sent(DAILY, reports(9), round=DAYS[0]))
    assert [one.close(DAYS[0]).reports for _ in range(3)] == [9, 9, 9]
    old = Collector(Collection("pets", GRR, PETS, bound=False), tmp_path / "old")
    old.add(sent(GRR, reports(5)))
    assert [(old.close().name, old.state.name) for _ in range(3)] == [("1", "2")] * 3
    with pytest.raises(ParameterError, match="has no reports yet"):
        old.estimate()


def test_a_forgotten_round_keeps_nothing_that_tells_its_messages_apart(tmp_path):
    one, marks = Collector(DAILY, tmp_path / "j"), "SELECT round FROM tokens UNION ALL SELECT round FROM batches"
    for day in DAYS[:2]:
        one.add_all([Client(DAILY).report("cat", round=day) for _ in range(50)])
    one.close(DAYS[0])
    one.close(DAYS[0], forget=True)
    with sqlite3.connect(one.journal.path) as connection:
        assert {row[0] for row in connection.execute(marks)} == {2}
    connection.close()


def test_refusals_that_belong_to_no_round_are_counted_apart(tmp_path):
    one = Collector(DAILY, tmp_path / "j")
    one.add_all([b"junk", Client(GRR).report(1), Client(DAILY).report("cat", round=DAYS[2])])
    assert one.state.refused == {}
    assert one.journal.elsewhere() == {"not reports": 1, "another protocol": 1}


def test_where_devices_send_by_themselves_a_message_has_one_report(tmp_path):
    one = Collector(Collection("pets", GRR, PETS), tmp_path / "j", most=1)
    one.add_all([Client(one.collection).report("cat") for _ in range(20)])
    flood = one.add(sent(one.collection, np.zeros(1_000_000, dtype=np.uint8)))
    assert (flood.accepted, flood.refused) == (0, {"too many reports": 1})
    assert "1000000 in one message, at most 1 are taken here" in flood.words
    assert one.state.reports == 20


# pieces


def test_pieces_add_up_by_name_in_any_order_however_far_each_one_is():
    """Random pieces over random rounds, merged in random order, are the whole: in twelve random histories."""
    chance = random.Random(seeded(17).word())
    for _ in range(12):
        with tempfile.TemporaryDirectory() as place:
            pieces = [Collector(DAILY, f"{place}/{i}") for i in range(3)]
            whole = Collector(DAILY, f"{place}/whole")
            for turn in range(12):
                day, piece = chance.choice(DAYS), chance.choice(pieces)
                held = reports(chance.randrange(1, 9), seed=turn)
                piece.add(sent(DAILY, held, bytes([turn]) * 16, round=day))
                whole.add(sent(DAILY, held, bytes([turn]) * 16, round=day))
            chance.shuffle(pieces)
            for piece in pieces:
                if chance.random() < 0.5:
                    piece.close(DAYS[0])
            total = Collector(DAILY, f"{place}/total")
            for piece in pieces:
                total.merge(piece)
                assert total.merge(piece).before
            found = {state.name: (state.reports, state.tally.tolist()) for state in total.journal.rounds()}
            for state in whole.journal.rounds():
                assert found[state.name] == (state.reports, state.tally.tolist())


def test_a_fresh_piece_joins_after_others_were_merged_and_closed(tmp_path):
    whole, early, late = (Collector(DAILY, tmp_path / name) for name in ("whole", "early", "late"))
    early.add(sent(DAILY, reports(5), round=DAYS[0]))
    early.close(DAYS[0])
    whole.merge(early)
    whole.close(DAYS[0])
    late.add(sent(DAILY, reports(7), round=DAYS[1]))
    late.add(sent(DAILY, reports(2), round=DAYS[0]))
    assert whole.merge(late).accepted == 9
    assert [(state.reports, state.closed) for state in whole.journal.rounds()] == [(7, True), (7, False)]


def test_a_round_that_a_piece_closed_takes_nothing_more_in_the_whole(tmp_path):
    whole, piece = (Collector(DAILY, tmp_path / name) for name in ("whole", "piece"))
    message = Client(DAILY).report("cat", round=DAYS[0])
    piece.add(message)
    piece.close(DAYS[0])
    whole.add(Client(DAILY).report("dog", round=DAYS[0]))
    whole.merge(piece)
    assert whole.add(message).refused == {"closed round": 1}
    assert whole.estimate(DAYS[0]).reports == 2


def test_a_report_that_two_pieces_have_is_noticed_in_its_round(tmp_path):
    one, other = (Collector(DAILY, tmp_path / name) for name in ("one", "other"))
    message = Client(DAILY).report("cat", round=DAYS[2])
    one.add(message)
    other.add(message)
    one.merge(other)
    assert header_of(message).count == 1
    assert one.estimate(DAYS[2]).refused == {"counted in two pieces": 1}
    words = str(one.estimate(DAYS[2]))
    assert "at most 1 report came to two pieces and counted in both" in words
    assert "shuffled" not in words  # it can be seen in two batches


def test_pieces_whose_replays_could_not_be_told_do_not_merge(tmp_path):
    """The same ten messages in two pieces: refused while marks are there, and refused when one has forgotten them."""
    one, other, third = (Collector(DAILY, tmp_path / name) for name in ("one", "other", "third"))
    messages = [Client(DAILY).report("cat", round=DAYS[0]) for _ in range(10)]
    for piece in (one, other):
        piece.add_all(messages)
    one.close(DAYS[0])
    with pytest.raises(CollectionError, match="share 10 of 10 reports"):
        one.merge(other)
    one.close(DAYS[0], forget=True)
    with pytest.raises(CollectionError, match="could not be told; merge pieces before --forget"):
        one.merge(other)
    assert (one.state.reports, other.state.reports) == (10, 10)
    third.add(Client(DAILY).report("dog", round=DAYS[1]))
    assert one.merge(third).accepted == 1  # nothing to mix up


def test_a_copy_of_a_piece_that_went_on_is_not_taken_for_the_piece(tmp_path):
    whole, piece = (Collector(DAILY, tmp_path / name) for name in ("whole", "piece"))
    piece.add(sent(DAILY, reports(3), round=DAYS[0]))
    shutil.copy(tmp_path / "piece", tmp_path / "copy")
    whole.merge(piece)
    copy = Collector(DAILY, tmp_path / "copy")
    assert whole.merge(copy).before
    copy.add(sent(DAILY, reports(7), round=DAYS[0]))
    with pytest.raises(CollectionError, match="a copy that went on"):
        whole.merge(copy)
