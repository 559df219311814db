"""The laws of a local protocol, run on every one of the closed list."""

import copy
import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest
from cases import CASES, NAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from looping import run_checks
from sfumato.errors import ParameterError, ReportError, SfumatoError
from sfumato.local.protocols import PROTOCOLS, Duchi, protocol_from
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.randomness import seeded
from statistical import ALPHA

UNBIASED = [case for case in CASES if case[0].goal != "distribution"]  # a maximum of likelihood: test_square.py
VECTORS = {"hypercube", "coordinates", "privunit"}
LENGTHY = [
    pytest.param(*case, marks=[pytest.mark.heavy] * (case[0].name in {*VECTORS, "tabulated"})) for case in UNBIASED
]

anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5),
    st.complex_numbers(),
    st.lists(st.one_of(st.floats(), st.none(), st.text(max_size=2)), max_size=4), st.dictionaries(st.text(), st.none()),
)  # fmt: skip


def test_every_kind_has_a_case():
    assert {protocol.name for protocol, _ in CASES} == set(PROTOCOLS)


def check_frozen_equal_and_rebuilt_from_its_record(protocol, values):
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(protocol, dataclasses.fields(protocol)[0].name, 3)
    record = json.loads(json.dumps(protocol.to_record()))
    assert protocol_from(record) == protocol == copy.deepcopy(protocol)
    assert protocol_from(record).digest == protocol.digest
    assert len({case.digest for case, _ in CASES}) == len(CASES)


def check_records_with_other_parts_are_refused(protocol, values):
    record = protocol.to_record()
    with pytest.raises(ParameterError, match="has the parts"):
        protocol_from({**record, "extra": 1})
    part = next(name for name in record if name != "type")
    with pytest.raises(ParameterError, match=part):
        protocol_from({**record, part: None})
    with pytest.raises(ParameterError, match="unknown protocol"):
        protocol_from({**record, "type": "os.system"})


def check_draws_depend_on_the_bits_alone(protocol, values):
    given_values = np.array(values * 20) if protocol.name not in VECTORS else np.array([*values] * 20)
    before = given_values.copy()
    first, again = (protocol.randomize(given_values, seeded(551)) for _ in range(2))
    other = protocol.randomize(given_values, seeded(552))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.array_equal(before, given_values)
    assert protocol.valid(first).all()
    assert len(first) == 60
    assert first.dtype == protocol.dtype
    assert first.dtype.kind == "u"


def check_reports_cross_the_wire(protocol, values):
    reports = protocol.randomize([*values] * 20, seeded(553))
    payload = protocol.encode(reports)
    assert len(payload) == 60 * protocol.report_bytes
    assert np.array_equal(protocol.decode(payload), reports)
    assert protocol.decode(b"").shape[0] == 0
    if protocol.report_bytes > 1:
        with pytest.raises(ReportError, match="truncated"):
            protocol.decode(payload[:-1])


def check_tallies_of_pieces_add_up(protocol, values):
    reports = protocol.randomize([*values] * 700, seeded(554))
    whole = protocol.tally(reports)
    assert whole.shape == (protocol.cells,)
    assert whole.dtype == np.int64
    parts = [protocol.tally(reports[a:b]) for a, b in ((0, 1), (1, 256), (256, 2100))]
    assert np.array_equal(sum(parts), whole)
    assert np.array_equal(protocol.tally(reports[:0]), np.zeros(protocol.cells))


@settings(deadline=None, max_examples=25)
@given(people=st.lists(anything, min_size=1, max_size=6))
def check_no_value_raises_and_each_gives_one_report(protocol, values, people):
    reports = protocol.randomize(people, seeded(555))
    assert len(reports) == len(people)
    assert protocol.valid(reports).all()
    assert len(protocol.coerce(people)) == len(people)


def check_bad_values_count_as_the_rule_says(protocol, values):
    """The last category; the middle of an interval; the vector of middles: the same draws as if it had been given."""
    stand_in = {"frequencies": getattr(protocol, "k", 0) - 1, "mean": 1.0, "distribution": 1.0, "means": [0.0] * 3}
    for bad in (None, "x", float("nan"), [None]):
        drawn, expected = (protocol.randomize([v], seeded(556)) for v in (bad, stand_in[protocol.goal]))
        assert np.array_equal(drawn, expected)


@pytest.mark.parametrize(("protocol", "values"), LENGTHY, ids=[protocol.name for protocol, _ in UNBIASED])
def test_estimates_are_unbiased_with_the_variance_that_is_stated(protocol, values):
    """1,500 collections of 40 people each: the mean and the spread of each estimate, at level ALPHA.

    Power: the mean is known to 1/39 of a standard deviation, the variance to 3.7 %: half of it is refused.
    """
    runs, people = 1_500, 40
    held = [values[i % len(values)] for i in range(people)]
    reports = protocol.randomize(held * runs, seeded(557))
    pieces = np.split(reports, runs)
    found = np.array([protocol.estimate(protocol.tally(piece), people) for piece in pieces])
    truth, claimed = truth_of(protocol, held)
    variance = protocol.variance(people, claimed)
    assert np.all(variance <= protocol.variance(people) * (1 + 1e-9))
    if len(truth) > 100:  # of a thousand categories those that somebody holds: the others are too rare
        found, truth, variance = found[:, values], truth[list(values)], variance[list(values)]
    score = (found.mean(axis=0) - truth) / np.sqrt(variance / runs)
    assert np.all(np.abs(score) <= stats.norm.isf(ALPHA / (2 * score.size)))
    ratio = found.var(axis=0) / variance
    reach = stats.norm.isf(ALPHA / (2 * ratio.size)) * np.sqrt((stats.kurtosis(found, axis=0) + 2) / runs)
    assert np.all(np.abs(ratio - 1) <= reach + 2 / runs)
    assert np.all(reach < 0.35)


def truth_of(protocol, held):
    """The means that are estimated, and what `variance` takes."""
    if protocol.goal == "frequencies":
        shares = np.bincount(held, minlength=protocol.k) / len(held)
        return shares, shares
    if protocol.name == "privunit":
        rows = np.array(held, dtype=float)
        return (rows / np.maximum(1, np.linalg.norm(rows, axis=1))[:, None]).mean(axis=0), held
    if protocol.goal == "mean" and hasattr(protocol, "lattice"):
        places = protocol.coerce(held) / protocol.lattice
        return np.array([protocol.low + places.mean() * (protocol.high - protocol.low)]), held
    return np.array([np.mean(held, axis=0)]).reshape(-1), held


def check_words_say_what_leaves_and_no_value(protocol, values):
    assert 20 < len(protocol.words()) < 400
    assert math.isfinite(protocol.guarantee().epsilon)


def check_frames_and_loose_objects_are_read_alike(protocol, values):
    """A column, an array, a list, and an array of objects give the same reports from the same bits."""
    held = [*values] * 3
    loose = np.empty(len(held), dtype=object)
    loose[:] = held
    forms = [held, tuple(held), loose, np.array(held)]
    forms += [] if protocol.name in VECTORS else [pd.Series(held)]
    drawn = [protocol.randomize(form, seeded(558)) for form in forms]
    assert all(np.array_equal(drawn[0], other) for other in drawn[1:])


LAWS = (
    check_frozen_equal_and_rebuilt_from_its_record,
    check_records_with_other_parts_are_refused,
    check_draws_depend_on_the_bits_alone,
    check_reports_cross_the_wire,
    check_tallies_of_pieces_add_up,
    check_no_value_raises_and_each_gives_one_report,
    check_bad_values_count_as_the_rule_says,
    check_words_say_what_leaves_and_no_value,
    check_frames_and_loose_objects_are_read_alike,
)


@pytest.mark.parametrize(("protocol", "values"), CASES, ids=NAMES)
def test_a_protocol_keeps_every_law(protocol, values):
    run_checks(LAWS, protocol=protocol, values=values)


def test_no_law_is_left_out():
    assert {name for name in globals() if name.startswith("check_")} == {law.__name__ for law in LAWS}


def test_a_part_written_as_a_whole_number_is_the_same_protocol():
    assert Duchi(0, 1, 4, 5).digest == Duchi(0.0, 1.0, 4, 5).digest


@pytest.mark.parametrize("name", sorted(PROTOCOLS))
def test_other_targets_are_refused(name):
    kind = PROTOCOLS[name]
    domain = {"frequencies": (10,), "mean": (0, 1), "distribution": (0, 1), "means": (3, 0, 1)}[kind.goal]
    for target, reason in ((Concentrated(1.0), "pure or approximate"), (Pure(0.0), "epsilon must be positive")):
        with pytest.raises(SfumatoError, match=reason):
            kind.calibrate(*(domain if name != "privunit" else (3,)), target)


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 7)])
def test_only_the_shape_of_an_array_is_refused(shape):
    for protocol, _ in CASES:
        with pytest.raises(ParameterError, match="values must"):
            protocol.randomize(np.zeros(shape), seeded(1))
