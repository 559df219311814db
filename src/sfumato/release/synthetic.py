"""A synthetic table that may be shown: invented rows drawn from a private model, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from sfumato import arguments
from sfumato.answers.answer import failure_of
from sfumato.answers.smooth_errors import SmoothErrors
from sfumato.answers.statements import Accuracy, NotStated
from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.mechanisms.synthetic.cuts import CutSynthesis
from sfumato.mechanisms.synthetic.joined import JoinedSynthesis
from sfumato.mechanisms.synthetic.marginals.generation import shuffling
from sfumato.mechanisms.synthetic.marginals.judging import COARSE
from sfumato.mechanisms.synthetic.marginals.mechanism import MarginalSynthesis
from sfumato.mechanisms.synthetic.marginals.rounds import Synthesis
from sfumato.mechanisms.synthetic.numeric import NumericSynthesis
from sfumato.mechanisms.synthetic.persons.mechanism import PersonSynthesis
from sfumato.mechanisms.synthetic.texts import TextSynthesis
from sfumato.mechanisms.synthetic.workload.mechanism import WorkloadSynthesis
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.predicates import Predicate
from sfumato.queries.query import Query
from sfumato.queries.question import Source
from sfumato.queries.rules import given_of
from sfumato.queries.synthetic import DEFAULT, UNSAID, Synthetic, SyntheticRows
from sfumato.randomness import secure
from sfumato.release.hidden import beyond, farther
from sfumato.release.identity import Identity
from sfumato.release.prediction import PredictedErrors, advice, predicted, stated, three_of, wasted
from sfumato.release.relations import cells_found, relations, texts_found, unmet
from sfumato.release.tables import TableRelease

if TYPE_CHECKING:
    import pyarrow as pa

    from sfumato.release.comparison import Comparison
    from sfumato.release.free_answers import FreeAnswer

__all__ = ["SyntheticTable"]

Synthesizer = (
    MarginalSynthesis
    | NumericSynthesis
    | JoinedSynthesis
    | PersonSynthesis
    | WorkloadSynthesis
    | TextSynthesis
    | CutSynthesis
)
FINDING: dict[str, tuple[type[TextSynthesis | CutSynthesis], str]] = {  # what finds texts and cells, and where it names
    "text-synthesis": (TextSynthesis, "making"),  # what follows
    "cut-synthesis": (CutSynthesis, "over_cuts"),
}
MEASURE_COUNTS: dict[str, type[MarginalSynthesis | PersonSynthesis | WorkloadSynthesis]] = {
    "marginal-synthesis": MarginalSynthesis,
    "person-synthesis": PersonSynthesis,
    "workload-synthesis": WorkloadSynthesis,
}
MEASURE_MOMENTS: dict[str, type[NumericSynthesis | JoinedSynthesis]] = {
    "smooth-synthesis": NumericSynthesis,
    "joined-synthesis": JoinedSynthesis,
}


PERSONS = (
    "persons counted once each in this, as did the number of their rows and how often two rows of one agree; "
    "whoever a row belongs to is made up"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntheticTable(TableRelease):
    """Rows drawn from a private model of the table.  Whatever is computed from them is free.

    How far they are from the table depends on the table, and was measured: `error` states what is known of columns and
    pairs on average, and `errors` predicts each of them.
    """

    FORMAT: ClassVar[str] = "sfumato-synthetic/1"

    @classmethod
    def identity(cls, question: SyntheticRows, spend: Guarantee, chosen: Mapping[str, object]) -> Identity:
        """What makes such a table the same again; where "both" measures counts alone, either word names it."""
        asked = {**question.specification(), **chosen}
        unsaid = {part: value for part, value in asked.items() if part != "good_for"}
        other = unsaid if unsaid != asked else {**asked, "good_for": DEFAULT}  # the same in another word
        before = (cls.specified(question, other, spend),) if question.counts_alone else ()
        early = unsaid if question.good_for == DEFAULT else asked  # all tables of 0.2.0 were of counts alone
        return Identity(cls.specified(question, asked, spend), (*before, cls.formerly(question, early, spend)))

    @property
    def _asked(self) -> SyntheticRows:
        """What was asked, bound to the schema again."""
        weights = tuple(sorted(self.method.get("weights", {}).items()))
        keep, person = tuple(self.method.get("keep", ())), self.method.get("person")
        owned = None if person is None else tuple(person)
        workload = tuple(Query.from_record(query) for query in self.method.get("workload", ()))
        columns, cuts = tuple(self.method["columns"]), tuple(sorted(self.method.get("cuts", {})))
        own, triples = (keep, owned, workload, cuts), self.method.get("triples", False)
        details = Synthetic(columns, self.method["rows"], UNSAID, weights, *own, triples)
        return details.bind(Query(details), self.schema)

    @property
    def question(self) -> SyntheticRows:
        """What was asked, bound to the schema again, over the texts and cells that were found."""
        return self._asked.told(self.method)

    @property
    def _made_by(self) -> str:
        """The stored name of what made the rows, once texts and cells were found."""
        name = str(self.method["type"])
        for _ in FINDING:  # texts first, where both are found
            name = str(self.method[FINDING[name][1]]) if name in FINDING else name
        return name

    @property
    def mechanism(self) -> Synthesizer:
        """The synthesizer, rebuilt from its public parameters; tables of 0.3.0 and before kept its target as spend."""
        if self.method["type"] in FINDING:
            return FINDING[self.method["type"]][0].from_record(self._asked, self.method)
        for what, names in (("texts", self._asked.undiscovered), ("cuts", self._asked.uncut)):
            if names:
                named = ", ".join(names)
                raise SchemaError(f"the {what} of {named} must have been discovered, and this table does not say how")
        kind = {**MEASURE_COUNTS, **MEASURE_MOMENTS}.get(self.method["type"])
        if kind is None:  # never taken for another one, whose claim it may not have
            raise SchemaError(
                f"no mechanism {self.method['type']!r:.40} makes synthetic tables here; the table may come from "
                "another version"
            )
        return kind.from_record(self.question, {"target": to_record(self.spend), **self.method})

    @property
    def _together(self) -> list[str]:
        """The columns whose moments were measured together: each row has them from one point."""
        if self._made_by not in MEASURE_MOMENTS or not self.method.get("moments", True):
            return []
        return [column.name for column in self.question.levels if column.ordered]

    @property
    def _groups(self) -> int | None:
        """How many groups of levels were looked at where rows were moved away from the levels that were counted."""
        return COARSE if self._together else None

    @property
    def _smooth(self) -> NumericSynthesis | JoinedSynthesis | None:
        """The synthesizer, where it measured moments."""
        kind = MEASURE_MOMENTS.get(self._made_by)
        record = {"target": to_record(self.spend), **self.method}
        return None if kind is None else kind.from_record(self.question, record)

    @property
    def measured(self) -> list[tuple[str, str]]:
        """The pairs of columns whose joint counts were measured, each once; also those within three columns."""
        parts = (part["columns"] for part in self.method.get("measured", ()))
        return sorted({pair for columns in parts for pair in combinations(columns, 2)})

    @property
    def triples(self) -> list[tuple[str, ...]]:
        """Three columns at a time whose joint counts were measured, each once; only where they were asked for."""
        return three_of(self.method)

    @property
    def judged(self) -> bool:
        """Whether the rows' own errors were measured: not before 0.7.0, nor of rows for smooth queries alone."""
        return "judged" in self.method

    def error(self, level: float = 0.95) -> Accuracy:
        """The mean error of columns and pairs as it was measured; of tables made before 0.7.0 none is stated."""
        if self.judged:
            return stated(self.method, failure_of(level), self._known())
        unknown = "not stated: how far the rows are from the table depends on the table, and no bound is known; "
        return NotStated(unknown + self._known())

    def errors(self, level: float = 0.95) -> PredictedErrors:
        """What each column and each pair is predicted to stay within, with this probability: free, and not proven."""
        if not self.judged:
            why, way = "were not measured when it was made", "with this version"
            if self.method["type"] == "smooth-synthesis":
                why, way = "were not measured, as it was made for smooth queries alone", "with good_for='marginals'"
            raise UnsupportedQuery(
                f"the errors of {self.name!r} {why}, so that none can be predicted; make the table again {way}"
            )
        columns, indices = self.question.levels, self.question.indices(self.rows)
        levels = {column.name: column.levels(indices[column.name]) for column in columns}
        return predicted(columns, levels, self.method, arguments.level(level), self._groups)

    def advice(self) -> dict[str, str]:
        """What to ask of the rows and what not: relations, predicted errors, where no row is, bounds that are wide."""
        question, counts = self.question, self._made_by in MEASURE_COUNTS or "judged" in self.method
        columns, places = question.levels, question.indices(self.rows)
        target, known = self.mechanism.target, (len(self.measured), self._together, self.triples)
        told = relations(question, target, *known) if counts else {}
        found = self.errors() if self.judged else None
        told |= {} if found is None else advice(found)
        missed = unmet(question, places, self.method)
        if missed is not None:
            told["bad at"] = "; ".join([missed, *([told["bad at"]] if "bad at" in told else [])])
        last = {"not for": told.pop("not for")} if "not for" in told else {}
        smooth = {"smooth": words} if (words := self._smoothness()) else {}
        return {**told, **beyond(columns, places), **last, **wasted(columns, places, found), **smooth}

    def _facts(self) -> dict[str, str]:
        """What to use it for first, then the claim; what few ask for last."""
        kept, room = "; ".join(self.method.get("keep", ())), self.question.rules.room
        told = {
            **({"every row": kept} if kept else {}),
            **texts_found(self.question),
            **cells_found(self.question),
            **self.advice(),
        }
        total = float(self.method.get("total", 0.0))
        if room is not None and len(self) == room < total and self.method["rows"] is None:
            told["rows"] = f"as many as keys have numbers for, where the table has about {total:,.0f}"
        elif (
            len(self) == self.question.supposed_size < round(total)
            and "total_error" in self.method
            and self.method["rows"] is None
        ):
            told["rows"] = (
                f"{len(self):,}, no more than were supposed: the {total:,.0f} that were counted are mostly noise; "
                "declare size= in the schema, ask for rows=, or spend more"
            )
        facts = TableRelease._facts(self)
        first = [name for name in ("DISPUTED", "guarantee") if name in facts]
        late = [name for name in ("certificate", "ledger") if name in facts]
        smooth = {"smooth": told.pop("smooth")} if "smooth" in told else {}
        rest = {name: text for name, text in facts.items() if name not in (*first, *late)}
        return {
            **{name: facts[name] for name in first},
            **told,
            **rest,
            **smooth,
            **{name: facts[name] for name in late},
        }

    def ask(self, query: Query) -> FreeAnswer:
        """What the rows answer, with an interval that includes the table's own error: free, predicted, not proven.

        Any question whose answer is numbers: counts, means, shares, quantiles, correlations, by groups and with
        conditions, as a session takes it.  Of a handful of rows, or of more than can be held, none is answered.  Of a
        query of the table's workload the interval is no wider than what `error` states of its worst query.
        """
        from sfumato.release.free_answers import SEED, asked
        from sfumato.release.workload import bounded

        arguments.instance("query", query, Query, "a question such as sf.mean('age')")
        off = float(self.method.get("total_error", 0.0))
        question, found = self.question, self.errors()
        rows, places = self.rows.select(question.columns), question.indices(self.rows)
        far = farther(question.levels, places, rows, found, np.random.default_rng(SEED))
        answer = asked(query, rows, question.rules, found, float(self.method["total"]), off, far)
        answer = self._widened(answer, query, places)
        return bounded(answer, query, question, places, self.method)

    def _widened(self, answer: FreeAnswer, query: Query, places: Mapping[str, npt.NDArray[np.int64]]) -> FreeAnswer:
        """The answer with room for what may lie inside the cells that values were counted in."""
        from sfumato.release.free_answers import answer_again
        from sfumato.release.inside import find_moves

        question, total = self.question, float(self.method["total"])
        persons = None if question.identifier is None else self.rows[question.identifier].to_numpy()

        def again(moved: Mapping[str, npt.NDArray[np.int64]]) -> npt.NDArray[np.float64] | None:
            made = question.read(Synthesis(dict(moved), persons=persons), self.mechanism).value
            return answer_again(query, made.select(question.columns), question.rules, total)

        scale = max(1, round(total)) / max(1, len(self.rows))
        moves = find_moves(query, question, places, answer.keys, answer.estimates, scale, again, self._groups)
        return answer if moves is None else replace(answer, below=moves[0], above=moves[1])

    def more(self, rows: int, given: str | Predicate | None = None, *, after: int = 0) -> pa.Table:
        """So many more rows like these, as an Arrow table: free, as they are drawn from what is public already.

        `given`: a condition that holds in all of them, such as "region == 'north' and age >= 60"; refused where the
        table gives next to no such rows.  Where rows belong to persons, these are persons of the table again, with all
        of their rows and under new numbers.  Keys and persons number on from those of the table, and from those of the
        `after` rows that were drawn before: without it two calls give the same numbers to different rows.
        """
        from sfumato.release.more_rows import more_persons, rows_where

        question, before = self.question, arguments.whole("after", after, 0, 2**53)
        numbered, room = len(self.rows) + before, question.rules.room
        if room is not None and room <= numbered:
            raise UnsupportedQuery(f"all {room:,} numbers of {question.rules.keys[0]!r} are taken by rows before these")
        most = question.most_rows if room is None else min(question.most_rows, room - numbered)
        count = arguments.whole("rows", rows, 1, most)
        if not len(self):
            raise UnsupportedQuery(f"{self.name!r} has no rows to draw more from")
        if question.identifier is not None:
            if given is not None:
                raise UnsupportedQuery(
                    "given= chooses single rows, but those of a person belong together; leave it out"
                )
            whose = self.rows[question.identifier].to_numpy()
            places, persons = more_persons(whose, count, shuffling(secure()))
            persons += before
            held = {name: indices[places] for name, indices in question.indices(self.rows).items()}
            return question.read(Synthesis(held, persons=persons), self.mechanism).value
        wanted = None if given is None else given_of(given, question.rules, question.columns)
        parts = [part["columns"] for part in self.method.get("measured", ())]
        held, chance = question.indices(self.rows), shuffling(secure())
        made = rows_where(held, question, parts, count, wanted, chance, self._together)
        return question.read(Synthesis(made | question.rules.numbered(count, numbered)), self.mechanism).value

    def write_more(
        self, folder: str | Path, rows: int, given: str | Predicate | None = None, *, after: int = 0
    ) -> Path:
        """So many more rows, as `more` draws them, into a new folder of Parquet files of a million rows each.

        They are drawn and written piece by piece, in memory that does not grow with their number; where anything fails,
        no folder is left.
        """
        from sfumato.release.folders import PIECE, write_parts

        before, room = arguments.whole("after", after, 0, 2**53), self.question.rules.room
        most = 2**53 if room is None else max(1, room - len(self.rows) - before)  # where none is left, `more` says so
        count = arguments.whole("rows", rows, 1, most)
        starts = range(0, count, PIECE)
        pieces = (self.more(min(PIECE, count - start), given, after=before + start) for start in starts)
        return write_parts(folder, pieces, count)

    def _smoothness(self) -> str:
        """What is predicted of smooth queries beside others, where moments were measured."""
        measured = self._smooth if self.method.get("moments", True) else None
        return "" if measured is None or self._smooth_alone else SmoothErrors.of(measured).words()

    @property
    def _smooth_alone(self) -> bool:
        return bool(self.method["type"] == "smooth-synthesis" or self.method.get("share") == "1")

    def _known(self) -> str:
        if self._smooth_alone:
            smooth = "" if self._smooth is None else f"{SmoothErrors.of(self._smooth).words()}; "
            return f"{smooth}the rows were made for these, not for the shares of single values, and none is missing"
        known = "every column was counted with noise"
        if "workload" in self.method:
            asked, told = len(self.method["workload"]), {one["query"] for one in self.method.get("answered", ())}
            some = f"{len(told):,} of the {asked:,} queries" if len(told) < asked else f"all {asked:,} queries"
            which = "so was the query" if asked == len(told) == 1 else f"so were {some}"
            known += f"; {which} of the workload, and rows were weighted to fit"
        implied = "levels were merged and smoothed, and relations that were not measured are those that these imply"
        persons = "" if self.question.identifier is None else PERSONS
        return "; ".join(part for part in (known, persons, implied) if part)

    def compare(self, real: Source) -> Comparison:
        """How near the rows are to the real table (from `sfumato.read`), column by column and pair by pair.

        For the steward only: it is computed from the data, without noise, and prints with a warning.
        """
        from sfumato.release.comparison import compare

        return compare(real, self)

    def plot(self) -> Any:
        """A picture of every column's shares (an Altair chart)."""
        from sfumato.report.synthetic import plot_columns

        return plot_columns(self)
