"""What a ledger is bound to for good: a declared dataset id, one adjacency, one unit, one budget.

The id is declared and never computed from the data.  Versions of a dataset that share people belong
in one ledger, since their charges add up.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sfumato.errors import LedgerError, ParameterError
from sfumato.ledger.entries import FORMAT, FORMATS, GENESIS, Entry, label, now
from sfumato.privacy.adjacency import ADJACENCIES, Adjacency, Person, Row, Unit
from sfumato.privacy.claims import guarantee_from, to_record
from sfumato.privacy.filters import Filter, filter_for
from sfumato.privacy.guarantees import Guarantee, Pure

__all__ = ["Terms"]


@dataclass(frozen=True, slots=True)
class Terms:
    """The declarations of a ledger's first entry."""

    dataset: str
    adjacency: Adjacency
    unit: Unit
    budget: Guarantee
    format: int = FORMAT  # what its entries may be

    def __post_init__(self) -> None:
        label("dataset", self.dataset)
        if self.adjacency not in ADJACENCIES.values():
            raise ParameterError(f"adjacency must be one of {', '.join(ADJACENCIES)}")
        if not isinstance(self.unit, Row | Person):
            raise ParameterError("unit must be Row() or Person(column, rows)")
        if not isinstance(self.budget, Guarantee):
            raise ParameterError(f"budget must be a guarantee such as Pure(1.0), got {type(self.budget)}")
        if self.budget.assumptions:
            raise ParameterError(
                f"budget must rest on no assumptions, got {self.budget!r}; "
                "leave them out here and allow them by name when opening the ledger"
            )

    @property
    def filter(self) -> Filter:
        """What admits or refuses charges."""
        return filter_for(self.budget)

    @property
    def nothing(self) -> tuple[int, ...]:
        """The total before any charge."""
        return tuple(0 for _ in self.filter.amounts(Pure(0.0)))

    def opening(self) -> Entry:
        """The first entry of a new ledger; a random identity tells two such ledgers apart."""
        nothing = self.nothing
        description: dict[str, object] = {
            "format": self.format,
            "adjacency": self.adjacency.name,
            "unit": _unit_record(self.unit),
            "identity": secrets.token_hex(16),
        }
        budget = to_record(self.budget)
        return Entry(0, "open", now(), self.dataset, "", budget, nothing, nothing, description, GENESIS)

    @classmethod
    def read(cls, first: Entry) -> Terms:
        """The terms that a first entry declares."""
        declared = first.description
        if first.kind != "open" or first.sequence != 0 or first.guarantee is None:
            raise LedgerError("the first entry of the ledger must be its opening; run verify")
        if type(declared.get("format")) is not int or declared["format"] not in FORMATS:
            raise LedgerError(
                f"the ledger has another format than {' and '.join(map(str, FORMATS))}, which this version reads; "
                "use the version of sfumato that wrote it"
            )
        try:
            adjacency = ADJACENCIES[str(declared["adjacency"])]
            unit = _unit_from(declared["unit"])
            return cls(first.name, adjacency, unit, guarantee_from(first.guarantee), declared["format"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, ParameterError):
            raise LedgerError("the opening of the ledger declares unknown terms") from None

    def must_match(self, dataset: str, adjacency: Adjacency, unit: Unit, budget: Guarantee | None) -> None:
        """Refuse a declaration that differs from the ledger's."""
        mine = (self.dataset, self.adjacency, self.unit, self.budget)
        theirs = (dataset, adjacency, unit, self.budget if budget is None else budget)
        for argument, bound, given in zip(("dataset", "adjacency", "unit", "budget"), mine, theirs, strict=True):
            if bound != given:
                raise LedgerError(
                    f"{_way_out(argument, bound, given)}"
                    f"{argument} is {given!r}, but this ledger is bound to {bound!r}; "
                    f"give {argument}={bound!r}.  A ledger's terms never change, and a second ledger about the same "
                    "people would not know what this one has spent: their losses add up"
                )


def _way_out(argument: str, bound: object, given: object) -> str:
    """How questions count another number of a person's rows, within the ledger that there is."""
    if argument != "unit" or not isinstance(bound, Person) or not isinstance(given, Person):
        return ""
    if bound.column != given.column:
        return ""
    return (
        f"this ledger protects the same people, with rows = {bound.rows} for questions that say nothing else: keep "
        f"that for the table, and let each release that counts {given.rows} rows of a person say so, in a plan "
        f"per_person = {{ rows = {given.rows} }}, in Python .per_person(rows={given.rows}).  "
    )


def _unit_record(unit: Unit) -> dict[str, object]:
    if isinstance(unit, Person):
        return {"type": "person", "column": unit.column, "rows": unit.rows}
    return {"type": "row"}


def _unit_from(record: object) -> Unit:
    match record:
        case {"type": "row", **rest} if not rest:
            return Row()
        case {"type": "person", "column": str(column), "rows": int(rows), **rest} if not rest:
            return Person(column, rows)
    raise ParameterError("unknown unit")
