"""What a device may answer with: labels where there are labels, values of the domain, and nothing else."""

import json
import math
import random
import re
from pathlib import Path

import numpy as np
import pytest
from cases import CASES, CATEGORIES, NAMES, NUMBERS
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError, SchemaError
from sfumato.local.client import Budget, Client, decode_batch
from sfumato.local.client.wire import HEADER
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import FORMAT, Collection
from sfumato.local.protocols import Duchi, GeneralizedResponse, OptimizedUnary
from sfumato.local.protocols.owned import Names
from sfumato.local.questions import Marginals, Ranges, Sets
from sfumato.local.questions.longitudinal import Diary, Longitudinal
from sfumato.privacy.guarantees import Pure

ODD = [
    "Sales", "0", "", b"0", None, True, np.True_, math.nan, np.float32("nan"), 2.5, -1, 10, 10**400, math.inf,
    object(), [0], {"a": 1}, 1 + 0j,
]  # fmt: skip
DEPARTMENTS = ("Sales", "Support", "Research", "3", "0")
texts = st.text(max_size=6) | st.sampled_from(DEPARTMENTS)


def certain(k):
    """A response that hardly ever lies, so that one report shows the category."""
    return GeneralizedResponse.calibrate(k, Pure(30.0))


def told(client, value):
    return int(client.protocol.decode(client.report(value)[HEADER.size :])[0])


# labels
@given(labels=st.lists(texts, min_size=2, max_size=8, unique=True), data=st.data())
def test_a_label_is_its_own_category(labels, data):
    client = Client(Collection("x", certain(len(labels)), tuple(labels)))
    for label in data.draw(st.permutations(labels)):
        assert told(client, label) == labels.index(label)


@given(labels=st.lists(texts, min_size=2, max_size=8, unique=True), data=st.data())
def test_an_unknown_text_is_other_where_declared_and_else_refused_never_the_last(labels, data):
    unknown = data.draw(st.none() | st.just(math.nan) | texts.filter(lambda text: text not in labels))
    other = data.draw(st.sampled_from(labels))
    assert told(Client(Collection("x", certain(len(labels)), tuple(labels), other)), unknown) == labels.index(other)
    budget = Budget(Pure(99.0))
    with pytest.raises(ParameterError, match=r"one of the .* labels.*nothing was spent and nothing sent"):
        Client(Collection("x", certain(len(labels)), tuple(labels)), budget=budget).report(unknown)
    assert budget.remaining() == Pure(99.0)


@pytest.mark.parametrize("other", [None, "Support"])
def test_the_description_names_what_unknown_values_become(other):
    text = Client(Collection("x", certain(5), DEPARTMENTS, other)).describe()
    assert ("unknown or missing is reported as 'Support'" in text) == (other is not None)


@pytest.mark.parametrize("value", [3, 0, 1.0, True, np.int64(2), b"Sales", ["Sales"], object()])
@pytest.mark.parametrize("other", [None, "Support"])
def test_a_position_is_no_label(value, other):
    """The labels "3" and "0" are not in places 3 and 0: a program that mixes the two is told, whatever the value."""
    with pytest.raises(ParameterError, match="labels"):
        Client(Collection("x", certain(5), DEPARTMENTS, other)).report(value)


def test_from_a_label_on_the_device_to_its_share(tmp_path):
    """Two thousand devices, each share within five standard deviations of what was said: false alarms below 1e-5."""
    Collection("x", OptimizedUnary.calibrate(5, Pure(4.0)), DEPARTMENTS).save(tmp_path / "x.json")
    client, draws = Client(Collection.read(tmp_path / "x.json")), random.Random(5)
    said = draws.choices(DEPARTMENTS, weights=(6, 2, 1, 1, 0), k=2_000)
    collector = Collector(Collection.read(tmp_path / "x.json"), tmp_path / "x.journal")
    collector.add_all([client.report(value) for value in said])
    found = collector.estimate()
    truth = np.array([said.count(label) / len(said) for label in DEPARTMENTS])
    deviations = np.sqrt(found.collection.protocol.variance(len(said), truth))
    assert np.all(np.abs(found.values - truth) < 5 * deviations)


# values of the domain
@pytest.mark.parametrize(("protocol", "values"), CASES, ids=NAMES)
def test_every_protocol_takes_its_domain_and_refuses_the_rest(protocol, values):
    for value in values:
        assert len(decode_batch(protocol, Client(protocol).report(value))) == 1
    for value in ODD:
        number = type(value) in (int, float) and value == value
        if number and (values is NUMBERS or (values is CATEGORIES and value == 10 < protocol.k)):
            assert len(decode_batch(protocol, Client(protocol).report(value))) == 1  # clipped, as documented
            continue
        budget = Budget(Pure(50.0, assumptions=protocol.guarantee().assumptions))
        with pytest.raises(ParameterError, match=r"a value must be .*nothing was spent and nothing sent") as caught:
            Client(protocol, budget=budget).report(value)
        assert "Sales" not in str(caught.value)
        assert caught.value.__context__ is None
        assert budget.remaining().epsilon == 50


@given(k=st.integers(2, 300), place=st.integers(-5, 305))
def test_a_position_is_itself_or_refused(k, place):
    client = Client(certain(k))
    if 0 <= place < k:
        assert told(client, place) == told(client, float(place)) == place
    else:
        with pytest.raises(ParameterError, match=f"from 0 to {k - 1}"):
            client.report(place)


def test_vectors_need_every_number():
    protocol = next(protocol for protocol, _ in CASES if protocol.name == "hypercube")
    for value in ([0.0, math.nan, 0.0], [0.0, "1", 0.0], [0.0, None, 0.0], [0.0, True, 0.0], [0.0], np.zeros((3, 1))):
        with pytest.raises(ParameterError, match="a list of 3 numbers, none missing"):
            Client(protocol).report(value)


def test_the_larger_questions_take_lists_of_labels_or_positions():
    names = ("mail", "maps", "music", "rest")
    sets = Collection("apps", Sets.calibrate(4, Pure(1.0), size=2), names, "rest")
    assert sets.protocol.owned({"maps"}, Names(names)) == [1]
    assert sets.protocol.owned(["maps", "unheard of"], Names(names, "rest")) == [1, 3]
    for client, good, bad in [
        (Client(sets), ["mail", "maps"], "mail"),
        (Client(sets.protocol), {0, 3}, [0, 4]),
        (Client(Collection("apps", sets.protocol, names)), [], ["unheard of"]),
        (Client(Marginals.calibrate([2, 3], Pure(1.0))), [1, 2], [2, 1]),
        (Client(Marginals.calibrate([2, 3], Pure(1.0))), (0, 0), [0]),
        (Client(Collection("sizes", Ranges.calibrate(3, Pure(1.0)), ("S", "M", "L"))), "M", "XL"),
    ]:
        assert client.report(good)
        with pytest.raises(ParameterError, match="nothing was spent and nothing sent"):
            client.report(bad)


def test_a_diary_refuses_before_it_remembers(tmp_path):
    diary = Diary(Longitudinal(certain(4), 2), tmp_path / "diary")
    for value in ("Sales", None, 4, True, math.nan):
        with pytest.raises(ParameterError, match="from 0 to 3"):
            diary.report(value)
    assert list(tmp_path.iterdir()) == []
    named = Diary(Longitudinal(certain(5), 3), tmp_path / "named", labels=DEPARTMENTS, other="3")
    sent = [decode_batch(certain(5), named.report(value)).reports[0] for value in ("Research", "0", "unheard of")]
    assert sent == [2, 4, 3]


# the declaration
def test_a_collection_without_other_is_written_and_digested_as_before():
    plain = Collection("x", certain(2), ("a", "b"), bound=False)
    assert plain.to_record()["format"] == "sfumato-collection/1"
    assert "other" not in plain.to_record()
    declared = Collection("x", certain(2), ("a", "b"), "b", bound=False)
    assert declared.to_record()["format"] == "sfumato-collection/2"
    assert Collection("x", certain(2), ("a", "b"), "b").to_record()["format"] == FORMAT == "sfumato-collection/3"
    for one in (plain, declared):
        assert Collection.from_record(json.loads(json.dumps(one.to_record()))) == one
    assert declared.digest != plain.digest


def test_other_must_be_a_label_and_belongs_to_its_format():
    with pytest.raises(ParameterError, match="other must be one of the labels"):
        Collection("x", certain(2), ("a", "b"), "c")
    with pytest.raises(ParameterError, match="labels must be texts"):
        Collection("x", certain(2), ("a", 1))
    record = Collection("x", certain(2), ("a", "b"), "b", bound=False).to_record()
    with pytest.raises(SchemaError, match="not other"):
        Collection.from_record({**record, "format": "sfumato-collection/1"})


def test_a_declaration_written_by_hand_names_other(tmp_path):
    """The file of the guide, word for word."""
    guide = (Path(__file__).parent.parent.parent / "docs/guide/local.md").read_text()
    (block,) = re.findall(r"^```toml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    (tmp_path / "start.toml").write_text(block)
    declared = Collection.read(tmp_path / "start.toml")
    assert (declared.other, declared.labels[-1], declared.protocol.k) == ("other", "other", 5)
    assert len(Client(declared).report("unheard of")) == 49


def test_a_text_of_digits_is_told_to_be_no_number():
    with pytest.raises(ParameterError, match="a text is no number, even one of digits"):
        Client(Collection("age", Duchi.calibrate(0, 120, Pure(1.0)))).report("12")
