"""SQL text to the tree of one SELECT, by sqlglot: nothing is executed, and what is no part of the subset is refused.

Tokens are looked at before the grammar is: only those that the subset knows pass, so that what is not supported is
named, and no text takes long or nests deeply.
"""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from sfumato.errors import SchemaError, UnsupportedQuery
from sfumato.spaces.grammar import refusal

__all__ = ["DIALECT", "Tree", "select", "written"]

Tree = exp.Expr

DIALECT = "duckdb"
LONGEST = 5_000  # characters
MOST_TOKENS = 1_000
SHOWN = 40  # characters of a part in a refusal
DEEPEST = 12  # brackets, CASE and NOT within one another
FORM = "SELECT state, count(*), avg(salary) FROM people WHERE age >= 18 GROUP BY state"
QUOTES = 'a name that is no plain word stands between double quotes, as in "first name"'
ONE_TABLE = "a question is about one table; the steward can declare a table that is joined, or a derived column"
AGGREGATED = "a question is about the whole table or its groups: count(*), avg(salary), ... with WHERE and GROUP BY"
REFUSED = {
    TokenType.JOIN: ONE_TABLE,
    TokenType.UNION: "ask each SELECT by itself",
    TokenType.EXCEPT: "ask each SELECT by itself",
    TokenType.INTERSECT: "ask each SELECT by itself",
    TokenType.WITH: AGGREGATED,
    TokenType.OVER: "windows look at rows; " + AGGREGATED,
    TokenType.WINDOW: "windows look at rows; " + AGGREGATED,
    TokenType.QUALIFY: "windows look at rows; " + AGGREGATED,
    TokenType.HAVING: "all groups are released; choose among the released rows, which costs nothing",
    TokenType.OFFSET: "all groups are released; the k largest are asked by ORDER BY count(*) DESC LIMIT k",
    TokenType.FETCH: "the k largest are asked by ORDER BY count(*) DESC LIMIT k",
    TokenType.TABLE_SAMPLE: "all rows are asked, and the noise hides each of them",
    TokenType.ROLLUP: "GROUP BY CUBE (a, b) gives all sums",
    TokenType.GROUPING_SETS: "GROUP BY CUBE (a, b) gives all sums",
    TokenType.INTERVAL: "write the date itself: day >= '2026-01-31'",
    TokenType.ILIKE: "capitals count: city LIKE 'U%'",
    TokenType.EXISTS: AGGREGATED,
    TokenType.PARAMETER: "write the value itself",
    TokenType.PLACEHOLDER: "write the value itself",
}
_NAMES = (
    "VAR STRING NUMBER IDENTIFIER SELECT FROM WHERE GROUP_BY ORDER_BY LIMIT AND OR NOT IN IS NULL TRUE FALSE LIKE "
    "BETWEEN CASE WHEN THEN ELSE END ALIAS DISTINCT FILTER ASC DESC DCOLON ANY CUBE STAR L_PAREN R_PAREN L_BRACKET "
    "R_BRACKET COMMA DOT EQ NEQ LT LTE GT GTE PLUS DASH SLASH DIV SEMICOLON ALL FIRST UNNEST"
)
_TYPES = (
    "INT BIGINT SMALLINT TINYINT DOUBLE FLOAT BOOLEAN DATE TIMESTAMP TIME YEAR TEXT VARCHAR"  # also names of columns
)
ALLOWED = frozenset(TokenType[name] for name in (_NAMES + " " + _TYPES).split())
CALLED = {
    TokenType.YEAR,
    TokenType.VAR,
    TokenType.FILTER,
    TokenType.FIRST,
}  # words that a bracket may follow as a function
TYPES = frozenset(TokenType[name] for name in _TYPES.split()) - CALLED
OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END}
BROKEN = (
    SqlglotError,
    RecursionError,
    ValueError,
    IndexError,
    AttributeError,
    TypeError,
    KeyError,
)  # of sqlglot, on odd texts
CLAUSES = {  # what a SELECT of the subset has; of others their names in a refusal
    "kind", "hint", "distinct", "expressions", "limit", "from_", "where", "group", "order",
}  # fmt: skip


def select(text: object) -> exp.Select:
    """The one SELECT that a text is."""
    if not isinstance(text, str):
        raise SchemaError(f"SQL is a text such as {FORM!r}, not {type(text).__name__}")
    if len(text) > LONGEST:
        raise SchemaError(
            f"the SQL has more than {LONGEST:,} characters; a list of values stands shorter in a derived column"
        )
    try:
        tokens = sqlglot.tokenize(text, read=DIALECT)
    except BROKEN:
        raise SchemaError(f"cannot read the SQL, such as a quote that is left open; write it like {FORM}") from None
    _must_be_known(tokens, text)
    try:
        statements = [one for one in sqlglot.parse(text, read=DIALECT) if one is not None]
    except ParseError as wrong:
        raise refusal("SQL", text, _place(wrong, text), f"it goes on in a way that SQL does not ({QUOTES})") from None
    except BROKEN:
        raise SchemaError(f"cannot read the SQL; write it like {FORM}") from None
    if len(statements) != 1:
        raise UnsupportedQuery("the SQL holds several statements; ask them one by one")
    return _plain(statements[0])


def _must_be_known(tokens: list[Token], text: str) -> None:
    """Refuse, before the grammar is tried, words outside the subset and texts that are too long or deep for it."""
    if not tokens:
        raise SchemaError(f"the SQL is empty; write it like {FORM}")
    if len(tokens) > MOST_TOKENS:
        raise SchemaError(f"the SQL has more than {MOST_TOKENS:,} words and signs; ask for less at once")
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.FROM, TokenType.WITH, TokenType.L_PAREN):
        raise UnsupportedQuery(f"{tokens[0].text!r:.40} is no question: only SELECT is read, such as {FORM}")
    depth, last = 0, TokenType.SEMICOLON
    for token in tokens:
        kind = token.token_type
        if kind not in ALLOWED:
            raise UnsupportedQuery(
                f"{token.text.upper()!r:.40} is not supported; "
                + REFUSED.get(kind, f"write it like {FORM}, and a column of that name between double quotes")
            )
        depth += (kind in OPENING) - (kind in CLOSING) + (kind is last is TokenType.NOT)
        if depth > DEEPEST:
            raise refusal("SQL", text, token.start, f"it nests more than {DEEPEST} deep")
        if kind is TokenType.L_PAREN and last in TYPES:
            raise refusal("SQL", text, token.start, "types take no brackets here; dates are written DATE '2026-01-31'")
        last = kind


def _place(wrong: ParseError, text: str) -> int:
    """Where the grammar gave up."""
    found: dict[str, Any] = wrong.errors[0] if wrong.errors else {}
    line, column = found.get("line") or 1, found.get("col") or 0
    before = sum(len(one) + 1 for one in text.split("\n")[: line - 1])
    return min(len(text), max(0, before + column - len(found.get("highlight") or "")))


def _plain(tree: Tree) -> exp.Select:
    """A SELECT of one table without clauses that the subset lacks."""
    if not isinstance(tree, exp.Select):
        raise UnsupportedQuery(f"{_called(tree)} is not supported; {AGGREGATED}")
    for clause, held in tree.args.items():
        if held and clause not in CLAUSES:
            advice = ONE_TABLE if clause in ("joins", "laterals", "pivots") else AGGREGATED
            word = {"joins": "JOIN (or a comma between tables)"}.get(clause, clause.strip("_").upper())
            raise UnsupportedQuery(f"{word:.40} is not supported; {advice}")
    for node in tree.walk():
        if node is not tree and isinstance(node, exp.Query | exp.Subquery):
            raise UnsupportedQuery(f"a SELECT inside another is not supported; {AGGREGATED}")
    return tree


def _called(tree: Tree) -> str:
    return {"Subquery": "a SELECT between brackets"}.get(type(tree).__name__, type(tree).__name__.upper())


def written(tree: Tree) -> str:
    """A part of a statement as it is written, shortened, for a refusal."""
    try:
        text = tree.sql(dialect=DIALECT)
    except BROKEN:
        text = type(tree).__name__.upper()
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
