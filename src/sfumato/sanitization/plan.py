r"""Which randomizer for each column, and how the budget is split over them.

One record costs the sum of its columns' epsilons and deltas (they are drawn independently), and by document 001,
4.3 and 4.7, what holds for one record holds for the table and for everything computed from it.  The split makes the
sum of the columns' spreads least on a grid of shares (dynamic programming): the variances, relative to the ranges, of
the means and frequencies that can be read from the table without bias, times the number of rows.

With delta there is a second route: the rows leave in random order, so each hides among the others, and records
may be perturbed with the larger epsilon whose shuffled guarantee meets the target [FeldmanMcMillanTalwar2023].  The
session shuffles in any case; the route with the smaller spread is taken.  Proof: docs/proofs/sanitization.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.bounds.record import discrete_record_error, record_error
from sfumato.certificate import Certificate, NoBoundKnown, certified
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.numeric import ceil_float, floor_float
from sfumato.privacy.conversions import pure_for
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.privacy.shuffling import shuffled_delta, shuffled_epsilon
from sfumato.sanitization.blocks import Block, Together
from sfumato.sanitization.categories import Responses
from sfumato.sanitization.numbers import Noised
from sfumato.sanitization.sets import Flipped
from sfumato.schema import Schema
from sfumato.spaces import Categories, Integers, Interval, Subsets
from sfumato.statements import MeanError

__all__ = ["Sanitization", "Subject", "sanitization"]

SHARES = 48  # of the budget that the split hands out
MOST_POINTS = 64  # of numbers that randomized response is tried on
LARGEST_LOCAL = 12.0  # epsilon of a record before shuffling
MOST_ITEMS = 62  # of a set, which travels as the bits of a whole number

MEASURE = "worst mean distance of a record"

Subject = str | Together
AnyPart = Responses | Noised | Flipped | Block


@dataclass(frozen=True, slots=True)
class Sanitization:
    """A calibrated randomizer of whole records.  `shuffled` is the claim of the second route, None for the first."""

    schema: Schema
    parts: tuple[AnyPart, ...]
    shuffled: Approximate | None = None

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

    def guarantee(self) -> Pure | Approximate:
        """What the table costs."""
        return self.record_guarantee() if self.shuffled is None else self.shuffled

    @property
    def spread(self) -> float:
        """What the split makes least."""
        return sum(part.spread for part in self.parts)

    @property
    def error(self) -> float:
        """The columns' worst mean errors over their diameters, added up: the distance of whole records."""
        return sum(part.mean_error / part.diameter for part in self.parts)

    def certificate(self) -> Certificate | NoBoundKnown:
        """How far the worst mean error of a record is from the least possible: 5.5 for one category, else 5.3."""
        if self.shuffled is not None:
            return NoBoundKnown("none is proven here for records that are shuffled")
        if any(isinstance(part, Block) and part.group.basis is not None for part in self.parts):
            return NoBoundKnown("what the left-out waves of a curve hold depends on the data")
        claim = self.record_guarantee()
        delta = getattr(claim, "delta", 0.0)
        among = "randomizers of a record by itself"
        only = self.parts[0]
        if len(self.parts) == 1 and isinstance(only, Responses) and isinstance(only.space, Categories):
            least = discrete_record_error(only.size - 1, claim.epsilon, delta)
            name, among = "5.5 of [Jazbec2018]", f"{among}, answers among the categories"
            return certified(self.error, least, MEASURE, name, among, "record")
        least = record_error(float(len(self.parts)), claim.epsilon, delta)
        return certified(self.error, least, MEASURE, "5.3 of [Jazbec2018], true constant", among, "record")

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
    def from_record(cls, record: dict[str, Any], schema: Schema) -> Sanitization:
        """The randomizer that `to_record` wrote."""
        kinds: dict[str, Callable[[dict[str, Any]], AnyPart]] = {
            "responses": lambda part: Responses.from_record(part, schema.space(part["column"])),
            "noised": lambda part: Noised.from_record(part, schema.space(part["column"])),
            "flipped": lambda part: Flipped.from_record(part, schema.space(part["column"])),
            "block": lambda part: Block.from_record(part, schema),
        }
        claim = record["shuffled"]
        parts = tuple(kinds[part["type"]](part) for part in record["parts"])
        return cls(schema, parts, None if claim is None else Approximate(*claim))


def sanitization(schema: Schema, subjects: Sequence[Subject] | None, target: Guarantee) -> Sanitization:
    """The randomizer with the least spread that meets `target`, for the given columns (all by default)."""
    if schema.fixed_size is None:
        raise UnsupportedQuery(
            "sanitizing publishes one row for each record, so the number of rows must be public: declare the schema "
            "with adjacency=Replace(), one row a unit, and size="
        )
    chosen = _checked(schema, list(schema.columns) if subjects is None else list(subjects))
    if isinstance(target, Concentrated):
        target = Pure(pure_for(target.rho))
    if not isinstance(target, Pure | Approximate) or target.epsilon <= 0:
        raise ParameterError(f"spend must be Pure, Approximate or Concentrated with a positive amount, got {target!r}")
    alone = Sanitization(schema, _split(schema, chosen, target))
    if not isinstance(target, Approximate) or target.delta <= 0:
        return alone
    hidden = _shuffled(schema, chosen, target, schema.fixed_size)
    return hidden if hidden is not None and hidden.spread < alone.spread else alone


def _shuffled(schema: Schema, chosen: list[Subject], target: Approximate, size: int) -> Sanitization | None:
    """The largest local epsilon whose shuffled guarantee meets the target, by bisection."""
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
    made = Sanitization(schema, _split(schema, chosen, Pure(low)))
    local = made.record_guarantee().epsilon
    claim = Approximate(min(target.epsilon, shuffled_epsilon(local, size, target.delta)), target.delta)
    return (
        Sanitization(schema, made.parts, claim) if shuffled_delta(local, size, target.epsilon) <= target.delta else None
    )


def _split(schema: Schema, chosen: list[Subject], target: Pure | Approximate) -> tuple[AnyPart, ...]:
    """Shares of epsilon that make the sum of spreads least; delta is split evenly."""
    delta = getattr(target, "delta", 0.0)
    each = floor_float(Fraction(delta) / len(chosen))

    def part(subject: Subject, share: int) -> AnyPart:
        epsilon = floor_float(Fraction(target.epsilon) * share / total)
        return _best(schema, subject, Approximate(epsilon, each) if each else Pure(epsilon))

    total = max(SHARES, 2 * len(chosen)) if len(chosen) > 1 else 1
    if len(chosen) == 1:
        return (part(chosen[0], 1),)
    most = total - len(chosen) + 1
    spreads = [
        np.array([math.inf] + [part(subject, share).spread for share in range(1, most + 1)]) for subject in chosen
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


def _best(schema: Schema, subject: Subject, target: Pure | Approximate) -> AnyPart:
    """The randomizer of one subject with the least spread."""
    if isinstance(subject, Together):
        return Block.calibrate(subject, schema, target)
    space = schema.space(subject)
    if isinstance(space, Categories):
        return Responses.calibrate(subject, space, target)
    if isinstance(space, Subsets):
        return Flipped.calibrate(subject, space, target)
    assert isinstance(space, Interval | Integers)
    noised = Noised.calibrate(subject, space, target)
    if space.lattice.width >= MOST_POINTS:
        return noised
    answered = Responses.calibrate(subject, space, target)
    return answered if answered.spread < noised.spread else noised


def _checked(schema: Schema, subjects: list[Subject]) -> list[Subject]:
    if not subjects:
        raise ParameterError("columns is empty; name at least one column to sanitize")
    names = [name for s in subjects for name in (s.columns if isinstance(s, Together) else (s,))]
    for name in names:
        space = schema.space(name)
        if names.count(name) > 1:
            raise ParameterError(f"column {name!r} is named twice; each is published once")
        if not isinstance(space, Interval | Integers | Categories | Subsets):
            raise UnsupportedQuery(f"column {name!r} ({type(space).__name__}) cannot be sanitized; leave it out")
        if isinstance(space, Subsets) and len(space.of) > MOST_ITEMS:
            raise UnsupportedQuery(f"column {name!r} has more than {MOST_ITEMS} items; declare fewer to sanitize it")
    return subjects


def _mean_error(part: AnyPart) -> MeanError:
    if isinstance(part, Responses) and isinstance(part.space, Categories):
        return MeanError("wrong", part.column, part.mean_error)
    if isinstance(part, Flipped):
        return MeanError("items", part.column, part.mean_error)
    if isinstance(part, Block):
        return MeanError("point", f"{part.columns[0]}..{part.columns[-1]}", part.mean_error / len(part.columns))
    return MeanError("distance", part.column, part.mean_error)
