"""What releasing takes, and the figures that belong to a mechanism: a table by stored name, all from public quantities.

Seconds are of one core, measured once on tables of several sizes and checked on others; what is not listed was not
measured, and nothing is said of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from sfumato.answers.preview import Effort, Number
from sfumato.answers.smooth_errors import SmoothErrors
from sfumato.cards import listed
from sfumato.mechanisms.sanitized import Sanitization
from sfumato.mechanisms.synthetic.cuts import CutSynthesis
from sfumato.mechanisms.synthetic.joined import AT_ONCE, JoinedSynthesis
from sfumato.mechanisms.synthetic.marginals.budget import TRIPLES, rounds_of
from sfumato.mechanisms.synthetic.marginals.judging import MOST_PAIRS
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.room import LARGEST_TREE
from sfumato.mechanisms.synthetic.net import Net
from sfumato.mechanisms.synthetic.numeric import NumericSynthesis
from sfumato.mechanisms.synthetic.persons.mechanism import MOST_OF_A_PERSON, PersonSynthesis
from sfumato.mechanisms.synthetic.small_database import SmallDatabase
from sfumato.mechanisms.synthetic.texts import TextSynthesis
from sfumato.mechanisms.synthetic.trigonometric import Trigonometric
from sfumato.mechanisms.synthetic.workload.mechanism import AT_ONCE as POOL
from sfumato.mechanisms.synthetic.workload.mechanism import ROOM, WorkloadSynthesis
from sfumato.mechanisms.synthetic.workload.rounds import MOST_ROUNDS
from sfumato.privacy.adjacency import Person
from sfumato.privacy.guarantees import Approximate, Guarantee
from sfumato.queries.encoding import Column
from sfumato.queries.synthetic import SyntheticRows
from sfumato.spaces import numeric

__all__ = ["DELTA", "effort", "pairs_with_delta"]

# Seconds of one core, measured on tables of 8 to 400 columns and 10,000 to 10,000,000 rows: what every run takes, a
# round of fitting for each column up to a whole tree, and how many rounds the last fit takes; a column, a pair scored,
# a pair weighed before a choice; a column asked of an engine, a value read, a pair of values counted, a value made.
START, ROUND, WHOLE, LAST = 0.15, 7e-3, 0.7, 7
COLUMN, SCORE, CHOICE = 0.02, 2e-5, 1e-6
ASKED, VALUE, COUPLE, MADE = 0.014, 6e-8, 2e-9, 3e-7
KEPT, BYTES = 3.5e-6, 110  # a row that is drawn, put together and stored: seconds, and memory besides its values
PASSES = 3  # over the rows; moments take as many more
SETTLING, FEATURE, FITTING = 0.4, 2e-8, 6  # of moments: in all, a feature of a row, and how often fits read it
WALK = 4e-6  # a value of a row that is drawn given its person
TEXT = 2e-7  # a text that is counted with those like it
RANKED = 1e-7  # a value that is counted with those equal to it
ANSWER = 8e-9  # of a workload: a row that a query is asked of
GROUPS = 16  # of a column's levels at most, in pairs
COARSE = 100  # a default step from which a preview says that values are rounded to it
WIDE = 100_000  # values of a number from which a preview says how coarse its cells are,
NEAREST, FARTHEST = 10, 10_000  # a tenth to a ten-thousandth of the bounds away from zero
DELTA = 1e-6  # what is told of pairs where a pure budget has no delta


class Named(Protocol):
    """A mechanism, as far as its stored name is wanted."""

    def to_record(self) -> dict[str, object]:
        """Public parameters, under `type` the stored name."""


def effort(mechanism: Named) -> Effort:
    """What a mechanism needs, and its own figures."""
    measured = EFFORTS.get(str(mechanism.to_record()["type"]))
    return Effort() if measured is None else measured(mechanism)


def pairs_with_delta(question: SyntheticRows, target: Guarantee) -> int | None:
    """How many pairs the same epsilon would pay for with a delta of DELTA; None where the target is not pure."""
    if target.takes_normal or question.good_for == "smooth":
        return None
    other = Approximate(target.parts()["epsilon"], DELTA)
    columns = len(question.levels)
    if question.person is None:
        found = MarginalSynthesis(question, other).predicted(question.supposed_size)[1]
    else:
        found = PersonSynthesis(question, other).predicted(question.supposed_persons)[1]
    return min(found, columns * (columns - 1) // 2)


def _marginal(mechanism: MarginalSynthesis | PersonSynthesis) -> Effort:
    question = mechanism.query
    size, columns, made = question.supposed_size, len(question.levels), question.rows or question.supposed_size
    noise, pairs = mechanism.predicted(size if question.person is None else question.supposed_persons)
    pairs = min(pairs, columns * (columns - 1) // 2)  # not those with the number of a person's rows
    couples = columns * (columns - 1) // 2 if pairs else 0
    rounds = rounds_of(pairs, columns)
    cells = min(LARGEST_TREE, math.prod(min(GROUPS, column.size) for column in question.levels)) if pairs else 0
    three = TRIPLES[mechanism.noise.apart] if question.triples and pairs and columns > 2 else 0
    fitting = START + (rounds + LAST * (pairs > 0) + LAST * (three > 0) + three) * min(WHOLE, ROUND * columns)
    choosing = rounds * couples * SCORE + pairs * couples * CHOICE
    counting = PASSES * _reading(question) + size * COUPLE * (couples + min(couples, MOST_PAIRS))
    seconds = fitting + choosing + counting + columns * (COLUMN + MADE * made) + KEPT * made
    memory = 8 * (256 * couples + 6 * cells + (65_536 + 3 * made) * columns) + BYTES * made
    numbers = _synthetic(question, noise, pairs, smooth=False) | ({"triples": three} if three else {})
    more = pairs_with_delta(question, mechanism.target)
    hint = {} if more is None or more <= pairs else {"pairs_with_delta": more}
    return Effort(seconds, max(1.0, memory / 1e6), {**numbers, **hint})


def _reading(question: SyntheticRows) -> float:
    """The seconds of one pass over the rows."""
    return len(question.levels) * (ASKED + VALUE * question.supposed_size)


def _smooth(mechanism: NumericSynthesis) -> Effort:
    question = mechanism.query
    memory = 8 * question.supposed_size * (len(question.levels) + 2)
    numbers = _synthetic(question, 1.0, 0, smooth=True) | SmoothErrors.of(mechanism).numbers()
    return Effort(1.0, max(1.0, memory / 1e6), numbers)


def _joined(mechanism: JoinedSynthesis) -> Effort:
    question, marginals = mechanism.query, mechanism.counted
    errors = SmoothErrors.of(mechanism).numbers()
    features = sum(part.size for part in mechanism.smooth.design.measured)
    made = question.rows or question.supposed_size
    seconds = SETTLING + FEATURE * features * (question.supposed_size + FITTING * made) + PASSES * _reading(question)
    memory = 8 * features * min(made, AT_ONCE) / 1e6
    if marginals is None:
        return Effort(seconds, max(1.0, memory), _synthetic(question, 1.0, 0, smooth=True) | errors)
    other = _marginal(marginals)
    times = 2 if mechanism.divided else 1
    both = None if other.seconds is None else times * (seconds + other.seconds)
    beside: dict[str, Number] = {"moments": float(mechanism.share)} if mechanism.divided else {}
    return Effort(both, memory + (other.megabytes or 0.0), {**other.numbers, **errors, **beside})


def _persons(mechanism: PersonSynthesis) -> Effort:
    question = mechanism.query
    other, made = _marginal(mechanism), question.rows or question.supposed_size
    walking = WALK * made * len(mechanism.free) if mechanism.most > 1 else 0.0
    alone = {"noise_of_rows": mechanism.by_rows.predicted(question.supposed_size)[0], "limit": mechanism.most}
    numbers = {**other.numbers, **(alone if mechanism.most > 1 else {})}
    return Effort(None if other.seconds is None else other.seconds + walking, other.megabytes, numbers)


def _rows(mechanism: MarginalSynthesis | JoinedSynthesis) -> Effort:
    """Rows alone; where persons have several, beside it the noise if they were kept together."""
    question = mechanism.query
    found = _joined(mechanism) if isinstance(mechanism, JoinedSynthesis) else _marginal(mechanism)
    most = question.schema.unit.rows
    if not 1 < most <= MOST_OF_A_PERSON or question.rules or question.goals:
        return found
    together = PersonSynthesis(replace(question, person=()), mechanism.target)
    noise = together.predicted(question.supposed_persons)[0]
    return replace(found, numbers={**found.numbers, "noise_of_persons": noise, "limit": most})


def _workload(mechanism: WorkloadSynthesis) -> Effort:
    question, other = mechanism.query, _marginal(mechanism.counted)
    noise, many = mechanism.predicted(question.supposed_size)
    asked = sum(goal.size for goal in mechanism.goals)
    made = min(question.rows or question.supposed_size, POOL, max(1, ROOM // asked))
    read = 3 * ANSWER * question.supposed_size * len(mechanism.goals)
    seconds = SETTLING + read + FEATURE * (MOST_ROUNDS * asked * made + FITTING * many**2 * min(made, POOL // 10))
    numbers = {"queries": len(mechanism.goals), "answered": many, "answer_noise": noise}
    memory = 4 * (asked + 5 * many) * made / 1e6
    both = None if other.seconds is None else seconds + other.seconds
    return Effort(both, memory + (other.megabytes or 0.0), {**other.numbers, **numbers})


def _texts(mechanism: TextSynthesis) -> Effort:
    """What the rows take over stand-ins, and one more pass for each column of texts."""
    question, other = mechanism.query, effort(mechanism.making)
    passes = len(mechanism.discoveries) * (ASKED + TEXT * question.supposed_size)
    told: dict[str, Number] = {
        "texts": ", ".join(question.undiscovered),
        "holders": mechanism.holders,
        "holding": "persons" if isinstance(question.schema.unit, Person) else "rows",
        "epsilon_of_texts": sum(one.guarantee().epsilon for one in mechanism.discoveries),
    }
    seconds = None if other.seconds is None else other.seconds + passes
    return Effort(seconds, other.megabytes, {**other.numbers, **told})


def _cuts(mechanism: CutSynthesis) -> Effort:
    """What the rows take over declared cells, and one more pass for each column that is cut."""
    question, other = mechanism.query, effort(mechanism.making)
    passes = len(mechanism.cutting) * (ASKED + RANKED * question.supposed_size)
    claims = [one.guarantee().parts() for one in mechanism.cutting]
    name = next(iter(claims[0]))
    told: dict[str, Number] = {
        "cuts": listed(question.uncut, 8),
        "off": mechanism.off,
        f"{name}_of_cuts": sum(claim[name] for claim in claims),
    }
    seconds = None if other.seconds is None else other.seconds + passes
    return Effort(seconds, other.megabytes, {**other.numbers, **told})


def _synthetic(question: SyntheticRows, noise: float, pairs: int, smooth: bool) -> dict[str, Number]:
    """The noise of a column in total variation, on average, and how many pairs are measured."""
    columns, room = len(question.levels), question.rules.room
    keys: dict[str, Number] = {"keys": room} if room is not None and question.rows is None else {}
    most = question.schema.unit.rows
    if most > 1 and question.schema.size is not None:
        keys |= {"persons": question.schema.size, "rows_of_a_person": most}
    rounded = [
        f"{column.name} to the nearest {float(column.space.lattice.step):,.12g}"
        for column in question.levels
        if numeric(column.space) and column.zero.size and column.space.lattice.is_default(COARSE)
    ]
    keys |= {"rounded": listed(rounded, 8)} if rounded else {}
    found = dict(question.cuts)
    counted = () if smooth else [column for column in question.levels if column.name not in found]
    wide = [told for column in counted if (told := _wide(column)) is not None]
    keys |= {"wide": listed(wide, 8)} if wide else {}
    keys |= {"rules": "; ".join(question.rules.texts)} if question.rules else {}
    weights = {} if smooth else question.weights
    keys |= {"weights": listed([f"{name} {weight:g}" for name, weight in weights.items()], 8)} if weights else {}
    return keys | {
        "columns": columns, "size": question.supposed_size, "declared": question.schema.size is not None,
        "column_noise": noise, "pairs": pairs, "among": columns * (columns - 1) // 2, "smooth": smooth,
    }  # fmt: skip


def _wide(column: Column) -> str | None:
    """How wide cells are beside the magnitude of their values, in words; None of columns with few values, or dates."""
    space = column.space
    if not (numeric(space) and space.magnitudes and column.points > WIDE):
        return None
    sizes = np.abs(np.array(column.edges, dtype=np.float64) + space.lattice.low)
    inside = (sizes > sizes.max() / FARTHEST) & (sizes < sizes.max() / NEAREST)
    if not inside.any():
        return None
    return f"{column.name} by {np.median(column.widths()[inside] / sizes[inside]):.0%}"


def _sanitization(mechanism: Sanitization) -> Effort:
    """The mean error of a record in each column."""
    errors = {f"mean_error of {error.subject}": error.amount for error in mechanism.errors()}
    return Effort(None, None, {"columns": len(mechanism.columns), "shuffled": mechanism.shuffled is not None, **errors})


def _trigonometric(mechanism: Trigonometric) -> Effort:
    return Effort(None, mechanism.memory / 1e6, {"features": mechanism.features.count, "order": mechanism.order})


def _small(mechanism: SmallDatabase) -> Effort:
    numbers = {"queries": len(mechanism.query.matrix), "rows": mechanism.rows, "databases": mechanism.candidates}
    return Effort(None, None, {**numbers, "steps": mechanism.steps})


def _net(mechanism: Net) -> Effort:
    return Effort(None, None, {
        "queries": len(mechanism.query.matrix), "rows": mechanism.rows, "databases": len(mechanism.candidates),
    })  # fmt: skip


EFFORTS: dict[str, Callable[..., Effort]] = {
    "marginal-synthesis": _rows,
    "smooth-synthesis": _smooth,
    "joined-synthesis": _rows,
    "person-synthesis": _persons,
    "workload-synthesis": _workload,
    "text-synthesis": _texts,
    "cut-synthesis": _cuts,
    "sanitization": _sanitization,
    "trigonometric": _trigonometric,
    "small-database": _small,
    "net": _net,
}
