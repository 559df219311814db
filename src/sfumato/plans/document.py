"""The parts of a plan document, as pydantic reads them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from sfumato.addresses import SERVERS
from sfumato.plans.places import KEPT, must_be_connection, must_be_files, must_be_paths, must_be_place, must_be_variable
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.parts import must_be_positive
from sfumato.queries import Query
from sfumato.queries.declared import must_have_program
from sfumato.queries.kinds import is_grouped
from sfumato.queries.query import must_be_known

__all__ = [
    "FORMAT", "FORMER", "Amount", "AnalystSection", "BudgetSection", "Document", "LedgerSection", "PeopleSection",
    "PersonSection", "ReleaseSection", "ServiceSection", "TableSection",
]  # fmt: skip

FORMAT = "sfumato-plan/2"
FORMER = "sfumato-plan/1"  # read for good: conditions are texts, tables have no version


PAID = (
    "spend",
    "within",
    "level",
    "weight",
    "name",
    "mechanism",
    "adding_up",
    "description",
)  # what is said of a release beside its question
COMPOSED = ("share", "ratio", "difference", "correlation")  # kinds asked by groups with parts of their own
SHARED = ("query", *PAID, "by", "where", "per_person")  # what a release of any kind may have


class Section(BaseModel):
    """A part of the document; unknown names in it are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {value!r:.60}")
    return value


Number = Annotated[float, BeforeValidator(_number)]
Text = Annotated[str, Field(min_length=1)]


Paths = Annotated[tuple[Text, ...], BeforeValidator(must_be_paths)]


class PersonSection(Section):
    """A person who may have several rows."""

    column: Text
    rows: StrictInt


class TableSection(Section):
    """The file, or the table of another engine, and who is protected."""

    engine: Literal["spark", "postgres"] | None = None
    table: Text | None = None
    connection: Text | None = Field(default=None, validate_default=True)
    path: Paths | None = Field(default=None, validate_default=True)
    unit: Literal["row"] | PersonSection
    dataset: Text | None = None
    adjacency: Text = "add-remove"
    size: StrictInt | None = None
    version: Text | None = None
    quoted_lines: StrictBool = False
    keep: Text | None = None

    @field_validator("connection")
    @classmethod
    def _named(cls, connection: str | None, info: ValidationInfo) -> str | None:
        if connection is not None:
            must_be_connection(connection, info.data.get("engine"))
        return connection

    @field_validator("path")
    @classmethod
    def _placed(cls, path: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        engine, table, connection = (info.data.get(name) for name in ("engine", "table", "connection"))
        if path is not None and len(path) > 1:
            must_be_files(path, engine, table)
        must_be_place(None if path is None else path[0], engine, table, connection)
        return path


class PeopleSection(Section):
    """The table that holds one line a person, beside that of the events: a file, or one of the same engine."""

    path: Text | None = None
    table: Text | None = None

    @model_validator(mode="after")
    def _either(self) -> PeopleSection:
        if (self.path is None) == (self.table is None):
            raise ValueError('says where the table of people is: path = "FILE", or table = "NAME" of the same engine')
        return self


class Amount(Section):
    """How much privacy: epsilon, epsilon and delta, or rho."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None

    def guarantee(self) -> Guarantee:
        """The amount as a guarantee; a positive one."""
        amounts = self.model_dump(include={"epsilon", "delta", "rho"})
        must_be_positive(amounts)
        return guarantee_of(amounts)


class BudgetSection(Amount):
    """What everything may cost, and whether releases that name no spend share in it, up to a total."""

    split: Literal["auto"] | None = None
    total: Amount | None = None


class LedgerSection(Section):
    """Where charges are kept: a file, or a server whose address an environment variable holds."""

    path: Text | None = None
    connection: Text | None = None

    @model_validator(mode="after")
    def _either(self) -> LedgerSection:
        if (self.path is None) == (self.connection is None):
            raise ValueError('says where charges are kept: path = "FILE", or, of a server, connection = "NAME"')
        if self.path is not None and self.path.startswith(SERVERS):
            raise ValueError(f"path is the address of a server: write {KEPT}")
        if self.connection is not None:
            must_be_variable(self.connection)
        return self


class ServiceSection(Section):
    """How the service answers."""

    tick: Number = 1.0
    rate: Number = 20.0
    audit: Text | None = None
    connections: StrictInt | None = None


class AnalystSection(Section):
    """Who may ask, and for how much; or watch over the service."""

    budget: Amount | None = None
    role: Literal["analyst", "steward"] = "analyst"


class WeightSection(Section):
    """A column of survey weights, and how much the release counts among those that share the budget."""

    column: Text
    share: Number


class ReleaseSection(Section):
    """What to publish."""

    query: Text
    spend: Amount | None = None
    within: object = None
    level: Number | None = None
    weight: Number | Text | WeightSection | None = None
    name: Text | None = None
    mechanism: Text | None = None
    adding_up: StrictBool = False
    description: Text | None = None
    column: Text | None = None
    by: object = None
    where: Text | dict[str, Any] | None = None
    per_person: dict[str, Any] | None = None
    probabilities: list[Number] | None = None
    bars: StrictBool | None = None
    k: StrictInt | None = None
    workload: list[Any] | None = None
    details: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, record: object) -> Any:
        """What a kind of query carries besides is that kind's to check."""
        if not isinstance(record, dict) or not isinstance(kind := record.get("query"), str):
            return record
        must_be_known(kind)  # before the parts that another kind would have
        if kind == "workload" or (is_grouped(kind) and kind not in COMPOSED):
            return record  # whose parts are all named above
        details = {name: value for name, value in record.items() if name not in SHARED}
        return {name: value for name, value in record.items() if name not in details} | {"details": details}

    @property
    def shares(self) -> bool:
        """Whether it names neither what it costs nor what error it may have."""
        return self.spend is None and self.within is None

    def question(self) -> Query:
        """The query that is described."""
        parts = self.model_dump(exclude_none=True, exclude={*PAID, "details"})
        column = self.weight.column if isinstance(self.weight, WeightSection) else self.weight
        weighed = {"weight": column} if isinstance(column, str) else {}
        query = Query.from_record({**parts, **weighed, **self.details})
        must_have_program(query)
        return query

    @property
    def importance(self) -> float | None:
        """Its weight among the releases that share the budget, where one is given."""
        given = self.weight.share if isinstance(self.weight, WeightSection) else self.weight
        return given if isinstance(given, float) else None


class Document(Section):
    """The whole document."""

    format: Literal["sfumato-plan/1", "sfumato-plan/2"]
    title: Text | None = None
    note: Text | None = None
    table: TableSection
    columns: dict[str, dict[str, Any]]
    budget: BudgetSection
    release: list[ReleaseSection] = Field(default_factory=list)  # none where whole tables alone are made
    ledger: LedgerSection | None = None
    allow: list[Text] = Field(default_factory=list)
    people: PeopleSection | None = None
    attributes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    service: ServiceSection = ServiceSection()
    analysts: dict[str, AnalystSection] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _people_have_attributes(self) -> Document:
        if (self.people is None) != (not self.attributes):
            raise ValueError("[people] says where the table of people is, and [attributes.NAME] what of it is declared")
        if self.people is not None and self.people.table is not None and self.table.engine is None:
            raise ValueError("[people] has a table of its own only beside engine = ... in [table]; name its file: path")
        return self

    @model_validator(mode="after")
    def _as_its_format_says(self) -> Document:
        if self.format == FORMER:
            if self.budget.split or any(r.within is not None or r.importance is not None for r in self.release):
                raise ValueError(f"split, within and weight are not known in {FORMER}; write format = {FORMAT!r}")
            if self.people is not None:
                raise ValueError(f"people is not known in {FORMER}; write format = {FORMAT!r}")
            if any("from" in described for described in self.columns.values()):
                raise ValueError(f"derived columns (from) are not known in {FORMER}; write format = {FORMAT!r}")
            if self.analysts or self.service != ServiceSection() or (self.ledger and self.ledger.connection):
                raise ValueError(f"analysts, service and servers of ledgers are not known in {FORMER}")
            if self.title or self.note or any(release.description for release in self.release):
                raise ValueError(f"title, note and description are not known in {FORMER}; write format = {FORMAT!r}")
            if self.allow:
                raise ValueError(f"allow is not known in {FORMER}; write format = {FORMAT!r}")
            if self.table.path is not None and len(self.table.path) > 1:
                raise ValueError(f"a list of paths is not known in {FORMER}; write format = {FORMAT!r}")
            for name in ("version", "quoted_lines", "engine", "keep"):
                if getattr(self.table, name):
                    raise ValueError(f"table.{name} is not known in {FORMER}; write format = {FORMAT!r}")
            if any(release.mechanism for release in self.release):
                raise ValueError(f"mechanism is not known in {FORMER}; write format = {FORMAT!r}")
            if any(release.per_person is not None for release in self.release):
                raise ValueError(f"per_person is not known in {FORMER}; write format = {FORMAT!r}")
            if any(isinstance(release.where, dict) for release in self.release):
                raise ValueError(f"where is a text in {FORMER}; write format = {FORMAT!r}")
        return self
