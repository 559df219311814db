"""The JavaScript client under Node: the same bits give the same reports, its reports follow the channel and count."""

import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from sfumato.local import add_file, new_key
from sfumato.local.client import Client
from sfumato.local.client.binding import declared_digest
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.protocols import Duchi, GeneralizedResponse, LocalHashing, OptimizedUnary, SubsetSelection
from sfumato.local.relay.relay import Relay
from sfumato.privacy.guarantees import Pure
from sfumato.randomness import seeded
from statistical import ALPHA

pytestmark = pytest.mark.node
PROGRAM = Path(__file__).with_name("answer.mjs")
CATEGORIES = (GeneralizedResponse, OptimizedUnary, LocalHashing)
LABELS = ("cat", "dog", "größe", 'a "quoted" one', "line\nbreak", "\x7f", "\u2028", "😀", "x", "other")


def answers(*jobs):
    """What the program says to each job."""
    lines = "\n".join(json.dumps({"epsilon": 31, **job}) for job in jobs) + "\n"
    done = subprocess.run(["node", str(PROGRAM)], input=lines, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def declared(protocol, labels=(), other=None, rounds=("1",), **more):
    return Collection("größe und so", protocol, labels, other, rounds=rounds, salt="7", **more)


class Given:
    """Words that were drawn beforehand, and how many were taken."""

    def __init__(self, words):
        self.words, self.taken = words, 0

    def bits64(self, count):
        self.taken += count
        return self.words[self.taken - count : self.taken]


@pytest.mark.parametrize("kind", [*CATEGORIES, Duchi], ids=lambda kind: kind.name)
def test_the_same_words_give_the_same_messages(kind):
    """Random sizes, guarantees, labels and values; header and report agree byte by byte but for the random name."""
    chance = np.random.default_rng(seeded(31).word())
    jobs, expected = [], []
    for _ in range(40):
        epsilon, k = float(chance.uniform(0.1, 6)), int(chance.integers(2, 400))
        words = seeded(int(chance.integers(2**32))).bits64(3000)
        if kind is Duchi:
            low = float(chance.uniform(-100, 100))
            held = declared(
                Duchi.calibrate(low, low + float(chance.uniform(0.1, 50)), Pure(epsilon)), rounds=("a", "ü")
            )
            values = [float(v) for v in chance.uniform(low - 5, low + 60, 12)]
        else:
            held = declared(kind.calibrate(k, Pure(epsilon)), rounds=("a", "ü"))
            values = [int(v) for v in chance.integers(0, k, 12)]
        bits = Given(words)
        client = Client(held, bits=bits)
        expected.append(([client.report(value, round="ü") for value in values], bits))
        text = json.dumps(held.to_record(), ensure_ascii=False)
        jobs.append(
            {"collection": text, "round": "ü", "values": values, "words": [str(word) for word in words.tolist()]}
        )
    for found, (messages, bits) in zip(answers(*jobs), expected, strict=True):
        assert found["words"] == bits.taken
        for mine, theirs in zip(messages, map(bytes.fromhex, found["messages"]), strict=True):
            assert (mine[:24], mine[40:]) == (theirs[:24], theirs[40:])
        assert len({message[48:80] for message in found["messages"]}) == len(messages)  # names are fresh


@pytest.mark.parametrize("kind", [GeneralizedResponse, LocalHashing], ids=lambda kind: kind.name)
def test_labels_of_all_kinds_are_understood(kind):
    held = declared(kind.calibrate(len(LABELS), Pure(30.0)), LABELS, "other")
    text = json.dumps(held.to_record(), ensure_ascii=False)
    values = [*LABELS, "unheard of", None]
    (found,) = answers({"collection": text, "values": values})
    reports = np.concatenate([held.protocol.decode(bytes.fromhex(m)[48:]) for m in found["messages"]])
    shares = [held.protocol.tally(reports[i : i + 1]) for i in range(len(values))]
    assert all(share[min(place, 9)] == 1 for place, share in enumerate(shares))


def test_reports_reach_the_collector_through_a_relay_sealed_or_not(tmp_path):
    public, values = new_key(tmp_path / "k"), [0, 1, 1, 2, 2, 2] * 5
    for place, key in (("open", None), ("sealed", public)):
        held = declared(GeneralizedResponse.calibrate(3, Pure(30.0)), rounds=("a", "ü"), batch=2, key=key)
        text = json.dumps(held.to_record(), ensure_ascii=False)
        taken, nameless = answers(
            {"collection": text, "round": "ü", "values": values}, {"collection": text, "values": [0]}
        )
        assert "only a, ü" in nameless["refused"]
        messages = [bytes.fromhex(message) for message in taken["messages"]]
        relay = Relay(held, tmp_path / f"{place}.db")
        assert all(receipt.accepted for receipt in relay.add_all(messages))
        relay.end("ü")
        (file,) = relay.deliver(tmp_path)
        collector = Collector(held, tmp_path / f"{place}.journal", key=tmp_path / "k" if key else None)
        assert [receipt.accepted for receipt in add_file(collector, file)] == [30]
        assert collector.estimate(round="ü").reports == 30
        file.unlink()
        if key:
            assert {len(message) for message in messages} == {48 + 64 + 1}
            assert len({message[48:80] for message in messages}) == 30  # a key of its own for each


def test_no_report_is_sealed_to_a_key_that_is_none(tmp_path):
    """Points of small order give the same secret to everybody."""
    protocol, small = GeneralizedResponse.calibrate(3, Pure(1.0)), (bytes(32), bytes([1]) + bytes(31))
    jobs = [declared(protocol, key=key.hex()).to_record() for key in small]
    found = answers(*({"collection": json.dumps(job, ensure_ascii=False), "values": [0]} for job in jobs))
    assert all("messages" not in one and one["refused"] for one in found)


@pytest.mark.parametrize("kind", CATEGORIES, ids=lambda kind: kind.name)
def test_its_reports_follow_the_channel_and_the_collector_takes_them(tmp_path, kind):
    """A chi-square test of 20,000 reports against the exact law; then 100,000 messages, each counted once."""
    held = declared(kind.calibrate(5, Pure(1.0)))
    text = json.dumps(held.to_record(), ensure_ascii=False)
    values = [int(v) for v in np.random.default_rng(4).choice(5, 100_000, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    (found,) = answers({"collection": text, "values": [3] * 20_000})
    reports = np.concatenate([held.protocol.decode(bytes.fromhex(m)[48:]) for m in found["messages"]])
    outputs = [row.tobytes() for row in held.protocol.outputs()]
    counts = np.array([[row.tobytes() for row in reports].count(output) for output in outputs])
    law = np.array([float(p) for p in held.protocol.channel()[3]])
    statistic = ((counts - 20_000 * law) ** 2 / (20_000 * law)).sum()
    assert ALPHA < stats.chi2.sf(statistic, len(law) - 1) < 1 - ALPHA
    (found,) = answers({"collection": text, "values": values})
    collector = Collector(held, tmp_path / "j", most=1)
    receipts = collector.add_all(map(bytes.fromhex, found["messages"]))
    assert sum(receipt.accepted for receipt in receipts) == 100_000
    low, high = collector.estimate().interval(1 - ALPHA, joint=True)
    assert np.all((low <= [0.4, 0.3, 0.15, 0.1, 0.05]) & (high >= [0.4, 0.3, 0.15, 0.1, 0.05]))
    assert collector.estimate().suspicions() == ()


def test_a_mean_is_estimated_within_its_interval(tmp_path):
    held = declared(Duchi.calibrate(0, 10, Pure(1.0)))
    values = np.random.default_rng(5).uniform(2, 7, 100_000)
    (found,) = answers({"collection": json.dumps(held.to_record()), "values": values.tolist()})
    collector = Collector(held, tmp_path / "j", most=1)
    collector.add_all(map(bytes.fromhex, found["messages"]))
    low, high = collector.estimate().interval(1 - ALPHA)
    assert low[0] - 0.01 <= values.mean() <= high[0] + 0.01


def test_what_is_wrong_is_refused_before_anything_is_drawn():
    held = declared(GeneralizedResponse.calibrate(3, Pure(1.0)), ("a", "b", "c"), rounds=("x", "y"))
    record = held.to_record()
    text = json.dumps(record)
    sets = json.dumps(declared(SubsetSelection.calibrate(40, Pure(1.0))).to_record())
    jobs = [
        {"collection": text, "values": ["a"]},
        {"collection": text, "round": "z", "values": ["a"]},
        {"collection": text, "round": "x", "values": ["unheard of"]},
        {"collection": text, "round": "x", "values": [1]},
        {"collection": json.dumps({**record, "name": "other"}), "round": "x", "values": ["a"]},
        {"collection": json.dumps({**record, "format": "sfumato-collection/1"}), "round": "x", "values": ["a"]},
        {"collection": sets, "values": [1]},
    ]
    said = [
        "no round",
        "no round z",
        "one of the labels",
        "one of the labels",
        "changed after",
        "format",
        "subset is not",
    ]
    for answer, words in zip(answers(*jobs), said, strict=True):
        assert words in answer["refused"]


@pytest.mark.parametrize("kind", [*CATEGORIES, Duchi], ids=lambda kind: kind.name)
def test_a_report_that_costs_more_than_it_may_is_not_made(kind):
    """The cost is that of the Python protocol, to nine digits; nothing is sent without a limit."""
    protocol = kind.calibrate(0, 10, Pure(1.3)) if kind is Duchi else kind.calibrate(7, Pure(1.3))
    cost, text = protocol.guarantee().epsilon, json.dumps(declared(protocol).to_record())
    jobs = [{"collection": text, "epsilon": epsilon, "values": [1]} for epsilon in (cost, cost - 1e-6, None, 0)]
    fine, *refused = answers(*jobs)
    assert len(fine["messages"]) == 1
    for answer, words in zip(refused, ("more than", "say what epsilon", "say what epsilon"), strict=True):
        assert words in answer["refused"]


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (GeneralizedResponse, {"truthful": "1"}),
        (GeneralizedResponse, {"truthful": "7/1"}),
        (GeneralizedResponse, {"truthful": "0/1"}),
        (GeneralizedResponse, {"truthful": "1/3"}),
        (GeneralizedResponse, {"k": "1"}),
        (GeneralizedResponse, {"k": "x"}),
        (OptimizedUnary, {"p": "1", "q": "0"}),
        (OptimizedUnary, {"q": "1/3"}),
        (OptimizedUnary, {"p": "1/4", "q": "1/2"}),
        (LocalHashing, {"truthful": "2/1"}),
        (LocalHashing, {"g": "6"}),
        (LocalHashing, {"g": "1"}),
        (Duchi, {"tilt": str(2**61)}),
        (Duchi, {"tilt": "0"}),
        (Duchi, {"steps": "3"}),
        (Duchi, {"low": "10.0"}),
    ],
)
def test_parameters_that_hide_nothing_or_are_none_are_refused(kind, changed):
    """A file with a digest of its own, as a hostile collector would write it."""
    protocol = kind.calibrate(0, 10, Pure(1.0)) if kind is Duchi else kind.calibrate(7, Pure(1.0))
    record = declared(protocol).to_record()
    record["protocol"] |= changed
    record["digest"] = declared_digest(record)
    (answer,) = answers({"collection": json.dumps(record), "epsilon": 1e9, "values": [1]})
    assert "refused" in answer


def test_collections_of_kept_values_are_refused():
    kept = Collection("x", GeneralizedResponse.calibrate(3, Pure(1.0)), rounds=("a", "b"), most=1)
    (answer,) = answers({"collection": json.dumps(kept.to_record()), "round": "a", "values": [1]})
    assert "keeps values" in answer["refused"]


class Unwilling(BaseHTTPRequestHandler):
    """Takes what is posted at the second try."""

    def do_POST(self):
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(503 if len(self.server.bodies) == 1 else 200)
        self.end_headers()

    def log_message(self, *parts):
        """Nothing."""


@pytest.mark.parametrize("sealed", [False, True])
def test_the_example_of_a_device_sends_the_same_bytes_until_they_are_taken_and_once_a_round(tmp_path, sealed):
    more = {"key": new_key(tmp_path / "pages.key")} if sealed else {}
    pages = declared(
        GeneralizedResponse.calibrate(3, Pure(2.0)), ("mail", "maps", "other"), "other", ("a", "b"), **more
    )
    pages.save(tmp_path / "pages.json")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Unwilling)
    server.bodies = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = Path(__file__).parents[2] / "clients" / "javascript" / "device.mjs"
    url = f"http://127.0.0.1:{server.server_port}/local/pages"
    for round in ("a", "a", "b"):  # the second time there is nothing to send
        given = ["node", str(program), str(tmp_path / "pages.json"), url, round, "mail", str(tmp_path)]
        done = subprocess.run(given, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    server.shutdown()
    server.server_close()
    first, again, second = server.bodies
    assert first == again != second
    collector = Collector(pages, tmp_path / "j", key=tmp_path / "pages.key" if sealed else None)
    assert [collector.add(message).accepted for message in (first, second)] == [1, 1]
    assert [state.reports for state in collector.journal.rounds()] == [1, 1]
