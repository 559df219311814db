"""Arguments and options that several commands share, with their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Amounts", "Codebook", "Columns", "Connection", "Cuts", "Delta", "Epsilon", "Persons", "PlanFile", "Rho",
    "SourceFile", "TableFile", "TableName", "Triples", "Version", "Weights",
]  # fmt: skip

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, TOML or JSON.", show_default=False)]
SourceFile = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, Parquet, DuckDB, a folder, a pattern in quotes or an address.",
        show_default=False,
    ),
]
Codebook = Annotated[
    Path | None, typer.Option(help="A CSV of what is public: column, type, low, high, values (a | b | c) ...")
]
Connection = Annotated[
    str | None, typer.Option(help="The environment variable that holds a PostgreSQL server's address.")
]
Version = Annotated[
    str | None, typer.Option(help="The version of the table, such as 2026-11, instead of the one that the plan says.")
]
Epsilon = Annotated[float | None, typer.Option(help="How much epsilon to spend.")]
Delta = Annotated[float | None, typer.Option(help="How much delta to spend.")]
Rho = Annotated[float | None, typer.Option(help="How much rho to spend, instead of epsilon.")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="A column; repeat for more.  Default: all.")]
Persons = Annotated[
    list[str] | None,
    typer.Option(
        "--person", help="A column that is the same in all rows of a person, which come together then; '' if none is."
    ),
]
Cuts = Annotated[
    list[str] | None,
    typer.Option(
        "--cuts", help="A column in far too wide bounds: where its values lie is found first; repeat for more."
    ),
]
Triples = Annotated[bool, typer.Option("--triples", help="Measure relations of three columns, too, where rows allow.")]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", help="How much relations to a column matter, such as income=3; repeat for more."),
]
TableFile = Annotated[Path | None, typer.Option(help="A .parquet or .csv file; without it, a free preview.")]
TableName = Annotated[
    str | None, typer.Option(help="The table's name in the ledger; another one for a second table of the same columns.")
]
Amounts = list[float] | None
