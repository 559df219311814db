"""A question as the SQL that `asked` reads as that very question, where there is such a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from sfumato.errors import SfumatoError
from sfumato.privacy.adjacency import Person
from sfumato.queries import Query
from sfumato.queries.linear.doors import crosstab
from sfumato.records import canonical
from sfumato.spaces.derived import part_of
from sfumato.spaces.schema import Schema
from sfumato.sql.columns import shown
from sfumato.sql.statement import asked

__all__ = ["sql_of"]

Record = Mapping[str, Any]
PARTS = {"weekday": "isodow"}
SIGNS = {"==": "=", "!=": "<>"}


def sql_of(query: Query, schema: Schema) -> str | None:
    """The SELECT that asks this question of a table with this schema; None where SQL has no words for it.

    >>> from sfumato.queries import mean
    >>> from sfumato.spaces import Categories, Interval
    >>> people = Schema({"age": Interval(0, 120, step=1), "state": Categories(["CA", "NY"])}, dataset="people")
    >>> sql_of(mean("age").where("age >= 18 and state != 'CA'").by("state"), people)
    "SELECT state, AVG(age) FROM people WHERE age >= 18 AND state <> 'CA' GROUP BY state"
    """
    try:
        text = _written(query, schema)
        found = asked(text, schema)
    except (SfumatoError, KeyError, TypeError, ValueError):  # it holds what SQL has no words for
        return None
    same = len(found) == 1 and canonical(found[0].query.to_record()) == canonical(query.to_record())
    return text if same else None


def _written(query: Query, schema: Schema) -> str:
    """A first attempt, which reads as the question or as another."""
    record = query.to_record()
    keys = [_key(one) for one in record.get("by", ())]
    where = f" WHERE {_condition(record['where'])}" if "where" in record else ""
    source, kind = f" FROM {shown(schema.dataset)}", query.kind
    if kind == "workload" and canonical(crosstab(*query.keys).to_record()["workload"]) == canonical(record["workload"]):
        return f"SELECT {', '.join(keys)}, COUNT(*){source}{where} GROUP BY CUBE ({', '.join(keys)})"
    if kind == "keys":
        return f"SELECT DISTINCT {_column(record['column'])}{source}{where}"
    if kind == "items":
        keys = [*keys, f"UNNEST({_column(record['column'])})"]
    limits = record.get("per_person")
    if limits is not None and limits != {"each": 1}:
        raise KeyError("per_person")
    measured = f"COUNT(DISTINCT {_person(schema)})" if limits else WRITERS[kind](record)
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {', '.join([*keys, measured])}{source}{where}{grouped}"


def _person(schema: Schema) -> str:
    if not isinstance(schema.unit, Person):
        raise KeyError("unit")
    return shown(schema.unit.column)


def _column(name: str) -> str:
    part = part_of(name)
    if part is not None:
        return f"{PARTS.get(part[0], part[0])}({_column(part[1])})"
    return ".".join(map(shown, name.split("."))) if "[" not in name else exp.to_identifier(name, quoted=True).sql()


def _key(record: str | Mapping[str, str]) -> str:
    return _column(record if isinstance(record, str) else record["discovered"])


def _constant(value: object) -> str:
    if isinstance(value, str):
        return exp.Literal.string(value).sql()
    return str(value).upper() if isinstance(value, bool) else repr(value)


def _condition(record: Record, inner: bool = False) -> str:
    if "not" in record:
        if record["not"].get("is") != "null":
            raise KeyError("not")  # SQL's own leaves missing values out, ours holds there
        return f"{_column(record['not']['column'])} IS NOT NULL"
    joined = "all" if "all" in record else "any" if "any" in record else None
    if joined is not None:
        text = (" AND " if joined == "all" else " OR ").join(_condition(one, True) for one in record[joined])
        return f"({text})" if inner else text
    column, sign, given = _column(record["column"]), record["is"], record["constant"]
    if sign == "null":
        return f"{column} IS NULL"
    if sign == "in":
        return f"{column} IN ({', '.join(map(_constant, given))})"
    if sign == "contains":
        return f"{_constant(given)} = ANY({column})"
    if sign == "startswith":
        return f"starts_with({column}, {_constant(given)})"
    return f"{column} {SIGNS.get(sign, sign)} {_constant(given)}"


def _quantiles(record: Record) -> str:
    places = ", ".join(map(repr, record["probabilities"]))
    if record.get("bars"):
        raise KeyError("bars")
    return f"QUANTILE_CONT({_column(record['column'])}, [{places}])"


def _difference(record: Record) -> str:
    inner = WRITERS[record["of"]["query"]](record["of"])
    groups = (f"{_column(record['across'])} = {_constant(group)}" for group in record["between"])
    return " - ".join(f"{inner} FILTER (WHERE {group})" for group in groups)


def _of_column(function: str) -> Callable[[Record], str]:
    return lambda record: f"{function}({_column(record['column'])})"


def _mean(record: Record) -> str:
    column = _column(record["column"])
    if record.get("weight") is None:
        return f"AVG({column})"
    weight = _column(record["weight"])
    return f"SUM({weight} * {column}) / SUM({weight})"


def _share(record: Record) -> str:
    holds = _condition(record["condition"])
    if record.get("weight") is None:
        return f"AVG(CASE WHEN {holds} THEN 1 ELSE 0 END)"
    weight = _column(record["weight"])
    return f"SUM(CASE WHEN {holds} THEN {weight} ELSE 0 END) / SUM({weight})"


WRITERS: dict[str, Callable[[Record], str]] = {
    "count": lambda record: "COUNT(*)",
    "histogram": lambda record: "COUNT(*)",
    "items": lambda record: "COUNT(*)",
    "sum": _of_column("SUM"),
    "mean": _mean,
    "variance": _of_column("VAR_POP"),
    "std": _of_column("STDDEV_POP"),
    "share": _share,
    "ratio": lambda record: f"SUM({_column(record['numerator'])}) / SUM({_column(record['denominator'])})",
    "correlation": lambda record: f"CORR({', '.join(map(_column, record['columns']))})",
    "quantiles": _quantiles,
    "top": lambda record: f"APPROX_TOP_K({_column(record['column'])}, {record['k']})",
    "difference": _difference,
}
