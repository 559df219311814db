"""What is sent and what comes back, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = [
    "Account", "Amount", "Analyst", "Answer", "Answers", "Ask", "Budgets", "Canceled", "Charged", "Column", "Dataset",
    "Done", "Entry", "Health", "Job", "Login", "Me", "Outlook", "Previewed", "Problem", "ReleaseAsk", "Spending",
    "Started", "Stored",
]  # fmt: skip


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a number")
    return value


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Label = Annotated[str, Field(min_length=1, max_length=200)]


class Sent(BaseModel):
    """What is sent; unknown names are refused."""

    model_config = ConfigDict(extra="forbid")


class Amount(Sent):
    """How much privacy: `epsilon`, `epsilon` and `delta`, or `rho`."""

    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None


class Ask(Sent):
    """A question: a `query` as a release of a plan writes it, or `sql`; with what it may cost or err by."""

    query: dict[str, Any] | None = Field(
        None, description="such as {'query': 'mean', 'column': 'salary', 'by': 'state'}"
    )
    sql: Annotated[str, Field(max_length=20_000)] | None = None
    spend: Amount | None = Field(None, description="what it may cost; beside `within` a ceiling")
    within: Number | Label | None = Field(None, description="what error it may have: a number, or a share such as '1%'")
    level: Number | None = Field(None, description="with what probability; default 0.95")
    kind: Literal["pure", "approximate", "concentrated"] | None = Field(
        None, description="of which kind the spend is that is found for `within`; default the budget's"
    )
    mechanism: Label | None = None
    name: Label | None = Field(None, description="what the asker calls it")


class ReleaseAsk(Ask):
    """A question that is paid for; a preview of it takes the same body."""

    request: Label | None = Field(None, description="an id of the caller's: the same again is the same answer")


class Login(Sent):
    """A token, for a session."""

    token: Annotated[str, Field(max_length=200)]


class Problem(BaseModel):
    """Why something was refused."""

    error: str
    message: str


class Words(BaseModel):
    """An amount that comes back, with its words."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    words: str


class Me(BaseModel):
    """Who asks."""

    analyst: str
    role: Literal["analyst", "steward"]
    datasets: list[str]


class Column(BaseModel):
    """A declared column, with the parts of its declaration beside."""

    model_config = ConfigDict(extra="allow")

    name: str
    type: str
    words: str


class Dataset(BaseModel):
    """What is public about a dataset."""

    dataset: str
    protects: str
    unit: str
    persons: bool
    adjacency: str
    size: int | None
    version: str | None
    columns: list[Column]
    budget: Words
    allow: list[str]
    schema_record: dict[str, Any] = Field(alias="schema")
    kinds: list[str]
    tick: float


class Account(BaseModel):
    """A budget, what is spent of it and what is left."""

    budget: Words
    spent: Words
    left: Words
    words: str
    note: str | None


class Budgets(BaseModel):
    """Both budgets: the dataset's is the promise, the analyst's a rule among those who ask."""

    dataset: Account
    analyst: Account | None


class WidthByRows(BaseModel):
    """An error to expect if so many rows count."""

    rows: int
    half_width: float | None


class Stated(BaseModel):
    """An error to expect; by numbers of rows where it depends on how many a condition or a group selects."""

    half_width: float | None
    half_widths: list[WidthByRows] | None = None
    words: str
    level: float


class Verdict(BaseModel):
    """How far an error is from the best possible."""

    model_config = ConfigDict(extra="allow")

    ratio: float | None
    words: str


class Previewed(BaseModel):
    """One question: its cost, its error and its certificate."""

    question: str
    query: dict[str, Any]
    name: str
    release: str
    cost: Words
    mechanism: str
    error: Stated
    cells: int | None
    certificate: Verdict
    hint: str | None
    notes: list[str]
    stored: bool
    long: bool


class Outlook(Previewed):
    """What a release would cost and be good at; nothing is spent and no data is read.

    Where one statement asks several questions all are in `questions`, of the first of which the other parts speak;
    `cost` is what those that are not stored cost together, and `stored` whether all of them are.
    """

    fits: bool
    refusal: str | None
    left: Budgets
    more: int | None
    questions: list[Previewed]


class Answer(BaseModel):
    """A release: its value with intervals, its guarantee and certificate, and its record."""

    release: str
    name: str
    question: str
    query: dict[str, Any]
    guarantee: Words
    certificate: Verdict
    error: Stated
    columns: list[str]
    rows: list[dict[str, Any]]
    curve: dict[str, Any] | None
    table: dict[str, Any] | None
    level: float
    notes: list[str]
    record: dict[str, Any] | None
    time: str
    charged: Words | None


class Answers(Answer):
    """What one request released: the answer, or the first of several, which are all in `releases`; and what is left."""

    left: Budgets
    releases: list[Answer]


class Started(BaseModel):
    """Long work has begun."""

    job: str


class Job(BaseModel):
    """How far long work is."""

    job: str
    dataset: str
    state: Literal["waiting", "running", "done", "failed", "canceled"]
    progress: float
    stage: str
    releases: list[str]
    charged: Words | None
    problem: Problem | None


class Canceled(Job):
    """What canceling has come to."""

    words: str


class Stored(BaseModel):
    """A release in a history."""

    release: str
    name: str
    question: str
    time: str
    cost: Words | None = Field(description="null where it was paid before, by somebody else")
    analyst: str | None


class Charged(BaseModel):
    """A line of the ledger."""

    sequence: int
    time: str
    kind: str
    name: str
    release: str
    analyst: str | None
    cost: Words | None


class Entry(BaseModel):
    """The ledger: its head, and its latest entries."""

    head: str
    place: str
    entries: int
    lines: list[Charged]


class Analyst(BaseModel):
    """Somebody who may ask, with what is spent and when their tokens end."""

    analyst: str
    role: str
    account: Account | None
    tokens: list[dict[str, Any]]


class Spending(BaseModel):
    """What was spent over time, in all and by analyst."""

    budget: Words
    points: list[dict[str, Any]]


class Done(BaseModel):
    """Nothing more to say."""

    done: bool


class Health(BaseModel):
    """Whether the service can answer; `away` are the datasets that it cannot answer for now."""

    status: Literal["ok", "degraded"]
    datasets: int
    away: list[str]
