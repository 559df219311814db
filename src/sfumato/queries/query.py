"""A question about a table, as a frozen description: what, of which column, where, and by which keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from sfumato import arguments
from sfumato.errors import ParameterError, SchemaError
from sfumato.numeric import exact
from sfumato.queries.details import Details
from sfumato.queries.grouping import Bins, Discovered, Grouping
from sfumato.queries.linear.families import Part, part_from
from sfumato.queries.parsing import condition
from sfumato.queries.predicates import Predicate, columns_of, condition_from, condition_record
from sfumato.schema import Schema

__all__ = [
    "KINDS",
    "Query",
    "count",
    "histogram",
    "mean",
    "median",
    "most_popular",
    "must_be_known",
    "quantiles",
    "sum",
    "top",
    "variance",
]

KINDS = ("count", "sum", "mean", "variance", "histogram", "quantiles", "top", "workload")


def must_be_known(kind: object) -> None:
    """Refuse a name of no kind of question."""
    from sfumato.queries.kinds import DETAILS  # each kind with details builds on this module

    known = (*KINDS, "median", "most_popular", *DETAILS)
    if kind not in known:
        near = get_close_matches(str(kind)[:200], known, n=1)
        hint = f"did you mean {near[0]!r}? Or " if near else ""
        raise SchemaError(f"query {kind!r:.60} is unknown; {hint}choose one of {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Query:
    """Built by `count`, `sum`, `mean`, ...; narrowed with `where`, split with `by`.

    >>> mean("salary").where("age >= 18").by("state").name
    'mean of salary by state where age >= 18'
    """

    kind: str
    column: str | None = None
    probabilities: tuple[float, ...] = ()
    k: int = 1
    condition: Predicate | None = None
    keys: tuple[Grouping, ...] = ()
    workload: tuple[Part, ...] = ()
    details: Details | None = None

    def __post_init__(self) -> None:
        arguments.text("kind of a query", self.kind)
        if self.column is not None:
            arguments.text("column", self.column)
        keys = tuple(one for key in arguments.several("keys", self.keys) for one in _flat(key))
        object.__setattr__(self, "keys", keys)
        for key in keys:
            arguments.instance(
                "a key of by", key, str | Bins | Discovered, "a column's name, bins(...) or discovered(...)"
            )
        if self.condition is not None:
            arguments.instance("condition", self.condition, Predicate, 'made by col("age") >= 18 or a text in where')
        for part in arguments.several("workload", self.workload):
            arguments.instance("a part of a workload", part, Part, "made by workload(...)")
        if self.details is not None:
            arguments.instance(
                "details", self.details, Details, "made by the function of its kind, such as density(...)"
            )

    def where(self, wanted: Predicate | str) -> Query:
        """The same question about the rows where a condition holds; conditions accumulate."""
        extra = condition(wanted) if isinstance(wanted, str) else wanted
        if not isinstance(extra, Predicate):
            raise ParameterError(
                f'where takes a condition such as "age >= 18" or col("age") >= 18, not {type(wanted).__name__}'
            )
        joined = extra if self.condition is None else self.condition & extra
        columns_of(joined)  # refuses what is too deep
        return replace(self, condition=joined)

    def by(self, *keys: Grouping) -> Query:
        """The same question for each cell of public keys, or of one `discovered` key."""
        return replace(self, keys=(*self.keys, *keys))

    def bound_condition(self, schema: Schema) -> Predicate | None:
        """The condition in the lattice indices and labels of `schema`."""
        return None if self.condition is None else self.condition.bind(schema)  # type: ignore[union-attr]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the question looks at, each once."""
        about: dict[str, Any] = {"column": self.column} if self.details is None else self.details.to_record()
        alone = (about[part] for part in ("column", "target") if about.get(part) is not None)
        keys = (key if isinstance(key, str) else key.column for key in self.keys)
        return tuple(dict.fromkeys((*alone, *about.get("columns", ()), *keys, *columns_of(self.condition))))

    @property
    def name(self) -> str:
        """A readable name; releases are stored under it unless another is given."""
        by = ", ".join(key if isinstance(key, str) else key.column for key in self.keys)
        parts = [self._subject()]
        if self.kind not in ("histogram", "workload") and by:
            parts.append(f"by {by}")
        if self.condition is not None:
            words = self.condition.words()  # type: ignore[union-attr]
            parts.append(f"where {words[1:-1] if words.startswith('(') else words}")
        return " ".join(parts)

    def _subject(self) -> str:
        if self.details is not None:
            return self.details.subject()
        if self.kind == "count":
            return "count"
        if self.kind == "histogram":
            return "histogram of " + ", ".join(key if isinstance(key, str) else key.column for key in self.keys)
        if self.kind == "workload":
            return "workload over " + ", ".join(key if isinstance(key, str) else key.column for key in self.keys)
        if self.kind == "quantiles":
            if self.probabilities == (0.5,):
                return f"median of {self.column}"
            return f"quantiles {', '.join(f'{p:g}' for p in self.probabilities)} of {self.column}"
        if self.kind == "top":
            return f"most popular of {self.column}" if self.k == 1 else f"top {self.k} of {self.column}"
        return f"{self.kind} of {self.column}"

    def to_record(self) -> dict[str, Any]:
        """Plain values: the form that plans, digests and stored releases share."""
        record: dict[str, Any] = {"query": self.kind}
        if self.details is not None:
            record |= self.details.to_record()
        if self.column is not None:
            record["column"] = self.column
        if self.kind == "quantiles":
            record["probabilities"] = list(self.probabilities)
        if self.kind == "top":
            record["k"] = self.k
        if self.workload:
            record["workload"] = [part.to_record() for part in self.workload]
        if self.keys:
            record["by"] = [_key_record(key) for key in self.keys]
        if self.condition is not None:
            record["where"] = condition_record(self.condition)
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Query:
        """The query that `to_record`, or a plan, describes."""
        fields = dict(record)
        kind = fields.pop("query", None)
        if kind in ("median", "most_popular"):
            fields |= {"probabilities": [0.5]} if kind == "median" else {"k": 1}
            kind = "quantiles" if kind == "median" else "top"
        from sfumato.queries.kinds import DETAILS  # each kind with details builds on this module

        if kind in DETAILS:
            shared: dict[str, Any] = {name: fields.pop(name) for name in ("by", "where") if name in fields}
            return _shared(cls(kind, details=DETAILS[kind].from_record(fields)), shared)
        must_be_known(kind)
        unknown = sorted(fields.keys() - {"column", "probabilities", "k", "by", "where", "workload"})
        if unknown:
            raise SchemaError(
                f"a {kind} query has no part {unknown[0]!r}; known are column, probabilities, k, by, where, workload"
            )
        asked = cls(
            kind,
            fields.get("column"),
            tuple(fields.get("probabilities", ())),
            fields.get("k", 1),
            workload=tuple(part_from(part) for part in fields.get("workload", ())),
        )
        return _checked(_shared(asked, fields))


def _flat(key: Any) -> tuple[Any, ...]:
    """A key, or the keys of a list."""
    return tuple(key) if isinstance(key, list | tuple) else (key,)


def count() -> Query:
    """How many rows there are."""
    return Query("count")


def sum(column: str) -> Query:
    """The sum of a number."""
    return Query("sum", column)


def mean(column: str) -> Query:
    """The mean of a number."""
    return Query("mean", column)


def variance(column: str) -> Query:
    """The variance of a number (divided by the count)."""
    return Query("variance", column)


def histogram(*keys: Grouping) -> Query:
    """Counts over the cells of one or several columns."""
    return _checked(Query("histogram", keys=keys))


def quantiles(column: str, probabilities: float | Iterable[float]) -> Query:
    """One or many quantiles of a number, in one call."""
    several = not isinstance(probabilities, int | float | str)
    chosen = arguments.several("probabilities", probabilities) if several else (probabilities,)
    return _checked(Query("quantiles", column, probabilities=chosen))


def median(column: str) -> Query:
    """The median of a number."""
    return quantiles(column, 0.5)


def top(column: str, k: int) -> Query:
    """The k items that occur in most sets of a set-valued column, most popular first."""
    return _checked(Query("top", column, k=k))


def most_popular(column: str) -> Query:
    """The item that occurs in most sets of a set-valued column."""
    return top(column, 1)


def _shared(query: Query, fields: Mapping[str, Any]) -> Query:
    """The query with the parts that every kind may have: `by` and `where`."""
    by = fields.get("by", [])
    keys = tuple(_key_from(key) for key in ([by] if isinstance(by, str | Mapping) else by))
    where = fields.get("where")
    asked = None if where is None else condition(where) if isinstance(where, str) else condition_from(where)
    columns_of(asked)
    return replace(query, keys=keys, condition=asked)


def _checked(query: Query) -> Query:
    if query.kind in ("count", "histogram", "workload") and query.column is not None:
        raise ParameterError(f"a {query.kind} takes no column; narrow it with where or split it with by")
    if query.kind not in ("count", "histogram", "workload") and not query.column:
        raise ParameterError(f"a {query.kind} needs the column it is about")
    if query.kind == "histogram" and not query.keys:
        raise ParameterError("a histogram needs at least one column")
    if (query.kind == "workload") != bool(query.workload) or (query.workload and not query.keys):
        raise ParameterError('a workload needs keys in by and parts such as { rows = ["prefix"] }; others take none')
    if query.kind == "quantiles":
        _check_probabilities(query.probabilities)
    arguments.whole("k", query.k)
    return query


def _check_probabilities(probabilities: tuple[float, ...]) -> None:
    if not probabilities:
        raise ParameterError("probabilities is empty; give at least one number between 0 and 1")
    for p in probabilities:
        if not 0 < exact(p, "a probability") < 1:
            raise ParameterError(f"probabilities must lie strictly between 0 and 1, got {p!r}")
    if sorted(set(probabilities)) != list(probabilities):
        raise ParameterError("probabilities must be increasing and distinct")


def _key_record(key: Grouping) -> Any:
    if isinstance(key, Bins):
        return {"bins": key.column, "edges": list(key.edges)}
    return {"discovered": key.column} if isinstance(key, Discovered) else key


def _key_from(key: Any) -> Grouping:
    if isinstance(key, str):
        return key
    if isinstance(key, Mapping) and key.keys() == {"bins", "edges"}:
        return Bins(key["bins"], tuple(key["edges"]))
    if isinstance(key, Mapping) and key.keys() == {"discovered"}:
        return Discovered(key["discovered"])
    raise SchemaError('a key of `by` is a column name, {bins = "age", edges = [0, 18, 120]} or {discovered = "city"}')
