"""What hostile values, records, files and messages can and cannot do to clients and collectors."""

import json
import math
import threading

import numpy as np
import pytest

from sfumato.errors import LedgerError, ParameterError, SchemaError
from sfumato.local.client import Budget, Client, decode_batch
from sfumato.local.collection import journal
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.intervals import _laplace_sum
from sfumato.local.interactive.interaction import Turn
from sfumato.local.interactive.quantiles import QuantileSearch
from sfumato.local.protocols import (
    PROTOCOLS,
    GeneralizedResponse,
    HadamardResponse,
    LocalHashing,
    LocalLaplace,
    OptimizedUnary,
    PrivUnit,
    SampledCoordinates,
    SubsetSelection,
    SymmetricUnary,
    protocol_from,
)
from sfumato.local.protocols.coercion import numbers, positions
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded

REAL = Pure(2.0, assumptions=frozenset(["real-arithmetic"]))
CATEGORIES = (GeneralizedResponse, OptimizedUnary, SymmetricUnary, SubsetSelection, LocalHashing, HadamardResponse)


# values
@pytest.mark.parametrize("kind", ["int8", "int16", "uint8", "float16", "float32", "longdouble"])
def test_the_width_of_a_column_does_not_change_what_bad_values_count_as(kind):
    k = 100_000  # beyond what the narrow kinds hold
    column = np.array([1, 100, 101, 7]).astype(kind)
    assert positions(column, k).tolist() == [1, 100, 101, 7]
    if column.dtype.kind == "i":
        assert positions(np.array([-5, 3]).astype(kind), k).tolist() == [k - 1, 3]
    if column.dtype.kind == "f":
        assert positions(np.array([np.nan, np.inf, -1.0, 2.5, 3]).astype(kind), k).tolist() == [*[k - 1] * 4, 3]


@pytest.mark.parametrize("kind", CATEGORIES)
def test_reports_of_bad_values_in_narrow_columns_are_like_all_others(kind):
    protocol = kind.calibrate(300, Pure(3.0))
    reports = protocol.randomize(np.full(200, -5, dtype=np.int8), seeded(7101))
    assert protocol.valid(reports).all()


def test_numbers_beyond_doubles_are_infinite_and_never_warn():
    assert numbers(np.array([np.longdouble("1e4000"), 1])).tolist() == [np.inf, 1.0]


def test_directions_do_not_depend_on_how_small_or_large_a_vector_is():
    unit = PrivUnit.calibrate(4, REAL)
    for size in (5e-324, 1.6e-162, 1e-161, 1e-158, 1.0, 1e154, 1.7e308):
        reports = unit.randomize([[size, -size, size, 0.0]] * 500, seeded(7102))
        assert unit.valid(reports).all(), size
    long = unit.coerce([[1.7e308] * 4, [2.0, 0, 0, 0]])
    assert long.tolist() == [[32768] * 4, [65535, 0, 0, 0]]  # shortened, not forgotten


def test_sampled_coordinates_keep_every_digit_of_an_inner_report():
    """The inner reports are near 2^62, where doubles are 512 apart: about one in 500 would be odd by chance alone."""
    inner = LocalLaplace.calibrate(-1, 1, Pure(1.0))
    sampled = SampledCoordinates(2, inner)
    reports = sampled.randomize([[0.3, 0.3]] * 1000, seeded(7103))
    assert 400 < np.count_nonzero(reports[:, 1] & np.uint64(1)) < 600  # six standard deviations are 95


# records
@pytest.mark.parametrize("text", ["1e999999999", "1e-999999999", "0.5", " 1/2", "1/0", "-1/2", "9" * 5000, "nan"])
def test_a_fraction_in_a_record_is_two_plain_numbers(text):
    with pytest.raises(ParameterError, match="truthful must be a fraction such as '1/2'"):
        protocol_from({"type": "grr", "k": 3, "truthful": text, "delta": 0.0})


@pytest.mark.parametrize("name", [None, 7, ["grr"], {"grr": 1}])
def test_a_record_without_a_name_is_refused(name):
    with pytest.raises(ParameterError, match="unknown protocol"):
        protocol_from({"type": name})


def test_a_cap_too_small_to_measure_is_refused():
    record = PrivUnit.calibrate(16, REAL).to_record() | {"dimension": 16_384, "gamma": 0.99}
    with pytest.raises(ParameterError, match="gamma"):
        PROTOCOLS["privunit"].from_record(record)


# memory and budget
def test_a_key_used_twice_does_not_tell_whether_the_value_changed(tmp_path):
    response = GeneralizedResponse.calibrate(50, Pure(1.0))
    client = Client(response, tmp_path / "memory", Budget(Pure(9.0)))
    first = decode_batch(response, client.report(3, "round 1")).reports
    for value in (3, 4, 49):
        assert decode_batch(response, client.report(value, "round 1")).reports == first
    assert client.budget.remaining().epsilon == pytest.approx(9 - response.guarantee().epsilon, abs=1e-11)


@pytest.mark.parametrize("damage", [b"\xff\xfe\x00", b"[" * 100_000, b'{"format": "sfumato-budget/1"}'])
def test_a_damaged_file_is_named(tmp_path, damage):
    (tmp_path / "budget").write_bytes(damage)
    with pytest.raises(LedgerError, match="budget"):
        Budget(Pure(1.0), tmp_path / "budget")


@pytest.mark.parametrize("limit", [{}, {"limit": 1}, {"limit": {"type": "pure"}}, {"limit": {"type": []}}])
def test_a_budget_file_without_its_limit_is_refused(tmp_path, limit):
    contents = {"format": "sfumato-budget/1", "epsilon": 0, "delta": 0, "spent": []}
    (tmp_path / "budget").write_text(json.dumps(contents | limit))
    with pytest.raises(LedgerError, match="budget is damaged; restore it"):
        Budget(Pure(1.0), tmp_path / "budget")


# collectors
def test_messages_sent_to_two_pieces_stop_their_merge_where_they_are_many(tmp_path):
    response = GeneralizedResponse.calibrate(4, Pure(1.0))
    collection = Collection("pieces", response)
    whole, piece = (Collector(collection, tmp_path / name) for name in ("whole", "piece"))
    messages = [Client(collection).report(value) for value in range(4)]
    whole.add_all(messages[:2])
    piece.add_all(messages)
    with pytest.raises(CollectionError, match="share 2 of 4 reports"):
        whole.merge(piece)
    assert piece.add(Client(collection).report(1)).accepted == 1  # not frozen
    assert (whole.state.reports, piece.state.reports) == (2, 5)
    fresh = Collector(collection, tmp_path / "fresh")
    assert fresh.merge(piece).accepted == 5
    assert fresh.merge(piece).before
    with pytest.raises(CollectionError, match="frozen"):
        piece.add(Client(collection).report(1))


@pytest.mark.parametrize("known", [False, True])  # whether the whole has counted the late report already
@pytest.mark.parametrize("table", ["batches", "tokens"])
def test_a_report_that_arrives_during_a_merge_waits_and_goes_to_the_whole(tmp_path, monkeypatch, table, known):
    """Whatever arrives at the piece while its marks are copied, nothing is lost and nothing counted twice."""
    response = GeneralizedResponse.calibrate(4, Pure(1.0))
    collection = Collection("pieces", response)
    whole, piece = (Collector(collection, tmp_path / name) for name in ("whole", "piece"))
    piece.add(Client(collection).report(1))
    late, found = Client(collection).report(2), []
    if known:
        whole.add(late)

    def send():
        try:
            found.append(piece.add(late).accepted)
        except CollectionError as refused:
            found.append(str(refused))

    sender, take = threading.Thread(target=send), getattr(journal, f"_take_{table}")

    def take_late(connection, source):
        twice = take(connection, source)
        sender.start()
        sender.join(0.2)
        assert not found  # it waits for the merge
        return twice

    monkeypatch.setattr(journal, f"_take_{table}", take_late)
    assert whole.merge(piece).accepted == 1
    sender.join()
    assert "frozen" in found[0]
    assert "send reports there" in found[0]
    assert whole.add(late).before is known
    assert whole.state.reports == whole.state.tally.sum() == 2


def test_a_merge_that_dies_after_freezing_is_done_again(tmp_path, monkeypatch):
    response = GeneralizedResponse.calibrate(4, Pure(1.0))
    collection = Collection("pieces", response)
    whole, piece = (Collector(collection, tmp_path / name) for name in ("whole", "piece"))
    piece.add(Client(collection).report(1))
    joined = journal.Journal._joined
    monkeypatch.setattr(journal.Journal, "_joined", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        whole.merge(piece)
    monkeypatch.setattr(journal.Journal, "_joined", joined)
    assert whole.state.reports == 0
    assert whole.merge(piece).accepted == 1
    assert whole.state.reports == 1


@pytest.mark.parametrize("part", [{"labels": 5}, {"labels": "ab"}, {"protocol": {"type": ["grr"]}}, {"protocol": {}}])
def test_a_declaration_of_the_wrong_shape_is_refused(part):
    record = Collection("pets", GeneralizedResponse.calibrate(2, Pure(1.0))).to_record()
    with pytest.raises(SchemaError, match="labels must be a list"):
        Collection.from_record(record | part)


# transcripts
@pytest.mark.parametrize(("reports", "tally"), [(-1, (1, 2)), (10**30, (5, 5)), (5, (2**70, 1))])
def test_a_transcript_cannot_make_a_device_count_for_ever(reports, tally):
    with pytest.raises(ParameterError, match="a turn must"):
        Turn(bytes(16), reports, tally)
    with pytest.raises(ParameterError, match="a turn must"):
        Turn.from_record({"channel": "00" * 16, "reports": reports, "tally": list(tally)})


def test_an_endless_transcript_has_ended():
    search = QuantileSearch.calibrate(1000, 0.5, Pure(1.0), users=10_000)
    assert search.channel_for((Turn(bytes(16), 10, (5, 5)),) * 20_000) is None


# intervals
def test_limits_of_laplace_noise_hold_for_the_finest_lattices():
    """Next to no noise a step: the generating function is 1 + v t^2/2 there, against roundings of 1e-16 / (1 - r)."""
    for scale, n in ((1, 50), (1 << 10, 10**6), (1 << 24, 10**10)):
        ratio = math.exp(-1 / scale)
        deviation = math.sqrt(n * 2 * ratio) / -math.expm1(-1 / scale)
        assert 1.0 < _laplace_sum(scale, n, 0.05) / deviation / math.sqrt(2 * math.log(2 / 0.05)) < 1.2
