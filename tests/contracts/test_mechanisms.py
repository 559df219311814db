"""The laws of a mechanism, run on every public one."""

import copy
import dataclasses
import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.mechanisms import (
    MECHANISMS,
    NIM,
    Coefficients,
    DiscreteGaussian,
    EllipticGaussian,
    Exponential,
    Gaussian,
    KeyDiscovery,
    Laplace,
    NoiseBody,
    NoisyCovariance,
    PermuteAndFlip,
    Process,
    Public,
    RandomizedResponse,
    RecursiveQuantiles,
    SpectralLaplace,
    Staircase,
    Strategy,
    SubspaceIteration,
    ThresholdDatabase,
    Vector,
)
from sfumato.mechanisms.ranks import Ranks
from sfumato.privacy.adjacency import Person
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import Query, bind, count, discovered, quantiles, top
from sfumato.queries.components import pca
from sfumato.queries.functions.density import density
from sfumato.queries.thresholds import thresholds
from sfumato.randomness import seeded
from sfumato.sampling.processes import Torus
from sfumato.schema import Schema
from sfumato.spaces import Categories, Integers, Subsets, Texts

PROOFS = Path(__file__).parent.parent.parent / "docs" / "proofs"
NUMBER = Vector("number", 1, 3.0, 3.0, 3.0)
TRIPLE = Vector("triple", 3, 4.0, 2.5, 2.0)
FREE = Vector("free", 1, 0.0, 0.0, 0.0)
PEOPLE = Schema({"x": Integers(0, 20), "h": Subsets(["a", "b", "c"], cap=2), "k": Texts(5)}, Person("id", 2), size=10)
QUANTILES = bind(quantiles("x", [0.25, 0.5, 0.9]), PEOPLE)
POPULAR = bind(top("h", 2), PEOPLE)
DENSITY = bind(density("x", bandwidth=4.0), PEOPLE)
KEYS = bind(count().by(discovered("k")), PEOPLE)
PURE, APPROXIMATE, CONCENTRATED = Pure(0.7), Approximate(0.7, 1e-4), Concentrated(0.3)
PREFIXES = bind(Query.from_record({"query": "workload", "by": ["x"], "workload": [{"rows": ["prefix"]}]}), PEOPLE)
CURVE = Coefficients("curve", Torus((0.0,), (1.0,), (1.5,), (1,)), (0.5, 0.2, 0.2), l2=40.0)
CENTERED, UNCENTERED = bind(pca(["x"], 1), PEOPLE), bind(pca(["x"], 1, center=False), PEOPLE)
GRID = bind(thresholds("x", rows=3), PEOPLE)
RANKS = [Ranks.counted(np.array([1, 4, 9]), np.array([3, 1, 5]))]
SCORES = np.array([[5, 3, 0]])

# kind, what it answers, a target it meets, an exact answer
CASES = [
    (Laplace, NUMBER, PURE, np.array([7])),
    (Laplace, NUMBER, APPROXIMATE, np.array([7])),
    (Laplace, TRIPLE, PURE, np.array([7, -2, 0])),
    (Laplace, TRIPLE, PURE, np.array([7 * 10**30, -2, 0], dtype=object)),
    (Staircase, NUMBER, PURE, np.array([7])),
    (Gaussian, TRIPLE, APPROXIMATE, np.array([7, -2, 0])),
    (Gaussian, TRIPLE, CONCENTRATED, np.array([7, -2, 0])),
    (DiscreteGaussian, NUMBER, APPROXIMATE, np.array([7])),
    (DiscreteGaussian, TRIPLE, APPROXIMATE, np.array([7, -2, 0])),
    (DiscreteGaussian, TRIPLE, CONCENTRATED, np.array([7, -2, 0])),
    (Public, FREE, PURE, np.array([7])),
    (Exponential, POPULAR, PURE, SCORES),
    (Exponential, POPULAR, CONCENTRATED, SCORES),
    (PermuteAndFlip, POPULAR, APPROXIMATE, SCORES),
    (RecursiveQuantiles, QUANTILES, PURE, RANKS),
    (RecursiveQuantiles, QUANTILES, CONCENTRATED, RANKS),
    (KeyDiscovery, KEYS, APPROXIMATE, np.array([7, 1, 30])),
    (Strategy, PREFIXES, PURE, np.arange(21)),
    (EllipticGaussian, PREFIXES, CONCENTRATED, np.arange(21)),
    (EllipticGaussian, PREFIXES, APPROXIMATE, np.arange(21)),
    (Process, CURVE, CONCENTRATED, np.array([7, -2, 0])),
    (Process, CURVE, APPROXIMATE, np.array([7, -2, 0])),
    (NoisyCovariance, CENTERED, PURE, np.array([7 * 2**22, -2, 9 * 2**22], dtype=object)),
    (NoisyCovariance, UNCENTERED, CONCENTRATED, np.array([7 * 2**22, 9 * 2**22], dtype=object)),
    (NoisyCovariance, CENTERED, APPROXIMATE, np.array([7 * 2**22, -2, 9 * 2**22], dtype=object)),
    (SubspaceIteration, UNCENTERED, PURE, np.array([7 * 2**22, 9 * 2**22], dtype=object)),
    (SubspaceIteration, UNCENTERED, CONCENTRATED, np.array([7 * 2**22, 9 * 2**22], dtype=object)),
    (SubspaceIteration, UNCENTERED, APPROXIMATE, np.array([7 * 2**22, 9 * 2**22], dtype=object)),
    (ThresholdDatabase, GRID, PURE, np.arange(21)),
    (ThresholdDatabase, GRID, CONCENTRATED, np.arange(21)),
    (Process, DENSITY, APPROXIMATE, np.arange(DENSITY.dimension)),
    (SpectralLaplace, DENSITY, PURE, np.arange(DENSITY.dimension)),
    (RandomizedResponse, Categories(["a", "b", "c"]), APPROXIMATE, np.array([0, 2, 1])),
]
BODIES = {NoiseBody, NIM}  # noise of convex bodies: rebuilt through the archive, under their own tests
NAMES = [f"{kind.__name__}-{type(target).__name__}-{i}" for i, (kind, _, target, _) in enumerate(CASES)]
every = pytest.mark.parametrize(("kind", "query", "target", "answer"), CASES, ids=NAMES)


def amounts(claim):
    """The numbers of a claim, each of which grows as privacy weakens."""
    return [getattr(claim, name, 0.0) for name in ("epsilon", "delta", "rho")]


def values(output):
    return np.asarray(output).tolist()


def test_every_public_mechanism_is_here():
    assert {kind for kind, *_ in CASES} | BODIES == set(MECHANISMS.values())


@every
def test_is_frozen(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, None)
    assert not hasattr(mechanism, "__dict__")


@every
def test_is_equal_when_rebuilt(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    fields = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
    assert kind(**fields) == mechanism == copy.deepcopy(mechanism)
    record = dict(mechanism.to_record())
    assert MECHANISMS[record.pop("type")] is kind
    restored = {name: Fraction(value) if name == "p" else value for name, value in record.items()}
    assert kind(query, **restored) == mechanism


@every
def test_calibrate_meets_and_never_exceeds_its_target(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    assert mechanism.guarantee().implies(target)
    if kind is not Public:  # and spends it: a target 1 % smaller is not met
        spent = amounts(mechanism.guarantee())
        allowed = amounts(target)
        assert any(s >= 0.99 * a > 0 for s, a in zip(spent, allowed, strict=True))


@every
def test_guarantee_is_zero_at_no_distance_and_grows(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    assert amounts(mechanism.guarantee(0)) == [0, 0, 0]
    assert mechanism.guarantee() == mechanism.guarantee(1)
    claims = []
    for distance in range(5):
        try:
            claims.append(amounts(mechanism.guarantee(distance)))
        except ParameterError:  # delta has reached 1: no claim is left, and none is made
            break
    assert len(claims) >= 3
    for near, far in itertools.pairwise(claims):
        assert all(a <= b for a, b in zip(near, far, strict=True))


@every
def test_release_repeats_with_its_generator_and_leaves_its_input_alone(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    kept = copy.deepcopy(answer)
    first, second = (mechanism.release(answer, seeded(5)) for _ in range(2))
    assert values(first) == values(second)
    if isinstance(answer, np.ndarray):
        assert answer.tolist() == kept.tolist()
        assert not np.shares_memory(first, answer)
    else:
        assert [(r.values.tolist(), r.below.tolist()) for r in answer] == [
            (r.values.tolist(), r.below.tolist()) for r in kept
        ]
    others = [values(mechanism.release(answer, seeded(seed))) for seed in range(6, 40)]
    assert kind is Public or any(other != values(first) for other in others)


@every
def test_error_falls_as_more_failures_are_allowed(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    errors = [mechanism.error(beta) for beta in (1e-6, 0.05, 0.5)]
    assert errors == sorted(errors, reverse=True)
    assert min(errors) >= 0


@every
def test_a_proof_and_five_paragraphs_are_there(kind, query, target, answer):
    module = kind.__module__.rpartition(".")[2]
    assert (PROOFS / f"{module}.md").is_file()
    text = __import__(kind.__module__, fromlist=["_"]).__doc__
    for word in ("Definition.", "Guarantee.", "Accuracy.", "Assumes."):
        assert word in text
    assert f"docs/proofs/{module}.md" in text
