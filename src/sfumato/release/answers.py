"""An answer that may be shown: public, frozen, and self-describing."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato import arguments
from sfumato.certificate import Certificate, NoBoundKnown
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.privacy.guarantees import Guarantee, to_record
from sfumato.release.identity import canonical
from sfumato.statements import Accuracy

__all__ = ["FORMAT", "FORMER", "Provenance", "Release"]

FORMAT = "sfumato-release/2"
FORMER = "sfumato-release/1"  # read for good: conditions as texts, bodies of noise by name


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a release comes from, in public words; `account` and `batch` are absent unless set."""

    dataset: str
    unit: str
    time: str
    version: str
    digest: str
    charge: int
    head: str
    parts: tuple[dict[str, Any], ...] = ()
    account: str | None = None  # on whose behalf it was asked
    batch: int | None = None  # how many releases its charge paid for together

    def to_record(self) -> dict[str, Any]:
        """Plain values."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__} | {"parts": list(self.parts)}
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Provenance:
        """What `to_record` wrote."""
        return cls(**{**record, "parts": tuple(record["parts"])})


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Release:
    """A private answer: its value, guarantee, error bars, certificate and provenance.

    `question` and `mechanism` are public descriptions; `output` is what the mechanism returned.
    """

    name: str
    question: Any
    mechanism: Any
    output: Any
    guarantee: Guarantee
    certificate: Certificate | NoBoundKnown
    provenance: Provenance
    spend: Guarantee
    keys: tuple[str, ...] | None = field(default=None)
    stated: Guarantee | None = None  # what a file states where its mechanism gives no such claim

    @property
    def value(self) -> Any:
        """A number (or item) for a single answer, else one entry for each row of `table`."""
        estimates = self.question.estimate(self.output)
        if len(estimates) == 1 and not self.question.cells.keys:
            only = estimates[0]
            return float(only) if isinstance(only, np.floating) else only
        return estimates

    def interval(self, level: float = 0.95, *, joint: bool = False) -> tuple[Any, Any]:
        """The ends of the error bars: per cell, or with `joint` for all cells at once.

        They cover the clipped, bounded answer, not what was clipped away.
        """
        level = arguments.level(level)
        columns = self.question.table(self.output, self.mechanism, 1 - level, joint)
        if "low" not in columns:
            raise UnsupportedQuery(
                f"{self.name!r} has no error bar in its own units without more data; "
                f"what is known: {self.accuracy(level)}"
            )
        low, high = np.array(columns["low"]), np.array(columns["high"])
        single = len(low) == 1 and not self.question.cells.keys
        return (float(low[0]), float(high[0])) if single else (low, high)

    def error(self, level: float = 0.95) -> Accuracy:
        """What can be said of the error: from the release's own intervals where it has them."""
        beta = 1 - level
        if hasattr(self.question, "accuracy_of"):
            return self.question.accuracy_of(self.output, self.mechanism, beta)  # type: ignore[no-any-return]
        return self.question.accuracy(self.mechanism, beta)  # type: ignore[no-any-return]

    def accuracy(self, level: float = 0.95) -> str:
        """The same in words."""
        return self.error(level).words()

    def table(self, level: float = 0.95, *, joint: bool = False) -> Any:
        """An Arrow table: keys, estimate, low, high (or item, probability)."""
        import pyarrow as pa

        return pa.table(self.question.table(self.output, self.mechanism, 1 - level, joint))

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table as a pandas frame."""
        return self.table(level).to_pandas()

    @property
    def disputed(self) -> bool:
        """Whether the release was stored with a smaller claim than its mechanism gives; `guarantee` is the latter."""
        return self.stated is not None

    def words(self) -> str:
        """The claim in full sentences."""
        return (
            f"{self.name}\n"
            f"  guarantee    {self.guarantee.words().format(unit=self.provenance.unit)}\n"
            f"{dispute(self.stated, '  DISPUTED     ')}"
            f"  error        {self.accuracy()}\n"
            f"  certificate  {self.certificate.words()}\n"
            f"  ledger       charge {self.provenance.charge} of {self.provenance.time}, head {self.provenance.head}"
        )

    def __repr__(self) -> str:
        return f"Release({self.name!r}, {self.guarantee!r}{', disputed' if self.disputed else ''})"

    def __str__(self) -> str:
        return self.words()

    @property
    def curve(self) -> Any:
        """The whole function, for questions whose answer is one: evaluable anywhere at no further cost."""
        if not hasattr(self.question, "curve"):
            raise UnsupportedQuery(f"{self.name!r} is not a function; ask for density(...) or another curve")
        return self.question.curve(self.output, self.mechanism)

    def plot(self) -> Any:
        """A picture of the estimates with their error bars (an Altair chart)."""
        from sfumato.report.plots import plot_release

        return plot_release(self)

    def to_record(self) -> dict[str, Any]:
        """The whole release as plain values; documented in docs/formats/release.md."""
        return {
            "format": FORMAT,
            "name": self.name,
            "query": self.question.query.to_record(),
            "schema": self.question.schema.to_record(),
            "keys": None if self.keys is None else list(self.keys),
            "spend": to_record(self.spend),
            "guarantee": to_record(self.guarantee),
            "guarantee_in_words": self.guarantee.words().format(unit=self.provenance.unit),
            "mechanism": self.mechanism.to_record(),
            "output": np.asarray(self.output, dtype=object).tolist(),
            "error_in_words": self.accuracy(),
            "certificate": self.certificate.to_record(),
            "certificate_in_words": self.certificate.words(),
            "provenance": self.provenance.to_record(),
            "table": self.question.table(self.output, self.mechanism, 0.05, False),
            "table_level": 0.95,
        } | ({} if self.stated is None else {"stated": to_record(self.stated)})

    def to_bytes(self) -> bytes:
        """The record as canonical JSON: the bytes that the ledger stores."""
        return canonical(self.to_record())

    def save(self, path: str | Path) -> Path:
        """Write the release to a `.json` or `.parquet` file; the latter carries the record in its metadata."""
        target = Path(path)
        if target.suffix == ".json":
            target.write_bytes(
                json.dumps(self.to_record(), indent=1, ensure_ascii=False, sort_keys=True).encode() + b"\n"
            )
        elif target.suffix == ".parquet":
            import pyarrow.parquet as pq

            described = self.table().replace_schema_metadata({"sfumato.release": self.to_bytes()})
            pq.write_table(described, target)
        else:
            raise ParameterError(f"a release is saved as .json or .parquet, not {target.suffix!r}")
        return target


def dispute(stated: Guarantee | None, heading: str) -> str:
    """A line for a release whose stored claim is smaller than what its mechanism gives; nothing for others."""
    if stated is None:
        return ""
    return f"{heading}it was stored as {stated!r}, which its mechanism does not give: count what is stated above\n"
