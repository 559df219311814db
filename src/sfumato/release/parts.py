"""One count or histogram, read from a workload that was measured for several: its own rows, with their own intervals.

A part draws nothing and costs nothing beyond the joint release, whose guarantee it states: it is a function of what
that one shows.  Of all its cells at once the intervals hold by adding up their chances of failing, since the errors of
cells that are read from one measurement depend on one another.  Proof: docs/proofs/parts.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import NoBoundKnown
from sfumato.answers.estimates import Estimates
from sfumato.answers.statements import Accuracy, ErrorStatement, level_of
from sfumato.mechanisms import Mechanism, mechanism_from
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, Question, bind
from sfumato.queries.adding import added_up_together
from sfumato.queries.grouping import bind_cells
from sfumato.queries.linear.workload import LinearMechanism, Workload
from sfumato.queries.question import Bound
from sfumato.queries.vector import Bounds, Whole
from sfumato.release.answers import Release
from sfumato.spaces.schema import Schema

__all__ = ["PART", "Part", "Shared", "part_from", "part_of", "reading"]

PART = "part"
Floats = npt.NDArray[np.float64]


class Joint(LinearMechanism, Protocol):
    """A mechanism that answers a workload."""

    @property
    def query(self) -> Workload:
        """The workload."""

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What one release costs."""

    def to_record(self) -> dict[str, object]:
        """Public parameters."""


@dataclass(frozen=True, slots=True)
class Part:
    """Which rows of a joint mechanism's answers are read, in the order of this question's own cells."""

    query: Shared
    joint: Joint
    place: int

    def guarantee(self, distance: int = 1) -> Guarantee:
        """What the joint release costs: to see a part of it costs no more."""
        return self.joint.guarantee(distance)

    def answers(self, output: Whole) -> Floats:
        """The part's rows of the joint answers."""
        workload = self.joint.query
        return self._own(workload.estimate(self.joint.answers(output)))

    def margins(self, beta: float) -> Floats:
        """For each cell a distance that its error exceeds with probability at most beta."""
        return self._own(self.joint.query.margins(self.joint, beta))

    def _own(self, rows: Floats) -> Floats:
        """The rows of this part, the joint product's axes in this question's order."""
        workload = self.joint.query
        ends = np.cumsum([0, *workload.linear.counts])
        own = rows[ends[self.place] : ends[self.place + 1]]
        joint = [key.column for key in workload.cells.keys if key.column in self.query.query.key_columns]
        lengths = {key.column: len(key.labels) for key in workload.cells.keys}
        table = own.reshape([lengths[column] for column in joint])
        return np.ascontiguousarray(table.transpose([joint.index(c) for c in self.query.query.key_columns])).reshape(-1)

    def to_record(self) -> dict[str, object]:
        """The workload, which part of it, and what measured it."""
        workload = self.joint.query.query.to_record()
        return {"type": PART, "workload": workload, "place": self.place, "mechanism": self.joint.to_record()}


@dataclass(frozen=True, slots=True)
class Shared(Bound):
    """A count or histogram that is answered together with others."""

    query: Query
    schema: Schema

    def answer(self, table: object) -> object:
        """Nothing: it is read from what was released for all of them."""
        raise NotImplementedError

    def accuracy(self, mechanism: Part, beta: float) -> Accuracy:
        """The error to expect of each cell."""
        margins = mechanism.margins(beta)
        return ErrorStatement(
            "answer", float(margins.max()), level_of(beta), least=float(margins.min()), each=len(margins) > 1
        )

    def read(self, output: npt.ArrayLike, mechanism: Part) -> Estimates:
        """One estimate a cell, with its interval."""
        cells, estimates = bind_cells(self.query.keys, self.schema), np.asarray(output, dtype=np.float64)

        def ends(beta: float, joint: bool) -> Bounds:
            margins = mechanism.margins(beta / len(estimates) if joint else beta)
            return np.maximum(estimates - margins, 0.0), np.maximum(estimates + margins, 0.0)

        along = bool(cells.keys) and cells.keys[0].starts is not None
        whole = partial(added_up_together, cells, estimates, mechanism.margins)
        return Estimates(cells.columns(), estimates, ends, "rows", "axis" if along else "size", True, whole=whole)


def reading(question: Shared, mechanism: Mechanism, place: int) -> Part:
    """How a question is read from what a workload's mechanism, which all have answers and margins, releases."""
    return Part(question, cast(Joint, mechanism), place)


def part_of(release: Release, name: str, query: Query, place: int) -> Release:
    """The release of one part, under its own name, from the release of all."""
    question = Shared(query, release.question.schema)
    part = reading(question, release.mechanism, place)
    return Release(
        name, question, part, part.answers(release.output), release.guarantee,  # type: ignore[arg-type]
        NoBoundKnown(f"it was measured with others; the certificate of {release.name!r} speaks of all of them"),
        replace(release.provenance, parts=(part.to_record(),)), release.spend,
    )  # fmt: skip


def part_from(question: Question, record: Mapping[str, Any]) -> tuple[Shared, Part]:
    """The question and the reading of a part that was saved."""
    shared = Shared(question.query, question.schema)
    joint = mechanism_from(record["mechanism"], bind(Query.from_record(record["workload"]), question.schema))
    return shared, reading(shared, joint, record["place"])
