"""The commands and their help.  Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import tolerant
from sfumato.cli.failures import EXIT_CODES, explain

__all__ = ["app", "main"]

app = typer.Typer(
    name="sfumato",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Private answers with their guarantee, error bar and certificate.\n\n"
    "[bold]draft[/] a plan for your table, fill in what is public, look at it with [bold]plan[/] (free), "
    f"then [bold]publish[/].\n\n{EXIT_CODES}",
)
ledgers = typer.Typer(no_args_is_help=True, help="Look at a ledger: what was spent, and whether it was tampered with.")
app.add_typer(ledgers, name="ledger")

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, TOML or JSON.", show_default=False)]
CollectionFile = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="A declared collection, TOML or JSON.", show_default=False)
]
JournalFile = Annotated[Path | None, typer.Option(help="The journal; default: beside the collection, .journal.")]
LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger file.", show_default=False)]


@app.command(epilog="Example: sfumato draft people.parquet --out people.toml")
def draft(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, Parquet or DuckDB.", show_default=False)],
    table: Annotated[str | None, typer.Option(help="The table inside a DuckDB file.")] = None,
    header: Annotated[bool, typer.Option("--header", help="The first line of a text file names the columns.")] = False,
    out: Annotated[Path | None, typer.Option(help="Where to write the plan; otherwise it is printed.")] = None,
    json: Json = False,
) -> None:
    """Write a starting plan from column names and types, never from values."""
    from sfumato.cli.draft import run

    run(file, table, header, out, json)


@app.command(epilog="Example: sfumato plan people.toml")
def plan(plan: PlanFile, json: Json = False) -> None:
    """Show what each release would cost and how accurate it would be; spends nothing, reads no data."""
    from sfumato.cli.plan import run

    run(plan, json)


@app.command(epilog="Example: sfumato check people.toml")
def check(plan: PlanFile, json: Json = False) -> None:
    """Show the steward what coercion and bounding do to each column: exact and secret, not to be released."""
    from sfumato.cli.check import run

    run(plan, json)


@app.command(epilog="Example: sfumato publish people.toml --out people-report")
def publish(
    plan: PlanFile,
    out: Annotated[
        Path | None, typer.Option(help="Directory for the files; default: PLAN-report, beside the plan.")
    ] = None,
    new_ledger: Annotated[
        bool,
        typer.Option("--new-ledger", help="Go on though --out holds releases that the ledger does not know."),
    ] = False,
    json: Json = False,
) -> None:
    """Release everything in a plan, in order.  Run it again after a crash: what is stored costs nothing."""
    from sfumato.cli.publish import run

    run(plan, out, new_ledger, json)


Epsilon = Annotated[float | None, typer.Option(help="How much epsilon to spend.")]
Delta = Annotated[float | None, typer.Option(help="How much delta to spend.")]
Rho = Annotated[float | None, typer.Option(help="How much rho to spend, instead of epsilon.")]
Columns = Annotated[list[str] | None, typer.Option("--column", help="A column; repeat for more.  Default: all.")]
TableFile = Annotated[Path | None, typer.Option(help="A .parquet or .csv file; without it, a free preview.")]


@app.command(epilog="Example: sfumato synthesize people.toml --epsilon 1 --delta 1e-6 --out synthetic.parquet")
def synthesize(
    plan: PlanFile,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    columns: Columns = None,
    rows: Annotated[int | None, typer.Option(help="How many rows; default: as many as the table has.")] = None,
    out: TableFile = None,
    json: Json = False,
) -> None:
    """Make a synthetic table from a plan's table, ledger and budget; without --out show what it would cost."""
    from sfumato.cli.tables import synthesize as run

    run(plan, (epsilon, delta, rho), columns, rows, out, json)


@app.command(epilog="Example: sfumato sanitize people.toml --epsilon 2 --delta 1e-6 --column age --out people.parquet")
def sanitize(
    plan: PlanFile,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    columns: Columns = None,
    together: Annotated[list[str] | None, typer.Option(help="Numbers that are one vector: x0,x1,x2; repeat.")] = None,
    out: TableFile = None,
    json: Json = False,
) -> None:
    """Publish a perturbed copy of a plan's table, record by record; without --out show what it would cost."""
    from sfumato.cli.tables import sanitize as run

    run(plan, (epsilon, delta, rho), columns, together, out, json)


@app.command(epilog="Example: sfumato show people-report/releases/mean-height.json")
def show(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A saved release.", show_default=False)],
    json: Json = False,
) -> None:
    """Show a saved release: answers, error bars, guarantee, certificate."""
    from sfumato.cli.show import run

    run(release, json)


@app.command(
    epilog="Examples: sfumato audit mypackage.noise:release --epsilon 1 --seconds 30, or "
    'sfumato audit people.toml --release "mean height"'
)
def audit(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="module:function, or a plan.", show_default=False)],
    release: Annotated[str | None, typer.Option(help="The release of the plan to attack.")] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="The claim's epsilon; without a claim, the largest that can be shown.")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The claim's delta.")] = None,
    rho: Annotated[float | None, typer.Option(help="The claim's rho, instead of epsilon.")] = None,
    seconds: Annotated[float, typer.Option(help="How long to look for evidence.")] = 60.0,
    adjacency: Annotated[
        str, typer.Option(help="Neighbors of a function: add-remove, replace, l1, l2 or linf.")
    ] = "add-remove",
    inputs: Annotated[str | None, typer.Option(help="An example of a function's data, such as '[1.0, 2.5]'.")] = None,
    bounds: Annotated[
        tuple[float, float] | None, typer.Option(help="The lowest and highest value of a function's records.")
    ] = None,
    fixed_size: Annotated[
        bool, typer.Option("--fixed-size", help="Under replace: only tables of the inputs' size.")
    ] = False,
    real_arithmetic: Annotated[
        bool, typer.Option("--real-arithmetic", help="The claim assumes real numbers: set low bits of floats aside.")
    ] = False,
    stop: Annotated[
        bool, typer.Option("--stop", help="Stop at the first evidence, without a sharper epsilon.")
    ] = False,
    cores: Annotated[int | None, typer.Option(help="Processes that share the runs; all cores by default.")] = None,
    json: Json = False,
) -> None:
    """Attack a privacy claim, or show the largest epsilon without one.  No evidence proves nothing.

    The exit code is 1 when there is evidence against a claim; then the output is a script that reproduces it.
    """
    import os

    from sfumato.cli.audit import Wanted, run

    used = len(os.sched_getaffinity(0)) if cores is None else cores
    wanted = Wanted(seconds, adjacency, inputs, bounds, real_arithmetic, fixed_size, stop, used)
    run(target, release, (epsilon, delta, rho), wanted, json)


@app.command(epilog="Example: sfumato collect browser.toml reports/*.sfr")
def collect(
    collection: CollectionFile,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Messages (.sfr), or tables with --column.", show_default=False)
    ],
    journal: JournalFile = None,
    column: Annotated[str | None, typer.Option(help="The column of reports, where FILE is a table.")] = None,
    close: Annotated[bool, typer.Option("--close", help="End the round afterwards and open the next.")] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="With --close: erase the marks that recognize replays.")
    ] = False,
    json: Json = False,
) -> None:
    """Take in randomized reports, each once; what is malformed, repeated or replayed is refused and counted."""
    from sfumato.cli.collect import Options, run

    run(collection, files, Options(journal, column, close, forget), json)


@app.command(epilog="Example: sfumato estimate browser.toml --joint --plot browser.svg")
def estimate(
    collection: CollectionFile,
    journal: JournalFile = None,
    round: Annotated[int | None, typer.Option(help="Which round; default: the latest.")] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    joint: Annotated[bool, typer.Option("--joint", help="Intervals that hold for all values at once.")] = False,
    consistent: Annotated[bool, typer.Option("--consistent", help="Show the nearest distribution.")] = False,
    out: Annotated[Path | None, typer.Option(help="Save the estimate as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a picture: .svg, .png or .html.")] = None,
    json: Json = False,
) -> None:
    """Show what the collected reports say, with intervals whose coverage is proven."""
    from sfumato.cli.estimate import Options, run

    run(collection, Options(journal, round, level, joint, consistent, out, plot), json)


@ledgers.command("show", epilog="Example: sfumato ledger show people.ledger")
def ledger_show(ledger: LedgerFile, json: Json = False) -> None:
    """Show terms, charges, what is spent and what is left."""
    from sfumato.cli.ledger import show

    show(ledger, json)


@ledgers.command("verify", epilog="Example: sfumato ledger verify people.ledger --head 670aad25...")
def ledger_verify(
    ledger: LedgerFile,
    head: Annotated[list[str] | None, typer.Option(help="A head that a release printed; repeat for more.")] = None,
    json: Json = False,
) -> None:
    """Check the whole chain, the totals and the stored releases; exit code 4 when something is wrong."""
    from sfumato.cli.ledger import verify

    verify(ledger, head or [], json)


@ledgers.command("export", epilog="Example: sfumato ledger export people.ledger --out people.ledger.json")
def ledger_export(
    ledger: LedgerFile,
    out: Annotated[Path | None, typer.Option(help="Where to write; otherwise it is printed.")] = None,
    json: Json = False,
) -> None:
    """Write every entry as JSON, oldest first."""
    from sfumato.cli.ledger import export

    export(ledger, out, json)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    chosen = sys.argv[1:] if arguments is None else arguments
    tolerant()
    try:
        app(args=chosen, prog_name="sfumato")
    except Exception as error:
        sys.exit(explain(error, "--json" in chosen))
