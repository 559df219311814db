"""A starting plan from column names and types: every public fact is left as a blank to fill in."""

from __future__ import annotations

import os
from pathlib import Path

from sfumato.cli.console import print_json, say, write_text
from sfumato.errors import SchemaError
from sfumato.plans import BLANK, FORMAT
from sfumato.schema import stem
from sfumato.visible import visible

__all__ = ["drafted", "run"]

NAMES_ONLY = (".csv", ".tsv", ".gz")

HEAD = """# A starting plan for {file}, made from its column names and types only.
# Replace every "{blank}" by what is known in public, never by what you read in the data; remove the columns
# you will not ask about.  Then: sfumato check THIS-FILE (secret, for you alone) and sfumato plan THIS-FILE
#
# What a type needs, one line each under the column (everything else: docs/formats/plan.md):
#   numbers     type = "interval", low = 0, high = 200000, step = 10     (whole ones: "integers", no step)
#   dates       type = "dates", low = "2020-01-01", high = "2026-12-31"
#   labels      type = "categories", values = ["a", "b"]                 (na = ["?"]: codes for missing, in any type)
#   sets        type = "subsets", of = ["a", "b"], cap = 3
#   free texts  type = "texts"                                           (only for {{ discovered = ... }})

format = "{format}"

[table]
path = {path}
{table}dataset = {dataset}          # the name that the ledger is bound to
unit = "{blank}"             # who is protected: "row", or {{ column = "...", rows = 1 }} for people with so many rows
adjacency = "add-remove"     # or "replace"
# size = 1000                # the public number of people or rows, for previews (required and exact under "replace")
"""

TAIL = """
[budget]                     # what everything together may cost
epsilon = "{blank}"          # often between 0.1 and 2; add delta = 1e-6 for discovered keys, or give rho instead

[ledger]
path = {ledger}

[[release]]                  # one part like this for each thing to publish
name = "number of rows"
query = "count"              # count, sum, mean, variance, histogram, quantiles, median, top, most_popular
# column = "..."
# by = "..."                 # or {{ bins = "age", edges = [0, 18, 65, 120] }}, or {{ discovered = "city" }}
# where = "age >= 18"
spend = {{ epsilon = "{blank}" }}
"""


def run(file: Path, table: str | None, header: bool, out: Path | None, as_json: bool) -> None:
    """Write or print the draft; the first line of a text file is shown only to who says that it holds names."""
    from sfumato.engines import column_types

    kinds = column_types(file, table)
    if file.suffix.lower() in NAMES_ONLY and not header:
        raise SchemaError(
            f"{file} is a text file, and only you know whether its first line names the columns or is a row of "
            "data; if it names them, run again with --header, otherwise write the names above it first"
        )
    if as_json:
        known = {name: None if file.suffix.lower() in NAMES_ONLY else kind for name, kind in kinds.items()}
        print_json({"file": str(file), "columns": known, "plan": drafted(file, table, kinds, out)})
        return
    if out is None:
        say(drafted(file, table, kinds, out).removesuffix("\n"))
        return
    if out.exists():
        raise SchemaError(f"{out} exists already; choose another name for the plan, or remove it first")
    write_text(out, drafted(file, table, kinds, out))
    say(f"wrote {out} with {len(kinds)} columns; fill in each {BLANK!r}, then: sfumato check {out} and sfumato plan")


def drafted(file: Path, table: str | None, kinds: dict[str, str], out: Path | None) -> str:
    """The text of the plan."""
    dataset = stem(file)
    relative = Path(os.path.relpath(file, out.parent if out is not None else Path()))
    head = HEAD.format(
        file=visible(file.name), blank=BLANK, format=FORMAT, path=_quoted(relative.as_posix()),
        dataset=_quoted(dataset), table=f"table = {_quoted(table)}\n" if table else "",
    )  # fmt: skip
    named_only = file.suffix.lower() in NAMES_ONLY
    columns = [_column(name, None if named_only else kind) for name, kind in kinds.items()]
    return "\n".join([head, *columns]) + TAIL.format(blank=BLANK, ledger=_quoted(f"{dataset}.ledger"))


def _column(name: str, kind: str | None) -> str:
    """The part for one column."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    note = f"  # {kind}" if kind else ""
    return "\n".join([f"[columns.{name if bare else _quoted(name)}]{note}", *_fields(kind), ""])


def _quoted(text: str) -> str:
    """A TOML string that reads back as the text and steers no terminal."""
    shown = (one if visible(one) == one and one not in '"\\' else f"\\U{ord(one):08x}" for one in text)
    return f'"{"".join(shown)}"'


def _fields(kind: str | None) -> list[str]:
    if kind is None:
        kinds = "interval, integers, dates, categories, subsets or texts, with their parts"
        return [f'type = "{BLANK}"           # {kinds}']
    if kind.startswith(("date", "timestamp")):
        return ['type = "dates"', f'low = "{BLANK}"             # such as "2020-01-01"', f'high = "{BLANK}"']
    if kind.startswith("boolean"):
        return ['type = "categories"', "values = [false, true]"]
    if kind.startswith(("int", "uint")):
        return ['type = "integers"', f'low = "{BLANK}"', f'high = "{BLANK}"']
    if kind.startswith(("float", "decimal")):
        step = f'step = "{BLANK}"            # the precision to keep, such as 0.01 or 100; it divides both bounds'
        return ['type = "interval"', f'low = "{BLANK}"', f'high = "{BLANK}"', step]
    if kind.startswith("array"):
        return ['type = "subsets"', f'of = ["{BLANK}"]', f'cap = "{BLANK}"             # how many items of a row count']
    if kind.startswith("string"):
        other = '# or type = "texts" with longest = 64, if the values are not public'
        return ['type = "categories"        ' + other, f'values = ["{BLANK}"]']
    return [f'type = "{BLANK}"           # no space fits {kind}: convert the column, or remove this part']
