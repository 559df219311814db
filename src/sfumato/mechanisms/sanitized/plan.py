r"""Sanitized tables: every record perturbed by itself, column by column, and all of them shuffled.

Definition.  Each column, or group of columns, has a randomizer of its own; the split of the budget makes the sum of
their spreads least on a grid of shares (dynamic programming): the variances, relative to the ranges, of the means and
frequencies that can be read from the table without bias, times the number of rows.  A question may ask that the
mean distances of records from the truth be least instead.

Guarantee.   One record costs the sum of its columns' epsilons and deltas (they are drawn independently), and by
document 001, 4.3 and 4.7, what holds for one record holds for the table and for everything computed from it.  With
delta there is a second route: the rows leave in random order, so each hides among the others, and records may be
perturbed with the larger epsilon whose shuffled guarantee meets the target [FeldmanMcMillanTalwar2023].  Rows are
shuffled in any case; the better route is taken.  Proof: docs/proofs/sanitization.md.

Accuracy.    The worst mean distance of a record from the truth, over the columns' diameters: a mean that holds for
every record.

Assumes.     Nothing beyond random bits: records are whole numbers and the samplers exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.accounting.shuffling import shuffled_delta, shuffled_epsilon
from sfumato.answers.certificate import Certificate, NoBoundKnown, certified
from sfumato.answers.statements import MeanError
from sfumato.bounds.randomizers import least_distance
from sfumato.bounds.record import discrete_record_error, record_error
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.sanitized.blocks import Block
from sfumato.mechanisms.sanitized.categories import Responses
from sfumato.mechanisms.sanitized.curves import NoisedCurve
from sfumato.mechanisms.sanitized.drawing import published
from sfumato.mechanisms.sanitized.nearest import Nearest
from sfumato.mechanisms.sanitized.nearest_label import NearestLabel, least_label_distance
from sfumato.mechanisms.sanitized.numbers import Noised
from sfumato.mechanisms.sanitized.sets import Flipped
from sfumato.numeric import ceil_float, floor_float
from sfumato.privacy.conversions import concentrated_to_approximate
from sfumato.privacy.guarantees import Approximate, Guarantee, Pure
from sfumato.queries.sanitized import SanitizedRows, Subject, Together, alone
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng
from sfumato.spaces import numeric
from sfumato.spaces.schema import Schema

__all__ = ["AnyPart", "Sanitization"]

SHARES = {"spread": 48, "distance": 16}  # of the budget that the split hands out
PLACES = {"alone": 33, "among others": 17}  # of a number's range that the best channel is found for
MOST_LABELS = {"alone": 52, "among others": 17}  # of a column with distances that the best channel is found for
MOST_POINTS = 64  # of numbers that randomized response is tried on
LARGEST_LOCAL = 12.0  # epsilon of a record before shuffling

MEASURE = "worst mean distance of a record"
DELTAS = (0.1, 0.01, 1e-4)  # at which a concentrated randomizer is one with epsilon and delta

AnyPart = Responses | Noised | Nearest | NearestLabel | Flipped | Block | NoisedCurve


@dataclass(frozen=True, slots=True)
class Sanitization(Answering):
    """A calibrated randomizer of whole records.  `shuffled` is the claim of the second route, None for the first.

    Proof: docs/proofs/sanitization.md.
    """

    query: SanitizedRows
    parts: tuple[AnyPart, ...]
    shuffled: Approximate | None = None

    @classmethod
    def calibrate(cls, query: SanitizedRows, target: Guarantee) -> Sanitization:
        """The randomizer with the least spread, or distance, that meets `target`."""
        epsilon, delta = target.pure_within(), target.parts().get("delta", 0.0)
        if epsilon <= 0:
            raise ParameterError(
                f"spend must be Pure, Approximate or Concentrated with a positive amount, got {target!r}"
            )
        if not delta:
            return _readable(cls(query, _split(query, Pure(epsilon))))
        both = Approximate(epsilon, delta)
        alone, hidden = cls(query, _split(query, both)), _shuffled(query, both)
        return _readable(hidden if hidden is not None and hidden.measured < alone.measured else alone)

    @property
    def schema(self) -> Schema:
        """What is public of the table."""
        return self.query.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are published."""
        return tuple(name for part in self.parts for name in part.columns)

    def part(self, column: str) -> AnyPart:
        """The randomizer of a column."""
        for part in self.parts:
            if column in part.columns:
                return part
        raise UnsupportedQuery(f"column {column!r} is not published; published are {', '.join(self.columns)}")

    def record_guarantee(self) -> Pure | Approximate:
        """What one record costs, whatever the order of rows."""
        claims = [part.guarantee() for part in self.parts]
        epsilon = ceil_float(sum((Fraction(claim.epsilon) for claim in claims), Fraction(0)))
        delta = ceil_float(sum((Fraction(getattr(claim, "delta", 0.0)) for claim in claims), Fraction(0)))
        return Approximate(epsilon, delta) if delta else Pure(epsilon)

    def guarantee(self, distance: int = 1) -> Pure | Approximate:
        """What the table costs between tables `distance` records apart."""
        return (self.record_guarantee() if self.shuffled is None else self.shuffled).group(distance)

    @property
    def measured(self) -> float:
        """What the split makes least."""
        return sum(_measured(part, self.query.least) for part in self.parts)

    def error(self, beta: float = 0.05) -> float:
        """The columns' worst mean errors over their diameters, added up: the distance of whole records."""
        return sum(part.mean_error / part.diameter for part in self.parts)

    def release(self, answer: SecretView, rng: Rng) -> dict[str, Any]:
        """Every record perturbed by itself, then all of them shuffled.  `answer` is a secret view of the columns."""
        return published(self.parts, answer, self.schema, rng)

    def certificate(self, spend: Guarantee) -> Certificate | NoBoundKnown:
        """How far the worst mean error of a record is from the least that `spend` makes possible.

        5.5 for one category, the linear program for one with distances or one number, else 5.3.
        """
        if self.shuffled is not None:
            return NoBoundKnown("none is proven here for records that are shuffled")
        if self.query.is_smoothed:
            return NoBoundKnown("what the left-out waves of a curve hold depends on the data")
        claim = spend.parts()
        if "rho" not in claim:
            return self._against(claim["epsilon"], claim.get("delta", 0.0))
        implied = [self._against(concentrated_to_approximate(claim["rho"], delta), delta) for delta in DELTAS]
        return max(implied, key=lambda one: one.bound if isinstance(one, Certificate) else 0.0)

    def _against(self, epsilon: float, delta: float) -> Certificate | NoBoundKnown:
        among = "randomizers of a record by itself"
        only = self.parts[0]
        if len(self.columns) == 1 and (space := self.schema.space(self.columns[0])).distances is not None:
            if len(space.labels or ()) <= MOST_LABELS["alone"]:
                least = least_label_distance(space, epsilon, delta)
                among = f"{among}, answers among the categories"
                return certified(self.error(), least, MEASURE, "linear program over channels", among, "record")
        elif len(self.parts) == 1 and isinstance(only, Responses) and only.space.labels is not None:
            least = discrete_record_error(only.size - 1, epsilon, delta)
            name, among = "5.5 of [Jazbec2018]", f"{among}, answers among the categories"
            return certified(self.error(), least, MEASURE, name, among, "record")
        least = record_error(float(len(self.parts)), epsilon, delta)
        if len(self.columns) == 1 and numeric(space := self.schema.space(self.columns[0])):
            found = least_distance(space.lattice.width, epsilon, delta)
            if found > least:
                return certified(self.error(), found, MEASURE, "linear program over channels", among, "record")
        return certified(self.error(), least, MEASURE, "5.3 of [Jazbec2018], true constant", among, "record")

    def accuracy(self) -> str:
        """The mean error of each column, in words."""
        return "mean distance from the truth: " + "; ".join(error.words() for error in self.errors())

    def errors(self) -> tuple[MeanError, ...]:
        """The mean error of each column."""
        return tuple(_mean_error(part) for part in self.parts)

    def to_record(self) -> dict[str, Any]:
        """Public parameters."""
        return {
            "type": "sanitization",
            "parts": [part.to_record() for part in self.parts],
            "shuffled": None if self.shuffled is None else [self.shuffled.epsilon, self.shuffled.delta],
        }

    @classmethod
    def from_record(cls, query: SanitizedRows, record: Mapping[str, Any]) -> Sanitization:
        """The randomizer of a question that `to_record` described."""
        schema = query.schema
        kinds: dict[str, Callable[[dict[str, Any]], AnyPart]] = {
            "responses": lambda part: Responses.from_record(part, schema.space(part["column"])),
            "noised": lambda part: Noised.from_record(part, schema.numbers(part["column"])),
            "nearest": lambda part: Nearest.from_record(part, schema.numbers(part["column"])),
            "nearest-label": lambda part: NearestLabel.from_record(part, schema.space(part["column"])),
            "flipped": lambda part: Flipped.from_record(part, schema.space(part["column"])),
            "block": lambda part: Block.from_record(part, schema),
            "curve": lambda part: NoisedCurve.from_record(part, schema.space(part["column"])),
        }
        claim = record["shuffled"]
        parts = tuple(kinds[part["type"]](part) for part in record["parts"])
        return cls(query, parts, None if claim is None else Approximate(*claim))


def _shuffled(query: SanitizedRows, target: Approximate) -> Sanitization | None:
    """The largest local epsilon whose shuffled guarantee meets the target, by bisection."""
    size = query.schema.fixed_size or 0
    if size < 2:
        return None
    low, high = target.epsilon, LARGEST_LOCAL
    if low >= high:
        return None
    for _ in range(20):
        middle = (low + high) / 2
        if shuffled_delta(middle, size, target.epsilon) <= target.delta:
            low = middle
        else:
            high = middle
    if low <= target.epsilon:
        return None
    made = Sanitization(query, _split(query, Pure(low)))
    local = made.record_guarantee().epsilon
    claim = Approximate(min(target.epsilon, shuffled_epsilon(local, size, target.delta)), target.delta)
    return (
        Sanitization(query, made.parts, claim) if shuffled_delta(local, size, target.epsilon) <= target.delta else None
    )


def _split(query: SanitizedRows, target: Pure | Approximate) -> tuple[AnyPart, ...]:
    """Shares of epsilon that make the sum of spreads, or of distances, least; delta is split evenly."""
    schema, chosen = query.schema, query.subjects
    delta = getattr(target, "delta", 0.0)
    each = floor_float(Fraction(delta) / len(chosen))
    company = "alone" if len(chosen) == 1 else "among others"

    def part(subject: Subject, share: int) -> AnyPart:
        epsilon = floor_float(Fraction(target.epsilon) * share / total)
        within = Approximate(epsilon, each) if each else Pure(epsilon)
        return _best(schema, subject, within, query.least, company)

    total = max(SHARES[query.least], 2 * len(chosen)) if len(chosen) > 1 else 1
    if len(chosen) == 1:
        return (part(chosen[0], 1),)
    most = total - len(chosen) + 1
    spreads = [
        np.array([math.inf] + [_measured(part(subject, share), query.least) for share in range(1, most + 1)])
        for subject in chosen
    ]
    return tuple(part(subject, share) for subject, share in zip(chosen, _least_sum(spreads, total), strict=True))


def _least_sum(spreads: list[Any], total: int) -> list[int]:
    """Shares, at least 1 each and `total` in all, with the least sum."""
    best = np.full(total + 1, math.inf)
    best[0] = 0.0
    choices = []
    for column in spreads:
        sums = np.full((total + 1, len(column)), math.inf)
        for share in range(1, len(column)):
            sums[share:, share] = best[: total + 1 - share] + column[share]
        choices.append(sums.argmin(axis=1))
        best = sums.min(axis=1)
    shares, left = [], total
    for choice in reversed(choices):
        shares.append(int(choice[left]))
        left -= shares[-1]
    return shares[::-1]


def _best(schema: Schema, subject: Subject, target: Pure | Approximate, least: str, company: str) -> AnyPart:
    """The randomizer of one subject with the least spread, or the least mean distance."""
    if isinstance(subject, Together) and len(subject.columns) > 1:
        return Block.calibrate(subject, schema, target)
    column, basis = alone(subject)
    space = schema.space(column)
    if space.curve is not None:
        return NoisedCurve.calibrate(column, space, basis, target)
    if space.labels is not None:
        answered = Responses.calibrate(column, space, target)
        if least == "spread" or space.distances is None or len(space.labels) > MOST_LABELS[company]:
            return answered
        near = NearestLabel.calibrate(column, space, target)
        return near if near.mean_error < answered.mean_error else answered
    if not numeric(space):
        return Flipped.calibrate(column, space, target)
    noised = Noised.calibrate(column, space, target)
    if least == "distance":
        nearest = Nearest.calibrate(column, space, target, PLACES[company])
        return nearest if nearest.mean_error < noised.mean_error else noised
    if space.lattice.width >= MOST_POINTS:
        return noised
    answered = Responses.calibrate(column, space, target)
    return answered if answered.spread < noised.spread else noised


def _readable(made: Sanitization) -> Sanitization:
    """The same, unless noise takes numbers to where their type ends: cut off there, no reading would be unbiased."""
    for column in (column for part in made.parts for column in part.cut_off):
        raise UnsupportedQuery(
            f"column {column!r} ({type(made.schema.space(column)).__name__}) cannot hold the noise: cut off at the "
            "ends of the day or the calendar, no mean can be read from it; declare a time as Duration(0, 24, 'hours'), "
            "a date as numbers, spend more, or ask for least='distance', whose values stay in their range"
        )
    return made


def _measured(part: AnyPart, least: str) -> float:
    return part.spread if least == "spread" else part.mean_error / part.diameter


def _mean_error(part: AnyPart) -> MeanError:
    if isinstance(part, Responses) and part.space.labels is not None and part.space.distances is None:
        return MeanError("wrong", part.column, part.mean_error)
    if isinstance(part, Flipped):
        return MeanError("items", part.column, part.mean_error)
    if isinstance(part, Block):
        return MeanError("point", f"{part.columns[0]}..{part.columns[-1]}", part.mean_error / len(part.columns))
    return MeanError("distance", part.column, part.mean_error)
