"""What was published, read back from files or the ledger: rebuilt from closed lists, nothing imported by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import arguments
from sfumato.certificate import certificate_from
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.mechanisms import MECHANISMS, NIM, NoiseBody
from sfumato.numeric import ceil_float
from sfumato.privacy.guarantees import Approximate, Guarantee, guarantee_from
from sfumato.queries import Query, bind
from sfumato.queries.binding import bind_discovered
from sfumato.queries.keys import Keys
from sfumato.queries.linear.shapes import shapes
from sfumato.release import FORMAT, FORMER, Provenance, Release, TableRelease, canonical
from sfumato.release.tables import METADATA
from sfumato.schema import Schema

__all__ = ["covers", "load", "mechanism_from", "must_read_back", "read", "release_from", "tables"]

LAST_DIGITS = 1e-9  # relative: claims are computed by linear algebra whose rounding differs between machines
PARTS = {
    "format", "name", "query", "schema", "keys", "spend", "guarantee", "guarantee_in_words", "mechanism", "output",
    "error_in_words", "certificate", "certificate_in_words", "provenance", "table", "table_level", "stated",
}  # fmt: skip


@cache
def tables() -> dict[str, type[TableRelease]]:
    """The formats of published tables; a format never changes its meaning."""
    from sfumato.sanitization.table import SanitizedTable
    from sfumato.synthesis.table import SyntheticTable
    from sfumato.synthesis.weighted import WeightedTable

    return {table.FORMAT: table for table in (SanitizedTable, SyntheticTable, WeightedTable)}


def load(path: str | Path) -> Release | Any:
    """The release saved in a `.json` or `.parquet` file; whatever the file holds, only errors of this package come out.

    The claim shown is the one that the mechanism gives; where the file states a smaller one it is `disputed`.
    """
    source = arguments.path("path", path)
    if not source.exists():
        raise SchemaError(f"there is no file {source}; check the path")
    try:
        release = read(source.read_bytes())
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


def read(content: bytes) -> Release | Any:
    """The publication that was stored as these bytes: a `Release`, or one of the `tables`."""
    if content[:4] != b"PAR1":
        return release_from(json.loads(content))
    import pyarrow as pa
    import pyarrow.parquet as pq

    record = json.loads(pq.read_schema(pa.BufferReader(content)).metadata[METADATA])
    table = tables().get(record.get("format"))
    return release_from(record) if table is None else _checked(table.from_bytes(content))


def _checked(table: TableRelease) -> TableRelease:
    """A table with the claim that its mechanism gives, where the method says all of it."""
    from sfumato.sanitization.table import SanitizedTable

    if not isinstance(table, SanitizedTable):
        return table
    given = table.randomizer.guarantee()
    return table if covers(table.guarantee, given) else replace(table, guarantee=given, stated=table.guarantee)


def release_from(record: dict[str, Any]) -> Release:
    """The release that `Release.to_record` wrote; other formats are refused."""
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, FORMER):
        raise SchemaError(f"this is not a release of format {FORMAT}; it may come from another version")
    surplus = sorted(record.keys() - PARTS)
    if surplus:
        raise SchemaError(f"this release has a part {surplus[0]!r:.40}, which {record['format']} does not know")
    asked: Any = bind(Query.from_record(record["query"]), Schema.from_record(record["schema"]))
    keys = None if record["keys"] is None else tuple(record["keys"])
    question = bind_discovered(asked, keys or ()) if isinstance(asked, Keys) else asked
    provenance = Provenance.from_record(record["provenance"])
    spend = guarantee_from(record["spend"])
    stated = guarantee_from(record["stated"] if "stated" in record else record["guarantee"])
    former = spend if record["format"] == FORMER else None
    mechanism = mechanism_from(record["mechanism"], question, former)
    if hasattr(question, "read_by"):
        question = question.read_by(mechanism)
    given = _claim(asked, mechanism, provenance)
    covered = covers(stated, given)
    return Release(
        name=record["name"],
        question=question,
        mechanism=mechanism,
        output=np.array(record["output"], dtype=object),
        guarantee=stated if covered else given,
        certificate=certificate_from(record["certificate"]),
        provenance=provenance,
        spend=spend,
        keys=keys,
        stated=None if covered else stated,
    )


def mechanism_from(record: Mapping[str, Any], question: Any, former: Guarantee | None = None) -> Any:
    """The mechanism of a question that `to_record` describes, from its own parameters.

    Version 0.2.0 kept less: with `former`, the spend of such a release, bodies follow from their names and the levels
    of NIM from calibrating again.
    """
    fields = dict(record)
    kind = fields.pop("type", None)
    if kind not in MECHANISMS:
        raise SchemaError(f"unknown mechanism {kind!r:.40}; known are {', '.join(MECHANISMS)}")
    if former is not None and kind in ("noise-body", "nim"):
        return _shaped(kind, fields, question, former)
    rebuild = getattr(MECHANISMS[kind], "from_record", None)
    if rebuild is not None:
        return rebuild(question, fields)
    if "p" in fields:
        fields["p"] = Fraction(fields["p"])
    return MECHANISMS[kind](question, **fields)


def must_read_back(mechanism: Any, question: Any) -> None:
    """Refuse a mechanism whose stored form would not be the same mechanism again."""
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


def covers(stated: Guarantee, given: Guarantee) -> bool:
    """Whether a stated claim is at least what the mechanism gives, up to the last digits of other machines."""
    if type(stated) is not type(given) or not given.assumptions <= stated.assumptions:
        return False
    parts = [name for name in ("epsilon", "delta", "rho") if hasattr(given, name)]
    return all(getattr(stated, name) * (1 + LAST_DIGITS) >= getattr(given, name) for name in parts)


def _claim(asked: Any, mechanism: Any, provenance: Provenance) -> Guarantee:
    """What the mechanisms of a release give together: where keys were discovered, that is paid for too."""
    claim: Guarantee = mechanism.guarantee()
    if not isinstance(asked, Keys):
        return claim
    discovery = mechanism_from(provenance.parts[0], asked).guarantee()
    epsilon, delta = (
        ceil_float(sum((Fraction(getattr(one, part, 0)) for one in (discovery, claim)), Fraction(0)))
        for part in ("epsilon", "delta")
    )
    return Approximate(epsilon, delta)


def _shaped(kind: str, fields: dict[str, Any], question: Any, spend: Guarantee) -> Any:
    """Noise whose body follows from the workload's own columns, found again from its name."""
    if kind == "nim":
        return NIM.calibrate(question, spend)
    bodies = shapes(question)
    if fields["body"] not in bodies:
        raise SchemaError(f"unknown body {fields['body']!r:.40}; known are {', '.join(bodies)}")
    return NoiseBody(question, bodies[fields["body"]](), fields["epsilon"])
