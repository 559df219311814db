r"""Synthetic tables of numbers in bounds that are far too wide: where their values lie is found first.

Definition.  For each column that is to be cut release private quantiles of the values that are present, by
`RecursiveQuantiles`.  The column's public levels become cells about these points (`queries/cuts.py`): fine between the
outer ones, coarser the farther away.  Then release what another synthesizer makes of the whole table with these levels.
The output is all of them.

Guarantee.   The quantiles cost epsilon_i (or rho_i).  Once their points are public, the table over them is one with
public levels, and the synthesizer costs (epsilon_0, delta_0) (or rho_0), whatever the points are: all together cost the
sums, by adaptive composition.  Proof: docs/proofs/synthesis-cuts.md.

Accuracy.    `off` is the rank error of the quantiles, in rows, of a column without ties; values that are far from all
points lie in coarse cells.  How far rows are from the table depends on it, and is judged by the synthesizer.

Assumes.     What the quantiles and the synthesizer assume.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from sfumato.errors import UnsupportedQuery
from sfumato.mechanisms.mechanism import Answering
from sfumato.mechanisms.selection.recursive_quantiles import RecursiveQuantiles
from sfumato.mechanisms.synthetic.finding import Found, Synthesizer
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.numeric import ceil_float, floor_float, shown_up
from sfumato.privacy.guarantees import Concentrated, Guarantee, Pure
from sfumato.progress import tell
from sfumato.queries.cells import CELLS
from sfumato.queries.cuts import Cuts
from sfumato.queries.grouping import Cells
from sfumato.queries.predicates import col
from sfumato.queries.quantiles import Quantiles, quantiles
from sfumato.queries.synthetic import Synthesized, SyntheticRows
from sfumato.queries.view import SecretView
from sfumato.randomness import Rng

__all__ = ["CutSynthesis"]

EACH, MOST = Fraction(1, 10), Fraction(1, 4)  # of the budget, for the cuts of one column, and for those of all of them
# Probabilities of the cuts: the first of these whose rank error leaves the outer ones among the rows, or the median.
PLANS = (
    (1 / 32, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8, 31 / 32),
    (1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8, 15 / 16),
    (1 / 16, 1 / 2, 15 / 16),
    (1 / 8, 1 / 2, 7 / 8),
    (1 / 4, 1 / 2, 3 / 4),
    (1 / 2,),
)
NEAR = 1 / 4  # of the rows, within which a lone median must be
BETA = 0.05
MAKING = ("marginal-synthesis", "person-synthesis", "workload-synthesis")


@dataclass(frozen=True, slots=True)
class CutSynthesis(Answering):
    """Quantiles of each column that is to be cut, and what makes the rows, calibrated for the declared cells.

    Proof: docs/proofs/synthesis-cuts.md.
    """

    query: SyntheticRows
    cutting: tuple[RecursiveQuantiles, ...]
    making: Synthesizer

    def __post_init__(self) -> None:
        columns = tuple(one.query.details.column for one in self.cutting)
        if not columns or columns != self.query.uncut:
            raise UnsupportedQuery("each column of cuts is cut once, in their order")
        if any(one.query != _quantiles_of(self.query, one.query.details.column, _asked(one)) for one in self.cutting):
            raise UnsupportedQuery("cuts are quantiles of the table itself, with its own unit and adjacency")
        if type(self.making).from_record(self.query.about(), self.making.to_record()) != self.making:
            raise UnsupportedQuery("what makes rows over found cells must be all that its record says")
        made = self.making.guarantee().parts()
        if any(one.delta is not None or not one.guarantee().parts().keys() <= made.keys() for one in self.cutting):
            raise UnsupportedQuery("what makes rows over found cells must state epsilon or rho, as the cuts do")

    @classmethod
    def calibrate(
        cls, query: SyntheticRows, target: Guarantee, kind: type[Synthesizer] = MarginalSynthesis
    ) -> CutSynthesis:
        """A tenth of the budget, and a quarter at most for all of them, cuts a column; the rest makes rows."""
        first, rest = cls.shares(query, target)
        return cls(query, cls.finding(query, first), kind.calibrate(query.about(), rest))

    @staticmethod
    def shares(query: SyntheticRows, target: Guarantee) -> tuple[Pure | Concentrated, Guarantee]:
        """What of a target the cuts of each column take, and what is left for the rows."""
        kind, name = (Concentrated, "rho") if target.counts_rho else (Pure, "epsilon")
        amount, columns = Fraction(target.parts()[name]), len(query.uncut)
        one = floor_float(amount * min(EACH, MOST / max(1, columns)))
        if not one > 0:
            raise UnsupportedQuery(f"the cuts of {', '.join(query.uncut)} need epsilon > 0 or rho > 0, not {target!r}")
        return kind(one), target.with_parts({name: floor_float(amount - columns * Fraction(one))})

    @staticmethod
    def finding(query: SyntheticRows, target: Pure | Concentrated) -> tuple[RecursiveQuantiles, ...]:
        """What cuts each column, as finely as the rows that are supposed allow."""
        return tuple(_planned(query, name, target) for name in query.uncut)

    @staticmethod
    def must_help(query: SyntheticRows, cutting: tuple[RecursiveQuantiles, ...], target: Guarantee) -> None:
        """Refuse cuts of columns whose values all have cells, and such as would be found anywhere, by public sizes."""
        rows, (name, amount) = query.supposed_size, next(iter(target.parts().items()))
        for one in cutting:
            column, points = one.query.details.column, one.query.lattice.width + 1
            if points <= CELLS:
                raise UnsupportedQuery(
                    f"each of the {points} values of {column!r} has a cell of its own; leave it out of cuts"
                )
        for one in sorted(cutting, key=lambda one: one.error(BETA), reverse=True):  # what is enough for it is for all
            column = one.query.details.column
            times = one.error(BETA) / (rows * NEAR)
            if times > 1 and len(_asked(one)) == 1:
                enough = shown_up(amount * times ** (1 + target.counts_rho), 2)
                known = "" if query.schema.size is not None else ", declare how many there are (size=)"
                raise UnsupportedQuery(
                    f"this budget is too small to find where the values of {column!r} lie among {rows:,} rows: spend "
                    f"about {name} = {enough} or more, name fewer columns in cuts{known}, or declare narrower bounds "
                    "and leave cuts out"
                )

    @property
    def target(self) -> Guarantee:
        """What rows are made for, once cuts are public."""
        return self.making.target

    @property
    def off(self) -> float:
        """Of how many rows cuts may be off, with probability at most one in twenty for each column."""
        return max(one.error() for one in self.cutting)

    def over(self, cuts: Cuts) -> Synthesizer:
        """What makes rows over the cells about these cuts: the same amounts, for as many levels as there are."""
        return type(self.making).from_record(self.query.about(dict(cuts)), self.making.to_record())

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What all of it costs between tables `distance` units apart."""
        made = self.making.guarantee(distance)
        parts = [made.parts(), *(one.guarantee(distance).parts() for one in self.cutting)]
        return made.with_parts(
            {name: ceil_float(sum((Fraction(part.get(name, 0)) for part in parts), Fraction(0))) for name in parts[0]}
        )

    def error(self, beta: float = 0.05) -> float:
        """No bound is known."""
        return math.inf

    def release(self, answer: SecretView, rng: Rng) -> Found:
        """The cuts, and the synthetic rows over them.  `answer` is a secret view, which is asked for ranks first."""
        tell("finding where values lie", 0.0)
        low = {name: self.query.schema.lattice(name).low for name in self.query.uncut}
        found = tuple((one.query.details.column, _points(one, answer, rng)) for one in self.cutting)
        cuts = tuple((name, tuple(sorted(point - low[name] for point in points))) for name, points in found)
        made: Synthesized = self.over(cuts).release(answer, rng)
        return Found(made, "cuts", cuts)

    def to_record(self) -> dict[str, object]:
        """Public parameters: those of what makes the rows, and how cuts were found."""
        made = self.making.to_record()
        cutting = [{**one.to_record(), "probabilities": list(_asked(one))} for one in self.cutting]
        return {**made, "type": "cut-synthesis", "over_cuts": made["type"], "cutting": cutting}

    @classmethod
    def from_record(cls, query: SyntheticRows, record: Mapping[str, Any]) -> CutSynthesis:
        """The synthesizer whose parts are recorded."""
        from sfumato.mechanisms import mechanism_from

        held = record["cutting"]
        if len(held) != len(query.uncut):
            raise UnsupportedQuery(f"{len(query.uncut)} columns are cut, and how {len(held)} are is named")
        if any(one["type"] != "recursive-quantiles" for one in held):
            raise UnsupportedQuery("cuts are found by recursive-quantiles")
        cutting = tuple(
            RecursiveQuantiles.from_record(
                _quantiles_of(query, name, tuple(one["probabilities"])),
                {part: value for part, value in one.items() if part != "probabilities"},
            )
            for name, one in zip(query.uncut, held, strict=True)
        )
        if record["over_cuts"] not in MAKING:
            raise UnsupportedQuery(f"rows over found cells are made by {', '.join(MAKING)}")
        making = mechanism_from({**record, "type": record["over_cuts"]}, query.about())
        return cls(query, cutting, cast(Synthesizer, making))


def _quantiles_of(query: SyntheticRows, column: str, probabilities: tuple[float, ...]) -> Quantiles:
    """The quantiles of a column's values; what stands for missing ones is none of them."""
    asked = quantiles(column, probabilities)
    if query.schema.space(column).settled:
        asked = asked.where(~col(column).isnull())
    return Quantiles(asked, query.schema, Cells(()))


def _asked(cutting: RecursiveQuantiles) -> tuple[float, ...]:
    """The probabilities of the cuts."""
    return cutting.query.details.probabilities


def _planned(query: SyntheticRows, column: str, target: Pure | Concentrated) -> RecursiveQuantiles:
    """The finest cuts that are found among the supposed rows, or else the median alone."""
    for probabilities in PLANS:
        found = RecursiveQuantiles.calibrate(_quantiles_of(query, column, probabilities), target)
        if found.error(BETA) <= query.supposed_size * min(probabilities):
            break
    return found


def _points(cutting: RecursiveQuantiles, answer: SecretView, rng: Rng) -> tuple[int, ...]:
    """The cuts of a column, as points of its lattice."""
    return tuple(cutting.release(cutting.query.answer(answer.table), rng)[0].tolist())
