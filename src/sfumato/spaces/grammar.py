"""The grammar of conditions and formulas: from a text to a tree, nothing evaluated.

Both Python's spellings and those of SQL are read: `==` and `=`, `and`, `AND`, `&`, `!=` and `<>`, `in [1, 2]` and
`IN (1, 2)`, `between 1 and 5`, `is null`, `a if b else c`.  A column whose name is not a plain word stands between
backticks; `home.rent` is a field of a record, `x[0]` an entry of an array.  Words of the language are such only where
one can stand, so that a column may be called `between`.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from dataclasses import dataclass, field
from typing import ClassVar

from sfumato.errors import SchemaError

__all__ = ["Call", "Literal", "Name", "Tree", "parsed", "refusal"]

LONGEST = 100_000  # characters of a text
DEEPEST = 200  # brackets within brackets
SHOWN = 60  # characters on either side of a mistake
TOKENS = re.compile(
    r"""[ \t\r\n\f]*(?:
    (?P<text>[rRuU]?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"))
  | `(?P<quoted>(?:[^`]|``)+)`
  | (?P<number>0[xX][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign><=|>=|==|!=|<>|&&|\|\||[-+*/()\[\]{},<>=&|~!.])
  | (?P<end>\Z)
    )""",
    re.VERBOSE | re.DOTALL,
)
EQUAL = {"=": "==", "<>": "!="}
JOINS = {"&": "and", "&&": "and", "|": "or", "||": "or", "~": "not", "!": "not"}
TESTS = ("in", "between", "startswith")
SIGNS = ("<", "<=", ">", ">=", "==", "!=", "=", "<>")
COMPARED = 3
LEVELS = {
    "if": 0,
    "or": 1,
    "and": 2,
    **dict.fromkeys((*SIGNS, *TESTS, "is", "not"), COMPARED),
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
}  # how tightly operators bind; after an operand, `not` begins a test: not in
CLOSING = {"(": ")", "[": "]", "{": "}"}
STARTS, NULLS = "the beginning of a text is tested by: city startswith 'B'", "missing values are found by: age is null"
HOLDS = "an item of a set is found by: 'chess' in hobbies; " + STARTS
MEANT = {
    **dict.fromkeys(("startswith", "like", "ilike"), STARTS),
    **dict.fromkeys(("contains", "has"), HOLDS),
    **dict.fromkeys(("isnull", "isna", "notnull", "notna"), NULLS),
    "isin": "one of several values is found by: state in ['CA', 'NY']",
}  # what was meant, by words of other languages


@dataclass(frozen=True, slots=True)
class Literal:
    """A public constant as it was written: a number, a text or a truth value."""

    value: bool | float | str
    place: int = field(default=0, compare=False)
    function: ClassVar[str] = ""
    parts: ClassVar[tuple[Tree, ...]] = ()
    bare: ClassVar[str | None] = None


@dataclass(frozen=True, slots=True)
class Name:
    """A column, or a bare word that may have been meant as a constant; `quoted` ones stood between backticks."""

    text: str
    place: int = field(default=0, compare=False)
    quoted: bool = field(default=False, compare=False)
    function: ClassVar[str] = ""
    parts: ClassVar[tuple[Tree, ...]] = ()

    @property
    def bare(self) -> str:
        """The name that a tree is, None of other trees."""
        return self.text


@dataclass(frozen=True, slots=True)
class Call:
    """An operator or a function and what it is applied to: `+`, `<`, `and`, `in`, `null`, `if`, `list`, `year`, ..."""

    function: str
    parts: tuple[Tree, ...]
    place: int = field(default=0, compare=False)
    bare: ClassVar[str | None] = None


Tree = Literal | Name | Call


def parsed(text: object, kind: str) -> Tree:
    """The tree of a text, which is called a `kind` where it has to be refused.

    >>> parsed("age >= 18 AND NOT paid", "condition").function
    'and'
    >>> parsed("age >= 18 adn paid", "condition")
    Traceback (most recent call last):
    sfumato.errors.SchemaError: cannot read the condition: expected and, or, another operator, or the end
        age >= 18 adn paid
                  ^
    """
    if not isinstance(text, str):
        raise SchemaError(f'a {kind} is a text such as "age >= 18", not {type(text).__name__}')
    if len(text) > LONGEST:
        raise SchemaError(f"cannot read the {kind}: it has more than {LONGEST:,} characters")
    return _Parser(text, kind).whole()


def refusal(kind: str, text: str, place: int, reason: str) -> SchemaError:
    """What is wrong, and a caret below the place."""
    start = max(0, place - SHOWN)
    before, after = text[start:place], text[place : place + SHOWN]
    shown = "".join(character if character.isprintable() else " " for character in before + after)
    return SchemaError(f"cannot read the {kind}: {reason}\n    {shown}\n    {' ' * len(before)}^")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: int


class _Parser:
    """Operators by how tightly they bind: if, or, and, not, comparisons, sums, products, signs."""

    def __init__(self, text: str, kind: str) -> None:
        self.text, self.kind, self.at, self.depth = text, kind, 0, 0
        self.tokens = list(self._cut())

    def whole(self) -> Tree:
        """The tree of all of the text."""
        if self.now.kind == "end":
            raise self._wrong("it is empty")
        try:
            tree = self._expression()
        except RecursionError:
            raise self._wrong("it nests too deeply") from None
        if self.now.kind != "end":
            raise self._wrong(self._expected())
        return tree

    def _cut(self) -> list[_Token]:
        tokens, at = [], 0
        while True:
            found = TOKENS.match(self.text, at)
            if found is None:
                strange = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                what = "a quote is left open" if self.text[strange] in "'\"`" else "this sign means nothing here"
                raise refusal(self.kind, self.text, strange, what)
            kind = found.lastgroup or "end"
            token = _Token(kind, found[kind], found.start(kind) - (kind == "quoted"))
            tokens.append(token)
            if kind == "end":
                return tokens
            at = found.end()

    @property
    def now(self) -> _Token:
        """The token that is read next."""
        return self.tokens[self.at]

    def _next(self) -> _Token:
        token = self.now
        self.at += 1
        return token

    def _wrong(self, reason: str, token: _Token | None = None) -> SchemaError:
        return refusal(self.kind, self.text, (token or self.now).place, reason)

    def _expected(self) -> str:
        token = self.now
        if token.kind == "text" and self.at and self.tokens[self.at - 1].kind == "text":
            return "two texts side by side; a quote inside a text is written \\'"
        if token.text == "." or token.kind == "word":
            word = (self.tokens[self.at + 1] if token.text == "." else token).text.lower()
            if meant := MEANT.get(word):
                return meant
        if token.text == ".":
            return "a column whose name is not a plain word stands between backticks: `a.b`"
        if token.kind == "word" and self.tokens[self.at - 1].kind == "word":
            return "expected an operator; a column of several words stands between backticks: `first name`"
        return "expected and, or, another operator, or the end"

    def _sign(self, *signs: str) -> str | None:
        """The next sign, taken if it is one of these."""
        if self.now.kind == "sign" and self.now.text in signs:
            return self._next().text
        return None

    def _word(self, *words: str) -> str | None:
        """The next word, taken if it is one of these, in any capitals."""
        if self.now.kind == "word" and self.now.text.lower() in words:
            return self._next().text.lower()
        return None

    def _expression(self, level: int = 0) -> Tree:
        """Whatever binds at least as tightly as the level."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._wrong(f"it nests more than {DEEPEST} brackets or terms")
        tree, terms = self._operand(), 0
        while (found := self._operator()) is not None and found[1] >= level:
            operator, bound = found
            place = self.now.place
            if operator in ("and", "or"):
                tree = Call(operator, self._joined(tree, operator, bound), place)
            elif bound == COMPARED:
                tree = self._compared(tree)
            elif operator == "if":
                tree = self._choice(tree)
            else:
                self.at += 1
                tree = Call(operator, (tree, self._expression(bound + 1)), place)
            terms += 1
            if terms > DEEPEST:
                raise self._wrong(f"it has more than {DEEPEST} terms in a row")
        self.depth -= 1
        return tree

    def _operator(self) -> tuple[str, int] | None:
        """The operator that comes next, and how tightly it binds."""
        token = self.now
        if token.kind not in ("sign", "word"):
            return None
        operator = JOINS.get(token.text, token.text) if token.kind == "sign" else token.text.lower()
        if operator == "not" and not (
            self.tokens[self.at + 1].kind == "word" and self.tokens[self.at + 1].text.lower() in TESTS
        ):
            return None
        return (operator, LEVELS[operator]) if operator in LEVELS else None

    def _joined(self, first: Tree, operator: str, bound: int) -> tuple[Tree, ...]:
        parts = [first]
        while (found := self._operator()) is not None and found[0] == operator:
            self.at += 1
            parts.append(self._expression(bound + 1))
        return tuple(parts)

    def _choice(self, chosen: Tree) -> Tree:
        place = self._next().place
        wanted = self._expression(1)
        if not self._word("else"):
            raise self._wrong("expected else, as in: 1 if age >= 18 else 0")
        return Call("if", (wanted, chosen, self._expression()), place)

    def _compared(self, left: Tree) -> Tree:
        """One comparison, or several in a row: 18 <= age < 65."""
        place, found = self.now.place, []
        while (operator := self._operator()) is not None and operator[1] == COMPARED:
            sign = self._sign(*SIGNS)
            if sign is None:
                found.append(self._test(left))
            else:
                right = self._expression(COMPARED + 1)
                found.append(Call(EQUAL.get(sign, sign), (left, right), place))
                left = right
        return found[0] if len(found) == 1 else Call("and", tuple(found), place)

    def _test(self, left: Tree) -> Tree:
        """What begins with a word: in, between, is null, startswith, each perhaps with not."""
        place, negated = self.now.place, self._word("not") is not None
        word = self._word("is", *TESTS)
        if word == "is":
            negated = self._word("not") is not None
            if not self._word("null", "none"):
                raise self._wrong("expected null, as in: age is null, age is not null")
            found: Tree = Call("null", (left,), place)
        elif word == "in":
            found = Call("in", (left, self._listed()), place)
        elif word == "between":
            low = self._expression(COMPARED + 1)
            if not (self._word("and") or self._sign("&", "&&")):
                raise self._wrong("expected and, as in: age between 18 and 65")
            found = Call("between", (left, low, self._expression(COMPARED + 1)), place)
        else:
            found = Call("startswith", (left, self._expression(COMPARED + 1)), place)
        return Call("not", (found,), place) if negated else found

    def _listed(self) -> Tree:
        """What follows `in`: a list in any brackets, or a column that holds sets."""
        place, opening = self.now.place, self._sign(*CLOSING)
        if opening is None:
            return self._expression(COMPARED + 1)
        return Call("list", self._several(CLOSING[opening]), place)

    def _several(self, closing: str) -> tuple[Tree, ...]:
        parts: list[Tree] = []
        while not self._sign(closing):
            if parts and not self._sign(","):
                raise self._wrong(f"expected a comma or {closing}")
            if parts and self._sign(closing):  # a comma may end a list
                break
            parts.append(self._expression())
        return tuple(parts)

    def _operand(self) -> Tree:
        token = self.now
        if self._negates():
            self.at += 1
            return Call("not", (self._expression(COMPARED),), token.place)
        if sign := self._sign("-", "+"):
            tree = self._expression(LEVELS["*"] + 1)
            if isinstance(tree, Literal) and type(tree.value) in (int, float):
                return Literal(-tree.value if sign == "-" else tree.value, token.place)  # type: ignore[operator]
            return Call("-", (Literal(0), tree), token.place) if sign == "-" else tree
        self.at += 1
        if token.kind in ("text", "number"):
            try:
                return Literal(ast.literal_eval(token.text), token.place)
            except (SyntaxError, ValueError):
                raise self._wrong(f"this is no {token.kind}", token) from None
        if token.kind == "quoted":
            return Name(token.text.replace("``", "`"), token.place, quoted=True)
        if token.kind == "word":
            if self._sign("("):
                return Call(token.text.lower(), self._several(")"), token.place)
            if token.text in ("True", "False"):
                return Literal(token.text == "True", token.place)
            return Name(unicodedata.normalize("NFKC", token.text + self._within()), token.place)
        if token.text == "(":
            tree = self._expression()
            if not self._sign(")"):
                raise self._wrong("expected )")
            return tree
        ends = "it ends too early" if token.kind == "end" else f"expected a column or a constant, not {token.text}"
        raise self._wrong(ends, token)

    def _within(self) -> str:
        """The field of a record or the entry of an array that follows a column's name: .age, [0]."""
        found = ""
        while True:
            signs = [(token.kind, token.text) for token in self.tokens[self.at : self.at + 3]]
            if signs[0] == ("sign", ".") and signs[1][0] == "word" and signs[2:] != [("sign", "(")]:
                found += f".{signs[1][1]}"
                self.at += 2
            elif signs[0] == ("sign", "[") and signs[1][0] == "number" and signs[2:] == [("sign", "]")]:
                found += f"[{signs[1][1]}]"
                self.at += 3
            else:
                return found

    def _negates(self) -> bool:
        """Whether a negation comes next: the word, unless it is a column that is compared."""
        token, after = self.now, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if token.kind == "sign":
            return token.text in ("~", "!")
        return token.kind == "word" and token.text.lower() == "not" and after.text not in SIGNS
