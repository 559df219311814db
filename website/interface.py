"""Reference pages of the interface, written from signatures and docstrings."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import sfumato as sf

FACADES = {
    "accounting": "how privacy adds up; nothing of it reads data or spends anything",
    "local": "data that never leaves its owners",
    "auditing": "evidence against a claim of privacy",
    "samples": "invented people to try things on",
    "reference": "mechanisms, bounds and laboratories, for research",
}
GROUPS = {  # the top level, in the order in which one meets it; a name that nobody placed is under the last heading
    "Declaring a table": ("read", "Schema", "Row", "Person", "AddRemove", "Replace", "check"),
    "Column types": tuple(space.__name__ for space in sf.spaces.SPACES.values()),
    "Promises": ("Pure", "Approximate", "Concentrated"),
    "Sessions, releases and the ledger": ("Session", "Release", "Ledger", "load"),
    "Numbers": (
        "count",
        "sum",
        "mean",
        "share",
        "ratio",
        "difference",
        "correlation",
        "variance",
        "std",
        "histogram",
        "count_people",
        "rows_per_person",
        "running",
    ),
    "Ranks, choices and sets": (
        "median",
        "quantiles",
        "extent",
        "most_popular",
        "top",
        "items",
        "choose",
        "keys",
        "thresholds",
    ),
    "Conditions and groups": ("Query", "col", "bins", "discovered"),
    "Many linear answers": ("workload", "prefix", "ranges", "marginals", "crosstab", "predicates", "weighted"),
    "Functions": ("density", "distribution", "mean_curve", "covariance", "regression", "classification"),
    "Whole tables, smooth queries and components": (
        "synthetic",
        "sanitized",
        "together",
        "small_database",
        "trigonometric",
        "smooth",
        "gaussian_mixture",
        "pca",
    ),
    "Auditing": ("audit",),
}


def pages() -> dict[str, str]:
    """Each generated page by its place in the site."""
    made = {"reference/interface.md": top_level(), "reference/errors.md": errors()}
    return made | {f"reference/{name}.md": facade(name, about) for name, about in FACADES.items()}


def top_level() -> str:
    placed = {name for names in GROUPS.values() for name in names}
    left = [name for name in sf.__all__ if name not in placed and name != "__version__"]
    groups = GROUPS | ({"Others": tuple(left)} if left else {})
    lines = ["# The interface, `import sfumato as sf`", "", "What the top level holds, from the docstrings.", ""]
    for heading, names in groups.items():
        lines += [f"## {heading}", ""]
        for name in names:
            lines += entry(f"sf.{name}", getattr(sf, name), level=3)
    return "\n".join(lines)


def facade(name: str, about: str) -> str:
    module = importlib.import_module(f"sfumato.{name}")
    lines = [f"# `sf.{name}`: {about}", "", prose(module.__doc__), ""]
    for member in sorted(module.__all__, key=str.lower):
        lines += entry(f"sf.{name}.{member}", getattr(module, member), level=2)
    return "\n".join(lines)


def errors() -> str:
    from sfumato.cli.failures import EXIT_CODES

    lines = ["# Errors", "", prose(sf.errors.__doc__), "", f"From the command line: {EXIT_CODES}", ""]
    lines += ["| error | raised when | is also |", "|---|---|---|"]
    for name in sf.errors.__all__:
        error = getattr(sf.errors, name)
        also = ", ".join(f"`{base.__name__}`" for base in error.__mro__[1:-3] if base is not error)
        lines.append(f'| <a id="{name.lower()}"></a>`{name}` | {" ".join(error.__doc__.split())} | {also} |')
    return "\n".join(lines)


def entry(name: str, value: Any, level: int) -> list[str]:
    """A heading, the signature, the docstring; of a class its methods too."""
    lines = [f"{'#' * level} `{name}` {{ #{name.removeprefix('sf.').replace('.', '-')} }}", ""]
    if inspect.isclass(value) or callable(value):
        lines += ["```python", called(name, value), "```", ""]
        lines += [prose(value.__doc__), ""]
    if inspect.isclass(value):
        for method, member in members(value):
            lines += [f"**`.{method}`** {summary(member)}", ""]
    return lines


def members(value: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that have something to say, each with its signature."""
    for name, member in inspect.getmembers_static(value):
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        documented = isinstance(plain, property) or inspect.isfunction(plain)
        if name.startswith("_") or not documented or not inspect.getdoc(plain):
            continue
        arguments = "" if isinstance(plain, property) else _signature(plain, bound=not isinstance(member, staticmethod))
        yield name + arguments, plain


def called(name: str, value: Any) -> str:
    """How it is called; on several lines where one would be too long."""
    try:
        return name + _signature(value, bound=False)
    except (TypeError, ValueError):
        return name


def _signature(value: Any, bound: bool) -> str:
    signature = inspect.signature(value)
    given = list(signature.parameters.values())[1 if bound else 0 :]
    given = [each.replace(annotation=_Said(each.annotation), default=_default(each.default)) for each in given]
    back = signature.return_annotation
    plain = inspect.Signature(given, return_annotation=back if back is inspect.Signature.empty else _Said(back))
    line = str(plain)
    if len(line) <= 100:
        return line
    parts, stars = [], False
    for each in given:
        if each.kind is each.KEYWORD_ONLY and not stars:
            parts.append("*")
        stars = stars or each.kind in (each.KEYWORD_ONLY, each.VAR_POSITIONAL)
        parts.append(str(each))
    end = "" if back is inspect.Signature.empty else f" -> {_Said(back)!r}"
    return "(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"


def _default(value: Any) -> Any:
    """Defaults whose own text would name a place in memory are left as three dots."""
    if value is dataclasses.MISSING or " at 0x" in repr(value) or "factory" in repr(value):
        return _Said("...")
    return value


class _Said:
    """An annotation or a default, printed as it is written."""

    def __new__(cls, said: Any) -> Any:
        return said if said is inspect.Parameter.empty else super().__new__(cls)

    def __init__(self, said: Any) -> None:
        self.said = said if isinstance(said, str) else getattr(said, "__name__", str(said))

    def __repr__(self) -> str:
        return self.said


def summary(member: Any) -> str:
    """The first paragraph of a docstring on one line."""
    return " ".join(escaped((inspect.getdoc(member) or "").split("\n\n")[0]).split())


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: sessions of the interpreter become blocks of code."""
    parts = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(docstring or "")):
        if part.lstrip().startswith(">>>"):
            parts.append(f"```pycon\n{textwrap.dedent(part)}\n```")
        elif part.startswith("    "):
            parts.append(f"```text\n{textwrap.dedent(part)}\n```")
        else:
            parts.append(escaped(part))
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """What Markdown would take for its own signs outside of code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<\[\]|])", r"\\\1", p) for p in pieces)
