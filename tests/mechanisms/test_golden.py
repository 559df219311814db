"""Seeded streams fixed for good: what every sampler and every mechanism of whole numbers draws from a given seed.

A digest that changes says that noise is drawn otherwise than before: then the commit says why, and the digest follows.
Mechanisms whose noise passes through floating-point linear algebra are left out, since its last digits differ
between machines.
"""

import hashlib
import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.bounds.randomizers import line_losses
from sfumato.mechanisms import (
    BracketedQuantiles,
    ChosenBandwidth,
    Coefficients,
    Complement,
    ContinualCounting,
    DiscreteGaussian,
    EllipticGaussian,
    Exponential,
    FiniteChannel,
    FittedProcess,
    Gaussian,
    KeyDiscovery,
    KeySelection,
    Laplace,
    NoiseBody,
    NoisyCovariance,
    ParityCube,
    PermuteAndFlip,
    Process,
    RandomizedResponse,
    RecursiveQuantiles,
    SortedCounts,
    SpectralBall,
    SpectralLaplace,
    Staircase,
    Strategy,
    SubspaceIteration,
    SumZero,
    ThresholdDatabase,
    TruncatedLaplace,
    Vector,
)
from sfumato.mechanisms.geometry.noise_body import Columns
from sfumato.mechanisms.noise.laws import LAWS
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.nearest import Nearest
from sfumato.mechanisms.sanitized.nearest_label import NearestLabel
from sfumato.mechanisms.sanitized.numbers import Noised
from sfumato.mechanisms.sanitized.sets import Flipped
from sfumato.mechanisms.synthetic.marginals.noise import ConcentratedNoise, NormalNoise, PureNoise, Reach
from sfumato.mechanisms.synthetic.net import CountingMatrix
from sfumato.mechanisms.synthetic.persons.repeats import noisy_agreements
from sfumato.mechanisms.synthetic.small_database import SmallDatabase
from sfumato.mechanisms.synthetic.smooth.measurement import Measurement
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.mechanisms.synthetic.workload.judging import misfits
from sfumato.mechanisms.synthetic.workload.rounds import measured as asked_for
from sfumato.mechanisms.synthetic.workload.rounds import moved
from sfumato.queries import Query, bind, count, discovered, quantiles, top
from sfumato.queries.components import pca
from sfumato.queries.functions.density import density
from sfumato.queries.goals import Batch
from sfumato.queries.ranks import Ranks
from sfumato.queries.sanitized import together
from sfumato.queries.thresholds import thresholds
from sfumato.randomness import seeded
from sfumato.sampling import CubeNoise, DiscreteLaplace, RoundedNormal
from sfumato.sampling import DiscreteGaussian as DiscreteGaussianLaw
from sfumato.sampling import Staircase as StaircaseLaw
from sfumato.sampling import TruncatedLaplace as TruncatedLaplaceLaw
from sfumato.sampling.ball import BallNoise
from sfumato.sampling.bodies import CrossPolytope, Cube
from sfumato.sampling.processes import Torus

PURE, APPROXIMATE, CONCENTRATED = sf.Pure(0.7), sf.Approximate(0.7, 1e-4), sf.Concentrated(0.3)
NUMBER, TRIPLE = Vector("number", 1, 3.0, 3.0, 3.0), Vector("triple", 3, 4.0, 2.5, 2.0)
PEOPLE = sf.Schema(
    {"x": sf.Integers(0, 20), "h": sf.Subsets(["a", "b", "c"], cap=2), "k": sf.Texts(5)}, sf.Person("id", 2), size=10
)
PAIRED = sf.Schema({"c": sf.Categories(list("ab"), other="b", missing="b")}, adjacency=sf.Replace(), size=9)
SORTED = sf.Schema({"c": sf.Categories(list("abc"), other="c", missing="c")}, adjacency=sf.Replace(), size=9)
ODD = sf.workload("c", [[1, 1, -1], [1, -1, 3]])
PREFIXES = bind(Query.from_record({"query": "workload", "by": ["x"], "workload": [{"rows": ["prefix"]}]}), PEOPLE)
CURVE = Coefficients("curve", Torus((0.0,), (1.0,), (1.5,), (1,)), (0.5, 0.2, 0.2), l2=40.0)
DENSITY = bind(density("x", bandwidth=4.0), PEOPLE)
FIXED = sf.Schema({"x": sf.Integers(0, 20, missing=0)}, adjacency=sf.Replace(), size=9)
FITTED = bind(density("x", bandwidth=8.0), FIXED)
CENTERED, UNCENTERED = bind(pca(["x"], 1), PEOPLE), bind(pca(["x"], 1, center=False), PEOPLE)
MOMENTS = np.array([7 * 2**22, -2, 9 * 2**22], dtype=object)
PAIR = Columns("pair", [[1, 0, 1], [0, 1, 1]])
CURVES = sf.Schema({f"h{i}": sf.Integers(0, 100) for i in range(8)}, adjacency=sf.Replace(), size=6)
RECORDS = np.arange(48).reshape(6, 8)
SQUARE = sf.Schema({"b": sf.Interval(0, 1, step=0.01)}, adjacency=sf.AddRemove(), size=1000)
COUNTED = CountingMatrix("counted", np.array([[1, 0, 1, 1], [0, 1, 1, 0]]), rows=3)
FEW = sf.read(pa.table({"x": [1.0, 2.0, 2.0, 9.0]}), schema=sf.Schema({"x": sf.Integers(0, 20)}, size=4))
CHOSEN = ChosenBandwidth.calibrate(bind(sf.density("x", bandwidth="private"), FEW.schema), PURE)
INDICES = np.array([[0], [2], [1], [2], [0], [1]])
ASKED = [sf.count().where("x >= 4"), sf.count().by(sf.bins("x", 0, 3, 20)), sf.mean("x")]
GRADES = sf.Categories(["a", "b", "c"], other="c", missing="c", distances=[[0, 1, 3], [1, 0, 2], [3, 2, 0]])


PERIODS = bind(
    sf.running("x", 0, 5, 10, 21).by("c"),
    sf.Schema({"x": sf.Integers(0, 20), "c": sf.Categories(["a", "b"])}, version="10"),
)


def released(kind, query, target, answer, *rest):
    """What the calibrated mechanism publishes."""
    return lambda rng: kind.calibrate(query, target, *rest).release(answer, rng)


def trigonometric(body, target):
    question = bind(sf.trigonometric(["b"], smoothness=2, order=4, grid=20), SQUARE)
    made = Trigonometric.calibrate(question, target, [LAWS[body]])
    return lambda rng: made.release(np.arange(made.vector.dimension), rng)


def block(law, scale, basis=None):
    group = together(*CURVES.columns, basis=basis)
    record = {"columns": list(group.columns), "basis": basis, "law": law, "scale": scale, "epsilon": None}
    return lambda rng: Block.from_record(record, CURVES).release(RECORDS, rng)


def measured(law):
    return lambda rng: Measurement("mean", 5, LAWS[law], 900.0, 1000).release(np.arange(5), rng)


def marginal(noise, scale):
    return lambda rng: np.arange(6) + noise.law(scale).sample((6,), rng)


def agreeing(noise):
    return lambda rng: noisy_agreements(np.array([640, 0, 65]), noise(Reach(12, True, 12)), Fraction(1, 40), rng)


def answered(noise):
    question = bind(sf.synthetic(["x"], workload=ASKED), PEOPLE)
    batch, law = Batch({"x": np.arange(10)}, PEOPLE), moved(noise(Reach(2, both=False)), question.goals)
    exact = [goal.sums(batch) for goal in question.goals]

    def draw(rng):
        found = asked_for(question.goals, exact, batch, 10.0, law, Fraction(1, 2), rng).answers
        return np.concatenate([10 * answer.shares for answer in found])

    return draw


def misfitting(noise):
    exact, made = [np.array([70, 30]), np.array([9])], [np.array([60, 40]), np.array([2])]
    law = moved(noise(Reach(2, both=True)), [])
    return lambda rng: list(misfits(exact, made, 3, 4.0, law, Fraction(1, 3), rng).values())[:2]


STREAMS = {
    "sampler-laplace": lambda rng: DiscreteLaplace(3.7).sample(50, rng),
    "sampler-laplace-wide": lambda rng: DiscreteLaplace(1e9).sample(50, rng),
    "sampler-normal": lambda rng: RoundedNormal(2.3).sample(50, rng),
    "sampler-discrete-gaussian": lambda rng: DiscreteGaussianLaw(2.3).sample(50, rng),
    "sampler-staircase": lambda rng: StaircaseLaw(5, 0.4, 2).sample(50, rng),
    "sampler-truncated": lambda rng: TruncatedLaplaceLaw(9.0, 14, 0.3).sample(50, rng),
    "sampler-truncated-flat": lambda rng: TruncatedLaplaceLaw(90.0, 9, 0.3).sample(50, rng),
    "sampler-cube": lambda rng: CubeNoise(2.3, 4).sample(10, rng),
    "sampler-ball": lambda rng: BallNoise(40.0, ((3, Fraction(1)), (2, Fraction(5, 7)))).sample(rng),
    "laplace": released(Laplace, TRIPLE, PURE, np.array([7, -2, 0])),
    "laplace-delta": released(Laplace, NUMBER, APPROXIMATE, np.array([7])),
    "staircase": released(Staircase, NUMBER, PURE, np.array([7])),
    "truncated-laplace": released(TruncatedLaplace, TRIPLE, sf.Approximate(0.7, 0.01), np.array([7, -2, 0])),
    "gaussian": released(Gaussian, TRIPLE, CONCENTRATED, np.array([7, -2, 0])),
    "gaussian-delta": released(Gaussian, TRIPLE, APPROXIMATE, np.array([7, -2, 0])),
    "discrete-gaussian": released(DiscreteGaussian, TRIPLE, CONCENTRATED, np.array([7, -2, 0])),
    "discrete-gaussian-delta": released(DiscreteGaussian, NUMBER, APPROXIMATE, np.array([7])),
    "sum-zero": released(SumZero, bind(count().by("c"), SORTED), PURE, np.array([7, 2, 0])),
    "complement": released(Complement, bind(count().by("c"), PAIRED), CONCENTRATED, np.array([7, 2])),
    "parity-cube": released(ParityCube, bind(ODD, SORTED), PURE, np.array([7, 1])),
    "strategy": released(Strategy, PREFIXES, PURE, np.arange(21)),
    "elliptic-gaussian": released(EllipticGaussian, PREFIXES, CONCENTRATED, np.arange(21)),
    "elliptic-gaussian-delta": released(EllipticGaussian, PREFIXES, APPROXIMATE, np.arange(21)),
    "continual-counting": released(ContinualCounting, PERIODS, PURE, np.arange(6).reshape(3, 2)),
    "continual-counting-normal": released(ContinualCounting, PERIODS, CONCENTRATED, np.arange(6).reshape(3, 2)),
    "exponential": released(Exponential, bind(top("h", 2), PEOPLE), PURE, np.array([[5, 3, 0]])),
    "permute-and-flip": released(PermuteAndFlip, bind(top("h", 2), PEOPLE), PURE, np.array([[5, 3, 0]])),
    "sorted-counts": released(SortedCounts, bind(top("h", 2), PEOPLE), PURE, np.array([[5, 3, 0]])),
    "bracketed-quantiles": released(
        BracketedQuantiles, bind(quantiles("x", [0.25, 0.9], bars=True), PEOPLE), PURE,
        [Ranks.counted(np.array([1, 4, 9]), np.array([30, 10, 50]))],
    ),
    "recursive-quantiles": released(
        RecursiveQuantiles, bind(quantiles("x", [0.25, 0.5, 0.9]), PEOPLE), PURE,
        [Ranks.counted(np.array([1, 4, 9]), np.array([3, 1, 5]))],
    ),
    "key-discovery": released(
        KeyDiscovery, bind(count().by(discovered("k")), PEOPLE), APPROXIMATE, np.array([90, 1, 70])
    ),
    "key-selection": released(
        KeySelection, bind(count().by(discovered("k")), PEOPLE), APPROXIMATE, np.array([90, 1, 70, 40, 50])
    ),
    "chosen-bandwidth": lambda rng: CHOSEN.release(CHOSEN.take(FEW), rng),
    "process": released(Process, CURVE, CONCENTRATED, np.array([7, -2, 0])),
    "fitted-process": released(FittedProcess, FITTED, CONCENTRATED, np.arange(FITTED.dimension)),
    "spectral-ball": released(SpectralBall, DENSITY, PURE, np.arange(DENSITY.dimension)),
    "spectral-laplace": released(SpectralLaplace, DENSITY, PURE, np.arange(DENSITY.dimension)),
    "threshold-database": released(ThresholdDatabase, bind(thresholds("x", rows=3), PEOPLE), PURE, np.arange(21)),
    "randomized-response": released(
        RandomizedResponse, sf.Categories(["a", "b", "c"]), APPROXIMATE, np.array([0, 2, 1] * 9)
    ),
    "noise-body-cube": released(NoiseBody, PAIR, PURE, np.array([4, -4]), Cube(2)),
    "noise-body-cross": released(NoiseBody, PAIR, PURE, np.array([4, -4]), CrossPolytope(2, 2.0)),
    "noisy-covariance-cube": released(NoisyCovariance, CENTERED, PURE, MOMENTS, LAWS["cube"]),
    "noisy-covariance-ball": released(NoisyCovariance, CENTERED, PURE, MOMENTS, LAWS["ball"]),
    "noisy-covariance-laplace": released(NoisyCovariance, CENTERED, PURE, MOMENTS, LAWS["laplace"]),
    "noisy-covariance-normal": released(NoisyCovariance, CENTERED, CONCENTRATED, MOMENTS, LAWS["normal"]),
    "subspace-iteration-cube": released(SubspaceIteration, UNCENTERED, PURE, MOMENTS[::2], LAWS["cube"]),
    "subspace-iteration-ball": released(SubspaceIteration, UNCENTERED, PURE, MOMENTS[::2], LAWS["ball"]),
    "subspace-iteration-laplace": released(SubspaceIteration, UNCENTERED, PURE, MOMENTS[::2], LAWS["laplace"]),
    "subspace-iteration-normal": released(SubspaceIteration, UNCENTERED, APPROXIMATE, MOMENTS[::2], LAWS["normal"]),
    "trigonometric-cube": trigonometric("cube", PURE),
    "trigonometric-laplace": trigonometric("laplace", PURE),
    "trigonometric-normal": trigonometric("normal", CONCENTRATED),
    "block-cube": block("cube", 143.0),
    "block-cube-waves": block("cube", 300.0, basis=3),
    "block-laplace": block("laplace", 1200.0),
    "block-normal": block("normal", 450.0, basis=3),
    "finite-channel": released(FiniteChannel, line_losses((0, 1, 2)), APPROXIMATE, np.array([0, 2, 1] * 9)),
    "nearest": lambda rng: Nearest.calibrate("x", sf.Integers(0, 20), PURE, 5).release(INDICES, rng),
    "nearest-label": lambda rng: NearestLabel.calibrate("c", GRADES, PURE).release(INDICES, rng),
    "noised": lambda rng: Noised.calibrate("x", sf.Integers(0, 20), PURE).release(INDICES, rng),
    "responses": lambda rng: Responses.calibrate("x", sf.Integers(0, 2), PURE).release(INDICES, rng),
    "flipped": lambda rng: Flipped.calibrate("h", sf.Subsets(["a", "b"], cap=2), PURE).release(INDICES, rng),
    "measurement-cube": measured("cube"),
    "measurement-laplace": measured("laplace"),
    "measurement-normal": measured("normal"),
    "marginals-pure": marginal(PureNoise(Reach(1, both=True)), 4.0),
    "marginals-concentrated": marginal(ConcentratedNoise(Reach(1, both=True)), 4.0),
    "marginals-normal": marginal(NormalNoise(Reach(1, both=True)), 4.0),
    "person-counts-pure": marginal(PureNoise(Reach(12, both=False, units=12)), 48.0),
    "person-agreements-pure": agreeing(PureNoise),
    "person-agreements-concentrated": agreeing(ConcentratedNoise),
    "workload-answers-pure": answered(PureNoise),
    "workload-answers-concentrated": answered(ConcentratedNoise),
    "workload-misfits-pure": misfitting(PureNoise),
    "workload-misfits-concentrated": misfitting(ConcentratedNoise),
    "small-database": lambda rng: SmallDatabase.calibrate(COUNTED, PURE).release(np.array([9, 20, 11, 10]), rng),
}  # fmt: skip

DIGESTS = {
    "sampler-laplace": "be9ff0d1c706f281",
    "sampler-laplace-wide": "1489462d12deec69",
    "sampler-normal": "5b17d751fcf9b912",
    "sampler-discrete-gaussian": "1489d7b0f00a2508",
    "sampler-staircase": "397b229b4dda2bbf",
    "sampler-truncated": "e2dbf8e0bcf136f2",
    "sampler-truncated-flat": "46a01d410750338d",
    "sampler-cube": "3d22baedd8b206c7",
    "sampler-ball": "113f0cec3135c229",
    "laplace": "ed65e995f2bfbe2e",
    "laplace-delta": "97fc937e22c6bc0e",
    "staircase": "7965496fd1f287f0",
    "truncated-laplace": "70be773da325a04c",
    "gaussian": "182d4a3b1c85ca23",
    "gaussian-delta": "a9777efbb30b5069",
    "discrete-gaussian": "7b14420450eb21fa",
    "discrete-gaussian-delta": "425a0020b39bb2d2",
    "sum-zero": "dbbf17f8b469c7d1",
    "complement": "b8f7f4d2a8e3d706",
    "parity-cube": "803f96c269768122",
    "strategy": "0436fe0b89b5e98c",
    "elliptic-gaussian": "4456c5675bca946e",
    "elliptic-gaussian-delta": "fee12f3653bb317b",
    "continual-counting": "ab55c44d40aea9eb",
    "continual-counting-normal": "7a2d6b2033fdded8",
    "exponential": "29187df0df645224",
    "permute-and-flip": "07a033dcd1b792c5",
    "sorted-counts": "e655fcd08de6029f",
    "bracketed-quantiles": "36565604ca447241",
    "recursive-quantiles": "676ada688b09156a",
    "key-discovery": "5f64b3361e3d4bc6",
    "key-selection": "142b53ff19b91e95",
    "chosen-bandwidth": "b1bfc2ca5558cd09",
    "process": "b121ceb0afa4eda7",
    "fitted-process": "81bdfbc80eac8e6f",
    "spectral-ball": "3216956c0aed6823",
    "spectral-laplace": "7dcd64be6a07a93f",
    "threshold-database": "adffbe51c3d54c9e",
    "randomized-response": "40c5b2673f8692bc",
    "noise-body-cube": "3cd1614ef72f32f0",
    "noise-body-cross": "80c0a7baef22b568",
    "noisy-covariance-cube": "4e02d0aba38478c2",
    "noisy-covariance-ball": "0b82b1bc06f909d8",
    "noisy-covariance-laplace": "ee2bd0e01f7feb23",
    "noisy-covariance-normal": "505b62f582ab3f86",
    "subspace-iteration-cube": "b1b8635d93e0f82e",
    "subspace-iteration-ball": "db604fc3a31e4c3e",
    "subspace-iteration-laplace": "6957d9abc471be45",
    "subspace-iteration-normal": "674be3ed7f133dc5",
    "trigonometric-cube": "6d1fa768529913b0",
    "trigonometric-laplace": "d836dbfa611ae3d1",
    "trigonometric-normal": "6fb78f1bf5b5a482",
    "block-cube": "26f4cbb83e5e7c4c",
    "block-cube-waves": "2ca4014e9f4e9125",
    "block-laplace": "280d137cc3c77a6f",
    "block-normal": "dc74d52330360fff",
    "finite-channel": "d91c079e720c2903",
    "nearest": "03f82fe17029c84a",
    "nearest-label": "dc62564adb6c918e",
    "noised": "2ee896b3afd9384d",
    "responses": "bcd783a827421fa0",
    "flipped": "ab64aa80f4f15718",
    "measurement-cube": "32d8fcd49b82c4ac",
    "measurement-laplace": "fea087e5e437bbd1",
    "measurement-normal": "65a0d59bedb5b891",
    "marginals-pure": "3c7c6c539104875e",
    "marginals-concentrated": "1df015b5d41a14e2",
    "marginals-normal": "19f38c0ca162bc67",
    "person-counts-pure": "723fb459cb448c5d",
    "person-agreements-pure": "978446c5c02c3c33",
    "person-agreements-concentrated": "5981f289107149aa",
    "workload-answers-pure": "eebbe4305942cea0",
    "workload-answers-concentrated": "5d30b7b38799de28",
    "workload-misfits-pure": "add75e3f1f14a5c7",
    "workload-misfits-concentrated": "8f5fb155ec9edff7",
    "small-database": "28be92cea0d55cd5",
}


def digest(stream):
    """A short digest of three draws in a row."""
    rng = seeded(2014)
    drawn = [np.asarray(stream(rng)).astype(object).tolist() for _ in range(3)]
    return hashlib.sha256(json.dumps(drawn, default=int).encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", STREAMS)
def test_seeded_streams_are_what_they_were(name):
    assert digest(STREAMS[name]) == DIGESTS[name]


def test_digests_tell_streams_apart():
    assert len(set(DIGESTS.values())) == len(DIGESTS) == len(STREAMS)
    assert digest(lambda rng: DiscreteLaplace(3.8).sample(50, rng)) != DIGESTS["sampler-laplace"]
