"""The laws of a mechanism, run on every public one."""

import copy
import dataclasses
import itertools
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from looping import run_checks
from sfumato.errors import ParameterError
from sfumato.mechanisms import (
    MECHANISMS,
    NIM,
    BracketedQuantiles,
    ChosenBandwidth,
    Coefficients,
    Complement,
    ContinualCounting,
    CountedKeys,
    CutSynthesis,
    DiscoveredKeys,
    DiscreteGaussian,
    EllipticGaussian,
    Exponential,
    FiniteChannel,
    FittedProcess,
    Gaussian,
    JoinedSynthesis,
    KeyDiscovery,
    KeySelection,
    Laplace,
    MarginalSynthesis,
    Net,
    NoiseBody,
    NoisyCovariance,
    NumericSynthesis,
    ParityCube,
    PermuteAndFlip,
    PersonSynthesis,
    Process,
    Public,
    RandomizedResponse,
    RecursiveQuantiles,
    Sanitization,
    SmallDatabase,
    SortedCounts,
    SpectralBall,
    SpectralLaplace,
    Staircase,
    Strategy,
    SubspaceIteration,
    SumZero,
    TextSynthesis,
    ThresholdDatabase,
    Trigonometric,
    TruncatedLaplace,
    Vector,
    WorkloadSynthesis,
)
from sfumato.mechanisms.synthetic.finding import Found
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis
from sfumato.privacy.adjacency import AddRemove, Person, Replace
from sfumato.privacy.guarantees import Approximate, Concentrated, Pure
from sfumato.queries import Query, bind, count, discovered, quantiles, top
from sfumato.queries.components import pca
from sfumato.queries.functions.chosen import Smoothing
from sfumato.queries.functions.density import density
from sfumato.queries.ranks import Ranks
from sfumato.queries.thresholds import thresholds
from sfumato.queries.view import SecretView
from sfumato.randomness import seeded
from sfumato.records import canonical
from sfumato.sampling.processes import Torus
from sfumato.spaces import Categories, Integers, Subsets, Texts
from sfumato.spaces.schema import Schema

PROOFS = Path(__file__).parent.parent.parent / "docs" / "proofs"
NUMBER = Vector("number", 1, 3.0, 3.0, 3.0)
TRIPLE = Vector("triple", 3, 4.0, 2.5, 2.0)
FREE = Vector("free", 1, 0.0, 0.0, 0.0)
PEOPLE = Schema({"x": Integers(0, 20), "h": Subsets(["a", "b", "c"], cap=2), "k": Texts(5)}, Person("id", 2), size=10)
QUANTILES = bind(quantiles("x", [0.25, 0.5, 0.9]), PEOPLE)
POPULAR = bind(top("h", 2), PEOPLE)
DENSITY = bind(density("x", bandwidth=4.0), PEOPLE)
KEYS = bind(count().by(discovered("k")), PEOPLE)
KEYS_OF_ROWS = bind(count().by(discovered("k")), sf.Schema({"k": sf.Texts()}, size=90))
PURE, APPROXIMATE, CONCENTRATED = Pure(0.7), Approximate(0.7, 1e-4), Concentrated(0.3)
PREFIXES = bind(Query.from_record({"query": "workload", "by": ["x"], "workload": [{"rows": ["prefix"]}]}), PEOPLE)
CURVE = Coefficients("curve", Torus((0.0,), (1.0,), (1.5,), (1,)), (0.5, 0.2, 0.2), l2=40.0)
CENTERED, UNCENTERED = bind(pca(["x"], 1), PEOPLE), bind(pca(["x"], 1, center=False), PEOPLE)
GRID = bind(thresholds("x", rows=3), PEOPLE)
PERIODS = bind(
    sf.running("x", 0, 5, 10, 21).by("c"), Schema({"x": Integers(0, 20), "c": Categories(["a", "b"])}, version="10")
)
RANKS = [Ranks.counted(np.array([1, 4, 9]), np.array([3, 1, 5]))]
SCORES = np.array([[5, 3, 0]])
MIXED = Schema(
    {"x": Integers(0, 20, missing=0), "y": Integers(0, 9, missing=9), "z": Integers(0, 4, missing=1),
     "c": Categories(["a", "b", "c"], other="c", missing="c"), "h": Subsets(["p", "q"], cap=1), "w": Texts()},
    adjacency=Replace(), size=6,
)  # fmt: skip
SORTED = bind(count().by("c"), MIXED)
PAIR = bind(count().by("c"), dataclasses.replace(
    MIXED, columns={**MIXED.columns, "c": Categories(["a", "b"], other="b", missing="b")}
))  # fmt: skip
SIGNS = bind(sf.workload("c", [[1, 1, -1], [1, -1, 3]]), MIXED)
ROWS = {
    "x": [3, 20, None, 7, 7, 1], "y": [0, 4, 9, 4, 2, 1], "z": [0, 1, 2, 3, 4, None],
    "c": ["a", "b", "b", None, "?", "a"], "h": [["p"], [], ["p", "q"], None, ["q"], ["z"]],
    "w": ["one", "one", "two", None, "", "one"],
}  # fmt: skip
TABLE = sf.read(pa.table(ROWS), schema=MIXED)  # whole tables are made from an engine's own
MADE = bind(sf.synthetic(["x", "c"]), MIXED)
NUMBERS = bind(sf.synthetic(["x", "y", "z"], rows=8), MIXED)
QUERIES = [sf.count().where("x >= 4 and c == 'a'"), sf.mean("x").by("c")]
CUT = bind(sf.synthetic(["x", "y", "c"], rows=8, cuts=["x", "y"]), MIXED)
WORDS = bind(sf.synthetic(["x", "w"], rows=8), MIXED)
ANSWERING = bind(sf.synthetic(["x", "c"], rows=8, workload=QUERIES), MIXED)
JOINED = bind(sf.synthetic(["x", "y", "z", "c"], rows=8), dataclasses.replace(MIXED, adjacency=AddRemove(), size=None))
VISITED = sf.read(
    pa.table({"id": [1, 1, 1, 2, 2, 3], **ROWS}),
    schema=dataclasses.replace(MIXED, unit=Person("id", 2), adjacency=AddRemove(), size=None),
)
VISITS = bind(sf.synthetic(["x", "c"], rows=8, person=["c"]), VISITED.schema)
LINE = ((0.0, 0.5, 1.0), (0.5, 0.0, 0.5), (1.0, 0.5, 0.0))  # distances of three places
CHANNELS = {RandomizedResponse, FiniteChannel}  # of single records: tables are made of them
CHOSEN = bind(density("x", bandwidth="private"), MIXED)
FITTED = bind(density("x", bandwidth=8.0), MIXED)
RECORDS = bind(sf.sanitized(["x", "c", "h"]), MIXED)
CHEBYSHEV = bind(sf.trigonometric(["x", "y"], order=3, grid=8), MIXED)
SMALL = bind(sf.small_database(sf.prefix("z"), rows=2), MIXED)
WALKED = bind(sf.small_database(sf.prefix("z"), rows=2, steps=20), MIXED)
GIVEN = bind(sf.small_database(sf.prefix("z"), candidates=[[2, 0, 0, 0, 0], [1, 0, 0, 0, 1], [0, 0, 2, 0, 0]]), MIXED)


class Keyed:
    """A view of texts of known numbers of units, as a session would hand it over."""

    def __init__(self, texts, units):
        self.known, self.table = (texts, np.array(units)), self

    def units(self):
        return self.known

    def answer(self, statistic):
        return [np.array([100 * (1 + place) for place in range(statistic.cells.count)])]


# kind, what it answers, a target it meets, an exact answer
CASES = [
    (Laplace, NUMBER, PURE, np.array([7])),
    (Laplace, NUMBER, APPROXIMATE, np.array([7])),
    (Laplace, TRIPLE, PURE, np.array([7, -2, 0])),
    (Laplace, TRIPLE, PURE, np.array([7 * 10**30, -2, 0], dtype=object)),
    (Staircase, NUMBER, PURE, np.array([7])),
    (TruncatedLaplace, NUMBER, APPROXIMATE, np.array([7])),
    (TruncatedLaplace, TRIPLE, APPROXIMATE, np.array([7, -2, 0])),
    (Gaussian, TRIPLE, APPROXIMATE, np.array([7, -2, 0])),
    (Gaussian, TRIPLE, CONCENTRATED, np.array([7, -2, 0])),
    (DiscreteGaussian, NUMBER, APPROXIMATE, np.array([7])),
    (DiscreteGaussian, TRIPLE, APPROXIMATE, np.array([7, -2, 0])),
    (DiscreteGaussian, TRIPLE, CONCENTRATED, np.array([7, -2, 0])),
    (Public, FREE, PURE, np.array([7])),
    (SumZero, SORTED, PURE, np.array([7, 2, 0])),
    (Complement, PAIR, CONCENTRATED, np.array([4, 2])),
    (Complement, PAIR, APPROXIMATE, np.array([4, 2])),
    (ParityCube, SIGNS, PURE, np.array([7, 1])),
    (Exponential, POPULAR, PURE, SCORES),
    (Exponential, POPULAR, CONCENTRATED, SCORES),
    (PermuteAndFlip, POPULAR, APPROXIMATE, SCORES),
    (SortedCounts, POPULAR, PURE, SCORES),
    (RecursiveQuantiles, QUANTILES, PURE, RANKS),
    (RecursiveQuantiles, QUANTILES, CONCENTRATED, RANKS),
    (BracketedQuantiles, QUANTILES, PURE, RANKS),
    (BracketedQuantiles, QUANTILES, CONCENTRATED, RANKS),
    (KeyDiscovery, KEYS, APPROXIMATE, np.array([7, 1, 30])),
    (KeySelection, KEYS, APPROXIMATE, np.repeat(np.arange(1, 80), 3)),
    (CountedKeys, KEYS_OF_ROWS, APPROXIMATE, Keyed(["a", "b", "c"], [70, 1, 30])),
    (ContinualCounting, PERIODS, PURE, np.arange(6).reshape(3, 2)),
    (ContinualCounting, PERIODS, CONCENTRATED, np.arange(6).reshape(3, 2)),
    (ContinualCounting, PERIODS, Approximate(0.7, 0.4), np.arange(6).reshape(3, 2)),
    (DiscoveredKeys, KEYS, APPROXIMATE, Keyed(["a", "b", "c"], [70, 1, 30])),
    (Strategy, PREFIXES, PURE, np.arange(21)),
    (EllipticGaussian, PREFIXES, CONCENTRATED, np.arange(21)),
    (EllipticGaussian, PREFIXES, APPROXIMATE, np.arange(21)),
    (ChosenBandwidth, CHOSEN, PURE, TABLE),
    (ChosenBandwidth, CHOSEN, CONCENTRATED, TABLE),
    (ChosenBandwidth, CHOSEN, APPROXIMATE, TABLE),
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
    (FittedProcess, FITTED, CONCENTRATED, np.arange(FITTED.dimension)),
    (FittedProcess, FITTED, APPROXIMATE, np.arange(FITTED.dimension)),
    (SpectralLaplace, DENSITY, PURE, np.arange(DENSITY.dimension)),
    (SpectralBall, DENSITY, PURE, np.arange(DENSITY.dimension)),
    (RandomizedResponse, Categories(["a", "b", "c"]), APPROXIMATE, np.array([0, 2, 1])),
    (FiniteChannel, LINE, Pure(1.0), np.array([0, 2, 1])),
    (FiniteChannel, LINE, APPROXIMATE, np.array([0, 2, 1])),
    (MarginalSynthesis, MADE, PURE, TABLE),
    (MarginalSynthesis, MADE, CONCENTRATED, TABLE),
    (MarginalSynthesis, MADE, APPROXIMATE, TABLE),
    (NumericSynthesis, NUMBERS, PURE, TABLE),
    (NumericSynthesis, NUMBERS, CONCENTRATED, TABLE),
    (NumericSynthesis, NUMBERS, APPROXIMATE, TABLE),
    (JoinedSynthesis, NUMBERS, PURE, TABLE),
    (JoinedSynthesis, JOINED, CONCENTRATED, TABLE),
    (JoinedSynthesis, JOINED, APPROXIMATE, TABLE),
    (PersonSynthesis, VISITS, PURE, VISITED),
    (PersonSynthesis, VISITS, CONCENTRATED, VISITED),
    (PersonSynthesis, VISITS, APPROXIMATE, VISITED),
    (WorkloadSynthesis, ANSWERING, PURE, TABLE),
    (WorkloadSynthesis, ANSWERING, CONCENTRATED, TABLE),
    (WorkloadSynthesis, ANSWERING, APPROXIMATE, TABLE),
    (TextSynthesis, WORDS, APPROXIMATE, TABLE),
    (CutSynthesis, CUT, PURE, TABLE),
    (CutSynthesis, CUT, CONCENTRATED, TABLE),
    (CutSynthesis, CUT, APPROXIMATE, TABLE),
    (Sanitization, RECORDS, PURE, TABLE),
    (Sanitization, RECORDS, APPROXIMATE, TABLE),
    (Trigonometric, CHEBYSHEV, PURE, TABLE),
    (Trigonometric, CHEBYSHEV, CONCENTRATED, TABLE),
    (Trigonometric, CHEBYSHEV, APPROXIMATE, TABLE),
    (SmallDatabase, SMALL, PURE, TABLE),
    (SmallDatabase, WALKED, CONCENTRATED, TABLE),
    (Net, GIVEN, PURE, TABLE),
    (Net, GIVEN, CONCENTRATED, TABLE),
]
BODIES = {NoiseBody, NIM}  # noise of convex bodies: rebuilt through the archive, under their own tests
NAMES = [f"{kind.__name__}-{type(target).__name__}-{i}" for i, (kind, _, target, _) in enumerate(CASES)]


def amounts(claim):
    """The numbers of a claim, each of which grows as privacy weakens."""
    return [getattr(claim, name, 0.0) for name in ("epsilon", "delta", "rho")]


def values(output):
    """Plain values, whatever a mechanism releases: numbers, keys with numbers, columns."""
    if isinstance(output, Synthesis | Found):
        return values(output.rows)
    if isinstance(output, dict):
        return {name: values(part) for name, part in output.items()}
    if isinstance(output, tuple):
        return [values(part) for part in output]
    return output.to_pylist() if isinstance(output, pa.Array | pa.ChunkedArray) else np.asarray(output).tolist()


def taken(mechanism, answer):
    """What the mechanism takes: of a table what it asks for, else the exact answer itself."""
    return mechanism.take(answer) if answer is TABLE or answer is VISITED else answer


def held(answer):
    """Plain values of a secret answer; of a view the rows in one order, since an engine gives them in any."""
    if isinstance(answer, SecretView):
        answer = dataclasses.replace(answer, texts=(("w", ("one",)),) if "w" in answer.columns else ())
        batches = [{name: np.asarray(column).tolist() for name, column in batch.items()} for batch in answer.batches()]
        return sorted((row for batch in batches for row in zip(*batch.values(), strict=True)), key=repr)
    if isinstance(answer, Smoothing):
        return answer.counts.tolist()
    if isinstance(answer, Keyed):
        return values(answer.units())
    if isinstance(answer, list):
        return [(ranks.values.tolist(), ranks.below.tolist()) for ranks in answer]
    return answer.tolist()


def test_every_public_mechanism_is_here():
    assert {kind for kind, *_ in CASES} | BODIES == {*MECHANISMS.values(), *CHANNELS}


def check_fields_are_frozen(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, dataclasses.fields(mechanism)[0].name, None)
    assert not hasattr(mechanism, "__dict__")


def check_equal_when_rebuilt(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    fields = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism)}
    assert kind(**fields) == mechanism == copy.deepcopy(mechanism)


def check_equal_when_rebuilt_from_a_file(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    record = json.loads(canonical(mechanism.to_record()))
    assert kind.from_record(query, record) == mechanism
    assert kind in CHANNELS or MECHANISMS[record["type"]] is kind


def check_calibrate_spends_its_target_and_no_more(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    assert mechanism.guarantee().implies(target.assuming(*mechanism.guarantee().assumptions))
    if kind is not Public:  # and spends it: a target 1 % smaller is not met
        spent = amounts(mechanism.guarantee())
        allowed = amounts(target)
        assert any(s >= 0.99 * a > 0 for s, a in zip(spent, allowed, strict=True))


def check_guarantee_grows_from_zero(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    assert amounts(mechanism.guarantee(0)) == [0, 0, 0]
    assert mechanism.guarantee(0) == mechanism.guarantee().group(0)  # of the same kind, wherever it is stated
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


def check_release_repeats_and_leaves_its_input_alone(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    secret = taken(mechanism, answer)
    kept = held(secret)
    first, second = (mechanism.release(secret, seeded(5)) for _ in range(2))
    assert values(first) == values(second)
    assert held(secret) == kept
    if isinstance(secret, np.ndarray):
        assert not np.shares_memory(first, secret)
    others = (values(mechanism.release(secret, seeded(seed))) for seed in range(6, 40))
    assert kind is Public or any(other != values(first) for other in others)


def check_error_falls_as_more_failures_are_allowed(kind, query, target, answer):
    mechanism = kind.calibrate(query, target)
    errors = [mechanism.error(beta) for beta in (1e-6, 0.05, 0.5)]
    assert errors == sorted(errors, reverse=True)
    assert min(errors) >= 0


def check_proof_and_paragraphs_exist(kind, query, target, answer):
    text = __import__(kind.__module__, fromlist=["_"]).__doc__
    for word in ("Definition.", "Guarantee.", "Accuracy.", "Assumes."):
        assert word in text
    named = re.findall(r"docs/proofs/([\w-]+\.md)", text)
    assert named
    assert all((PROOFS / name).is_file() for name in named)
    path = kind.__module__.removeprefix("sfumato.").replace(".", "/")
    own = f"{path.rpartition('/')[2]}.md" in named
    assert own or any(f"{path}.py" in (PROOFS / name).read_text() for name in named)


LAWS = (
    check_fields_are_frozen,
    check_equal_when_rebuilt,
    check_equal_when_rebuilt_from_a_file,
    check_calibrate_spends_its_target_and_no_more,
    check_guarantee_grows_from_zero,
    check_release_repeats_and_leaves_its_input_alone,
    check_error_falls_as_more_failures_are_allowed,
    check_proof_and_paragraphs_exist,
)


@pytest.mark.parametrize(("kind", "query", "target", "answer"), CASES, ids=NAMES)
def test_a_mechanism_keeps_every_law(kind, query, target, answer):
    run_checks(LAWS, kind, query, target, answer)


def test_no_law_is_left_out():
    assert {name for name in globals() if name.startswith("check_")} == {law.__name__ for law in LAWS}
