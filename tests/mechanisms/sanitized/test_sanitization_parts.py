"""Randomizers of single columns: exact channels against their claims, laws of their draws, unbiased readings."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.accounting.channels import Channel
from sfumato.auditing import audit
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.mechanisms.noise.gauges import BALL, CUBE
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.categories import Responses, points
from sfumato.mechanisms.sanitized.numbers import Noised
from sfumato.mechanisms.sanitized.sets import Flipped
from sfumato.mechanisms.sanitized.tails import bounded_sum, noise_sum
from sfumato.queries.sanitized import together
from sfumato.randomness import seeded
from sfumato.sampling import CubeNoise, DiscreteLaplace, RoundedNormal
from statistical import assert_law, assert_probability

TARGETS = [sf.Pure(0.3), sf.Pure(2.0), sf.Approximate(1.0, 0.05), sf.Approximate(2.0, 1e-6)]
epsilons = st.floats(0.05, 8.0)


def response_channel(part):
    """The exact matrix of randomized response."""
    p, size = part.response.p, part.size
    return Channel([[1 - p * (size - 1) if x == y else p for y in range(size)] for x in range(size)])


def set_channel(part):
    """The exact matrix of flipped bits, over all sets of at most `cap` items and all published sets."""
    p, items = part.response.p, len(part.space.of)
    inputs = [x for x in range(1 << items) if x.bit_count() <= part.space.cap]
    return Channel([
        [p ** (x ^ y).bit_count() * (1 - p) ** (items - (x ^ y).bit_count()) for y in range(1 << items)] for x in inputs
    ])  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("space", [sf.Categories(["a", "b"]), sf.Categories(range(9), missing=9), sf.Integers(0, 6)])
def test_responses_meet_their_claim_exactly_and_waste_nothing(space, target):
    part = Responses.calibrate("c", space, target)
    channel = response_channel(part)
    assert channel.verify(part.guarantee()).holds
    assert part.guarantee().implies(target)
    delta = getattr(target, "delta", 0.0)
    assert channel.epsilon(delta) == pytest.approx(target.epsilon, rel=1e-9)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("cap", [1, 2, 4])
def test_flipped_sets_meet_their_claim_exactly(cap, target):
    part = Flipped.calibrate("h", sf.Subsets(["a", "b", "c", "d"], cap=cap), target)
    assert part.guarantee().implies(target)
    channel = set_channel(part)
    assert channel.verify(part.guarantee()).holds
    if isinstance(target, sf.Pure):
        assert channel.epsilon() == pytest.approx(target.epsilon, rel=1e-9)


def test_a_set_flipped_as_if_one_item_could_change_breaks_its_claim():
    whole = Flipped.calibrate("h", sf.Subsets(["a", "b", "c"], cap=1), sf.Pure(1.0))
    careless = Flipped(
        "h", sf.Subsets(["a", "b", "c"], cap=1), Responses.calibrate("b", sf.Integers(0, 1), sf.Pure(1.0)).response
    )
    assert set_channel(whole).verify(sf.Pure(1.0)).holds
    assert set_channel(careless).verify(sf.Pure(1.0)).holds is False


@pytest.mark.parametrize(("epsilon", "delta", "scale"), [(0.1, 0.1, 9642), (2, 0.5, 885), (11, 0.7, 223)])
def test_numbers_have_the_least_scale_of_table_2(epsilon, delta, scale):
    part = Noised.calibrate("x", sf.Integers(0, 2996), sf.Approximate(epsilon, delta))
    assert part.mechanism.scale == pytest.approx(scale, abs=1.0)


@pytest.mark.parametrize(("epsilon", "delta", "keep"), [(0.1, 0.1, 0.12), (2, 0.5, 0.57), (7, 0.6, 0.98)])
def test_categories_keep_the_truth_as_in_table_5(epsilon, delta, keep):
    space = sf.Categories([f"state {i}" for i in range(47)], other="state 47", missing="state 47")
    assert round(Responses.calibrate("state", space, sf.Approximate(epsilon, delta)).response.keep, 2) == keep


@given(epsilons, st.integers(1, 400))
def test_numbers_claim_what_the_ratio_of_probabilities_says(epsilon, width):
    part = Noised.calibrate("x", sf.Integers(0, width), sf.Pure(epsilon))
    assert part.guarantee().implies(sf.Pure(epsilon))
    assert width / part.mechanism.scale <= part.guarantee().epsilon


@pytest.mark.parametrize("basis", [None, 2])
@pytest.mark.parametrize("target", [sf.Pure(1.0), sf.Approximate(1.0, 1e-6)])
def test_blocks_move_no_further_than_they_claim(basis, target):
    """All corners of the cube of records: distances of what is noised stay within the claimed sensitivities."""
    columns = [f"x{i}" for i in range(5)]
    schema = sf.Schema({name: sf.Interval(0, 1, 0.01) for name in columns})
    block = Block.calibrate(together(*columns, basis=basis), schema, target)
    corners = np.array(np.meshgrid(*[[0, 100]] * 5)).reshape(5, -1).T
    held = block.held(corners)
    moved = np.abs(held[:, None] - held[None]).reshape(-1, held.shape[1])
    claimed = block._moved
    assert moved.max() <= claimed.linf
    assert moved.sum(axis=1).max() <= claimed.l1
    assert np.sqrt((moved**2).sum(axis=1)).max() <= claimed.l2
    assert block.guarantee().implies(target)
    if basis is None:
        assert moved.max() == claimed.linf


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 24), st.integers(1, 8), st.integers(1, 10**9), st.integers(0, 2**32))
def test_what_a_record_holds_depends_on_that_record_alone(points, basis, width, seed):
    """Whatever batch it stands in, and in whatever order; and within the claim of every other record."""
    columns = [f"x{i}" for i in range(points)]
    schema = sf.Schema({name: sf.Integers(0, width) for name in columns})
    block = Block.calibrate(together(*columns, basis=min(basis, points)), schema, sf.Approximate(1.0, 1e-6))
    rng = np.random.default_rng(seed)
    records = rng.integers(0, width + 1, (300, points)) * (rng.random((300, points)) < 0.9)
    together_, alone = block.held(records), np.concatenate([block.held(record[None]) for record in records])
    assert (together_ == alone).all()
    assert (block.held(records[::-1])[::-1] == together_).all()
    moved = np.abs(together_[:100, None] - together_[None, 100:]).reshape(-1, together_.shape[1]).astype(object)
    claimed = block._moved
    assert moved.max() <= claimed.linf
    assert moved.sum(axis=1).max() <= claimed.l1
    assert (moved**2).sum(axis=1).max() <= Fraction(claimed.l2) ** 2


def test_the_best_law_of_a_block_depends_on_delta():
    schema = sf.Schema({f"x{i}": sf.Interval(0, 1, 0.01) for i in range(100)})
    image = together(*schema.columns)
    assert Block.calibrate(image, schema, sf.Pure(1.0)).law.name == "cube"
    assert Block.calibrate(image, schema, sf.Approximate(1.0, 1e-6)).law.name == "normal"


@pytest.mark.parametrize(("points", "basis", "ratio"), [(24, 4, 1.6), (24, 8, 2.9), (96, 12, 4.2)])
def test_curves_draw_ball_noise_of_less_variance_than_the_cube(points, basis, ratio):
    schema = sf.Schema({f"x{i}": sf.Interval(0, 1, 0.001) for i in range(points)})
    block = Block.calibrate(together(*schema.columns, basis=basis), schema, sf.Pure(1.0))
    assert block.law is BALL
    scale, _ = CUBE.calibrate(block._moved.linf, sf.Pure(1.0))
    cube = Block.from_record(block.to_record() | {"law": "cube", "scale": scale}, schema)
    assert cube.noise.variance > ratio * block.noise.variance
    assert cube.guarantee() == block.guarantee() == sf.Pure(1.0)  # what was stored with cube noise claims what it did
    assert Block.from_record(block.to_record(), schema) == block


@pytest.mark.heavy
def test_audit_of_a_curve_tells_the_claim_from_half_the_noise():
    """The two records farthest apart, seen through the difference of the distances from what they hold."""
    schema = sf.Schema({f"x{i}": sf.Integers(0, 50) for i in range(6)})
    block = Block.calibrate(together(*schema.columns, basis=3), schema, sf.Pure(1.0))
    near, off = np.zeros((1, 6), dtype=np.int64), np.full((1, 6), 50)
    centers = block.held(near)[0], block.held(off)[0]

    def run(shrink):
        weak = Block(block.group, block.spaces, block.law, block.scale / shrink)

        def distance(data, rng):
            seen = weak.release(np.repeat(off if len(data) else near, 2, axis=0), rng)[0]
            return float(np.linalg.norm(seen - centers[0]) - np.linalg.norm(seen - centers[1]))

        return distance

    assert block.law is BALL
    assert not audit(run(1), block.guarantee(), pairs=[([0], [])], seconds=0.4, generator=seeded).refuted
    assert audit(run(2), block.guarantee(), pairs=[([0], [])], seconds=6, generator=seeded).refuted


def test_leading_waves_carry_less_noise_to_each_point():
    schema = sf.Schema({f"x{i}": sf.Interval(0, 1, 0.001) for i in range(24)})
    plain = Block.calibrate(together(*schema.columns), schema, sf.Approximate(1.0, 1e-6))
    smooth = Block.calibrate(together(*schema.columns, basis=4), schema, sf.Approximate(1.0, 1e-6))
    assert smooth.spread < 0.2 * plain.spread
    flat = np.full((50, 24), 500)
    found = smooth.points(smooth.release(flat, seeded(31)))
    assert np.abs(found.mean(axis=0) - 500).max() < 6 * math.sqrt(smooth.spread / 50) * 1000 + 1


def test_draws_follow_the_laws_that_the_claims_speak_of():
    """200,000 draws each: a keep probability or a scale 1 % off is refused (see `assert_law`)."""
    count = 200_000
    part = Responses.calibrate("c", sf.Categories(["a", "b", "c"], other="d", missing="d"), sf.Pure(1.0))
    drawn = part.release(np.full((count, 1), 2), seeded(32))[:, 0]
    assert_probability(int((drawn == 2).sum()), count, part.response.keep)
    assert_probability(int((drawn == 0).sum()), count, float(part.response.p))
    sets = Flipped.calibrate("h", sf.Subsets(["a", "b", "c"], cap=1), sf.Pure(2.0))
    bits = sets.release(np.full((count, 1), 0b010), seeded(33))[:, 0]
    for place, held in enumerate((False, True, False)):
        p = float(sets.response.p)
        assert_probability(int(((bits >> place) & 1).sum()), count, 1 - p if held else p)
    number = Noised.calibrate("x", sf.Integers(0, 10), sf.Pure(2.0))
    noise = number.release(np.full((count, 1), 7), seeded(34))[:, 0] - 7
    assert_law(noise, number.noise.pmf, (DiscreteLaplace(number.noise.scale * 1.05).pmf,))


def variance_of(part, reading, truth, count, seed):
    """Mean and variance of a reading over many draws of one record."""
    drawn = part.release(np.full((count, 1), truth), seeded(seed))[:, 0]
    values = reading[0](drawn)
    assert values.min() >= reading[1] - 1e-9
    assert values.max() <= reading[2] + 1e-9
    return values.mean(), values.var()


@pytest.mark.parametrize("truth", [0, 2, 5])
def test_readings_are_unbiased_and_within_their_variance(truth):
    """20,000 draws, six standard errors: a reading biased by 6 sqrt(v / 20,000) is refused."""
    count = 20_000
    wanted = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 0.3])
    number = sf.Integers(0, 5)
    cases = [
        (Responses.calibrate("c", number, sf.Pure(1.0)), lambda p: p.reading(wanted), wanted[truth]),
        (Noised.calibrate("x", number, sf.Pure(4.0)), lambda p: p.reading(1, 3), float(1 <= truth <= 3)),
        (Noised.calibrate("x", number, sf.Pure(4.0)), lambda p: p.reading(0, 2), float(truth <= 2)),
        (Flipped.calibrate("h", sf.Subsets(["a", "b", "c"], cap=3), sf.Pure(3.0)), lambda p: p.reading("b"),
         float(truth >> 1 & 1)),
    ]  # fmt: skip
    for seed, (part, made, expected) in enumerate(cases):
        reading = made(part)
        mean, variance = variance_of(part, reading, truth, count, 40 + seed)
        assert abs(mean - expected) <= 6 * math.sqrt(reading[3] / count)
        assert variance <= reading[3] * 1.1


@given(epsilons, st.integers(0, 12), st.integers(0, 12))
def test_the_second_difference_inverts_the_laplace_law_exactly(epsilon, low, truth):
    """E h(x + Z) computed from the probability function equals the indicator to floating accuracy."""
    part = Noised.calibrate("x", sf.Integers(0, 12), sf.Pure(max(epsilon, 0.5)))
    reach = int(60 * part.noise.scale) + 20
    z = np.arange(-reach, reach + 1)
    law = np.array([part.noise.pmf(int(v)) for v in z])
    read, _, _, _ = part.reading(low, 12)
    assert float((law * read(truth + z)).sum()) == pytest.approx(
        float(truth >= low), abs=1e-6 * (1 + part.noise.scale**2)
    )


@pytest.mark.parametrize("noise", [DiscreteLaplace(30.0), RoundedNormal(12.0), CubeNoise(3.0, 4)])
def test_sums_of_noise_stay_within_their_half_width(noise):
    """2,000 sums of 50 draws at beta = 0.2: the bound may not be exceeded more often than that."""
    drawn = (
        noise.sample((2000, 50), seeded(51))
        if not isinstance(noise, CubeNoise)
        else noise.sample(100_000, seeded(51))[:, 0].reshape(2000, 50)
    )
    missed = int((np.abs(drawn.sum(axis=1)) > noise_sum(noise, 50, 0.2)).sum())
    assert missed <= 400
    if isinstance(noise, DiscreteLaplace):
        assert missed >= 20  # and it is not idle


def test_bounded_sums_use_the_variance_where_it_helps():
    assert bounded_sum(10_000, 0.0, 30.0, 0.05, variance=1.0) < 0.2 * bounded_sum(10_000, 0.0, 30.0, 0.05)
    assert bounded_sum(100, 0.0, 1.0, 0.05, variance=0.25) <= bounded_sum(100, 0.0, 1.0, 0.05)


def test_bad_groups_are_refused_with_the_fix():
    schema = sf.Schema({"x": sf.Interval(0, 1, 0.1), "y": sf.Interval(0, 2, 0.1), "c": sf.Categories(["a", "b"])})
    with pytest.raises(ParameterError, match="at least two"):
        together("x")
    with pytest.raises(ParameterError, match="basis must be from 1 to"):
        together("x", "y", basis=3)
    with pytest.raises(SchemaError, match="equally many steps"):
        Block.calibrate(together("x", "y"), schema, sf.Pure(1.0))
    with pytest.raises(UnsupportedQuery, match="'c' is no number"):
        Block.calibrate(together("x", "c"), schema, sf.Pure(1.0))


def test_points_of_numbers_are_all_of_their_lattice():
    assert points(sf.Integers(3, 5)).values == (0, 1, 2)
    assert Fraction(1, 3) > Responses.calibrate("x", sf.Integers(3, 5), sf.Pure(1.0)).response.p
