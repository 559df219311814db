"""The parts of a plan document, as pydantic reads them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, model_validator

from sfumato.errors import ParameterError
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure
from sfumato.queries import Query
from sfumato.queries.kinds import DETAILS
from sfumato.queries.query import must_be_known

__all__ = ["FORMAT", "FORMER", "Amount", "Document", "Ledger", "Person", "Release", "Table"]

FORMAT = "sfumato-plan/2"
FORMER = "sfumato-plan/1"  # read for good: conditions are texts, tables have no version


class Part(BaseModel):
    """A part of the document; unknown names in it are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {value!r:.60}")
    return value


Number = Annotated[float, BeforeValidator(_number)]
Text = Annotated[str, Field(min_length=1)]


class Person(Part):
    """A person who may have several rows."""

    column: Text
    rows: StrictInt


class Table(Part):
    """The file, and who is protected."""

    path: Text
    unit: Literal["row"] | Person
    table: Text | None = None
    dataset: Text | None = None
    adjacency: Text = "add-remove"
    size: StrictInt | None = None
    version: Text | None = None
    quoted_lines: StrictBool = False


class Amount(Part):
    """How much privacy: epsilon, epsilon and delta, or rho."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None

    def guarantee(self) -> Guarantee:
        """The amount as a guarantee; a positive one."""
        if (self.epsilon is None) == (self.rho is None) or (self.rho is not None and self.delta is not None):
            raise ParameterError("give { epsilon = ... }, { epsilon = ..., delta = ... } or { rho = ... }")
        amount = self.rho if self.epsilon is None else self.epsilon
        if amount is not None and not amount > 0:
            raise ParameterError(
                f"{'rho' if self.epsilon is None else 'epsilon'} must be above 0, got {amount!r}; "
                "it says how much privacy may be spent, often between 0.01 and 2"
            )
        if self.rho is not None:
            return Concentrated(self.rho)
        assert self.epsilon is not None
        return Pure(self.epsilon) if self.delta is None else Approximate(self.epsilon, self.delta)


class Ledger(Part):
    """Where charges are kept."""

    path: Text


class Release(Part):
    """What to publish."""

    query: Text
    spend: Amount
    name: Text | None = None
    column: Text | None = None
    by: Any = None
    where: Text | dict[str, Any] | None = None
    probabilities: list[Number] | None = None
    k: StrictInt | None = None
    workload: list[Any] | None = None
    details: dict[str, Any] = Field(default_factory=dict, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _gathered(cls, record: Any) -> Any:
        """What a kind of query carries besides is that kind's to check."""
        if not isinstance(record, dict) or not isinstance(kind := record.get("query"), str) or kind not in DETAILS:
            if isinstance(record, dict) and isinstance(kind := record.get("query"), str):
                must_be_known(kind)  # before the parts that another kind would have
            return record
        details = {
            name: value for name, value in record.items() if name not in ("query", "spend", "name", "by", "where")
        }
        return {name: value for name, value in record.items() if name not in details} | {"details": details}

    def question(self) -> Query:
        """The query that is described."""
        parts = self.model_dump(exclude_none=True, exclude={"name", "spend", "details"})
        return Query.from_record({**parts, **self.details})


class Document(Part):
    """The whole document."""

    format: Literal["sfumato-plan/1", "sfumato-plan/2"]
    table: Table
    columns: dict[str, dict[str, Any]]
    budget: Amount
    release: list[Release] = Field(min_length=1)
    ledger: Ledger | None = None

    @model_validator(mode="after")
    def _as_its_format_says(self) -> Document:
        if self.format == FORMER:
            for name in ("version", "quoted_lines"):
                if getattr(self.table, name):
                    raise ValueError(f"table.{name} is not known in {FORMER}; write format = {FORMAT!r}")
            if any(isinstance(release.where, dict) for release in self.release):
                raise ValueError(f"where is a text in {FORMER}; write format = {FORMAT!r}")
        return self
