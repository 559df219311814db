"""A starting plan from column names and types: public facts come from a codebook, or are left as blanks to fill in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sfumato.cli.codebook import Entry, doubtful, read_codebook, spelled, template
from sfumato.cli.console import complain, print_json, say, write_text
from sfumato.errors import SchemaError
from sfumato.plans import BLANK, FORMAT
from sfumato.plans.places import Place, must_be_connection, must_be_place, placed
from sfumato.spaces import SPACES
from sfumato.spaces.schema import is_pattern, stem
from sfumato.visible import visible

__all__ = ["drafted", "run"]

ENGINES = ("spark", "postgres")
NAMES_ONLY = (".csv", ".tsv", ".gz")

HEAD = """# A starting plan for {file}, made from its column names and types only.
# Replace every "{blank}" by what is known in public, never by what you read in the data; remove the columns
# you will not ask about.  Then: sfumato check THIS-FILE (secret, for you alone) and sfumato preview THIS-FILE
#
# What a type needs, one line each under the column (everything else: docs/formats/plan.md):
{hints}
#   any of them  na = ["?", 99]: codes for missing values

format = "{format}"

[table]
{place}dataset = {dataset}          # the name that the ledger is bound to
{version}unit = "{blank}"         # who is protected: "row", or {{ column = "...", rows = 1 }}, people with so many rows
adjacency = "add-remove"     # or "replace"
# size = 1000                # the public number of people or rows, for previews (required and exact under "replace")
{quotes}"""

QUOTES = """# quoted_lines = true        # where texts hold line breaks within quotes; otherwise every line is a row
"""
VERSION = """version = {version}          # the state of the data; for the next: sfumato publish THIS-FILE --version ...
"""
DATE = re.compile(
    r"(?<!\d)(?:19|20)\d\d(?:(?P<mark>[-_.]?)(?:0[1-9]|1[0-2])(?:(?P=mark)(?:0[1-9]|[12]\d|3[01]))?)?(?!\d)"
)  # a year, a month or a day

TAIL = """
[budget]                     # what everything together may cost
epsilon = "{blank}"          # often between 0.1 and 2; add delta = 1e-6 for discovered keys, or give rho instead

[ledger]
path = {ledger}

[[release]]                  # one part like this for each thing to publish
name = "number of rows"
query = "count"              # count, sum, mean, variance, histogram, quantiles, median, top, most_popular, items;
                             # density and other curves, synthetic and other tables: docs/formats/plan.md
# column = "..."
# by = "..."                 # or {{ bins = "age", edges = [0, 18, 65, 120] }}, or {{ discovered = "city" }}
# where = "age >= 18"
spend = {{ epsilon = "{blank}" }}
"""


def run(
    file: str | None,
    table: str | None,
    header: bool,
    out: Path | None,
    as_json: bool,
    codebook: Path | None = None,
    empty: bool = False,
    engine: str | None = None,
    connection: str | None = None,
) -> None:
    """Write or print the draft, or an `empty` codebook; the first line of a text file is shown only to who says that it
    holds names.
    """
    place = _placed(file, table, engine, connection)
    kinds = _types(place)
    if _has_names_only(place) and not header:
        raise SchemaError(
            f"{file} is a text file, and only you know whether its first line names the columns or is a row of "
            "data; if it names them, run again with --header, otherwise write the names above it first"
        )
    said = {} if codebook is None else read_codebook(codebook)
    doubt = doubtful({name: entry for name, entry in said.items() if name in kinds})
    if doubt is not None:
        complain(doubt)
    text = template(kinds) if empty else drafted(place, kinds, out, said)
    if as_json:
        known = {name: None if _has_names_only(place) else kind for name, kind in kinds.items()}
        print_json({"file": place.words, "columns": known, "codebook" if empty else "plan": text})
        return
    if out is None:
        say(text.removesuffix("\n"))
        return
    if out.exists():
        raise SchemaError(f"{out} exists already; choose another name, or remove it first")
    write_text(out, text)
    if empty:
        named = f"{place.words} --header" if header else place.words
        say(f"wrote {out}: fill in what is public of each column, then: sfumato draft {named} --codebook {out}")
        return
    say(
        f"wrote {out} with {len(kinds)} columns; fill in each {BLANK!r}, then: sfumato check {out} "
        f"and sfumato preview {out}"
    )


def drafted(place: Place, kinds: dict[str, str], out: Path | None, said: Mapping[str, Entry] | None = None) -> str:
    """The text of the plan; `said` is what a codebook says of columns."""
    named = Path(place.table or "" if place.path is None or place.engine == "postgres" else place.path)
    if place.path is None or place.engine == "postgres":
        dataset = named.name.rpartition(".")[2]
    else:
        dataset = BLANK if is_pattern(named) and not named.exists() else stem(named)
    parts = place.to_record(out.parent if out is not None else Path())
    version = None
    if place.file is not None and dataset != BLANK and (dated := last_date(dataset)) is not None:
        version, dataset = dated.group(), _without(dated)
        written = f"{dated.string[: dated.start()]}{{version}}{dated.string[dated.end() :]}"
        parts["path"] = Path(str(parts["path"])).with_name(named.name.replace(dated.string, written, 1)).as_posix()
    ledger = BLANK if dataset == BLANK else f"{dataset}.ledger"
    head = HEAD.format(
        file=visible(named.name), blank=BLANK, hints=_hints(), format=FORMAT, dataset=_quoted(dataset),
        quotes=QUOTES if place.file is not None and place.file.suffix.lower() in NAMES_ONLY else "",
        version="" if version is None else VERSION.format(version=_quoted(version)),
        place="".join(f"{name} = {_quoted(str(part))}\n" for name, part in parts.items()),
    )  # fmt: skip
    named_only = _has_names_only(place)
    known = said or {}
    columns = [_column(name, None if named_only else kind, known.get(name, {})) for name, kind in kinds.items()]
    return "\n".join([head, *columns]) + TAIL.format(blank=BLANK, ledger=_quoted(ledger))


def last_date(name: str) -> re.Match[str] | None:
    """The last year, month or day in a file's name: its version, since the next file is of the same dataset.

    >>> [last_date(name).group() for name in ("people-2026-11", "2026-11-30 people", "visits_202611", "adult 1994")]
    ['2026-11', '2026-11-30', '202611', '1994']
    >>> last_date("people-20267"), last_date("sample-3000")
    (None, None)
    """
    return max(DATE.finditer(name), key=lambda found: found.start(), default=None)


def _without(dated: re.Match[str]) -> str:
    """The rest of the name, which is the same for all versions; a blank where nothing is left."""
    ends = (dated.string[: dated.start()].rstrip("-_. "), dated.string[dated.end() :].lstrip("-_. "))
    return "-".join(end for end in ends if end) or BLANK


def _placed(file: str | None, table: str | None, engine: str | None, connection: str | None) -> Place:
    """The place that the command line names, under the rules of a plan."""
    if engine not in (None, *ENGINES):
        raise SchemaError(f"--engine must be one of {', '.join(ENGINES)}, got {engine!r:.40}")
    try:
        if connection is not None:
            must_be_connection(connection, engine)
        must_be_place(file, engine, table, connection)
    except ValueError as error:
        raise SchemaError(f"{'FILE' if connection is None else '--connection'} {error}") from None
    return placed(Path(), file, table, engine, connection, None)


def _types(place: Place) -> dict[str, str]:
    from sfumato.engines import column_types
    from sfumato.engines.located import located

    return column_types(located(place), place.name_within)


def _has_names_only(place: Place) -> bool:
    return place.file is not None and place.file.suffix.lower() in NAMES_ONLY


def _column(name: str, kind: str | None, entry: Entry) -> str:
    """The part for one column."""
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    note = f"  # {kind}" if kind else ""
    return "\n".join(
        [f"[columns.{name if bare else _quoted(name)}]{note}", *(spelled(entry, BLANK, _quoted) or _fields(kind)), ""]
    )


def _quoted(text: str) -> str:
    """A TOML string that reads back as the text and steers no terminal."""
    shown = (one if visible(one) == one and one not in '"\\' else f"\\U{ord(one):08x}" for one in text)
    return f'"{"".join(shown)}"'


def _fields(kind: str | None) -> list[str]:
    if kind is None:
        offered = [name for name, space in SPACES.items() if space.hint is not None]
        return [f'type = "{BLANK}"           # {", ".join(offered[:-1])} or {offered[-1]}, with their parts']
    for space in SPACES.values():
        lines = space.drafted(kind, BLANK)
        if lines is not None:
            return lines
    return [f'type = "{BLANK}"           # no space fits {kind}: convert the column, or remove this part']


def _hints() -> str:
    """What each type needs, a line each."""
    hints = [(space.hint[0], f'type = "{name}", {space.hint[1]}') for name, space in SPACES.items() if space.hint]
    return "\n".join(f"#   {what:<13}{line}" for what, line in hints)
