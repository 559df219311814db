"""What was published, read back from files or the ledger: rebuilt from closed lists, nothing imported by name."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.certificate import certificate_from
from sfumato.errors import SchemaError, SfumatoError
from sfumato.mechanisms import MECHANISMS, NIM, NoiseBody
from sfumato.privacy.guarantees import guarantee_from
from sfumato.queries import Query, bind
from sfumato.queries.binding import bind_discovered
from sfumato.queries.keys import Keys
from sfumato.queries.linear.shapes import shapes
from sfumato.release import FORMAT, Provenance, Release, TableRelease
from sfumato.release.tables import METADATA
from sfumato.sanitization.table import SanitizedTable
from sfumato.schema import Schema
from sfumato.synthesis.table import SyntheticTable
from sfumato.synthesis.weighted import WeightedTable

__all__ = ["TABLES", "load", "read", "release_from"]

# The formats of published tables; a format never changes its meaning.
TABLES: dict[str, type[TableRelease]] = {
    table.FORMAT: table for table in (SanitizedTable, SyntheticTable, WeightedTable)
}


def load(path: str | Path) -> Release | Any:
    """The release saved in a `.json` or `.parquet` file."""
    source = Path(path)
    if not source.exists():
        raise SchemaError(f"there is no file {source}; check the path")
    try:
        return read(source.read_bytes())
    except SfumatoError:
        raise
    except (OSError, ValueError, KeyError, TypeError):
        raise SchemaError(f"{source} does not hold a release; expected {FORMAT} as JSON or Parquet") from None


def read(content: bytes) -> Release | Any:
    """The publication that was stored as these bytes: a `Release`, or one of the `TABLES`."""
    if content[:4] != b"PAR1":
        return release_from(json.loads(content))
    import pyarrow as pa
    import pyarrow.parquet as pq

    record = json.loads(pq.read_schema(pa.BufferReader(content)).metadata[METADATA])
    table = TABLES.get(record.get("format"))
    return release_from(record) if table is None else table.from_bytes(content)


def release_from(record: dict[str, Any]) -> Release:
    """The release that `Release.to_record` wrote; other formats are refused."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise SchemaError(f"this is not a release of format {FORMAT}; it may come from another version")
    question: Any = bind(Query.from_record(record["query"]), Schema.from_record(record["schema"]))
    keys = None if record["keys"] is None else tuple(record["keys"])
    if isinstance(question, Keys):
        question = bind_discovered(question, keys or ())
    provenance = dict(record["provenance"])
    mechanism = _mechanism(dict(record["mechanism"]), question, guarantee_from(record["spend"]))
    if hasattr(question, "read_by"):
        question = question.read_by(mechanism)
    return Release(
        name=record["name"],
        question=question,
        mechanism=mechanism,
        output=np.array(record["output"], dtype=object),
        guarantee=guarantee_from(record["guarantee"]),
        certificate=certificate_from(record["certificate"]),
        provenance=Provenance(**{**provenance, "parts": tuple(provenance["parts"])}),
        spend=guarantee_from(record["spend"]),
        keys=keys,
    )


def _mechanism(fields: dict[str, Any], question: Any, spend: Any) -> Any:
    kind = fields.pop("type", None)
    if kind not in MECHANISMS:
        raise SchemaError(f"unknown mechanism {kind!r}; known are {', '.join(MECHANISMS)}")
    if kind in ("noise-body", "nim"):
        return _shaped(kind, fields, question, spend)
    rebuild = getattr(MECHANISMS[kind], "from_record", None)
    if rebuild is not None:
        return rebuild(question, fields)
    if "p" in fields:
        fields["p"] = Fraction(fields["p"])
    return MECHANISMS[kind](question, **fields)


def _shaped(kind: str, fields: dict[str, Any], question: Any, spend: Any) -> Any:
    """Noise whose body follows from the workload's own columns, found again from its name."""
    if kind == "nim":
        return NIM.calibrate(question, spend)
    bodies = shapes(question)
    if fields["body"] not in bodies:
        raise SchemaError(f"unknown body {fields['body']!r}; known are {', '.join(bodies)}")
    return NoiseBody(question, bodies[fields["body"]](), fields["epsilon"])
