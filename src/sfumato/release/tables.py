"""A whole table that may be shown: its rows, what they cost, and how they were made."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from sfumato.certificate import Certificate, NoBoundKnown, certificate_from
from sfumato.errors import ParameterError, SchemaError
from sfumato.privacy.guarantees import Guarantee, guarantee_from, to_record
from sfumato.release.answers import Provenance, dispute
from sfumato.release.identity import canonical
from sfumato.schema import Schema

__all__ = ["TableRelease"]

FORMULA = "^([=+\\-@\\t\\r])"  # how a text begins that a spreadsheet would run
METADATA = b"sfumato.release"  # where a Parquet file keeps the record


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TableRelease:
    """A public table with its guarantee, certificate and provenance.

    Whatever is computed from `rows` costs no more privacy: that is post-processing.  `method` holds the public
    parameters of the mechanism, as plain values.
    """

    FORMAT: ClassVar[str]

    name: str
    rows: Any  # a pyarrow.Table
    schema: Schema
    guarantee: Guarantee
    certificate: Certificate | NoBoundKnown
    provenance: Provenance
    spend: Guarantee
    method: dict[str, Any]
    stated: Guarantee | None = None  # what a file states where its mechanism gives no such claim

    @property
    def disputed(self) -> bool:
        """Whether the table was stored with a smaller claim than its mechanism gives; `guarantee` is the latter."""
        return self.stated is not None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def __repr__(self) -> str:
        disputed = ", disputed" if self.disputed else ""
        return f"{type(self).__name__}({self.name!r}, {len(self):,} rows, {self.guarantee!r}{disputed})"

    def __str__(self) -> str:
        return self.words()

    def accuracy(self) -> str:
        """The error to expect, in words; from public quantities and the release itself."""
        raise NotImplementedError

    def words(self) -> str:
        """The claim in full sentences."""
        return (
            f"{self.name}: {len(self):,} rows of {', '.join(self.rows.column_names)}\n"
            f"  guarantee    {self.guarantee.words().format(unit=self.provenance.unit)}\n"
            f"{dispute(self.stated, '  DISPUTED     ')}"
            f"  error        {self.accuracy()}\n"
            f"  certificate  {self.certificate.words()}\n"
            f"  use          every later query on this table is free: it costs no more privacy\n"
            f"  ledger       charge {self.provenance.charge} of {self.provenance.time}, head {self.provenance.head}"
        )

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        return self.rows.to_pandas()

    def to_record(self) -> dict[str, Any]:
        """Everything but the rows, as plain values."""
        return {
            "format": self.FORMAT,
            "name": self.name,
            "schema": self.schema.to_record(),
            "guarantee": to_record(self.guarantee),
            "guarantee_in_words": self.guarantee.words().format(unit=self.provenance.unit),
            "certificate": self.certificate.to_record(),
            "certificate_in_words": self.certificate.words(),
            "error_in_words": self.accuracy(),
            "provenance": self.provenance.to_record(),
            "spend": to_record(self.spend),
            "method": self.method,
        }

    def to_bytes(self) -> bytes:
        """A Parquet file with the record in its metadata: the bytes that the ledger stores."""
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(self.rows.replace_schema_metadata({METADATA: canonical(self.to_record())}), buffer)
        return buffer.getvalue()

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
        return cls(
            name=record["name"],
            rows=rows.replace_schema_metadata(None),
            schema=Schema.from_record(record["schema"]),
            guarantee=guarantee_from(record["guarantee"]),
            certificate=certificate_from(record["certificate"]),
            provenance=Provenance.from_record(record["provenance"]),
            spend=guarantee_from(record["spend"]),
            method=record["method"],
        )

    def save(self, path: str | Path) -> Path:
        """Write a `.parquet` file, which `sfumato.load` reads back, or a plain `.csv`.

        In the latter a text that a spreadsheet would run as a formula begins with an apostrophe.
        """
        target = Path(path)
        if target.suffix == ".parquet":
            target.write_bytes(self.to_bytes())
        elif target.suffix == ".csv":
            import pyarrow.csv

            pyarrow.csv.write_csv(_inert(self.rows), target)
        else:
            raise ParameterError(f"a table is saved as .parquet or .csv, not {target.suffix!r}")
        return target


def _inert(rows: Any) -> Any:
    """The rows with an apostrophe before every text, and every column's name, that a spreadsheet would run."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in rows.columns:
        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = pc.replace_substring_regex(column, pattern=FORMULA, replacement=r"'\1")
        columns.append(column)
    names = [re.sub(FORMULA, r"'\1", name) for name in rows.column_names]
    return pa.Table.from_arrays(columns, names=names)
