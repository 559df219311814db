"""What a shuffle buys a protocol: never less than its exact channel proves, and what the guide promises."""

import math

import numpy as np
import pytest

from sfumato.accounting.channels import Channel
from sfumato.accounting.shuffling import shuffled
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.local.choosing import choose
from sfumato.local.collection.central import central
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate
from sfumato.local.protocols import (
    Duchi,
    GeneralizedResponse,
    LocalHashing,
    OptimizedUnary,
    Rappor,
    SubsetSelection,
    SymmetricUnary,
)
from sfumato.local.protocols.protocol import LocalProtocol
from sfumato.local.questions import Marginals, Ranges, Sets
from sfumato.numeric import shown_up
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.randomness import seeded

KINDS = (GeneralizedResponse, OptimizedUnary, SymmetricUnary, Rappor, SubsetSelection, LocalHashing)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_protocols_own_blanket_is_that_of_its_exact_channel(kind):
    """Channels written out, whatever their symmetry, by the blankets of all pairs of rows; random k, epsilon."""
    chance = np.random.default_rng(seeded(21).word())
    for _ in range(3):
        k, epsilon, n = int(chance.integers(3, 6)), float(chance.uniform(0.3, 3)), int(chance.integers(200, 5000))
        protocol = kind.calibrate(k, Pure(epsilon))
        exact = shuffled(Channel(protocol.channel()), n, 1e-6).epsilon
        general = shuffled(protocol.guarantee().epsilon, n, 1e-6).epsilon
        found = central(protocol, n, 1e-6).epsilon
        least = min(exact, general)  # of hash functions that are constant more is hidden, which is left out
        assert (1 - 1e-3) * least <= found <= (1.02 if kind is LocalHashing else 1 + 1e-3) * least


def test_what_is_stated_where_a_shuffle_was_planned_for():
    """20,000 owners, epsilon 4, 200 values: at most 0.13; 0.281 by what holds for any protocol."""
    protocol = choose(200, Pure(4.0), 20_000, shuffled=1e-6).protocol
    collection = Collection("x", protocol)
    reports = protocol.randomize(np.arange(20_000) % 200, seeded(1))
    estimate = Estimate(collection, "1", 20_000, protocol.tally(reports), {})
    claim = estimate.central(1e-6)
    assert claim.epsilon <= 0.13
    assert claim.assumptions == {"honest-reports"}
    assert shuffled(4.0, 20_000, 1e-6).epsilon > 0.28
    assert ", if a relay shuffles and the others report honestly" in estimate.words()
    assert "(" not in estimate.words().split("shuffled")[1].split("\n")[0]


def test_maps_have_the_blanket_of_what_they_map_to():
    sets = Sets.calibrate(4, Pure(1.0), size=2)
    assert central(sets, 1000, 1e-6) == central(sets.inner, 1000, 1e-6)


def test_what_shuffling_cannot_help_is_refused():
    with pytest.raises(UnsupportedQuery, match="pure local privacy"):
        central(GeneralizedResponse.calibrate(3, Approximate(1.0, 1e-3)), 1000, 1e-6)
    with pytest.raises(ParameterError, match="at least 1"):
        central(GeneralizedResponse.calibrate(3, Pure(1.0)), 0, 1e-6)


def estimate_of(protocol: LocalProtocol, reports: int) -> Estimate:
    """An estimate from a few reports that count many times."""
    drawn = protocol.randomize(EXAMPLES.get(protocol.name, np.zeros)(50), seeded(2))
    return Estimate(Collection("x", protocol), "1", reports, protocol.tally(drawn) * (reports // 50), {})


EXAMPLES = {
    "marginals": lambda n: np.zeros((n, 2), dtype=np.int64),
    "sets": lambda n: [[0]] * n,
    "coordinates": lambda n: np.zeros((n, 3)),
}


@pytest.mark.parametrize("names", ["grr", pytest.param("", marks=pytest.mark.heavy)])
def test_no_side_figure_hides_an_estimate(names):
    """`print(estimate)` took the logarithm of 0, or asked for 17 GB, at epsilon 8."""
    kinds = {
        "grr": lambda claim: GeneralizedResponse.calibrate(40, claim),
        "subset": lambda claim: SubsetSelection.calibrate(40, claim),
        "olh": lambda claim: LocalHashing.calibrate(40, claim),
        "oue": lambda claim: OptimizedUnary.calibrate(40, claim),
        "duchi": lambda claim: Duchi.calibrate(0, 1, claim),
        "ranges": lambda claim: Ranges.calibrate(20, claim),
        "sets": lambda claim: Sets.calibrate(20, claim, size=2),
        "marginals": lambda claim: Marginals.calibrate([2, 3], claim),
    }
    for name in names.split() or kinds:
        calibrate = kinds[name]
        for epsilon, reports in ((0.1, 50), (8.0, 100_000), (20.0, 10_000), (50.0, 100_000)):
            words = str(estimate_of(calibrate(Pure(epsilon)), reports))
            assert "not computed" not in words, (name, epsilon)
            assert "SUSPICIOUS" in words or "shuffled" in words, (name, epsilon)


def test_one_report_is_not_hidden_and_says_so():
    claim = central(GeneralizedResponse.calibrate(3, Pure(1.0)), 1, 1e-6)
    assert 1 - 1e-5 <= claim.epsilon <= 1.0
    assert central(Duchi.calibrate(0, 1, Pure(32.0)), 1000, 1e-6).epsilon <= 32
    words = str(estimate_of(GeneralizedResponse.calibrate(3, Pure(20.0)), 100))
    assert "too few reports to hide one at this epsilon" in words


def test_a_side_figure_that_cannot_be_computed_is_said(monkeypatch):
    estimate = estimate_of(GeneralizedResponse.calibrate(3, Pure(1.0)), 1000)
    monkeypatch.setattr(Estimate, "central", lambda self, delta: 1 / 0)
    monkeypatch.setattr(Estimate, "certificate", lambda self: math.log(0))
    words = str(estimate)
    assert words.count("not computed") == 2
    assert "standard error" in words


# over all rounds


def test_the_promise_over_all_rounds_is_stated_in_each_estimate():
    protocol = GeneralizedResponse.calibrate(3, Pure(0.5))
    days = tuple(f"day {i}" for i in range(30))
    fresh, kept = Collection("x", protocol, rounds=days), Collection("x", protocol, rounds=days, most=3)
    one = protocol.guarantee().epsilon
    assert fresh.history().epsilon == pytest.approx(30 * one)
    assert kept.history().epsilon == pytest.approx(3 * one)
    rappor = Rappor.calibrate(4, Pure(2.0))
    assert Collection("x", rappor, rounds=days, most=2).history() == rappor.forever().group(2)
    assert Collection.from_record(kept.to_record()) == kept
    tally = protocol.tally(protocol.randomize([0] * 50, seeded(1)))
    assert "over all 30 rounds, 3 values of an owner" in Estimate(kept, "day 0", 50, tally, {}).words()
    assert (
        f"epsilon {shown_up(fresh.history().epsilon, 3)} over all 30 rounds"
        in Estimate(fresh, "day 0", 50, tally, {}).words()
    )
    assert " in one round, if a relay" in Estimate(kept, "day 0", 50, tally, {}).words()  # kept ones return in others
    assert " in one round (over all" in Estimate(fresh, "day 0", 50, tally, {}).words()
    assert "history" not in Estimate(Collection("x", protocol), "1", 50, tally, {}).words()
    for wrong in (0, 31, 2.0, True, "3"):
        with pytest.raises(ParameterError, match="most must be a number of values"):
            Collection("x", protocol, rounds=days, most=wrong)
