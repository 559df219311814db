"""PostgreSQL's words: the same expressions in SQL that fails on no value.

Its arithmetic raises where others answer with infinity or zero, texts and decimals beyond the doubles raise when they
are cast, and what is made from no array is an empty one.  Here each of these is written so that nothing can fail: an
operation on doubles is a function of the session's own, which catches what is out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import sqlglot as sg
import sqlglot.expressions as sge
from ibis.backends.sql.compilers.base import NULL
from ibis.backends.sql.compilers.postgres import PostgresCompiler

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["FUNCTIONS", "NUMBER", "written"]

SQL = Any  # a part of a query, built by methods that the library makes as it goes
NUMBER = "pg_temp.sfumato_number"
CALLS = {ops.Add: "+", ops.Subtract: "-", ops.Multiply: "*", ops.Divide: "/"}
NAMES = {"+": "pg_temp.sfumato_plus", "-": "pg_temp.sfumato_minus", "*": "pg_temp.sfumato_times",
         "/": "pg_temp.sfumato_over"}  # fmt: skip
BEYOND = {  # what a result out of range is: infinite with a sign, or nothing
    "+": "sign(a) * 'Infinity'::float8",
    "-": "sign(a) * 'Infinity'::float8",
    "*": "CASE WHEN abs(a) > 1 AND abs(b) > 1 THEN sign(a) * sign(b) * 'Infinity'::float8 ELSE 0 END",
    "/": "CASE WHEN abs(a) > abs(b) THEN sign(a) * sign(b) * 'Infinity'::float8 ELSE 0 END",
}
READING = r"""
CREATE FUNCTION pg_temp.sfumato_number(t text) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
DECLARE
    parts text[] := regexp_match(lower(t), '^[+-]?0*([0-9]*)[.]?(0*)([0-9]*)(?:e([+-]?[0-9]+))?$');
BEGIN
    RETURN t::float8;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN CASE
        WHEN length(parts[1]) - CASE WHEN parts[1] = '' THEN length(parts[2]) ELSE 0 END
             + coalesce(parts[4], '0')::int < 0 THEN 0
        WHEN t LIKE '-%' THEN '-Infinity'::float8
        ELSE 'Infinity'::float8 END;
END $$
"""
OPERATION = """
CREATE FUNCTION {name}(a float8, b float8) RETURNS float8 LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    RETURN a {sign} b;
EXCEPTION WHEN numeric_value_out_of_range THEN
    RETURN {beyond};
END $$
"""
FUNCTIONS = (READING, *(OPERATION.format(name=NAMES[sign], sign=sign, beyond=BEYOND[sign]) for sign in NAMES))
USUAL = (1e-150, 1e150)  # of two numbers between these, no product or quotient is out of range
EXPONENTIAL = (-745.1332191019411, 709.782712893384)  # beyond these, nothing and infinity


def written(expression: ir.Table) -> str:
    """The expression in SQL, each SELECT computed before the next.

    The server would otherwise put the one into the other, and expressions that are used twice at each of many levels
    grow beyond all memory.
    """
    with _writing:
        fused = ibis.options.sql.fuse_selects
        ibis.options.sql.fuse_selects = False
        try:
            query = COMPILER.to_sqlglot(expression)
        finally:
            ibis.options.sql.fuse_selects = fused
    for inner in list(query.find_all(sge.Subquery, sge.CTE)):
        select = inner.this
        if isinstance(select, sge.Select) and isinstance(inner.parent, sge.From | sge.Join | sge.With):
            select.set("offset", sge.Offset(expression=sge.convert(0)))
    return str(query.sql(dialect="postgres", copy=False))


class Careful(PostgresCompiler):  # type: ignore[misc]
    """Ibis' compiler, with operations that fail on no value; the names of its methods are Ibis'."""

    SIMPLE_OPS: ClassVar[dict[type[ops.Node], str]] = {}  # those of the class above would replace the methods below

    def visit_Cast(self, op: ops.Cast, *, arg: SQL, to: dt.DataType) -> SQL:
        kind = op.arg.dtype
        if to.is_floating() and kind.is_string():
            return self.if_(arg.rlike(SHORT), self.cast(arg, dt.float64), self.f.anon[NUMBER](arg))
        if to.is_floating() and kind.is_decimal():
            return self.f.anon[NUMBER](self.cast(arg, dt.string))
        if kind.is_boolean() and to.is_integer():
            return self.cast(self.cast(arg, dt.int32), to)
        return super().visit_Cast(op, arg=arg, to=to)

    def visit_Literal(self, op: ops.Literal, *, value: SQL, dtype: dt.DataType) -> SQL:
        literal = super().visit_Literal(op, value=value, dtype=dtype)
        return self.cast(literal, dtype) if dtype.is_array() else literal  # an empty one has no type by itself

    def visit_RegexSearch(self, op: ops.RegexSearch, *, arg: SQL, pattern: SQL) -> SQL:
        return arg.rlike(_anchored(op))

    def visit_RegexReplace(self, op: ops.RegexReplace, *, arg: SQL, pattern: SQL, replacement: SQL) -> SQL:
        return self.f.regexp_replace(arg, _anchored(op), replacement, "g")

    def visit_RegexExtract(self, op: ops.RegexExtract, *, arg: SQL, pattern: SQL, index: SQL) -> SQL:
        found = sge.paren(self.f.regexp_match(arg, self.f.concat("(", _anchored(op), ")")), copy=False)[index]
        return self.if_(arg.is_(NULL), NULL, self.f.coalesce(found, ""))

    def _arithmetic(self, op: ops.NumericBinary, *, left: SQL, right: SQL) -> SQL:
        sign, plain = CALLS[type(op)], PLAIN[CALLS[type(op)]]
        if not (op.left.dtype.is_floating() or op.right.dtype.is_floating() or sign == "/"):
            return self.binop(plain, left, right)
        one, other = self.cast(left, dt.float64), self.cast(right, dt.float64)
        if not isinstance(op.right, ops.Literal) or not USUAL[0] <= abs(op.right.value or 0) <= USUAL[1]:
            return self.f.anon[NAMES[sign]](one, other)
        if sign in "+-" or op.left.dtype.is_integer():
            return self.binop(plain, one, other)  # too small a number to carry any other out of range
        low, high = map(sge.convert, USUAL)

        def carefully(held: SQL) -> SQL:
            size = self.f.abs(held)
            usual = sg.and_(size <= high, sg.or_(size >= low, held.eq(sge.convert(0))))
            return self.if_(usual, self.binop(plain, held, other), self.f.anon[NAMES[sign]](held, other))

        return self._once(one, carefully)

    visit_Add = visit_Subtract = visit_Multiply = visit_Divide = _arithmetic

    def visit_Exp(self, op: ops.Exp, *, arg: SQL) -> SQL:
        low, high = (sge.convert(end) for end in EXPONENTIAL)
        return self._once(arg, lambda x: sge.Case(
            ifs=[self.if_(x < low, self.cast(0, dt.float64)), self.if_(x > high, x + self.POS_INF)],
            default=self.f.exp(x)))  # fmt: skip

    def visit_ScalarUDF(self, op: ops.ScalarUDF, **kw: SQL) -> SQL:
        if op.__func_name__ == "epoch":
            (elapsed,) = kw.values()
            return self.cast(self.f.extract("epoch", elapsed), dt.float64)
        return super().visit_ScalarUDF(op, **kw)

    def _once(self, arg: SQL, build: Callable[[SQL], SQL]) -> SQL:
        """An expression that uses its argument several times and names it once."""
        held = sg.select(arg.as_("v")).subquery("s")
        return sg.select(build(sg.column("v", table="s"))).from_(held).subquery()

    def _unless_null(self, arg: SQL, build: Callable[[SQL], SQL]) -> SQL:
        return self._once(arg, lambda v: self.if_(v.is_(NULL), NULL, build(v)))

    def visit_ArrayMap(self, op: ops.ArrayMap, *, arg: SQL, body: SQL, param: SQL, index: SQL) -> SQL:
        return self._unless_null(
            arg, lambda v: self.f.array(sg.select(body).from_(sge.Unnest(expressions=[v], alias=param)))
        )

    def visit_ArrayFilter(self, op: ops.ArrayFilter, *, arg: SQL, body: SQL, param: SQL, index: SQL) -> SQL:
        item = sg.column(param, quoted=self.quoted)
        return self._unless_null(
            arg,
            lambda v: self.f.array(sg.select(item).from_(sge.Unnest(expressions=[v], alias=param)).where(body)),
        )

    def visit_ArrayDistinct(self, op: ops.ArrayDistinct, *, arg: SQL) -> SQL:
        return self._unless_null(arg, lambda v: self.f.array(sg.select(self.f.explode(v)).distinct()))

    def visit_ArraySort(self, op: ops.ArraySort, *, arg: SQL) -> SQL:
        return self._unless_null(
            arg, lambda v: self.f.array(sg.select("x").from_(sge.Unnest(expressions=[v], alias="x")).order_by("x"))
        )

    def visit_ArraySum(self, op: ops.ArraySum, *, arg: SQL) -> SQL:
        return self.cast(super().visit_ArraySum(op, arg=arg), op.dtype)  # the server adds up whole numbers as decimals

    def visit_ArraySlice(self, op: ops.ArraySlice, *, arg: SQL, start: SQL, stop: SQL) -> SQL:
        return self._unless_null(
            arg, lambda v: super(Careful, self).visit_ArraySlice(op, arg=v, start=start, stop=stop)
        )

    def visit_InMemoryTable(self, op: ops.InMemoryTable, *, name: str, schema: SQL, data: SQL) -> SQL:
        """A small public table, such as the declared labels, as a list within the query."""
        rows = data.to_pyarrow(schema).to_pylist()
        columns = [sg.to_identifier(column, quoted=True) for column in schema]
        values = [[self.cast(sge.convert(row[column]), kind) for column, kind in schema.items()] for row in rows]
        if not values:
            none = [self.cast(NULL, kind).as_(column, quoted=True) for column, kind in schema.items()]
            return sg.select(*none).where(sge.false()).subquery(name)
        lines = [sge.Tuple(expressions=line) for line in values]
        alias = sge.TableAlias(this=sg.to_identifier(name, quoted=True), columns=columns)
        return sg.select("*").from_(sge.Values(expressions=lines, alias=alias)).subquery(name)


PLAIN = {"+": sge.Add, "-": sge.Sub, "*": sge.Mul, "/": sge.Div}
SHORT = r"^[+-]?[0-9]{0,150}[.]?[0-9]{0,100}([eE][+-]?[0-9]{1,2})?$"  # of a number's texts, those within the doubles
COMPILER = Careful()
_writing = Lock()  # an option of Ibis is changed meanwhile


def _anchored(op: SQL) -> SQL:
    """The pattern: what others call the end of a text is \\Z here."""
    return sge.convert(op.pattern.value.replace(r"\z", r"\Z"))
