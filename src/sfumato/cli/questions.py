"""The commands that ask, and their help: a saved synthetic table for nothing, a plan's table in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.ledgers import Json
from sfumato.cli.options import Delta, Epsilon, PlanFile, Rho, Version

__all__ = ["ask", "sql"]


def ask(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A saved synthetic table.", show_default=False)],
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="count, mean, sum, share, histogram, median, ... as plans name them.",
            show_default=False,
        ),
    ],
    column: Annotated[list[str] | None, typer.Option(help="The column that the query is about; of two, both.")] = None,
    by: Annotated[list[str] | None, typer.Option(help="A column to group by; repeat for more.")] = None,
    where: Annotated[str | None, typer.Option(help="A condition, such as 'age >= 60'.")] = None,
    condition: Annotated[str | None, typer.Option(help="Of a share: the condition that it is the share of.")] = None,
    probability: Annotated[list[float] | None, typer.Option(help="Of quantiles: which; repeat for more.")] = None,
    level: Annotated[float, typer.Option(help="The probability of the interval.")] = 0.95,
    json: Json = False,
) -> None:
    """Ask a synthetic table, free: what its rows answer, with an interval for the real table's answer."""
    from sfumato.cli.ask import run

    about = {"columns": column} if column and len(column) > 1 else {"column": column and column[0]}
    parts = {"query": query, **about, "by": by, "where": where, "condition": condition, "probabilities": probability}
    run(table, {name: part for name, part in parts.items() if part}, level, json)


def sql(
    plan: PlanFile,
    text: Annotated[str, typer.Argument(metavar="SQL", help="SELECT ... FROM DATASET ...", show_default=False)],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    release: Annotated[bool, typer.Option("--release", help="Charge and answer; without it nothing is spent.")] = False,
    version: Version = None,
    json: Json = False,
) -> None:
    """Ask a plan's table in SQL: how it is read, with an amount what it would cost, with --release the answers."""
    from sfumato.cli.asking import run

    run(plan, text, (epsilon, delta, rho), release, json, version)
