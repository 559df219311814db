"""The collector: what is refused and counted, what a tally is, and what an estimate claims."""

import json
import sqlite3
import struct
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
import pytest

from sending import sent
from sfumato.engines.backends import quiet
from sfumato.engines.reports import add_column
from sfumato.errors import EngineError, ParameterError, SchemaError, UnsupportedQuery
from sfumato.local.client import Client, join
from sfumato.local.collection.collector import REASONS, Collector, weighted_tally
from sfumato.local.collection.database import CollectionError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate, load_estimate
from sfumato.local.collection.feeds import add_file, messages
from sfumato.local.protocols import (
    Duchi,
    GeneralizedResponse,
    HadamardResponse,
    Hybrid,
    Hypercube,
    LocalHashing,
    LocalLaplace,
    OptimizedUnary,
    OptimizedWindow,
    Piecewise,
    Rappor,
    SampledCoordinates,
    SquareWave,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.local.questions import Marginals, Ranges, Sets
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import ALPHA

PETS = ("cat", "dog", "fish", "other")
GRR = GeneralizedResponse.calibrate(4, Pure(1.0))
PETTED = Collection("pets", GRR, PETS)
FREQUENCIES = [
    GRR, OptimizedUnary.calibrate(4, Pure(1.0)), SymmetricUnary.calibrate(4, Pure(1.0)), Rappor.calibrate(4, Pure(2.0)),
    SubsetSelection.calibrate(4, Pure(1.0)), LocalHashing.calibrate(4, Pure(1.0)),
    HadamardResponse.calibrate(4, Pure(1.0)), Ranges.calibrate(4, Pure(1.0)),
]  # fmt: skip
QUESTIONS = [*FREQUENCIES, Sets.calibrate(4, Pure(1.0), size=2), Marginals.calibrate([2, 2], Pure(1.0), order=1)]


@pytest.fixture
def tmp_path():
    """A directory in memory where there is one: these tests wait for the disk a thousand times."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def duckdb(**columns):
    with quiet():
        return ibis.duckdb.connect().create_table("t", pa.table(columns))


def collector(tmp_path, protocol=GRR, name="c.journal", labels=PETS):
    return Collector(Collection("pets", protocol, labels), tmp_path / name)


def sample(protocol, n, seed=1):
    values = np.arange(n) % 4
    if isinstance(protocol, Sets):
        values = [[value] for value in values]
    elif isinstance(protocol, Marginals):
        values = np.stack([values % 2, values // 2], axis=1)
    return protocol.randomize(values, seeded(seed))


NUMBERS = [
    LocalLaplace.calibrate(-1, 1, Pure(1.0)), Duchi.calibrate(-1, 1, Pure(1.0)), Piecewise.calibrate(-1, 1, Pure(1.0)),
    Hybrid.calibrate(-1, 1, Pure(1.0)), OptimizedWindow.calibrate(-1, 1, Pure(1.0)),
    Hypercube.calibrate(3, -1, 1, Pure(1.0)), SampledCoordinates.calibrate(3, -1, 1, Pure(1.0)),
]  # fmt: skip


# claims: tallies


@pytest.mark.parametrize("protocol", QUESTIONS, ids=lambda protocol: protocol.name)
def test_pieces_add_up_to_the_whole_and_survive_reopening(tmp_path, protocol):
    reports = sample(protocol, 3000)
    labels = PETS if protocol in FREQUENCIES else ()
    whole, left, right = (collector(tmp_path, protocol, name, labels) for name in "wlr")
    assert whole.add(sent(whole.collection, reports)).accepted == 3000
    for place in range(0, 3000, 500):
        (left if place % 1000 else right).add(sent(whole.collection, reports[place : place + 500]))
    left.merge(right)
    again = collector(tmp_path, protocol, "l", labels)
    assert again.state.reports == whole.state.reports == 3000
    assert np.array_equal(again.state.tally, whole.state.tally)
    assert np.array_equal(again.estimate().values, whole.estimate().values)


def test_a_million_reports_counted_by_value_are_a_million_reports(tmp_path):
    reports = sample(GRR, 10_000)
    counts = np.bincount(reports, minlength=4).astype(np.int64) * 100
    many = collector(tmp_path)
    found = many.add_counts("warehouse", [(np.arange(4, dtype=np.uint8), counts, 0)])
    assert found.accepted == 1_000_000
    assert np.array_equal(many.state.tally, 100 * GRR.tally(reports))
    assert many.add_counts("warehouse", [(np.arange(4, dtype=np.uint8), counts, 0)]).before
    assert np.array_equal(weighted_tally(GRR, reports[:0], counts[:0]), np.zeros(4))


def test_collectors_at_work_together_lose_nothing(tmp_path):
    messages = [sent(PETTED, sample(GRR, 50, seed=i)) for i in range(60)]

    def work(part):
        mine = collector(tmp_path)
        for message in part:
            mine.add(message)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (messages[i % 3 :: 3] for i in range(4))))  # the fourth repeats the first
    state = collector(tmp_path).state
    assert (state.reports, state.refused) == (3000, {"repeated batch": 20})


# refusals


def damaged(kind):
    good = sent(PETTED, sample(GRR, 10))
    other = sent(Collection("cars", GRR, PETS), sample(GRR, 10))
    bad = bytearray(good)
    bad[-1] = 200
    floats = good[:48] + struct.pack("<10f", *[float("nan")] * 10)
    return {
        "not reports": b"{'value': 3}" * 9, "wrong version": good[:4] + b"\x09\x00" + good[6:],
        "another collection": other, "bare": sent(GRR, sample(GRR, 10)), "wrong length": good[:-3],
        "out of range": bytes(bad), "nan": floats,
        "long": good + b"\0", "empty": b"", "short": good[:20], "flags": good[:6] + b"\x08\x00" + good[8:],
    }[kind]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (reason, reason)
        for reason in ("not reports", "wrong version", "another collection", "wrong length", "out of range")
    ]
    + [("nan", "wrong length"), ("long", "wrong length"), ("empty", "not reports"), ("short", "wrong length")]
    + [("flags", "wrong version"), ("bare", "another protocol")],
)
def test_malformed_messages_are_refused_with_a_reason_and_counted(tmp_path, kind, reason):
    one = collector(tmp_path)
    receipt = one.add(damaged(kind))
    assert (receipt.accepted, receipt.refused) == (0, {reason: 1})
    assert receipt.words
    assert reason in REASONS
    assert one.reason_for(damaged(kind)) == reason
    assert (one.state.reports, one.state.refused) == (0, {reason: 1})


@pytest.mark.parametrize("protocol", [*QUESTIONS, *NUMBERS], ids=lambda protocol: protocol.name)
def test_no_bytes_whatever_make_the_collector_raise(tmp_path, protocol):
    """Messages with flipped bytes, cut, doubled, empty, or with every length announced: each gets a receipt."""
    rng = np.random.default_rng(seeded(11).word())
    one = Collector(Collection("x", protocol), tmp_path / "f")
    values = np.zeros((3, 3)) if protocol.goal == "means" else np.zeros(3)
    reports = protocol.randomize(values, seeded(1)) if protocol in NUMBERS else sample(protocol, 3)
    tokens = rng.integers(0, 256, (3, 16), dtype=np.uint8)
    messages = []
    for _ in range(60):
        good = bytearray(sent(one.collection, reports, None, tokens if rng.random() < 0.5 else None))
        for place in rng.integers(40 if rng.random() < 0.7 else 0, len(good), rng.integers(1, 5)):
            good[place] = rng.integers(0, 256)
        messages.append(bytes(good[: rng.integers(0, len(good) + 1)] if rng.random() < 0.2 else good))
    empty = sent(one.collection, reports[:0])
    messages += [empty, sent(one.collection, reports[:0], None, tokens[:0]), empty[:40] + b"\xff" * 8, b"", bytes(48)]
    receipts = one.add_all(messages)
    assert len(receipts) == len(messages)
    assert all(set(receipt.refused) <= set(REASONS) for receipt in receipts)
    assert one.state.reports == sum(receipt.accepted for receipt in receipts if not receipt.before)


def test_an_out_of_range_refusal_does_not_print_the_report(tmp_path):
    assert "200" not in collector(tmp_path).add(damaged("out of range")).words


def test_a_million_copies_count_once(tmp_path):
    one = collector(tmp_path)
    message = Client(PETTED).report("dog")
    copies = np.tile(np.frombuffer(message[16 + 8 : 16 + 24], dtype=np.uint8), (1_000_000, 1))
    flood = sent(PETTED, np.full(1_000_000, 1, dtype=np.uint8), None, copies)
    receipt = one.add(flood)
    assert (receipt.accepted, receipt.refused) == (1, {"repeated report": 999_999})
    again = one.add_all([message] * 1000)
    assert sum(part.accepted for part in again if not part.before) == 0
    assert one.state.reports == 1


def test_a_report_counts_once_whether_it_comes_alone_or_joined(tmp_path):
    one = collector(tmp_path)
    client = Client(PETTED)
    alone = [client.report("fish") for _ in range(20)]
    one.add_all(alone[:10])
    joined = one.add(join(PETTED, alone))
    assert (joined.accepted, joined.refused) == (10, {"repeated report": 10})
    late = one.add(alone[15])
    assert (late.accepted, late.refused) == (0, {"repeated report": 1})
    assert one.state.reports == 20
    assert GRR.tally(np.concatenate([np.frombuffer(m[48:], dtype=np.uint8) for m in alone])).tolist() == (
        one.state.tally.tolist()
    )


def test_a_name_that_is_known_counts_nothing_and_no_report_stands_beside_it(tmp_path):
    """Nothing in the journal changes with the report of a named message but the tally: no hash of it is kept."""
    found = []
    for value in (0, 1):
        one = collector(tmp_path, name=f"{value}.journal")
        one.add(sent(PETTED, np.array([value], dtype=np.uint8), b"n" * 16))
        assert one.add(sent(PETTED, np.array([2], dtype=np.uint8), b"n" * 16)).before
        assert one.state.tally.sum() == one.state.reports == 1
        with sqlite3.connect(one.journal.path) as connection:
            found.append([connection.execute(f"SELECT * FROM {table}").fetchall() for table in ("batches", "tokens")])
        connection.close()
    assert found[0] == found[1]


def test_collections_that_differ_do_not_share_a_journal_or_merge(tmp_path):
    one = collector(tmp_path)
    with pytest.raises(CollectionError, match="another collection"):
        collector(tmp_path, labels=())
    with pytest.raises(
        CollectionError, match=r"not the same collection: same name, other terms \(digest \w{12}, this one has \w{12}\)"
    ):
        one.merge(collector(tmp_path, name="other", labels=()))


# feeds


def test_a_file_of_messages_is_read_whatever_lies_between_them(tmp_path):
    one, done = collector(tmp_path), []
    parts = [sent(PETTED, sample(GRR, n, seed=n)) for n in (10, 1, 300)]
    (tmp_path / "good.sfr").write_bytes(b"".join(parts))
    assert list(messages(tmp_path / "good.sfr", one)) == parts
    receipts = add_file(one, tmp_path / "good.sfr", done.append)
    assert [receipt.accepted for receipt in receipts] == [10, 1, 300]
    assert sum(done) == (tmp_path / "good.sfr").stat().st_size
    assert all(receipt.before for receipt in add_file(one, tmp_path / "good.sfr"))
    foreign = sent(Collection("cars", GRR, PETS), sample(GRR, 5))
    greedy = parts[0][:40] + struct.pack("<Q", 200) + parts[0][48:]
    for name, held, reason in (
        ("garbage", b"garbage" * 100, "not reports"),
        ("a header's beginning", b"SFLR", "wrong length"),
        ("of another collection", foreign, "another collection"),
        ("announces those behind", greedy, "wrong length"),
        ("cut", parts[2][:-1], "wrong length"),
    ):
        (tmp_path / "bad.sfr").write_bytes(parts[0] + held + parts[1] + held)
        found = add_file(one, tmp_path / "bad.sfr")
        assert [part.before for part in found] == [True, False, True, False], name
        assert [sorted(part.refused) for part in found if not part.before] == [[reason]] * 2, name
    (tmp_path / "empty.sfr").touch()
    assert add_file(one, tmp_path / "empty.sfr") == []
    with pytest.raises(SchemaError, match=r"missing\.sfr"):
        add_file(one, tmp_path / "missing.sfr")


@pytest.mark.parametrize("kind", ["int64", "double", "uint8"])
def test_a_column_of_numbers_is_counted_in_the_engine(tmp_path, kind):
    reports = sample(GRR, 5000)
    held = pa.chunked_array([pa.array(reports.astype(int)).cast(kind), pa.array([None, 7, 200]).cast(kind)])
    table = duckdb(answer=held)
    one = collector(tmp_path)
    receipt = add_column(one, table, "answer", "march")
    assert (receipt.accepted, receipt.refused) == (5000, {"no report": 3})
    assert np.array_equal(one.state.tally, GRR.tally(reports))
    assert add_column(one, table, "answer", "march").before


def test_a_column_of_bytes_is_streamed(tmp_path):
    protocol = OptimizedUnary.calibrate(40, Pure(1.0))
    reports = protocol.randomize(np.arange(700) % 40, seeded(1))
    held = [row.tobytes() for row in reports] + [None, b"no", b"\xff" * 5]
    bits = duckdb(answer=pa.array(held, pa.binary()), n=range(703))
    one = Collector(Collection("x", protocol), tmp_path / "j")
    receipt = add_column(one, bits, "answer", "all")
    assert receipt.accepted == 701  # five bytes of ones are a report
    assert receipt.refused == {"no report": 2}
    for column, said in (("n", "bytes, 5 a report"), ("none", "no column 'none'")):
        with pytest.raises(SchemaError, match=said):
            add_column(one, bits, column, "again")


def test_a_failing_engine_shows_nothing_of_the_data(tmp_path):
    table = duckdb(answer=["Zanzibar"])
    broken = table.mutate(answer=table["answer"].cast("int64"))
    with pytest.raises(EngineError) as caught:
        add_column(collector(tmp_path), broken, "answer", "march")
    assert "Zanzibar" not in str(caught.value)
    assert caught.value.__context__ is None


# estimates


@pytest.mark.parametrize("protocol", FREQUENCIES, ids=lambda protocol: protocol.name)
def test_intervals_cover_and_joint_ones_are_wider(tmp_path, protocol):
    """The true frequencies are 1/4.  At level 1 - ALPHA / 4 a miss of any of the four has probability below ALPHA."""
    one = collector(tmp_path, protocol)
    one.add(sent(one.collection, sample(protocol, 20_000)))
    found = one.estimate()
    low, high = found.interval(1 - ALPHA / 4)
    assert np.all((low <= 0.25) & (high >= 0.25))
    narrow, joint = found.interval(0.95), found.interval(0.95, joint=True)
    assert np.all(joint[0] < narrow[0])
    assert np.all(joint[1] > narrow[1])
    radius = (narrow[1] - narrow[0]) / 2
    normal = 1.96 * np.sqrt(found.variances)
    assert np.all(radius >= 0.95 * normal)
    assert np.all(radius <= 2.2 * normal)  # proven limits cost something, not a multiple


@pytest.mark.parametrize("protocol", NUMBERS, ids=lambda protocol: protocol.name)
def test_intervals_of_means_cover_and_are_not_wide(tmp_path, protocol):
    """At level 1 - ALPHA / 3 a miss of any coordinate has probability below ALPHA."""
    one = Collector(Collection("x", protocol), tmp_path / "n")
    point = np.array([0.3, 0.0, -0.2]) if protocol.goal == "means" else np.array([0.3])
    values = np.tile(point, (20_000, 1)) if protocol.goal == "means" else np.full(20_000, 0.3)
    one.add(sent(one.collection, protocol.randomize(values, seeded(1))))
    found = one.estimate()
    low, high = found.interval(1 - ALPHA / 3)
    lattice = 2 / 1000  # values are rounded to their lattice before they are randomized
    assert np.all((low - lattice <= point) & (point <= high + lattice))
    low, high = found.interval(0.95)
    assert np.all((high - low) / 2 <= 1.6 * 1.96 * np.sqrt(found.variances))
    assert "best possible" in found.certificate().words()
    with pytest.raises(UnsupportedQuery, match="does not estimate a distribution"):
        found.consistent()


def test_a_distribution_has_points_but_no_error_bars(tmp_path):
    wave = SquareWave.calibrate(0, 1, Pure(2.0))
    one = Collector(Collection("x", wave), tmp_path / "w")
    one.add(sent(one.collection, wave.randomize(np.full(500, 0.5), seeded(1))))
    assert list(one.estimate().columns()) == ["label", "estimate"]
    assert one.estimate().labels()[0] == "0"
    assert one.estimate().values.sum() == pytest.approx(1)
    with pytest.raises(UnsupportedQuery):
        one.estimate().interval()
    assert np.array_equal(one.estimate().consistent(), one.estimate().values)


def test_every_estimate_has_a_certificate_or_says_that_none_is_known(tmp_path):
    for place, protocol in enumerate(QUESTIONS):
        one = Collector(Collection("x", protocol), tmp_path / str(place))
        one.add(sent(one.collection, sample(protocol, 1000)))
        words = one.estimate().certificate().words()
        assert ("tables of several attributes" if isinstance(protocol, Marginals) else "within a factor") in words


def test_binomial_limits_cover_at_their_level_even_for_unequal_chances():
    """Coverage over 4,000 repetitions of a count of unlike events; one-sided errors at most beta/2 each.

    Power: limits of a level 80 % would miss 800 times, far beyond 200 + 7 sqrt(200) = 299.
    """
    from sfumato.local.questions.limits import binomial

    rng = np.random.default_rng(seeded(5).word())
    chances = np.linspace(0.05, 0.6, 300)
    counts = (rng.random((4000, 300)) < chances).sum(axis=1)
    low, high = binomial(counts, 300, 0.05)
    missed = np.count_nonzero((low > chances.mean()) | (chances.mean() > high))
    assert missed <= 299
    assert np.mean(high - low) < 1.25 * 2 * 1.96 * np.sqrt(chances.mean() * (1 - chances.mean()) / 300)


def test_the_consistent_estimate_is_a_distribution_and_nearer_to_the_truth(tmp_path):
    one = collector(tmp_path)
    one.add(sent(one.collection, GRR.randomize(np.zeros(300, dtype=int), seeded(4))))
    found = one.estimate()
    truth = np.array([1.0, 0, 0, 0])
    assert found.consistent().min() >= 0
    assert found.consistent().sum() == pytest.approx(1)
    assert np.linalg.norm(found.consistent() - truth) <= np.linalg.norm(found.values - truth) + 1e-12
    assert np.linalg.norm(found.values - GRR.estimate(found.tally, 300)) == 0


def test_an_estimate_returns_from_json_and_refuses_others(tmp_path):
    one = collector(tmp_path)
    one.add(sent(one.collection, sample(GRR, 1000)))
    one.add(b"junk")
    found = one.estimate()
    back = load_estimate(found.save(tmp_path / "e.json"))
    assert back.to_record() == found.to_record()
    assert found.to_record()["format"] == "sfumato-estimate/2"
    assert back.labels() == list(PETS)
    assert "not reports" in back.words()
    assert found.table().column_names == ["label", "estimate", "standard_error", "low", "high", "level", "joint"]
    record = found.to_record()
    for spoiled in (
        {**record, "format": "sfumato-estimate/3"},
        {**record, "tally": [1, 2]},
        {**record, "round": None},
        7,
    ):
        with pytest.raises(SchemaError):
            Estimate.from_record(spoiled)
    with pytest.raises(SchemaError, match="does not hold an estimate"):
        load_estimate(tmp_path / "none.json")
    with pytest.raises(ParameterError, match="level must lie strictly"):
        found.interval(1.0)


def test_a_collection_is_read_as_people_write_it(tmp_path):
    (tmp_path / "pets.toml").write_text(
        'format = "sfumato-collection/1"\nname = "pets"\nlabels = ["cat", "dog", "fish", "other"]\n'
        '[protocol]\ntype = "grr"\nepsilon = 1.0\n'
    )
    read = Collection.read(tmp_path / "pets.toml")
    assert read == Collection("pets", GRR, PETS, bound=False)
    assert Collection.read(read.save(tmp_path / "pets.json")) == read
    assert Collector.open(tmp_path / "pets.json").journal.path == tmp_path / "pets.journal"
    ranges = {"format": "sfumato-collection/1", "name": "age", "protocol": {"type": "ranges", "k": 32, "epsilon": 1.0}}
    assert Collection.from_record(ranges).protocol == Ranges.calibrate(32, Pure(1.0))


@pytest.mark.parametrize("protocol", QUESTIONS, ids=lambda protocol: protocol.name)
def test_every_question_returns_from_its_declaration(protocol):
    declared = Collection("x", protocol)
    assert Collection.from_record(json.loads(json.dumps(declared.to_record()))) == declared


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"format": "sfumato-collection/9"}, "format"),
        ({"protocol": None}, "protocol"),
        ({"name": ""}, "name must be"),
        ({"protocol": {"type": "magic"}}, "unknown protocol 'magic'"),
        ({"protocol": {"type": "ranges"}}, "lacks a part"),
        ({"protocol": {"type": "grr", "epsilon": 1, "m": 3}}, "needs epsilon, k"),
        ({"labels": ["a"]}, "all 4 categories"),
        ({"extra": 1}, "not extra"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(part, said):
    with pytest.raises((SchemaError, ParameterError), match=said):
        Collection.from_record({**Collection("x", GRR).to_record(), **part})


def test_tables_are_labeled_and_projected_one_by_one(tmp_path):
    one = Collector(Collection("x", Marginals.calibrate([2, 3, 2], Pure(1.0))), tmp_path / "m")
    one.add(sent(one.collection, one.collection.protocol.randomize(np.zeros((99, 3)), seeded(1))))
    assert one.estimate().consistent().sum() == pytest.approx(3)
    assert one.estimate().labels()[0] == "attribute 0 = 0, attribute 1 = 0"
    assert len(one.estimate().labels()) == len(one.estimate().values) == 16
