"""A whole table that may be shown: its rows, what they cost, and how they were made."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from sfumato.accounting.laws import Law
from sfumato.answers.certificate import Verdict, certificate_from
from sfumato.answers.frames import Framed, write_csv
from sfumato.answers.rows import RowsAnswer
from sfumato.answers.statements import Accuracy
from sfumato.cards import Card, Shown, counted, listed
from sfumato.errors import ParameterError, SchemaError, UnsupportedQuery
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries.grouping import Cells
from sfumato.queries.query import Query
from sfumato.records import canonical
from sfumato.release.answers import Provenance, dispute, facts
from sfumato.release.fingerprint import rows_digest
from sfumato.release.identity import Identity, scope
from sfumato.spaces.schema import Schema
from sfumato.storage import in_a_folder

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableQuestion", "TableRelease"]

METADATA = b"sfumato.release"  # where a Parquet file keeps the record
EDITED = (
    "the rows are not those that were released: they were changed, or are a part of them; write the table again from "
    "its ledger"
)


class TableQuestion(Protocol):
    """A bound question whose answer is rows, which are stored as they are."""

    @property
    def query(self) -> Query:
        """What was asked."""

    @property
    def schema(self) -> Schema:
        """What it was bound to."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns that are read."""

    @property
    def cells(self) -> Cells:
        """One cell: the whole table."""

    def specification(self) -> dict[str, object]:
        """What makes it the same table again, beside the schema and the spend."""

    def stored(self, output: Any) -> dict[str, object]:
        """What of the output is kept beside the rows, as plain values."""

    def read(self, output: Any, mechanism: Any) -> RowsAnswer:
        """The public rows."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableRelease(Shown, Framed):
    """A public table with its guarantee, certificate and provenance.

    Whatever is computed from `rows` costs no more privacy: that is post-processing.  `method` holds the public
    parameters of the mechanism, as plain values.
    """

    FORMAT: ClassVar[str]
    FILES: ClassVar[tuple[str, ...]] = (".parquet", ".csv")  # what it is written as

    name: str
    rows: pa.Table
    schema: Schema
    guarantee: Guarantee
    certificate: Verdict
    provenance: Provenance
    spend: Guarantee
    method: dict[str, Any]
    stated: Guarantee | None = None  # what a file states where its mechanism gives no such claim
    sealed: str | None = None  # the digest of the rows that were released; none of tables of before 1.0
    edited: bool = False  # whether a file holds other rows

    @classmethod
    def of(
        cls,
        name: str,
        question: Any,
        mechanism: Mechanism,
        output: object,
        guarantee: Guarantee,
        certificate: Verdict,
        provenance: Provenance,
        spend: Guarantee,
    ) -> Self:
        """What a mechanism's output is published as."""
        method = {**mechanism.to_record(), **question.stored(output)}
        rows = question.read(output, mechanism).value
        stamped = replace(provenance, parts=(method,))
        return cls(
            name, rows, question.schema, guarantee, certificate, stamped, spend, method, sealed=rows_digest(rows)
        )  # fmt: skip

    @classmethod
    def identity(cls, question: Any, spend: Guarantee, chosen: Mapping[str, object]) -> Identity:
        """What makes such a table the same again, by today's rule and by that of 0.2.0; with a `chosen` mechanism."""
        asked = {**question.specification(), **chosen}
        return Identity(cls.specified(question, asked, spend), (cls.formerly(question, asked, spend),))

    @classmethod
    def specified(cls, question: TableQuestion, asked: Mapping[str, object], spend: Guarantee) -> dict[str, object]:
        """What is asked of the columns that are read, with what may be spent."""
        parts = {"asked" if part == "columns" else part: value for part, value in asked.items()}
        scoped = scope(question.schema, question.columns, sized=True)
        return {"format": cls.FORMAT, "spend": to_record(spend), **parts, **scoped}

    @classmethod
    def formerly(cls, question: TableQuestion, asked: Mapping[str, object], spend: Guarantee) -> dict[str, object]:
        """The same by the rule of 0.2.0, which took the whole schema."""
        return {"format": cls.FORMAT, "spend": to_record(spend), **asked, "schema": question.schema.to_record()}

    @property
    def question(self) -> TableQuestion:
        """What was asked, bound to the schema again."""
        raise NotImplementedError

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism, rebuilt from its public parameters."""
        raise NotImplementedError

    @property
    def loss(self) -> Law | None:
        """The law of its privacy loss: its claim stands for it."""
        return None

    @property
    def disputed(self) -> bool:
        """Whether the table was stored with a smaller claim than its mechanism gives, or with other rows."""
        return self.stated is not None or self.edited

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        disputed = ", disputed" if self.disputed else ""
        mark = f"{disputed}{self.provenance.mark}"
        certified = self.certificate.brief()
        return (
            f"{type(self).__name__}({self.name!r}: {counted(len(self), 'row')}, {self.guarantee!r}, {certified}{mark})"
        )

    @property
    def answer(self) -> RowsAnswer:
        """The rows as an answer."""
        columns = {name: self.rows[name] for name in self.rows.column_names}
        return RowsAnswer(columns, self.error())

    @property
    def value(self) -> pa.Table:
        """The rows."""
        return self.rows

    def table(self, level: float = 0.95, *, joint: bool = False) -> pa.Table:
        """The rows."""
        return self.rows

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[object, object]:
        """Rows have no error bars."""
        raise UnsupportedQuery(
            f"{self.name!r} is a table of rows, without error bars; what is known: {self.accuracy(level)}"
        )

    def error(self, level: float = 0.95) -> Accuracy:
        """What can be said of the error, from public quantities and the release itself."""
        raise NotImplementedError

    def accuracy(self, level: float = 0.95) -> str:
        """The same in words."""
        return self.error(level).words()

    def words(self) -> str:
        """The claim in full sentences."""
        return str(Card(self._title(), self._facts()))

    def _title(self) -> str:
        return f"{self.name}: {counted(len(self), 'row')} of {listed(self.rows.column_names)}"

    def _facts(self) -> dict[str, str]:
        told = facts(self, self.provenance, use="every later query on this table is free: it costs no more privacy")
        return {**told, "DISPUTED": "; ".join(self.disputes)} if self.disputed else told

    @property
    def disputes(self) -> tuple[str, ...]:
        """What is wrong with the file that it was read from, in words."""
        claim = () if self.stated is None else (dispute(self.stated, "").rstrip("\n"),)
        return claim if not self.edited else (*claim, EDITED)

    def advice(self) -> dict[str, str]:
        """What to use it for, and what not, by heading; nothing where that is not known."""
        return {}

    def card(self) -> Card:
        """The first rows, and the claim."""
        from sfumato.report.answers import few

        shown, omitted = few(self)
        return Card(self._title(), self._facts(), shown.headings, shown.rows, (), omitted)

    def plot(self) -> Any:
        """A picture, for the kinds of tables that have one (an Altair chart)."""
        raise UnsupportedQuery(f"{self.name!r} is a table of rows without a picture of its own; plot its columns")

    def to_record(self) -> dict[str, Any]:
        """Everything but the rows, as plain values."""
        return {
            "format": self.FORMAT,
            "name": self.name,
            "schema": self.schema.to_record(),
            "guarantee": to_record(self.guarantee),
            "guarantee_in_words": self.provenance.claimed(self.guarantee),
            "certificate": self.certificate.to_record(),
            "certificate_in_words": self.certificate.words(),
            "error_in_words": self.accuracy(),
            "provenance": self.provenance.to_record(),
            "spend": to_record(self.spend),
            "method": self.method,
        } | ({} if self.sealed is None else {"rows": self.sealed})

    def to_bytes(self) -> bytes:
        """A Parquet file with the record in its metadata: the bytes that the ledger stores."""
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(self._described(), buffer)
        return buffer.getvalue()

    def _described(self) -> pa.Table:
        """The rows, with the record in their metadata."""
        return self.rows.replace_schema_metadata({METADATA: canonical(self.to_record())})

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The table that `to_bytes` wrote; other formats are refused."""
        import pyarrow.parquet as pq

        try:
            rows = pq.read_table(io.BytesIO(content))
            record = json.loads(rows.schema.metadata[METADATA])
        except (OSError, ValueError, KeyError, TypeError):
            raise SchemaError(f"this does not hold a table of format {cls.FORMAT}") from None
        if record.get("format") != cls.FORMAT:
            raise SchemaError(f"this is not a table of format {cls.FORMAT}; it may come from another version")
        sealed = record.get("rows")
        return cls(
            name=record["name"],
            rows=rows.replace_schema_metadata(None),
            schema=Schema.from_record(record["schema"]),
            guarantee=guarantee_from(record["guarantee"]),
            certificate=certificate_from(record["certificate"]),
            provenance=Provenance.from_record(record["provenance"]),
            spend=guarantee_from(record["spend"]),
            method=record["method"],
            sealed=sealed,
            edited=sealed is not None and sealed != rows_digest(rows),
        )

    def save(self, path: str | Path) -> Path:
        """Write a `.parquet` file, which `sfumato.load` reads back, or a plain `.csv`; without either suffix, a new
        folder of Parquet files of a million rows each, for programs that read such.

        In a `.csv` a text that a spreadsheet would run as a formula begins with an apostrophe.
        """
        target = in_a_folder(path)
        if not target.suffix:
            from sfumato.release.folders import sliced, write_parts

            return write_parts(target, sliced(self._described()), len(self))
        if target.suffix == ".csv" and self.provenance.laboratory is not None:
            raise ParameterError("a table of a laboratory is not private, which a .csv cannot say; save it as .parquet")
        if target.suffix == ".parquet":
            target.write_bytes(self.to_bytes())
        elif target.suffix == ".csv":
            write_csv(self.rows, target, self.schema)
        else:
            raise ParameterError(
                f"a table is saved as .parquet or .csv, or in a folder whose name has no suffix, not {target.suffix!r}"
            )
        return target
