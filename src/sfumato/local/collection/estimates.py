"""What reports say: unbiased estimates with their exact variance, proven intervals, guarantee and certificate.

An estimate is public and frozen: it holds the collection's declaration and the tally, and everything else follows.
"""

from __future__ import annotations

import contextlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.answers.certificate import Certificate, NoBoundKnown
from sfumato.answers.frames import Framed
from sfumato.cards import Card, Shown, counted, state_side_fact
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.intervals import limits_of, possible
from sfumato.local.collection.journal import REPEATED, TWICE
from sfumato.local.collection.suspicions import Suspicion, suspicions_of
from sfumato.local.protocols.protocol import Floats, Tally
from sfumato.local.protocols.square import SquareWave
from sfumato.local.questions.limits import checked_level
from sfumato.local.questions.marginals import Marginals
from sfumato.local.questions.ranges import Ranges
from sfumato.local.questions.sets import Sets
from sfumato.numeric import shown_up
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.queries.linear.simplex import projected
from sfumato.records import readable
from sfumato.visible import visible

__all__ = ["FORMAT", "Estimate", "limits_in_words", "load_estimate", "short", "stated"]

FORMAT, EARLIER = "sfumato-estimate/2", "sfumato-estimate/1"  # rounds have names; they were counted
FIRST, FEW = 10, 3  # estimates that are shown in a table, and in a line
UNIT = "what any one owner's value was"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Shown, Framed):
    """The reports of one round, read: `values` are unbiased, `interval` covers, `consistent` adds up."""

    collection: Collection
    round: str
    reports: int
    tally: Tally
    refused: dict[str, int]

    @property
    def values(self) -> Floats:
        """The unbiased estimates; they may be negative, and need not add up."""
        return self.collection.protocol.estimate(self.tally, self.reports)

    @property
    def variances(self) -> Floats:
        """The exact variance of each estimate, at the nearest distribution; where there is none, the worst case.

        Over the coins of owners and protocol, around what holds among those who reported.  Where a protocol states it
        around the population (`drawn`), what drawing people adds to a share s, s (1 - s) / n, is taken off: the mean
        over the coins is the share among them, so that the two parts add up.
        """
        protocol = self.collection.protocol
        try:
            truth: Floats | None = self.consistent()
        except UnsupportedQuery:
            truth = None
        variance = protocol.variance(self.reports, truth)
        if truth is None or not protocol.drawn:
            return variance
        return np.maximum(variance - truth * (1 - truth) / self.reports, 0.0)

    def consistent(self) -> Floats:
        """The nearest estimates that could be true: never further from the truth, but no longer unbiased."""
        protocol, values = self.collection.protocol, self.values
        if isinstance(protocol, Sets):
            return np.clip(values, 0.0, 1.0)
        if isinstance(protocol, Marginals):
            ends = np.cumsum([table.cells for table in protocol.tables])[:-1]
            return np.concatenate([projected(table) for table in np.split(values, ends)])
        if protocol.goal == "distribution":
            return values
        if protocol.goal != "frequencies":
            raise UnsupportedQuery(f"protocol {protocol.name!r} does not estimate a distribution; use values")
        return projected(values)

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[Floats, Floats]:
        """Limits for each value, or with `joint` for all at once; proven for any number of honest reports.

        Where honest reports can hardly have made the tally (`suspicions`), nothing can be told from it: then the limits
        are those of what is possible.
        """
        beta = 1 - checked_level(level)
        protocol, count = self.collection.protocol, len(self.values)
        low, high = limits_of(protocol, self.tally, self.reports, beta / len(self.rows()) if joint else beta)
        if self.suspicions():
            least, most = possible(protocol)
            return np.full(count, least), np.full(count, most)
        return low, high

    def suspicions(self) -> tuple[Suspicion, ...]:
        """What honest reports can hardly have made; of a million honest collections at most one has any."""
        return suspicions_of(self.collection.protocol, self.tally, self.reports)

    def guarantee(self) -> Pure | Approximate:
        """What one report cost its owner."""
        return self.collection.guarantee()

    def history(self) -> Pure | Approximate:
        """What all reports of one owner cost, over all rounds of the collection."""
        return self.collection.history()

    def central(self, delta: float) -> Approximate:
        """What these reports cost one of their owners if a relay shuffled them and dropped their senders.

        All of them together, or where batches are declared those of one batch, which is what the collector sees.
        """
        from sfumato.local.collection.central import central, together  # scipy: only when asked

        return central(self.collection.protocol, together(self.collection.batch, self.reports, self.refused), delta)

    def central_history(self, delta: float) -> Approximate:
        """What all rounds cost one owner if a relay shuffles each of them, and each is as large as this one.

        Owners who answer afresh: the losses of the rounds add up.  What is kept returns in every round, and by that
        its reports can be linked over rounds: then nothing is claimed beyond the local promise.
        """
        rounds = len(self.collection.rounds)
        if self.collection.most is not None:
            raise UnsupportedQuery("kept reports return in every round, which undoes a shuffle; history() holds")
        each = self.central(math.nextafter(delta / rounds, 0) if rounds > 1 else delta)
        return Approximate(Pure(each.epsilon).group(rounds).epsilon, delta, assumptions=each.assumptions)

    def certificate(self) -> Certificate | NoBoundKnown:
        """How far the error is from the best that any protocol of this guarantee could reach."""
        from sfumato.bounds.minimax import certify_local  # scipy: only when asked

        if self.collection.protocol.goal == "tables":
            return NoBoundKnown("none is proven here for tables of several attributes")
        return certify_local(self.collection.protocol, self.reports)

    def labels(self) -> list[str]:
        """What each value is about."""
        protocol, given = self.collection.protocol, self.collection.labels
        count = len(self.values)
        if isinstance(protocol, Marginals):
            if len(given) == sum(protocol.sizes):  # of the values of all attributes, one attribute after the other
                return protocol.named(given)
            names = given or tuple(f"attribute {i}" for i in range(len(protocol.sizes)))
            cells = [
                (subset, cell)
                for subset in protocol.subsets
                for cell in np.ndindex(*(protocol.sizes[i] for i in subset))
            ]
            return [", ".join(f"{names[i]} = {v}" for i, v in zip(subset, cell, strict=True)) for subset, cell in cells]
        if len(given) == count:
            return list(given)
        if isinstance(protocol, SquareWave):
            return [f"{point:g}" for point in protocol.points]
        return [protocol.goal] if count == 1 else [str(place) for place in range(count)]

    def rows(self) -> npt.NDArray[np.intp]:
        """Which of the values a table shows: all, or for questions of yes or no the shares of yes.

        The share of no, its limits and its errors are what is left of one; so limits that hold for these hold for all.
        """
        every = np.arange(len(self.values))
        protocol = self.collection.protocol
        return every[1::2] if isinstance(protocol, Marginals) and protocol.yes_no else every

    def row_labels(self) -> list[str]:
        """What each row of a table is about: of questions of yes or no the question, where it has a name."""
        rows, given = self.rows(), self.collection.labels
        if len(rows) < len(self.values) and len(given) == len(rows):
            return list(given)
        labels = self.labels()
        return [labels[row] for row in rows]

    def columns(self, level: float = 0.95, *, joint: bool = False, consistent: bool = False) -> dict[str, list[Any]]:
        """Labels, estimates, standard errors and limits of all `rows`; the latter where the protocol has them.

        A suspicious tally has neither errors nor limits: they would be those of honest reports.
        """
        checked_level(level)
        rows, values = self.rows(), self.consistent() if consistent else self.values
        found = {"label": self.row_labels(), "estimate": values[rows].tolist()}
        if self.suspicions():
            return found
        with contextlib.suppress(UnsupportedQuery):
            found["standard_error"] = np.sqrt(self.variances)[rows].tolist()
            low, high = self.interval(level, joint=joint)
            found |= {"low": low[rows].tolist(), "high": high[rows].tolist()}
        return found

    def table(self, level: float = 0.95, *, joint: bool = False, consistent: bool = False) -> Any:
        """The same as an Arrow table; with limits it says their level, and whether they hold for all rows at once."""
        return stated(self.columns(level, joint=joint, consistent=consistent), level, joint)

    def words(self) -> str:
        """The claim in full sentences."""
        return str(Card(self.title(), self.facts()))

    def title(self) -> str:
        """What was collected, and how much of it."""
        return f"{self.collection.name}, round {self.round}: {counted(self.reports, 'report')}"

    def facts(self) -> dict[str, str]:
        """The claim, part by part, each in words."""
        doubts = "; ".join(doubt.words() for doubt in self.suspicions())
        found = {"SUSPICIOUS": f"{doubts}. No interval is stated."} if doubts else {}
        found |= {"caution": caution} if (caution := self.collection.caution()) else {}
        found |= {"guarantee": self.guarantee().words().format(unit=UNIT), **self._history()}
        if not doubts:
            found |= state_side_fact("shuffled", self._describe_shuffled)
            found |= state_side_fact("certificate", lambda: self.certificate().words())
        told = [
            f"{count:,} {reason}" for reason, count in sorted(self.refused.items()) if reason not in (REPEATED, TWICE)
        ]
        known, twice = self.refused.get(REPEATED, 0), self.refused.get(TWICE, 0)
        repeats = {"repeats": f"{counted(known, 'message')} known already, not counted again"} if known else {}
        if twice:
            repeats["twice"] = f"at most {counted(twice, 'report')} came to two pieces and counted in both"
        return {**found, "refused": ", ".join(told) or "nothing", **repeats}

    def _history(self) -> dict[str, str]:
        """The promise over all rounds, where there is more to say than of one report."""
        if self.history() == self.guarantee():
            return {}
        told = f"{short(self.history())} over all {len(self.collection.rounds)} rounds"
        if self.collection.most is not None:
            told += f", {self.collection.most} values of an owner, for histories that change in one pattern"
        return {"history": told}

    def _describe_shuffled(self) -> str:
        """The promise after a shuffle, where one is proven."""
        claim = self.central(min(1e-6, self.reports**-1.5))
        if claim.epsilon >= self.guarantee().epsilon:
            return f"no less than epsilon {shown_up(claim.epsilon, 3)}: too few reports to hide one at this epsilon"
        told = short(claim)
        if len(self.collection.rounds) > 1:
            told += " in one round"
            with contextlib.suppress(UnsupportedQuery):
                told += f" (over all rounds of this size {short(self.central_history(claim.delta))})"
        return f"{told}, if a relay shuffles and the others report honestly"

    def card(self, level: float = 0.95, *, joint: bool = False) -> Card:
        """The first estimates with their limits, and the claim."""
        columns = self.columns(level, joint=joint)
        count = len(columns["label"])
        shown = [list(map(visible, columns["label"][:FIRST]))]
        shown += [[f"{number:.4g}" for number in columns[name][:FIRST]] for name in list(columns)[1:]]
        headings = [name.replace("_", " ") for name in columns]
        rows = list(zip(*shown, strict=True))
        numeric = [place > 0 for place in range(len(headings))]
        facts = {**limits_in_words(columns, level, joint, counted(count, "value")), **self.facts()}
        return Card(self.title(), facts, headings, rows, numeric, count - len(rows))

    def __repr__(self) -> str:
        values = ", ".join(f"{value:.4g}" for value in self.values[:FEW])
        answer = f"{values}, …" if len(self.values) > FEW else values
        told = f"round={self.round!r}, reports={self.reports}, {self.guarantee()!r}"
        return f"Estimate({self.collection.name!r}: {answer}, {told})"

    def to_record(self, level: float = 0.95, *, joint: bool = False, consistent: bool = False) -> dict[str, Any]:
        """The whole estimate as plain values, its table as asked for; documented in docs/formats/collection.md."""
        return {
            "format": FORMAT,
            "collection": self.collection.to_record(),
            "round": self.round,
            "reports": self.reports,
            "tally": self.tally.tolist(),
            "refused": self.refused,
            "guarantee": to_record(self.guarantee()),
            "guarantee_in_words": self.guarantee().words().format(unit=UNIT),
            "history": to_record(self.history()),
            "suspicions": [{"test": one.test, "p": one.p, "found": one.found} for one in self.suspicions()],
            "certificate": self.certificate().to_record(),
            "certificate_in_words": self.certificate().words(),
            "table": self.columns(level, joint=joint, consistent=consistent),
            "table_level": level,
            "table_joint": joint,
            "table_consistent": consistent,
        }

    @classmethod
    def from_record(cls, record: object) -> Estimate:
        """What `to_record` wrote; other formats, and tallies that cannot belong to the protocol, are refused."""
        if not isinstance(record, dict) or record.get("format") not in (FORMAT, EARLIER):
            raise SchemaError(f"this is not an estimate of format {FORMAT}; it may come from another version")
        collection = Collection.from_record(record.get("collection"))
        try:
            tally = np.array(record["tally"], dtype=np.int64)
            name, reports = _round(record["round"]), int(record["reports"])
            refused = {str(reason): int(count) for reason, count in record["refused"].items()}
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise SchemaError("an estimate needs a round, and reports, tally and refused as whole numbers") from None
        if tally.shape != (collection.protocol.cells,) or reports < 1:
            raise SchemaError(f"the tally of this collection has {collection.protocol.cells} entries; this one differs")
        return cls(collection, name, reports, tally, refused)

    @property
    def ordered(self) -> bool:
        """Whether its values have an order of their own; others are shown by size."""
        return isinstance(self.collection.protocol, Ranges)

    def plot(self, level: float = 0.95, *, joint: bool = False, consistent: bool = False) -> Any:
        """A picture of the estimates with their intervals (an Altair chart); joint ones wherever it sorts or cuts."""
        from sfumato.report.local import plot_estimate

        return plot_estimate(self, level, joint=joint, consistent=consistent)

    def save(self, path: str | Path, level: float = 0.95, *, joint: bool = False, consistent: bool = False) -> Path:
        """Write the record as JSON, or its table as Parquet."""
        target = Path(path)
        if target.suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(self.table(level, joint=joint, consistent=consistent), target)
            return target
        if target.suffix != ".json":
            raise ParameterError(f"an estimate is saved as .json or .parquet, not {target.suffix!r}")
        record = self.to_record(level, joint=joint, consistent=consistent)
        target.write_text(readable(record), encoding="utf-8")
        return target


def limits_in_words(columns: dict[str, list[Any]], level: float, joint: bool, over: str) -> dict[str, str]:
    """What the limits of a table claim, as a fact of its card."""
    if "low" not in columns:
        return {}
    return {"intervals": f"level {level:.4g}, " + (f"jointly over {over}" if joint else "each value by itself")}


def stated(columns: dict[str, list[Any]], level: float, joint: bool) -> Any:
    """Columns as an Arrow table, in which limits have their level beside them."""
    import pyarrow as pa

    count = len(columns["label"])
    claim = {"level": [level] * count, "joint": [joint] * count} if "low" in columns else {}
    return pa.table({**columns, **claim})


def short(claim: Pure | Approximate) -> str:
    """A guarantee in a few words, rounded up.

    >>> short(Pure(3.0000000000000004)), short(Approximate(0.0876, 1e-6))
    ('epsilon 3.01', 'epsilon 0.0876, delta 1e-6')
    """
    parts = claim.parts().items()
    return ", ".join(f"{name} {shown_up(amount, 3).replace('e-0', 'e-')}" for name, amount in parts)


def _round(name: object) -> str:
    """The name of a round; counted ones have numbers."""
    if isinstance(name, str) or (isinstance(name, int) and not isinstance(name, bool)):
        return str(name)
    raise ValueError("a round has a name")


def load_estimate(path: str | Path) -> Estimate:
    """The estimate saved in a `.json` file."""
    source = Path(path)
    try:
        record = json.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SchemaError(f"{source} does not hold an estimate; expected {FORMAT} as JSON") from None
    return Estimate.from_record(record)
