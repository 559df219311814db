"""What was published, read back from files or the ledger: rebuilt from closed lists, nothing imported by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import arguments
from sfumato.answers.certificate import certificate_from
from sfumato.deferred import Listed
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.mechanisms import MECHANISMS, Mechanism, joined, listed, mechanism_from
from sfumato.mechanisms.former import FORMER as FORMER_MECHANISMS
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.guarantees import Guarantee
from sfumato.queries import Query, Question, bind
from sfumato.records import canonical
from sfumato.release import FORMAT, FORMER, Provenance, Release, TableRelease
from sfumato.release.parts import PART, part_from
from sfumato.release.tables import METADATA
from sfumato.spaces.dates import reread_days
from sfumato.spaces.schema import schema_from

__all__ = [
    "PUBLICATIONS", "covers", "load", "must_be_listed", "must_read_back", "read", "release_from", "stored_mechanism",
]  # fmt: skip

LAST_DIGITS = 1e-9  # relative: claims are computed by linear algebra whose rounding differs between machines
PARTS = {
    "format", "name", "query", "schema", "keys", "spend", "guarantee", "guarantee_in_words", "mechanism", "output",
    "error_in_words", "certificate", "certificate_in_words", "provenance", "table", "table_level", "stated",
}  # fmt: skip


# What a finished output is published as, by the kind of query, and where it is; others are a `Release`.
PUBLICATIONS: Listed[type[TableRelease]] = Listed(
    "sfumato.release",
    {
        "sanitized": "sanitized:SanitizedTable",
        "small_database": "small:SmallTable",
        "synthetic": "synthetic:SyntheticTable",
        "trigonometric": "weighted:WeightedTable",
    },
)
# The formats of published tables; a format never changes its meaning.
TABLES = {
    "sfumato-sanitized/1": "sanitized",
    "sfumato-small/1": "small_database",
    "sfumato-synthetic/1": "synthetic",
    "sfumato-weighted/1": "trigonometric",
}


def load(path: str | Path, mechanism: type[Mechanism] | None = None) -> Release | Any:
    """The release saved in a `.json` or `.parquet` file; whatever the file holds, only errors of this package come out.

    The claim shown is the one that the mechanism gives; where the file states a smaller one it is `disputed`.  A
    laboratory's release by one's own `mechanism` is read with its class.
    """
    source = arguments.path("path", path)
    if not source.exists():
        raise SchemaError(f"there is no file {source}; check the path")
    try:
        release = read(source.read_bytes(), mechanism)
        with np.errstate(all="ignore"):  # what cannot be shown and written again is no release
            release.words()
            canonical(release.to_record())
            if isinstance(release, Release):
                release.table()
        return release
    except SfumatoError:
        raise
    except Exception:
        raise SchemaError(f"{source} does not hold a release; expected {FORMAT} as JSON or Parquet") from None


def read(content: bytes, own: type[Mechanism] | None = None) -> Release | Any:
    """The publication that was stored as these bytes: a `Release`, or one of the `tables`; `own` reads its own kind."""
    with reread_days():
        return _read(content, own)


def _read(content: bytes, own: type[Mechanism] | None) -> Release | Any:
    if content[:4] != b"PAR1":
        return release_from(json.loads(content), own)
    import pyarrow as pa
    import pyarrow.parquet as pq

    record = json.loads(pq.read_schema(pa.BufferReader(content)).metadata[METADATA])
    kind = TABLES.get(record.get("format"))
    return release_from(record, own) if kind is None else _checked(PUBLICATIONS[kind].from_bytes(content))


def _checked(table: TableRelease) -> TableRelease:
    """A table with the claim that its mechanism gives; one that is none of ours is taken for no other."""
    mechanism = table.mechanism
    if table.method.get("type") != mechanism.to_record()["type"]:
        raise SchemaError(
            f"no mechanism {table.method.get('type')!r:.40} makes such tables here; this one may come from another "
            "version"
        )
    given = mechanism.guarantee()
    return table if covers(table.guarantee, given) else replace(table, guarantee=given, stated=table.guarantee)


def release_from(record: dict[str, Any], own: type[Mechanism] | None = None) -> Release:
    """The release that `Release.to_record` wrote; other formats are refused."""
    with reread_days():
        return _release_from(record, own)


def _release_from(record: dict[str, Any], own: type[Mechanism] | None) -> Release:
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, FORMER):
        raise SchemaError(f"this is not a release of format {FORMAT}; it may come from another version")
    surplus = sorted(record.keys() - PARTS)
    if surplus:
        raise SchemaError(f"this release has a part {surplus[0]!r:.40}, which {record['format']} does not know")
    question = bind(Query.from_record(record["query"]), schema_from(json.dumps(record["schema"])))
    provenance = Provenance.from_record(record["provenance"])
    spend = guarantee_from(record["spend"])
    stated = guarantee_from(record["stated"] if "stated" in record else record["guarantee"])
    described = joined([*provenance.parts[:-1], record["mechanism"]])
    if provenance.laboratory is not None and described.get("type") not in MECHANISMS:
        if own is None:
            raise SchemaError(
                f"mechanism {described.get('type')!r:.40} is somebody's own; read it with its class, mechanism=..."
            )
        mechanism: Mechanism = own.from_record(question, described)
    elif described.get("type") == PART:
        question, mechanism = part_from(question, described)  # type: ignore[assignment]
    else:
        mechanism = stored_mechanism(described, question, spend if record["format"] == FORMER else None)
    given = mechanism.guarantee()
    covered = covers(stated, given)
    return Release(
        name=record["name"],
        question=question,
        mechanism=mechanism,
        output=question.restored(record),
        guarantee=stated if covered else given,
        certificate=certificate_from(record["certificate"]),
        provenance=provenance,
        spend=spend,
        stated=None if covered else stated,
    )


def stored_mechanism(record: Mapping[str, Any], question: Question, former: Guarantee | None = None) -> Mechanism:
    """The mechanism of a question that `to_record` described; `former` is the spend of a release of version 0.2.0."""
    kind = record.get("type")
    if former is not None and kind in FORMER_MECHANISMS:
        return FORMER_MECHANISMS[kind](question, record, former)
    return mechanism_from(record, question)


def must_be_listed(mechanism: Mechanism) -> None:
    """Refuse a mechanism that is not the very class of its stored name: nobody would know what else it releases."""
    if not listed(mechanism):
        raise UnsupportedQuery(
            f"mechanism {mechanism.to_record().get('type')!r:.40} is one's own: it could be stored but never read "
            "back, so nothing is charged; try it in a laboratory, sf.reference.lab(...)"
        )


def must_read_back(mechanism: Mechanism, question: Question) -> Mechanism:
    """The mechanism as its stored form reads back; one's own, or one that would not be the same again, is refused."""
    must_be_listed(mechanism)
    record = mechanism.to_record()
    try:
        again = mechanism_from(json.loads(canonical(record)), question)
        same = canonical(again.to_record()) == canonical(record) and again.guarantee() == mechanism.guarantee()
    except (SfumatoError, TypeError, ValueError, KeyError, AttributeError):
        same = False
    if not same:
        raise ParameterError(
            f"mechanism {record.get('type')!r:.40} cannot be written down so that it reads back the same; nothing was "
            "charged.  Ask with another spend, or allow fewer assumptions, so that another mechanism is chosen"
        )
    return again


def covers(stated: Guarantee, given: Guarantee) -> bool:
    """Whether a stated claim is at least what the mechanism gives, up to the last digits of other machines."""
    return stated.covers(given, LAST_DIGITS)
