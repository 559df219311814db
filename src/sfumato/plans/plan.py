"""Plan documents: what to publish, from which table, at what cost; TOML or JSON, documented in docs/formats/plan.md.

Reading a plan finds every mistake that is public, names the place, and touches no data.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sfumato import arguments
from sfumato.cards import Card, Shown
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.ledger.names import versioned
from sfumato.plans.document import (
    FORMAT,
    FORMER,
    BudgetSection,
    Document,
    PeopleSection,
    ReleaseSection,
    TableSection,
)
from sfumato.plans.ledgers import LedgerPlace
from sfumato.plans.mistakes import ADVICE, BLANK, blanks, mistake, screen, unpaid
from sfumato.plans.places import Place, listed, must_stay, placed
from sfumato.plans.service import Service, service_of
from sfumato.privacy.assumptions import assumed
from sfumato.privacy.filters import filter_for
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.statements import doubt_budget
from sfumato.queries import Query, Question, bind
from sfumato.queries.adding import must_add_up
from sfumato.queries.formulas import formula
from sfumato.spaces import SPACES, space_from
from sfumato.spaces.schema import Schema, named_after
from sfumato.visible import visible

LEVEL = 0.95  # of targets, unless another is said

__all__ = ["LEVEL", "Plan", "PlannedRelease", "read_document", "read_plan"]


@dataclass(frozen=True, slots=True)
class PlannedRelease:
    """One release of a plan: its name, the question, what it may cost, and a mechanism where one was chosen.

    Where no spend is given, `within` says what error it may have, or it shares in the plan's budget by its weight; a
    spend beside `within` is a ceiling.
    """

    name: str
    query: Query
    spend: Guarantee | None
    mechanism: str | None = None
    within: float | str | None = None
    level: float = 0.95
    weight: float = 1.0
    members: tuple[tuple[str, Query], ...] = ()  # the releases that are measured together as this one
    description: str | None = None  # for readers of the report

    @property
    def priced(self) -> str:
        """What it may cost or err by, in a few words."""
        if self.within is not None:
            return f"within {self.within}"
        return "a share of the budget" if self.spend is None else repr(self.spend)

    @property
    def paid(self) -> Guarantee:
        """The spend, where it is settled."""
        assert self.spend is not None
        return self.spend


MISSING_LINES = (
    "text files: a line that cannot be read (not UTF-8, a quote that is not closed, too many or too few fields) is a "
    "row without values; counts include it, means and the like leave it out; how many such lines there are, "
    "`sfumato check` tells the steward alone"
)


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Shown):
    """A checked plan.  Paths are resolved against the plan's own directory."""

    path: Path
    table: Place
    schema: Schema
    budget: Guarantee
    ledger: LedgerPlace
    allow: frozenset[str]
    releases: tuple[PlannedRelease, ...]
    split: bool = False  # whether releases without a spend share in the budget
    total: Guarantee | None = None  # what all of them may cost together, where that is not the budget
    keep: Path | None = None  # the folder for what was counted in each of several files
    people: Place | None = None  # the table of people, where the other one holds events
    adding_up: frozenset[str] = frozenset()  # the releases that are also written as whole numbers that add up
    one_place: bool = False  # whether every version is read from the same place
    title: str | None = None  # of the report
    note: str | None = None
    service: Service = field(default_factory=Service)  # who may ask over the network, and how it answers

    def __repr__(self) -> str:
        return f"Plan({str(self.path)!r}: {len(self.releases)} releases of {self.schema.dataset!r}, {self.budget!r})"

    def card(self) -> Card:
        """What is published of what, and at what cost."""
        rows = [(visible(one.name), visible(one.query.name), one.priced) for one in self.releases]
        facts = {
            "table": visible(self.table.words),
            "protects": self.schema.words(),
            "budget": self.budget.words().format(unit=self.schema.words()),
            "ledger": visible(str(self.ledger)),
        }
        return Card(visible(str(self.path)), facts, ("release", "question", "spend"), rows)

    @property
    def same_for_all(self) -> str | None:
        """That every version reads the same table, where that is so."""
        if not self.one_place or self.schema.version is None:
            return None
        return (
            f"version {self.schema.version}: the path has no {{version}}, so that every version of this plan reads "
            f"{visible(self.table.words)} as it is then"
        )

    @property
    def doubt(self) -> str | None:
        """What the budget hardly protects from, where it is absurd."""
        stated = self.budget.statement()
        return doubt_budget(stated.epsilon, self.budget.parts().get("delta", 0.0), self.schema.size, stated.delta)

    @property
    def missing_lines(self) -> str | None:
        """How lines of a text file count that cannot be read: the same words whatever the file holds."""
        if not (self.table.is_text or (self.people is not None and self.people.is_text)):
            return None
        return MISSING_LINES

    def must_publish(self) -> None:
        """Refuse a plan that has no releases, where these are wanted."""
        if not self.releases:
            raise SchemaError(
                f"{self.path}: release is missing; add at least one [[release]] with query and spend (a plan without "
                "any is enough for sfumato serve, sql, synthesize, sanitize, extent and check)"
            )

    def release(self, name: str) -> PlannedRelease:
        """The release of that name."""
        self.must_publish()
        for release in self.releases:
            if release.name in (name, versioned(name, self.schema.version)):
                return release
        known = ", ".join(repr(release.name) for release in self.releases)
        raise SchemaError(f"{self.path}: there is no release {name!r}; the plan has {known}")


def read_plan(path: str | Path, version: str | None = None) -> Plan:
    """The plan in a TOML or JSON file, checked as far as public quantities go; for another version, where one is said.

    In the paths of tables `{version}` stands for the version.
    """
    place = arguments.path("path", path)
    try:
        return _read(place, _parsed(place) if version is None else _of_version(_parsed(place), version))
    except RecursionError:
        raise SchemaError(f"the plan {place} nests its parts too deeply; compare with docs/formats/plan.md") from None


def _read(place: Path, record: dict[str, Any]) -> Plan:
    left_open = list(blanks(record, ()))
    if left_open:
        raise SchemaError(screen(place, left_open, f"still says {BLANK!r}; {ADVICE}"))
    found = unpaid(record)
    try:
        document = Document.model_validate(record)
    except ValidationError as error:
        found = [*(mistake(dict(detail), record) for detail in error.errors(include_url=False)), *found]
    if found:
        raise SchemaError(screen(place, found))
    return _checked(place, document)


def _of_version(record: dict[str, Any], version: str) -> dict[str, Any]:
    """The document with another version."""
    table = record.get("table")
    return {**record, "table": {**table, "version": version}} if isinstance(table, dict) else record


def read_document(place: Path, what: str, way: str) -> Any:
    """What a TOML or JSON file holds; `what` it is called where it cannot be read, and the `way` to have one."""
    if what == "plan" and place.suffix.lower() in (".csv", ".tsv", ".parquet", ".duckdb") and place.exists():
        names = " --header" if place.suffix.lower() in (".csv", ".tsv") else ""
        raise SchemaError(
            f"{place} is a table, not a plan; write its plan with: sfumato draft {place}{names} --out PLAN.toml"
        )
    try:
        text = place.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"there is no {what} {place}; {way}") from None
    except (OSError, UnicodeDecodeError):
        raise SchemaError(f"the {what} {place} cannot be read; it must be a readable UTF-8 text file") from None
    try:
        return json.loads(text) if place.suffix.lower() == ".json" else tomllib.loads(text)
    except ValueError as error:
        kind = "JSON" if place.suffix.lower() == ".json" else "TOML"
        raise SchemaError(f"the {what} {place} is not valid {kind}: {error}") from None


def _parsed(place: Path) -> dict[str, Any]:
    record = read_document(place, "plan", f"write one with: sfumato draft FILE --out {place}")
    if not isinstance(record, dict) or record.get("format") not in (FORMAT, FORMER):
        raise SchemaError(f'{place} is not a plan of this version; its first line must be: format = "{FORMAT}"')
    return record


def _checked(place: Path, document: Document) -> Plan:
    schema = _schema(place, document)
    budget = _at(place, "budget", document.budget.guarantee)
    allow = _at(place, "allow", lambda: assumed(document.allow))
    releases: list[PlannedRelease] = []
    adding_up: set[str] = set()
    for number, described in enumerate(document.release, start=1):
        where = f"release {number}" + (f' ("{described.name}")' if described.name else "")
        releases.append(_release(place, where, described, schema, document.budget, budget, allow))
        if described.adding_up:
            _at(place, f"{where}, adding_up", lambda: must_add_up(releases[-1].query))
            adding_up.add(releases[-1].name)
        if any(release.name == releases[-1].name for release in releases[:-1]):
            raise SchemaError(f"{place}: {where}: the name {releases[-1].name!r} occurs twice; name each release once")
    total = None if document.budget.total is None else _at(place, "budget.total", document.budget.total.guarantee)
    if total is not None and (document.budget.split is None or total.names() != budget.names()):
        raise SchemaError(f'{place}: budget.total stands beside split = "auto", and is of the same kind as the budget')
    table = document.table
    return Plan(
        path=place,
        table=_at(place, "table.path", lambda: _place(place, table, schema.version)),
        schema=schema,
        budget=budget,
        ledger=_at(place, "ledger.path", lambda: _ledger(place, document, schema.dataset)),
        allow=allow,
        releases=tuple(releases),
        split=document.budget.split is not None,
        total=total,
        keep=None if table.keep is None else _at(place, "table.keep", lambda: _kept(place, table)),
        people=None
        if document.people is None
        else _at(place, "people.path", lambda held=document.people: _people(place, held, table, schema.version)),
        adding_up=frozenset(adding_up),
        one_place=not any("{version}" in part for part in (*(table.path or ()), table.table or "")),
        title=document.title,
        note=document.note,
        service=_at(place, "the service", lambda: service_of(document, place.parent, schema.dataset, budget)),
    )


def _ledger(place: Path, document: Document, dataset: str) -> LedgerPlace:
    said = document.ledger
    if said is not None and said.connection is not None:
        return LedgerPlace(dataset, None, said.connection)
    if said is None or said.path is None:
        must_stay("dataset", dataset, 'so that its ledger cannot be called by it; say path = "FILE" under [ledger]')
    kept = f"{dataset}.ledger" if said is None or said.path is None else said.path
    return LedgerPlace(dataset, arguments.path("path", place.parent / kept))


def _kept(place: Path, table: TableSection) -> Path:
    """The folder for what was counted in the files of a table."""
    if table.engine is not None:
        raise SchemaError("keep is for Parquet files that DuckDB reads; leave it out beside an engine")
    return arguments.path("keep", place.parent / str(table.keep))


def _place(place: Path, table: TableSection, version: str | None) -> Place:
    if table.path is not None and len(table.path) > 1:
        return listed(place.parent, table.path, version)
    path = None if table.path is None else table.path[0]
    return placed(place.parent, path, table.table, table.engine, table.connection, version)


def _people(place: Path, people: PeopleSection, table: TableSection, version: str | None) -> Place:
    """The table of people: of the same engine, but for files beside a server."""
    server = table.engine == "postgres" and people.table is not None
    engine = table.engine if server or table.engine == "spark" else None
    return placed(place.parent, people.path, people.table, engine, table.connection if server else None, version)


def _release(
    place: Path, where: str, described: ReleaseSection, schema: Schema, section: BudgetSection, budget: Guarantee,
    allow: frozenset[str],
) -> PlannedRelease:  # fmt: skip
    """One release, with what it costs or may err by."""
    query = _at(place, where, described.question)
    question = _at(place, where, lambda: bind(query, schema))
    spend = None if described.spend is None else _at(place, f"{where}, spend", described.spend.guarantee)
    if spend is not None:
        settle = partial(_claimed, query, schema, spend, allow, described.mechanism)
        _at(place, f"{where}, spend", lambda: _must_be_taken(budget, spend, settle))
    level = LEVEL if described.level is None else _at(place, where, lambda: arguments.level(described.level))
    within = _at(place, where, lambda: _target(described.within, question, level))
    if described.level is not None and within is None:
        raise SchemaError(f"{place}: {where}: level stands beside within, and says how likely the error is within it")
    given = described.importance
    weight = 1.0 if given is None else _at(place, where, lambda: arguments.weight(given))
    if given is not None and (section.split is None or not described.shares):
        raise SchemaError(
            f'{place}: {where}: weight is for releases that share in a budget with split = "auto", '
            "so beside no spend and no within"
        )
    name = versioned(described.name or question.name, schema.version)
    return PlannedRelease(
        name, query, spend, described.mechanism, within, level, weight, description=described.description
    )


def _must_be_taken(budget: Guarantee, spend: Guarantee, settle: Callable[[], Guarantee]) -> None:
    """Refuse a spend that a budget does not take; as in a session, what counts is the claim that is charged."""
    try:
        filter_for(budget).amounts(spend)
    except ParameterError:
        filter_for(budget).amounts(settle())


def _claimed(query: Query, schema: Schema, spend: Guarantee, allow: frozenset[str], mechanism: str | None) -> Guarantee:
    from sfumato.orders import order  # with all mechanisms: only where the kinds differ

    return order(query, schema, spend=spend, allow=allow, mechanism=mechanism).claim


def _target(within: object, question: Question, level: float) -> float | str | None:
    """The target as it was written, checked."""
    if within is None:
        return None
    from sfumato.accuracy.targets import target_of  # mechanisms, which a plan without targets needs not

    target_of(within, question, level)
    return within if isinstance(within, str) else arguments.number("within", within)


def _schema(place: Path, document: Document) -> Schema:
    table = document.table
    both = document.columns.keys() & document.attributes.keys()
    if both:
        raise SchemaError(f"{place}: {min(both)!r} is declared of events and of people; rename it in one of the tables")
    for name, described in {**document.columns, **document.attributes}.items():
        _must_have_bounds(place, name, described)
        space = {part: value for part, value in described.items() if part != "from"}
        _at(place, f"columns.{name}", lambda name=name, space=space: space_from(space, name))
    stored = {name: described for name, described in document.columns.items() if "from" not in described}
    record = {
        "dataset": table.dataset or _at(place, "table.dataset", lambda: _dataset(table)),
        "unit": None if table.unit == "row" else {"column": table.unit.column, "rows": table.unit.rows},
        "adjacency": table.adjacency,
        "size": table.size,
        "version": table.version,
        "quoted_lines": table.quoted_lines,
        "columns": {**stored, **document.attributes},
        "derived": {name: described for name, described in document.columns.items() if "from" in described},
        "people": list(document.attributes),
    }
    schema: Schema = _at(place, "table", lambda: Schema.from_record(record))
    for name in schema.derived:
        _at(place, f"columns.{name}", lambda name=name: formula(schema, name))
    return schema


def _dataset(table: TableSection) -> str:
    if table.path is None or table.engine == "postgres":
        raise SchemaError("the table is no file, whose name it could have: say dataset = ..., a name for its ledger")
    if len(table.path) > 1:
        raise SchemaError("the path is a list of files, whose names are no dataset's: say dataset = ...")
    if "{version}" in table.path[0]:
        raise SchemaError("the path holds {version}, so that each version is another file: say dataset = ...")
    return named_after(Path(table.path[0]))


def _must_have_bounds(place: Path, name: str, described: Mapping[str, Any]) -> None:
    space = SPACES.get(str(described.get("type")))
    for part in space.needed if space is not None else ():
        if part not in described:
            raise SchemaError(
                f"{place}: columns.{name}: {part} is missing; declare {part} = ... from what is public about the "
                "column: it is never read off the data"
            )


def _at(place: Path, where: str, build: Any) -> Any:
    """What `build` makes; its refusal names the place in the document."""
    try:
        return build()
    except SfumatoError as error:
        raise SchemaError(f"{place}: {where}: {error}") from None
    except (TypeError, ValueError, KeyError, AttributeError):
        raise SchemaError(
            f"{place}: {where}: a part has the wrong type; compare with the annotated example in docs/formats/plan.md"
        ) from None
