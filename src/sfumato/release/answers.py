"""An answer that may be shown: public, frozen, and self-describing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from sfumato import arguments
from sfumato.accounting.laws import Law
from sfumato.answers.answer import NO_ANSWER, Answer
from sfumato.answers.certificate import Verdict
from sfumato.answers.frames import Framed, write_csv
from sfumato.answers.pivots import pivoted
from sfumato.answers.statements import Accuracy
from sfumato.cards import Card, Shown
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.ledger.names import plain_name
from sfumato.mechanisms import Mechanism, steps
from sfumato.mechanisms.mechanism import loss_of
from sfumato.privacy.claims import to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Question
from sfumato.records import canonical, readable
from sfumato.storage import in_a_folder

if TYPE_CHECKING:  # what few releases need
    from sfumato.answers.curves import Curve, Trend

__all__ = ["FORMAT", "FORMER", "Provenance", "Release", "dispute", "facts"]

FORMAT = "sfumato-release/2"
FORMER = "sfumato-release/1"  # read for good: conditions as texts, bodies of noise by name
UNPROTECTED = "NOT PRIVATE"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a release comes from, in public words; parts that are None are absent from its record.

    What a service hands out has no `charge` and no `head`: they count what was charged and stored meanwhile.
    """

    dataset: str
    unit: str
    time: str
    version: str
    digest: str
    charge: int | None = None
    head: str | None = None
    parts: tuple[dict[str, Any], ...] = ()
    account: str | None = None  # on whose behalf it was asked
    batch: int | None = None  # how many releases its charge paid for together
    laboratory: str | None = None  # why a release protects nobody: its randomness repeats, nothing was charged

    @property
    def mark(self) -> str:
        """What the short form of a release adds, so that one from a laboratory is never taken for a private one."""
        return f", {UNPROTECTED}" if self.laboratory is not None else ""

    @property
    def entry(self) -> str:
        """Its charge in the ledger, in words."""
        if self.charge is None:
            return f"answered by a service, {self.time}; the steward finds its charge by {self.digest}"
        return f"charge {self.charge} of {self.time}, head {self.head}"

    def withhold_entry(self, time: str) -> Provenance:
        """Return the same without its place in the ledger, and with a time that tells no more than it should."""
        return replace(self, charge=None, head=None, time=time)

    def claimed(self, guarantee: Guarantee) -> str:
        """The guarantee in words; of a laboratory's release only what it would be."""
        words = guarantee.words().format(unit=self.unit)
        if self.laboratory is None:
            return words
        return f"{UNPROTECTED}: {self.laboratory}; with secret randomness it would be: {words}"

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"parts": list(self.parts)}
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Provenance:
        """What `to_record` wrote."""
        return cls(**{**record, "parts": tuple(record["parts"])})


class Claimed(Protocol):
    """What every publication claims."""

    @property
    def guarantee(self) -> Guarantee:
        """What it costs."""

    @property
    def stated(self) -> Guarantee | None:
        """What a file states where its mechanism gives no such claim."""

    @property
    def certificate(self) -> Verdict:
        """How far its error is from the best."""

    def accuracy(self, level: float = 0.95) -> str:
        """Its error in words."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release(Shown, Framed):
    """A private answer: its value, guarantee, error bars, certificate and provenance.

    `question` and `mechanism` are public descriptions; `output` is what the mechanism returned.
    """

    FILES: ClassVar[tuple[str, ...]] = (".json", ".parquet")  # what it is written as

    name: str
    question: Question
    mechanism: Mechanism
    output: object
    guarantee: Guarantee
    certificate: Verdict
    provenance: Provenance
    spend: Guarantee
    stated: Guarantee | None = None  # what a file states where its mechanism gives no such claim
    answer: Answer = field(init=False)  # what the question reads from the output

    def __post_init__(self) -> None:
        object.__setattr__(self, "answer", self.question.read(self.output, self.mechanism))

    @classmethod
    def of(
        cls,
        name: str,
        question: Question,
        mechanism: Mechanism,
        output: object,
        guarantee: Guarantee,
        certificate: Verdict,
        provenance: Provenance,
        spend: Guarantee,
    ) -> Release:
        """What a mechanism's output is published as."""
        stamped = replace(provenance, parts=tuple(steps(mechanism)))
        return cls(name, question, mechanism, output, guarantee, certificate, stamped, spend)

    @property
    def value(self) -> Any:
        """A number (or item) for a single answer, else one entry for each row of `table`."""
        return self.answer.value

    @property
    def keys(self) -> tuple[str, ...] | None:
        """The keys that were discovered, where some were."""
        found = self.question.stored(self.output)["keys"]
        return tuple(found) if isinstance(found, list) else None

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[Any, Any]:
        """The ends of the error bars: per cell, or with `joint` for all cells at once.

        They cover the clipped, bounded answer, not what was clipped away.
        """
        return self.answer.interval(arguments.level(level), joint=joint)

    def error(self, level: float = 0.95) -> Accuracy:
        """What can be said of the error: from the release's own intervals where it has them."""
        return self.answer.error(level)

    def accuracy(self, level: float = 0.95) -> str:
        """The same in words."""
        return self.error(level).words()

    def advice(self) -> dict[str, str]:
        """What to use it for: what was asked; and what not to compare it with."""
        query = self.question.query
        told = None if self.question.schema.version is None else query.incomparable
        return {} if told is None else {"over time": told}

    def table(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """An Arrow table: keys, estimate, low, high (or item, probability).

        An estimate that holds no information, since its interval is the whole public range, is null; then a column
        `no_answer` says so.
        """
        import pyarrow as pa

        found = pa.table(self.answer.shown(self.answer.table(level, joint=joint)))
        if NO_ANSWER not in found.column_names:
            return found
        place, kind = found.column_names.index("estimate"), found["low"].type
        return found.set_column(place, "estimate", found["estimate"].cast(kind))

    def pivot(self, part: str = "estimate", level: float = 0.95) -> Any:
        """Answers by two keys or more as an Arrow table with the last key across: estimates, or `low` or `high` ends.

        Sums of a cross table stand in the column and the rows of the total, whose keys are null.
        """
        import pyarrow as pa

        columns = self.answer.shown(self.answer.table(arguments.level(level)))
        return pa.table(pivoted(columns, list(self.answer.keys), part))

    def __float__(self) -> float:
        """The number that was released, where it is one: the same as `value`."""
        found = self.value
        if isinstance(found, int | float):
            return float(found)
        raise UnsupportedQuery(f"{self.name!r} is not one number; see its value, or its table() with all answers")

    def __format__(self, spec: str) -> str:
        """As text, or by a number's format such as `.1f` where the answer is one number."""
        return format(float(self), spec) if spec else str(self)

    def adding_up(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """Counts by public keys as an Arrow table of whole numbers, none negative, whose margins agree; free.

        Each sum over keys has a row of its own, with null for what is summed over.  Intervals are about the true sums:
        each holds with probability `level`, or with `joint` all of them.
        """
        import pyarrow as pa

        if self.keys is not None:
            raise UnsupportedQuery("keys that were discovered leave out rows, so that their counts do not add up")
        return pa.table(self.answer.added_up(arguments.level(level), joint))

    @property
    def loss(self) -> Law | None:
        """The law of its privacy loss, where its mechanism knows it."""
        return loss_of(self.mechanism)

    @property
    def disputed(self) -> bool:
        """Whether the release was stored with a smaller claim than its mechanism gives; `guarantee` is the latter."""
        return self.stated is not None

    @property
    def disputes(self) -> tuple[str, ...]:
        """What is wrong with the file that it was read from, in words."""
        return () if self.stated is None else (dispute(self.stated, "").strip(),)

    @property
    def title(self) -> str:
        """Its name as people read it: without the digits by which a service tells names apart."""
        return plain_name(self.name, self.provenance.digest)

    def words(self) -> str:
        """The claim in full sentences."""
        return str(Card(self.title, self._facts()))

    def _facts(self) -> dict[str, str]:
        return facts(self, self.provenance, **self.advice())

    def card(self) -> Card:
        """The answers with their error bars, a few where they are many, and the claim."""
        from sfumato.report.answers import few

        shown, omitted = few(self)
        if shown.single:
            return Card(self.title, {"answer": shown.single, **self._facts()})
        return Card(self.title, self._facts(), shown.headings, shown.rows, shown.numeric, omitted)

    def __repr__(self) -> str:
        from sfumato.report.answers import few

        shown, omitted = few(self)
        count = (len(shown.rows) + omitted) * shown.each
        answer = shown.single or f"{count:,} answers"
        disputed = ", disputed" if self.disputed else ""
        certified = self.certificate.brief()
        return f"Release({self.title!r}: {answer}, {self.guarantee!r}, {certified}{disputed}{self.provenance.mark})"

    @property
    def curve(self) -> Curve | Trend:
        """The whole function, for questions whose answer is one: evaluable anywhere at no further cost."""
        from sfumato.answers.functions import Function, Functions

        if isinstance(self.answer, Functions):
            raise UnsupportedQuery(f"{self.name!r} has a curve for each group: curves[...] by the group's label")
        if not isinstance(self.answer, Function):
            raise UnsupportedQuery(f"{self.name!r} is not a function; ask for density(...) or another curve")
        return self.answer.curve

    @property
    def curves(self) -> dict[object, Curve | Trend]:
        """The curve of each group, by its label, for a curve that was asked `by` groups."""
        from sfumato.answers.functions import Functions

        if not isinstance(self.answer, Functions):
            raise UnsupportedQuery(f"{self.name!r} is not a curve by groups; ask density(...).by(...)")
        return self.answer.curves

    def bandwidth(self, rule: str = "silverman", size: int | None = None) -> float:
        """A bandwidth for curves by a rule of thumb, from a released variance or quantiles 0.25 and 0.75; free."""
        from sfumato.queries.functions.bandwidths import from_spread

        return from_spread(self, rule, size)

    def plot(self) -> Any:
        """A picture of the estimates with their error bars (an Altair chart)."""
        from sfumato.report.plots import plot_release

        return plot_release(self)

    def to_record(self) -> dict[str, Any]:
        """The whole release as plain values; documented in docs/formats/release.md."""
        stored = self.question.stored(self.output)
        return {
            "format": FORMAT,
            "name": self.name,
            "query": self.question.query.to_record(),
            "schema": self.question.schema.to_record(),
            "keys": stored["keys"],
            "spend": to_record(self.spend),
            "guarantee": to_record(self.guarantee),
            "guarantee_in_words": self.provenance.claimed(self.guarantee),
            "mechanism": steps(self.mechanism)[-1],
            "output": stored["output"],
            "error_in_words": self.accuracy(),
            "certificate": self.certificate.to_record(),
            "certificate_in_words": self.certificate.words(),
            "provenance": self.provenance.to_record(),
            "table": self.answer.table(),
            "table_level": 0.95,
        } | ({} if self.stated is None else {"stated": to_record(self.stated)})

    def to_bytes(self) -> bytes:
        """The record as canonical JSON: the bytes that the ledger stores."""
        return canonical(self.to_record())

    def save(self, path: str | Path) -> Path:
        """Write the release to a `.json` or `.parquet` file, which carries the record in its metadata.

        A `.csv` holds the table alone, with an apostrophe before texts that a spreadsheet would run as formulas.
        """
        target = in_a_folder(path)
        if target.suffix == ".json":
            target.write_text(readable(json.loads(self.to_bytes())), encoding="utf-8")
        elif target.suffix == ".parquet":
            import pyarrow.parquet as pq

            described = self.table().replace_schema_metadata({"sfumato.release": self.to_bytes()})
            pq.write_table(described, target)
        elif target.suffix == ".csv":
            if self.provenance.laboratory is not None:
                raise ParameterError("a laboratory's release is not private, which a .csv cannot say; save it as .json")
            write_csv(self.table(), target)
        else:
            raise ParameterError(f"a release is saved as .json, .parquet or .csv, not {target.suffix!r}")
        return target


def facts(release: Claimed, place: Provenance, **besides: str) -> dict[str, str]:
    """What is claimed of a release, each part under its name."""
    return {
        "guarantee": place.claimed(release.guarantee),
        **({} if release.stated is None else {"DISPUTED": dispute(release.stated, "").rstrip("\n")}),
        "error": release.accuracy(),
        "certificate": release.certificate.words(),
        **besides,
        "ledger": place.entry,
    }


def dispute(stated: Guarantee | None, heading: str) -> str:
    """A line for a release whose stored claim is smaller than what its mechanism gives; nothing for others."""
    if stated is None:
        return ""
    return f"{heading}it was stored as {stated!r}, which its mechanism does not give: count what is stated above\n"
