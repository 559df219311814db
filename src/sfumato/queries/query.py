"""A question about a table, as a frozen description: what, of which column, where, and by which keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from sfumato import arguments
from sfumato.answers.statements import CONDITION, GROUPS
from sfumato.errors import ParameterError, SchemaError
from sfumato.queries.conditions import narrowed
from sfumato.queries.details import Details
from sfumato.queries.grouping import Bins, Discovered, Grouping
from sfumato.queries.limits import PerPerson
from sfumato.queries.parsing import condition
from sfumato.queries.predicates import Predicate, columns_of, condition_from, condition_record
from sfumato.spaces.schema import Schema

__all__ = ["Query", "must_be_known"]

JOINED = {"histogram": "of", "workload": "over"}  # how a name joins its keys, where that is not by "by"
CROSSED = "cross table"  # which is named by its keys alone
COLUMNS = ("column", "target", "weight", "numerator", "denominator", "across")  # parts that name a column
KEYED = {  # kinds that are nothing without keys
    "histogram": "a histogram needs at least one column",
    "workload": 'a workload needs keys in by and parts such as { rows = ["prefix"] }; others take none',
}


def must_be_known(kind: object) -> None:
    """Refuse a name of no kind of question."""
    from sfumato.queries.kinds import ALIASES, KINDS  # each kind builds on this module

    known = (*KINDS, *ALIASES)
    if kind not in known:
        near = get_close_matches(str(kind)[:200], known, n=1)
        hint = f"did you mean {near[0]!r}? Or " if near else ""
        raise SchemaError(f"query {kind!r:.60} is unknown; {hint}choose one of {', '.join(known)}")


@dataclass(frozen=True, slots=True, repr=False)
class Query:
    """Built by `count`, `sum`, `mean`, ...; narrowed with `where`, split with `by`.

    >>> from sfumato.queries import mean
    >>> mean("salary").where("age >= 18").by("state").name
    'mean of salary by state where age >= 18'
    """

    details: Details
    condition: Predicate | None = None
    keys: tuple[Grouping, ...] = ()
    limits: PerPerson | None = None

    def __post_init__(self) -> None:
        arguments.instance("details", self.details, Details, "made by the function of its kind, such as density(...)")
        keys = tuple(one for key in arguments.several("keys", self.keys) for one in _flat(key))
        object.__setattr__(self, "keys", keys)
        for key in keys:
            arguments.instance(
                "a key of by", key, str | Bins | Discovered, "a column's name, bins(...) or discovered(...)"
            )
        if self.condition is not None:
            arguments.instance("condition", self.condition, Predicate, 'made by col("age") >= 18 or a text in where')
        if not keys and self.kind in KEYED:
            raise ParameterError(KEYED[self.kind])

    def __repr__(self) -> str:
        return f"Query({self.name!r})"

    @property
    def kind(self) -> str:
        """The stored name of the kind of question."""
        return self.details.kind

    @property
    def column(self) -> str | None:
        """The column that is measured, where it is one."""
        column: str | None = self.details.to_record().get("column")
        return column

    @property
    def selection(self) -> str | None:
        """What decides how many of the table's rows an answer is about, in words; None where all of them are."""
        return GROUPS if self.keys else None if self.condition is None else CONDITION

    @property
    def incomparable(self) -> str | None:
        """Why releases of several versions of a table are not to be compared, and what to do; None where they are."""
        if self.details.to_record().get("bandwidth") != "private":
            return None
        return (
            'not comparable from version to version: bandwidth = "private" is chosen anew for each, so that they are '
            "smoothed differently; for the next ones give the bandwidth of the first release as a number, which is "
            "public now"
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
        """The same question for each cell of public keys, one of which may be `discovered`."""
        return replace(self, keys=(*self.keys, *keys))

    def per_person(
        self,
        *,
        rows: int | None = None,
        each: int | None = None,
        groups: int | None = None,
        total: tuple[float, float] | None = None,
    ) -> Query:
        """The same question with limits of its own on what counts of one person, in place of the schema's `rows`.

        `rows`: at most so many rows of a person, before any condition.  `each`: of the rows that meet the condition, at
        most so many in each group.  `total`: for sums, what a person's rows add up to in each group, clipped to these
        ends.  `groups`: beside the latter two, in at most how many groups.

        >>> from sfumato.queries import count, sum
        >>> sum("amount").by("shop").per_person(total=(0, 500), groups=2).name
        'sum of amount by shop with totals of a person within 0 to 500 in each of at most 2 groups'
        """
        if self.limits is not None:
            raise ParameterError("per_person is said once of a question; give all its parts together")
        return replace(self, limits=PerPerson(rows, groups, each, total))

    def bound_condition(self, schema: Schema) -> Predicate | None:
        """The condition in the lattice indices and labels of `schema`."""
        return None if self.condition is None else self.condition.bind(schema)

    def is_void(self, schema: Schema) -> bool:
        """Whether no row can meet the condition, whatever values of the declared bounds it has, as far as is seen."""
        bound = self.bound_condition(schema)
        box = {} if bound is None else bound.box()
        if box is None:
            return True
        lattices = {name: schema.lattice(name) for name in box}
        return narrowed(box, {name: (lattice.low, lattice.high) for name, lattice in lattices.items()}) is None

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the question looks at, each once."""
        return tuple(dict.fromkeys((*self.measured, *self.key_columns, *columns_of(self.condition))))

    @property
    def measured(self) -> tuple[str, ...]:
        """The columns that the question itself is about, without its keys and its condition, each once."""
        return _measured(self.details.to_record())

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that the keys are made of."""
        return tuple(key if isinstance(key, str) else key.column for key in self.keys)

    @property
    def counts_people(self) -> bool:
        """Whether each person is counted once in each group."""
        return self.kind == "count" and self.limits is not None and self.limits.each == 1

    @property
    def name(self) -> str:
        """A readable name; releases are stored under it unless another is given."""
        people = self.counts_people
        subject = "people" if people else self.details.subject()
        parts = [" by ".join(self.key_columns) if subject == CROSSED else subject]
        if self.keys and subject != CROSSED:
            parts.append(f"{JOINED.get(self.kind, 'by')} {', '.join(self.key_columns)}")
        if self.condition is not None:
            words = self.condition.words()
            parts.append(f"where {words[1:-1] if words.startswith('(') else words}")
        if self.limits is not None and not people:
            parts.append(self.limits.words())
        elif self.limits is not None and self.limits.groups is not None:
            parts.append(f"in at most {self.limits.groups} groups a person")
        return " ".join(parts)

    def to_record(self) -> dict[str, Any]:
        """Plain values: the form that plans, digests and stored releases share."""
        record: dict[str, Any] = {"query": self.kind, **self.details.to_record()}
        if self.keys:
            record["by"] = [_key_record(key) for key in self.keys]
        if self.condition is not None:
            record["where"] = condition_record(self.condition)
        if self.limits is not None:
            record["per_person"] = self.limits.to_record()
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Query:
        """The query that `to_record`, or a plan, describes."""
        from sfumato.queries.kinds import ALIASES, KINDS  # each kind builds on this module

        fields = dict(record)
        named = fields.pop("query", None)
        must_be_known(named)
        kind, given = ALIASES.get(named, (named, {}))
        by, where, limits = fields.pop("by", []), fields.pop("where", None), fields.pop("per_person", None)
        if not callable(given) and "per_person" in given:  # one's own limits stand beside those that the name means
            own = {"groups": fields.pop("groups")} if "groups" in fields else {}
            given, limits = {}, {**given["per_person"], **own, **(limits or {})}
        keys = tuple(_key_from(key) for key in ([by] if isinstance(by, str | Mapping) else arguments.several("by", by)))
        details = KINDS[kind].from_record({**fields, **(given(len(keys)) if callable(given) else given)})
        asked = None if where is None else condition(where) if isinstance(where, str) else condition_from(where)
        columns_of(asked)  # refuses what is too deep
        return cls(details, asked, keys, None if limits is None else PerPerson.from_record(limits))


def _measured(about: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of a question's own parts: columns by name, those of a condition, and those of questions inside."""
    alone = (about[part] for part in COLUMNS if about.get(part) is not None)
    judged = columns_of(condition_from(about["condition"])) if "condition" in about else ()
    inner = _measured(about["of"]) if "of" in about else ()
    scored = (name for score in about.get("scores", ()) for name in _asked(score))
    listed = (
        name for one in about.get("columns", ()) for name in (one["together"] if isinstance(one, dict) else [one])
    )
    return tuple(dict.fromkeys((*alone, *listed, *judged, *inner, *scored)))


def _asked(about: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns of a question inside another, those of its condition among them."""
    return (*_measured(about), *(columns_of(condition_from(about["where"])) if "where" in about else ()))


def _flat(key: object) -> tuple[Any, ...]:
    """A key, or the keys of a list."""
    return tuple(key) if isinstance(key, list | tuple) else (key,)


def _key_record(key: Grouping) -> Any:
    if isinstance(key, Bins):
        counted = {} if key.count is None else {"count": key.count}
        edges = {"edges": list(key.edges)} if key.edges or key.count is None else {}
        return {"bins": key.column, **edges, **counted}
    return {"discovered": key.column} if isinstance(key, Discovered) else key


def _key_from(key: object) -> Grouping:
    if isinstance(key, str):
        return key
    if isinstance(key, Mapping) and "bins" in key and key.keys() - {"bins"} <= {"edges", "count"}:
        return Bins(key["bins"], arguments.several("edges", key.get("edges", ())), key.get("count"))
    if isinstance(key, Mapping) and key.keys() == {"discovered"}:
        return Discovered(key["discovered"])
    raise SchemaError('a key of `by` is a column name, {bins = "age", edges = [0, 18, 120]} or {discovered = "city"}')
