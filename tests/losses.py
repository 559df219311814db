"""What it really costs to tell two exact answers apart, from each law alone; no sensitivity of ours is asked.

`compared(mechanism, one, other)` gives two numbers of the same kind: what the noise of `mechanism` gives away between
two exact answers, and what `guarantee()` claims.  Additive noise: the claim of the same noise for a question that
moves just as far as these two answers lie apart.  Bodies: the gauge.  Selections: how far the scores' changes lie
apart, against the declared spread.  Adaptive mechanisms: one is run on a table, the other table gets the same outputs,
and what each step gives away between the two is added up; whatever a run gives must then be the same on both.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from contextlib import ExitStack
from fractions import Fraction
from unittest.mock import patch

import numpy as np
from scipy import optimize, special

from sfumato import sampling
from sfumato.errors import ParameterError
from sfumato.mechanisms import (
    NIM,
    BracketedQuantiles,
    Complement,
    ContinualCounting,
    CutSynthesis,
    DiscreteGaussian,
    EllipticGaussian,
    Exponential,
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
    WorkloadSynthesis,
)
from sfumato.mechanisms.components.noisy_covariance import NARROW
from sfumato.mechanisms.components.subspace_iteration import DIRECTION, _lattice_frame, _matrix
from sfumato.mechanisms.functions.chosen_bandwidth import SPREAD, ChosenBandwidth
from sfumato.mechanisms.noise.additive import Vector
from sfumato.mechanisms.noise.normals import composed
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.curves import NoisedCurve
from sfumato.mechanisms.sanitized.nearest import Nearest
from sfumato.mechanisms.sanitized.nearest_label import NearestLabel
from sfumato.mechanisms.sanitized.numbers import Noised
from sfumato.mechanisms.sanitized.sets import Flipped
from sfumato.mechanisms.selection.bracketed_quantiles import _outward
from sfumato.mechanisms.synthetic import joined, keeping
from sfumato.mechanisms.synthetic.marginals import budget, judging, rounds, selection, triples
from sfumato.mechanisms.synthetic.marginals import columns as singles
from sfumato.mechanisms.synthetic.marginals import run as running
from sfumato.mechanisms.synthetic.persons import mechanism as persons
from sfumato.mechanisms.synthetic.persons import repeats
from sfumato.mechanisms.synthetic.smooth import plan as smooth_plan
from sfumato.mechanisms.synthetic.smooth.measurement import Measurement
from sfumato.mechanisms.synthetic.smooth.plan import SmoothSynthesis
from sfumato.mechanisms.synthetic.workload import judging as workload_judging
from sfumato.mechanisms.synthetic.workload import mechanism as workload
from sfumato.mechanisms.synthetic.workload import rounds as workload_rounds
from sfumato.privacy.gaussian import gaussian_delta
from sfumato.privacy.guarantees import Concentrated, Pure
from sfumato.queries.keys import KeyView
from sfumato.queries.ranks import Padded
from sfumato.randomness import seeded
from sfumato.sampling import choose
from sfumato.sampling.bodies import CrossPolytope, Hull, Image
from sfumato.sampling.bodies.lattice import LatticeNoise
from sfumato.sampling.bodies.programs import least_norm_preimages
from sfumato.sampling.bodies.sum_zero import SumZeroNoise
from sfumato.sampling.cube import CubeNoise


def compared(mechanism, one, other):
    """(cost between the two answers, claim); the mechanism may be charged no less than the cost."""
    return LOSSES[type(mechanism)](mechanism, one, other)


def public(mechanism, one, other):
    return (0.0 if np.array_equal(one, other) else math.inf), 0.0


def quantiles(mechanism, one, other):
    return float(ranked(mechanism.query, one, other)), float(mechanism.query.spread)


def thresholds(mechanism, one, other):
    return databases(mechanism, one, other), float(mechanism.query.spread(mechanism.rows))


def selected(mechanism, one, other):
    change = np.asarray(one, dtype=object) - np.asarray(other, dtype=object)
    return float((change.max(axis=-1) - change.min(axis=-1)).sum()), float(mechanism.query.spread)


def added(cost):
    """Noise on a vector: `cost` says what it gives away between vectors that lie so far apart."""

    def loss(mechanism, one, other):
        move = np.asarray(one, dtype=object) - np.asarray(other, dtype=object)
        try:
            return (cost(mechanism, move) if any(move) else 0.0), amount(mechanism.guarantee())
        except ParameterError:  # vectors so far apart that no guarantee is left
            return math.inf, amount(mechanism.guarantee())

    return loss


def measured(cost):
    """The same on measurements of a histogram."""
    return lambda mechanism, one, other: added(cost)(
        mechanism, mechanism.measurement.apply(one), mechanism.measurement.apply(other)
    )


def continual(mechanism, one, other):
    """The measurements of every period, group by group, with the noise of its law."""
    apart = np.asarray(one, dtype=object) - np.asarray(other, dtype=object)
    move = np.concatenate([mechanism.measurement.apply(column) for column in apart.T])
    if not any(move):
        return 0.0, amount(mechanism.guarantee())
    kind = Laplace if mechanism.law.name == "laplace" else Gaussian
    return amount(kind(moved(move), mechanism.scale, mechanism.epsilon).guarantee()), amount(mechanism.guarantee())


def amount(claim):
    """The number of a claim: epsilon, rho, or the delta at its epsilon."""
    if isinstance(claim, Pure):
        return claim.epsilon
    return claim.rho if isinstance(claim, Concentrated) else claim.delta


def laplace(mechanism, move):
    return amount(Laplace(moved(move), mechanism.scale, getattr(mechanism, "epsilon", None)).guarantee())


def gaussian(mechanism, move):
    kind = DiscreteGaussian if type(mechanism) is DiscreteGaussian else Gaussian
    return amount(kind(moved(move), mechanism.sigma, mechanism.epsilon).guarantee())


def ball(mechanism, move):
    return moved(move).l2 / mechanism.scale


def staircase(mechanism, move):
    steps = -(-abs(int(move[0])) // mechanism.noise.sensitivity)
    return steps * mechanism.noise.epsilon


def truncated(mechanism, move):
    """The delta of a move at the claim's epsilon: each number's lost mass, over the outermost places, added up."""
    law, grown = mechanism.noise, math.exp(mechanism.guarantee().epsilon)
    places = np.arange(max(-law.reach, law.reach - 100_000), law.reach + 1)

    def masses(at):
        inside = np.exp(-abs(at) / law.scale) * (abs(at) <= law.reach)
        return np.where(abs(at) == law.reach, law.edge, 1.0) * inside / law.total

    steps = {abs(int(z)) for z in move if z}
    lost = {k: np.maximum(masses(places) - grown * masses(places + k), 0).sum() for k in steps}
    return sum(lost[abs(int(z))] for z in move if z) * (1 - 1e-9)


def of_one_parity(mechanism, move):
    even = {int(z) % 2 for z in move}
    return max(abs(int(z)) for z in move) / mechanism.scale if len(even) == 1 else math.inf


def of_sum_zero(mechanism, move):
    return sum(abs(int(z)) for z in move) / 2 / mechanism.scale if sum(move) == 0 else math.inf


def of_the_first(mechanism, one, other):
    """What the noise on the first count gives away, where both add up to the same."""
    if sum(map(int, one)) != sum(map(int, other)):
        return math.inf, amount(mechanism.guarantee())
    return LOSSES[type(mechanism.counted)](mechanism.counted, one[:1], other[:1])


def nested(mechanism, move):
    levels = zip(mechanism.levels, mechanism.bodies, strict=True)
    real = move.astype(np.float64)
    return sum(level.epsilon * float(hull.gauge_by_program([level.down @ real])[0]) for level, hull in levels)


def moved(move):
    """A question that moves just as far."""
    return Vector("moved", len(move), *norms(move))


def norms(move):
    """l1, l2 and linf of whole numbers; l2 rounded down, within the others."""
    l1, linf = sum(abs(int(z)) for z in move), max(abs(int(z)) for z in move)
    l2 = math.sqrt(sum(int(z) ** 2 for z in move)) * (1 - 1e-15)
    return float(l1), min(max(l2, float(linf)), float(l1)), float(linf)


def shaped(mechanism, move):
    """epsilon times the gauge, or the norm of the least preimage over the scale of a lattice law."""
    real, noise = move.astype(np.float64), mechanism.noise
    if not isinstance(noise, LatticeNoise):
        body = mechanism.body
        gauge = body.gauge_by_program([real]) if isinstance(body, Hull) else body.gauge([real])
        return mechanism.epsilon * float(gauge[0]) * (1 - 1e-9)
    if isinstance(noise.law, SumZeroNoise):
        return float(np.abs(real).sum()) / 2 / noise.law.scale if real.sum() == 0 else math.inf
    order = np.inf if isinstance(noise.law, CubeNoise) else 1.0
    if noise.matrix is not None:
        image = Image(CrossPolytope(noise.matrix.shape[1]), noise.matrix)
        if not np.isfinite(image.gauge([real])[0]):
            return math.inf
        real = least_norm_preimages(noise.matrix.astype(np.float64), real[None], order)[0]
    return float(np.linalg.norm(real, ord=order)) / noise.law.scale * (1 - 1e-9)


def covariance(mechanism, move):
    """Squares and count with the scale, products and sums with a narrower one, by body."""
    groups = mechanism.query.groups
    factors = np.repeat(np.array(mechanism.multiples, dtype=object), groups)
    scaled = (factors * move).astype(np.float64)
    if mechanism.body.name == "cube":
        return float(np.abs(scaled).max()) / mechanism.scale
    if mechanism.body.name == "laplace":
        return float(np.abs(scaled).sum()) / mechanism.scale
    narrow = float(NARROW) if mechanism.body.name == "ball" else 1 / math.sqrt(2)
    widths = np.repeat([1.0, narrow, narrow, 1.0], groups)
    length = float(np.linalg.norm(scaled / widths)) * (1 - 1e-12)
    return length / mechanism.scale if mechanism.body.name == "ball" else normal(mechanism, length)


def iterated(mechanism, move):
    """The costs of all products added up, each with the worst of some directions on the lattice."""
    query, rng = mechanism.query, np.random.default_rng(0)
    d, k = query.size, query.details.k
    matrix = _matrix(move, d)
    frames = [_lattice_frame(rng.normal(size=(d, k))) for _ in range(20)] + [_lattice_frame(np.eye(d, k))]
    products = [matrix.dot(frame).astype(np.float64).reshape(-1) for frame in frames]
    totals = DIRECTION * np.array([np.trace(matrix), *move[d + d * (d - 1) // 2 :]], dtype=object).astype(np.float64)
    if mechanism.body.name == "normal":
        squared = mechanism.iterations * max(float(p @ p) for p in products) + float(totals @ totals)
        return normal(mechanism, math.sqrt(squared) * (1 - 1e-12))
    order = {"cube": np.inf, "ball": 2, "laplace": 1}[mechanism.body.name]
    largest = max(float(np.linalg.norm(p, ord=order)) for p in products)
    total = mechanism.iterations * largest + float(np.linalg.norm(totals, ord=order))
    return total / mechanism.scale * (1 - 1e-12)


def normal(mechanism, length):
    if mechanism.epsilon is None:
        return length**2 / (2 * mechanism.scale**2)
    return gaussian_delta(mechanism.scale, length, mechanism.epsilon) * (1 - 1e-9)


def keys(mechanism, one, other):
    """Keys that both hold: by how much their counts differ in all; keys of one alone must be few, each held once."""
    shared = one.keys() & other.keys()
    moved = sum(abs(one[key] - other[key]) for key in shared)
    alone = [held[key] for held in (one, other) for key in held.keys() - shared]
    claimed = mechanism.guarantee().epsilon * mechanism.scale
    replaced = 2 if mechanism.query.replaced else 1
    few = len(alone) <= replaced * mechanism.query.per_unit and all(count == 1 for count in alone)
    return (float(moved + len(alone)) if few else math.inf), claimed * (1 + 1e-12)


def held(mechanism, one, other):
    """How many keys differ in their holders, each by one; the claim is so many times that of one key."""
    moved = [abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys()]
    differ = sum(move > 0 for move in moved)
    return (
        float(differ) if max(moved, default=0) <= 1 else math.inf
    ), mechanism.guarantee().epsilon / mechanism.epsilon


def bracketed(mechanism, one, other):
    """The estimates, by their share of the spread; and every end by its own ranks, among public rows beside them."""
    query, rate = mechanism.query, Fraction(mechanism.rate)
    low, high = query.lattice.low, query.lattice.high
    moves = []
    for less, more in map(_outward, query.probabilities):
        beside = [(low - 1, math.ceil(mechanism.margin(less) / (1 - less)), low - 1, high, less)]
        beside += [(high + 1, math.ceil(mechanism.margin(more) / more), low, high + 1, more)]
        for place, count, first, last, p in beside:
            pairs = [
                [Padded(ranks, place, count, place < low).near(0, ranks.rows + count) for ranks in side]
                for side in (one, other)
            ]
            moves.append(apart(*pairs, np.arange(first, last + 1), p))
    share = ranked(query, one, other) / Fraction(query.spread)
    estimates, rho = Fraction(amount(mechanism.estimating.guarantee())), mechanism.estimating.concentrated
    if rho:
        cost = estimates * share**2 + sum((rate * move) ** 2 for move in moves) / 8
    else:
        cost = estimates * share + rate * sum(moves)
    return float(cost) * (1 - 1e-12), amount(mechanism.guarantee())


def ranked(query, one, other):
    """How far apart the changes of the penalties lie, for the worst of the probabilities."""
    points = np.arange(query.lattice.low, query.lattice.high + 1)
    return max(apart(one, other, points, p) for p in query.probabilities)


def apart(one, other, points, p):
    """The sum over cells of how far apart the changes of the penalties of all points lie."""
    total = Fraction(0)
    for left, right in zip(one, other, strict=True):
        change = [a - b for a, b in zip(penalties(left, points, p), penalties(right, points, p), strict=True)]
        total += max(change) - min(change)
    return total


def penalties(ranks, points, p):
    """max(0, L - p n, U - (1 - p) n) / (2 max(p, 1 - p)) of every lattice point."""
    p = Fraction(p)
    values, below = np.asarray(ranks.values), np.asarray(ranks.below)
    low = [int(below[np.searchsorted(values, point, side="left")]) for point in points]
    upto = [int(below[np.searchsorted(values, point, side="right")]) for point in points]
    rows = int(below[-1])
    scale = 2 * max(p, 1 - p)
    pairs = zip(low, upto, strict=True)
    return [max(Fraction(0), a - p * rows, (rows - b) - (1 - p) * rows) / scale for a, b in pairs]


def databases(mechanism, one, other):
    """How far apart the changes of the penalties of some databases lie."""
    rng, cells = np.random.default_rng(1), len(one)
    candidates = [np.bincount(rng.integers(0, cells, mechanism.rows), minlength=cells) for _ in range(60)]
    candidates += [mechanism.rows * np.eye(cells, dtype=np.int64)[i] for i in range(cells)]
    changes = []
    for candidate in candidates:
        heights = [
            int(np.abs(mechanism.rows * np.cumsum(held) - held.sum() * np.cumsum(candidate)).max())
            for held in (one, other)
        ]
        changes.append(heights[0] - heights[1])
    return float(max(changes) - min(changes))


# whole tables


def features(mechanism, move):
    """Noise on sums of Chebyshev features, by body."""
    length = norm_of(move, mechanism.body.norm)
    return length / mechanism.scale if mechanism.body.pure else normal(mechanism, length)


def norm_of(move, norm):
    """The norm of a vector, rounded down."""
    order = {"l1": 1, "l2": 2, "linf": np.inf}[norm]
    return float(np.linalg.norm(np.asarray(move, dtype=np.float64).ravel(), ord=order)) * (1 - 1e-12)


def counting(mechanism, one, other):
    """How far apart the changes of the penalties max_f |m f.h - n f.y| of some databases y of m rows lie."""
    matrix, cells, rows = mechanism.query.matrix.astype(object), len(one), mechanism.rows
    if isinstance(mechanism, Net):
        candidates = mechanism.candidates
    else:
        rng = np.random.default_rng(1)
        candidates = [np.bincount(rng.integers(0, cells, rows), minlength=cells) for _ in range(60)]
        candidates += [rows * np.eye(cells, dtype=np.int64)[i] for i in range(cells)]
    changes = []
    for candidate in candidates:
        heights = [abs(rows * (matrix @ held) - held.sum() * (matrix @ candidate)).max() for held in (one, other)]
        changes.append(int(heights[0] - heights[1]))
    rate = mechanism.rate * (max(changes) - min(changes))
    return (rate**2 / 8 if mechanism.concentrated else rate), amount(mechanism.guarantee())


class Transcript:
    """What a run draws from a table, step by step; with the `script` of another run it returns the same outputs."""

    def __init__(self, script=None):
        self.script, self.steps = script, []

    def noisy(self, table, law, rng):
        return self._held(table, law, lambda: table + law.sample(table.shape, rng))

    def measured(self, measurement, total, rng):
        return self._held(total, measurement, lambda: total + measurement.noise.sample(1, rng)[0])

    def chosen(self, penalties, rate, rng):
        return self._held(penalties, rate, lambda: choose(penalties, rate, rng))

    def _held(self, exact, law, draw):
        output = draw() if self.script is None else self.script.steps[len(self.steps)][2]
        self.steps.append((np.array(exact, dtype=object), law, output))
        return output

    def pairs(self):
        """Each step's noise or rate, and how far apart the two tables are in it; what is drawn must be the same."""
        assert len(self.steps) == len(self.script.steps)
        for (here, law, _), (there, same, _) in zip(self.steps, self.script.steps, strict=True):
            assert law == same
            yield law, (here - there).reshape(-1)


def replayed(run, one, other, watched):
    """The steps of a run on one table with those of the same outputs on another; `watched` says what is drawn.

    What both runs give is the same, or it shows more of the table than was drawn, and was paid for.
    """
    script, given = None, []
    for answer in (one, other):
        script = Transcript(script)
        with ExitStack() as stack:
            for place, name, instead in watched(script):
                stack.enter_context(patch.object(place, name, instead))
            given.append(repr(plain(run(answer))))
    assert given[0] == given[1], "the output depends on the table beyond what was drawn"
    return script.pairs()


def plain(given):
    """An output as plain values, all of which are compared."""
    if dataclasses.is_dataclass(given):
        return {field.name: plain(getattr(given, field.name)) for field in dataclasses.fields(given)}
    if isinstance(given, dict):
        return {name: plain(part) for name, part in given.items()}
    if isinstance(given, tuple | list):
        return [plain(part) for part in given]
    return given.tolist() if isinstance(given, np.ndarray) else given


def in_rounds(script):
    alike = lambda rng: np.random.default_rng(1)  # noqa: E731  # rows are public before they are judged
    watched = [
        (place, name, new)
        for place in (rounds, judging)
        for name, new in (("noisy", script.noisy), ("shuffling", alike))
    ]
    watched += [(keeping, "shuffling", alike)]
    watched += [(place, "noisy", script.noisy) for place in (singles, running)]
    return [*watched, *((place, "choose", script.chosen) for place in (selection, triples))]


def in_moments(script):
    measured = lambda measurement, total, rng: script.measured(measurement, total, rng)  # noqa: E731
    return [(smooth_plan, "choose", script.chosen), (Measurement, "release", measured)]


HURRY = {"STEPS": 2, "LAST_STEPS": 1}  # fits hardly at all


def marginals(mechanism, one, other, watched=in_rounds):
    """Noisy tables and choices, and moments where they are watched: epsilons, rhos or halves of mu^2, added up."""
    pure, total = mechanism.target.takes_normal is False, 0.0
    laws = {True: sampling.DiscreteGaussian, False: sampling.RoundedNormal}
    told = (lambda step: step**2 / 8) if mechanism.target.counts_rho else as_normal
    with (
        patch.multiple(rounds, **HURRY),
        patch.multiple(triples, STEPS=2, BEFORE=1, FULL=0),  # three columns, too, where they are asked for
        patch.object(budget, "HOPELESS", {True: 1e9, False: 1e9}),
    ):  # pairs, however few the rows
        for law, move in replayed(lambda view: mechanism.release(view, seeded(1)), one, other, watched):
            if isinstance(law, float):
                step = law * float(move.max() - move.min())
                total += step if pure else told(step)
            elif isinstance(law, Measurement):
                step = norm_of(move, law.law.norm) / law.scale
                total += step if pure else step**2 / 2
            else:
                assert pure or isinstance(law, laws[mechanism.target.counts_rho])
                total += norm_of(move, "l1") / law.scale if pure else norm_of(move, "l2") ** 2 / (2 * law.sigma**2)
    claim = mechanism.guarantee()
    if pure:
        return total, claim.epsilon
    return total, claim.rho if claim.counts_rho else normal_amount(claim.epsilon, claim.delta)


def as_normal(step):
    """Half the squared mu of the two-point laws whose losses lie `step` apart, at the hardest: around 0."""
    return float(2 * special.ndtri(special.expit(step / 2)) ** 2)


def normal_tail(mu, epsilon):
    """The delta at epsilon of two normal laws, mu apart, by the two tails themselves."""
    return special.ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * special.ndtr(-mu / 2 - epsilon / mu)


def normal_amount(epsilon, delta):
    """Half the squared mu at which two normal laws, mu apart, reach delta at epsilon."""
    return optimize.brentq(lambda mu: normal_tail(mu, epsilon) - delta, 1e-6, 50.0, xtol=1e-14) ** 2 / 2


def normal_epsilon(amount, delta):
    """The epsilon at which two normal laws of this half squared mu have delta."""
    mu = math.sqrt(2 * amount)
    if not mu or normal_tail(mu, 0.0) <= delta:
        return 0.0
    return optimize.brentq(lambda epsilon: normal_tail(mu, epsilon) - delta, 0.0, 200.0, xtol=1e-14)


def over_texts(mechanism, one, other):
    """Each discovery, and rows over all texts that one of the tables holds: epsilons added up."""
    total, texts = 0.0, []
    for discovery in mechanism.discoveries:
        sides = [dict(zip(*KeyView(discovery.query, view.table).units(), strict=True)) for view in (one, other)]
        cost, claim = compared(discovery, *sides)
        total += discovery.guarantee().epsilon * cost / claim
        texts.append((discovery.query.column, tuple(sorted(sides[0]))))
    making = mechanism.over(tuple(texts))
    views = [dataclasses.replace(view, texts=making.query.texts) for view in (one, other)]
    return total + as_stated(making, *views), mechanism.guarantee().epsilon


def over_cuts(mechanism, one, other):
    """The quantiles of each column, and rows over cells about those of one of the tables: amounts added up."""
    total, cuts = 0.0, []
    for cutting in mechanism.cutting:
        sides = [cutting.query.answer(view.table) for view in (one, other)]
        cost, claim = quantiles(cutting, *sides)
        total += amount(cutting.guarantee()) * (cost / claim) ** (1 + cutting.concentrated)
        points = cutting.release(sides[0], seeded(1))[0] - cutting.query.lattice.low
        cuts.append((cutting.query.details.column, tuple(sorted(points.tolist()))))
    return total + as_stated(mechanism.over(tuple(cuts)), one, other), mechanism.guarantee().amount


def as_stated(making, one, other):
    """What rows give away in the number that their claim states first: of normal noise with a delta, in epsilon."""
    cost, claim = compared(making, one, other)[0], making.guarantee()
    normal = not isinstance(making, CutSynthesis) and claim.parts().get("delta", 0.0) > 0
    return normal_epsilon(cost, claim.delta) if normal else cost


def moments(mechanism, one, other):
    """The blocks of moments and the choice of a ball, composed as the target asks."""
    pure = ratio = 0.0
    steps = replayed(lambda points: mechanism.measure(points, seeded(1)), one, other, in_moments)
    for law, move in steps:
        if isinstance(law, float):
            pure += law * float(move.max() - move.min())
        elif law.law.pure:
            pure += norm_of(move, law.law.norm) / law.scale
        else:
            ratio += (norm_of(move, law.law.norm) / law.scale) ** 2
    cost = composed(Fraction(pure), Fraction(ratio), mechanism.target)
    return amount(cost), amount(mechanism.guarantee())


def both_kinds(mechanism, one, other):
    """The number of rows, moments, marginals and judgements, one after another, in the currency of the claim."""

    def watched(script):
        alike = lambda rng: np.random.default_rng(1)  # noqa: E731
        own = [(joined, "noisy", script.noisy), (joined, "shuffling", alike)]
        return [*own, *in_rounds(script), *in_moments(script)]

    return marginals(mechanism, one, other, watched)


def of_persons(mechanism, one, other):
    """Marginals of weighed rows, agreements of a person's rows, the number of rows and judgements."""

    def watched(script):
        alike = lambda rng: np.random.default_rng(1)  # noqa: E731
        own = [(place, "noisy", script.noisy) for place in (persons, repeats)]
        return [*own, (persons, "shuffling", alike), *in_rounds(script)]

    return marginals(mechanism, one, other, watched)


def answering(mechanism, one, other):
    """Marginals, the queries of a workload and judgements, one after another, in the currency of the claim."""

    def watched(script):
        alike = lambda rng: np.random.default_rng(1)  # noqa: E731
        own = [(place, "noisy", script.noisy) for place in (workload_rounds, workload_judging)]
        own += [(workload, "shuffling", alike), (workload_rounds, "choose", script.chosen)]
        return [*own, *in_rounds(script)]

    return marginals(mechanism, one, other, watched)


def numeric(mechanism, one, other):
    names = mechanism.query.columns
    boxes = [
        mechanism.smooth.box(np.array(sorted(records(view, names))).reshape(-1, len(names))) for view in (one, other)
    ]
    return moments(mechanism.smooth, *boxes)


def records(view, names):
    """The rows of a view, as tuples of indices."""
    return [row for batch in view.batches() for row in zip(*(batch[name].tolist() for name in names), strict=True)]


def sanitized(mechanism, one, other):
    """Each record that differs, part by part; shuffling is on top, so the claim is that of a record."""
    names = mechanism.columns
    here, there = Counter(records(one, names)), Counter(records(other, names))
    left, came = list((here - there).elements()), list((there - here).elements())
    claim = mechanism.record_guarantee()
    if len(left) != len(came):
        return math.inf, amount(claim)
    total = 0.0
    for before, after in zip(left, came, strict=True):
        for part in mechanism.parts:
            places = [names.index(column) for column in part.columns]
            pair = [np.array([[record[place] for place in places]]) for record in (before, after)]
            total += LOSSES[type(part)](part, *pair)[0]
    return total, amount(claim)


def responses(part, one, other):
    """A response tells two values apart by the ratio of keeping to changing, or by delta at its epsilon."""
    differs = int((part.coerced(one[:, 0]) != part.coerced(other[:, 0])).sum())
    return differs * response(part.response), amount(part.guarantee())


def flipped(part, one, other):
    change = part.coerced(one[:, 0]) ^ part.coerced(other[:, 0])
    return sum(int(bits).bit_count() for bits in change) * response(part.response), amount(part.guarantee())


def response(held):
    """What one randomized response gives away between two values."""
    p, claim = float(held.p), held.guarantee()
    keep = 1 - p * (len(held.space.values) - 1)
    if isinstance(claim, Pure):
        return math.log(keep / p) * (1 - 1e-12)
    return max(0.0, keep - math.exp(claim.epsilon) * p) * (1 - 1e-9)


def noised(part, one, other):
    move = (part.coerced(one[:, 0]) - part.coerced(other[:, 0])).astype(object)
    return added(laplace)(part.mechanism, move, 0 * move)


def smoothed(mechanism, one, other):
    """The choice by the change of its scores, in units of its own claim, and the worst of the curves in theirs."""
    scores = [mechanism.query.scores(side.counts, mechanism.noises) for side in (one, other)]
    change = scores[0] - scores[1]
    shares = [(change.max() - change.min()) / SPREAD]
    for curve in mechanism.curves:
        spent, claim = compared(curve, curve.take(one.table), curve.take(other.table))
        shares.append(spent / claim)
    return float(max(shares)), 1.0


def nearest(part, one, other):
    """The largest ratio of the weights of the two numbers' rows, or the delta at the claimed epsilon of both laws."""
    places = []
    for record in (one, other):
        value = int(part.coerced(record[:, 0])[0])
        distances = [abs(place - value) for place in part.places]
        places.append(distances.index(min(distances)))
    return through(part, places)


def nearest_label(part, one, other):
    """The same of the two labels' rows; a missing one is the last."""
    return through(part, [int(record[0, 0]) % len(part.channel.weights) for record in (one, other)])


def through(part, places):
    """What the part's channel costs between two of its values."""
    rows = [[Fraction(weight, sum(part.channel.weights[at])) for weight in part.channel.weights[at]] for at in places]
    claim = part.guarantee()
    if isinstance(claim, Pure):
        ratios = [a / b for a, b in zip(*rows, strict=True) if a or b]
        return max(abs(math.log(ratio)) for ratio in ratios), amount(claim)
    shown, factor = Fraction(part.channel.delta), Fraction(math.exp(claim.epsilon))
    laws = [
        [shown * (at == place) + (1 - shown) * p for at, p in enumerate(row)]
        for place, row in zip(places, rows, strict=True)
    ]
    over = [sum(max(Fraction(0), a - factor * b) for a, b in zip(*pair, strict=True)) for pair in (laws, laws[::-1])]
    return float(max(over)), amount(claim)


def block(part, one, other):
    length = norm_of(part.held(one) - part.held(other), part.law.norm)
    if not length:
        return 0.0, amount(part.guarantee())
    return (length / part.scale if part.law.pure else normal(part, length)), amount(part.guarantee())


LOSSES = {
    Public: public,
    KeyDiscovery: keys,
    KeySelection: held,
    RecursiveQuantiles: quantiles,
    BracketedQuantiles: bracketed,
    ThresholdDatabase: thresholds,
    PermuteAndFlip: selected,
    Exponential: selected,
    SortedCounts: lambda held, one, other: compared(held.counting, one.reshape(-1), other.reshape(-1)),
    Laplace: added(laplace),
    Staircase: added(staircase),
    TruncatedLaplace: added(truncated),
    SumZero: added(of_sum_zero),
    Complement: of_the_first,
    ParityCube: added(of_one_parity),
    Gaussian: added(gaussian),
    DiscreteGaussian: added(gaussian),
    Process: added(gaussian),
    FittedProcess: added(gaussian),
    SpectralBall: added(ball),
    SpectralLaplace: added(laplace),
    Strategy: measured(laplace),
    ContinualCounting: continual,
    EllipticGaussian: measured(gaussian),
    NoiseBody: added(shaped),
    NIM: added(nested),
    NoisyCovariance: added(covariance),
    SubspaceIteration: added(iterated),
    MarginalSynthesis: marginals,
    SmoothSynthesis: moments,
    NumericSynthesis: numeric,
    JoinedSynthesis: both_kinds,
    PersonSynthesis: of_persons,
    WorkloadSynthesis: answering,
    TextSynthesis: over_texts,
    CutSynthesis: over_cuts,
    Trigonometric: added(features),
    SmallDatabase: counting,
    Net: counting,
    Sanitization: sanitized,
    Responses: responses,
    Flipped: flipped,
    ChosenBandwidth: smoothed,
    Nearest: nearest,
    NearestLabel: nearest_label,
    Noised: noised,
    Block: block,
    NoisedCurve: lambda part, one, other: block(part.block, *(part.coerced(held[:, 0]) for held in (one, other))),
}
