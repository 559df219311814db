"""The commands and their help.  Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import failures
from sfumato.cli import options as given
from sfumato.cli.commands import command_for, own_process
from sfumato.cli.console import tolerant
from sfumato.cli.ledgers import Json
from sfumato.cli.options import Amounts, Columns, Delta, Epsilon, Persons, PlanFile, Rho, TableFile, TableName, Version
from sfumato.cli.ordering import ORDER, InOrder
from sfumato.cli.questions import ask, sql
from sfumato.cli.relays import CollectionFile, JournalFile, People, key, relay
from sfumato.cli.serving import register, whole

__all__ = ["app", "main"]

app = typer.Typer(
    name="sfumato",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Private answers with their guarantee, error bar and certificate.\n\n"
    "[bold]draft[/] a plan for your table, fill in what is public, look at it with [bold]preview[/] (free), "
    f"then [bold]publish[/].\n\n{failures.EXIT_CODES}",
)
register(app)
app.callback()(whole)

COLUMN = (
    "Where FILE is a table: its column of bare reports (not messages). A table is known again by the identical bytes "
    "of its file; one that was exported anew or has grown counts again, in full."
)


@app.command(epilog="Example: sfumato draft people.parquet --out people.toml")
def draft(
    file: given.SourceFile = None,
    table: Annotated[str | None, typer.Option(help="The table inside a DuckDB file, or of an engine.")] = None,
    header: Annotated[bool, typer.Option("--header", help="The first line of a text file names the columns.")] = False,
    codebook: given.Codebook = None,
    template: Annotated[bool, typer.Option("--template", help="An empty codebook to fill in, not a plan.")] = False,
    engine: Annotated[str | None, typer.Option(help="spark or postgres, where the table is theirs.")] = None,
    connection: given.Connection = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the plan; otherwise it is printed.")] = None,
    json: Json = False,
) -> None:
    """Write a starting plan from column names, types and a codebook, never from values."""
    from sfumato.cli.draft import run

    run(file, table, header, out, json, codebook, template, engine, connection)


@app.command(epilog="Example: sfumato preview people.toml")
def preview(plan: PlanFile, version: Version = None, json: Json = False) -> None:
    """Show what each release of a plan would cost and how accurate it would be; spends nothing, reads no data."""
    from sfumato.cli.preview import run

    run(plan, json, version)


@app.command(epilog="Example: sfumato check people.toml")
def check(plan: PlanFile, version: Version = None, json: Json = False) -> None:
    """Show the steward what coercion and bounding do to each column: exact and secret, not to be released."""
    from sfumato.cli.check import run

    run(plan, json, version)


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
    version: Version = None,
    json: Json = False,
) -> None:
    """Release everything in a plan, in order.  Run it again after a crash: what is stored costs nothing."""
    from sfumato.cli.publish import run

    run(plan, out, new_ledger, json, version)


@app.command(epilog="Example: sfumato synthesize people.toml --epsilon 1 --delta 1e-6 --out synthetic.parquet")
def synthesize(
    plan: PlanFile,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    columns: Columns = None,
    rows: Annotated[int | None, typer.Option(help="How many rows; default: as many as the table has.")] = None,
    good_for: Annotated[str, typer.Option(help="What to be good at: marginals, smooth, or both.")] = "marginals",
    target: Annotated[str | None, typer.Option(help="A column that the others are to predict.")] = None,
    keep: Annotated[
        list[str] | None, typer.Option(help="A rule that every row keeps, such as 'start <= end'; repeat for more.")
    ] = None,
    person: Persons = None,
    workload: Annotated[
        Path | None, typer.Option(help="A TOML or JSON file that lists queries to answer well: workload = [...].")
    ] = None,
    triples: given.Triples = False,
    cuts: given.Cuts = None,
    weight: given.Weights = None,
    name: TableName = None,
    out: TableFile = None,
    version: Version = None,
    json: Json = False,
) -> None:
    """Make a synthetic table from a plan's table, ledger and budget; without --out show what it would cost."""
    from sfumato.cli.tables import synthesize as run

    own = rows, good_for, target, keep, person, workload, cuts, triples, weight
    run(plan, (epsilon, delta, rho), columns, *own, out, json, name, version)


@app.command(epilog="Example: sfumato more synthetic.parquet --rows 5000 --given 'age >= 60' --out older.csv")
def more(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A saved synthetic table.", show_default=False)],
    rows: Annotated[int, typer.Option(help="How many rows.")],
    out: Annotated[Path, typer.Option(help="A .parquet or .csv file, or a new folder of Parquet files.")],
    given: Annotated[str | None, typer.Option(help="A condition that holds in all of them.")] = None,
    after: Annotated[
        int, typer.Option(help="How many rows were drawn before: made-up keys and persons number on.")
    ] = 0,
) -> None:
    """Draw more rows like those of a synthetic table, free; all of them where a condition holds, if one is given."""
    from sfumato.cli.tables import more as run

    run(table, rows, given, after, out)


app.command(epilog="Example: sfumato ask synthetic.parquet mean --column salary --by state --where 'age >= 60'")(ask)
app.command(epilog="Example: sfumato sql people.toml 'SELECT state, avg(salary) FROM people GROUP BY state'")(sql)


@app.command(epilog="Example: sfumato sanitize people.toml --epsilon 2 --delta 1e-6 --column age --out s.parquet")
def sanitize(
    plan: PlanFile,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    columns: Columns = None,
    together: Annotated[list[str] | None, typer.Option(help="Numbers that are one vector: x0,x1,x2; repeat.")] = None,
    least: Annotated[
        str, typer.Option(help="What the noise makes least: spread (means are read without bias) or distance.")
    ] = "spread",
    name: TableName = None,
    out: TableFile = None,
    version: Version = None,
    json: Json = False,
) -> None:
    """Publish a perturbed copy of a plan's table, record by record; without --out show what it would cost."""
    from sfumato.cli.tables import sanitize as run

    run(plan, (epsilon, delta, rho), columns, together, least, out, json, name, version)


@app.command(epilog="Example: sfumato extent people.toml --column income --epsilon 0.1 --out narrower.toml")
def extent(
    plan: PlanFile,
    column: Annotated[str, typer.Option(help="A column of numbers, declared more widely than need be.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    outside: Annotated[float, typer.Option(help="The share of rows that may lie beyond the two ends.")] = 0.01,
    out: Annotated[Path | None, typer.Option(help="The new plan; without it, a free preview.")] = None,
    version: Version = None,
    json: Json = False,
) -> None:
    """Release a private range of a column, charged, and write a new plan that declares it as the column's bounds."""
    from sfumato.cli.extent import run

    run(plan, column, (epsilon, delta, rho), outside, out, json, version)


@app.command(epilog="Example: sfumato show people-report/releases/mean-height.json")
def show(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A saved release.", show_default=False)],
    adding_up: Annotated[
        bool, typer.Option("--adding-up", help="Counts as whole numbers, none negative, whose margins agree.")
    ] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Of a synthetic table: the predicted errors of all columns and pairs.")
    ] = False,
    json: Json = False,
) -> None:
    """Show a saved release: answers, error bars, guarantee, certificate."""
    from sfumato.cli.show import run

    run(release, json, adding_up, errors)


@app.command(epilog="Example: sfumato explain people-report/releases/mean-height.json")
def explain(
    release: Annotated[
        Path, typer.Argument(metavar="RELEASE", help="A saved release or estimate.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Say in plain words what a release promised, what somebody could learn from it, and what its error bar means."""
    from sfumato.cli.explain import run

    run(release, json)


@app.command(
    cls=InOrder,
    epilog="Examples: sfumato epsilon --gaussian 20 --times 1000 --delta 1e-6, or "
    "sfumato epsilon --laplace 50 --times 40 --response 0.75 --shuffled 10000 --delta 1e-6",
)
def epsilon(
    context: typer.Context,
    gaussian: Annotated[Amounts, typer.Option(help="A release with Gaussian noise of this sigma.")] = None,
    laplace: Annotated[Amounts, typer.Option(help="Laplace noise of this scale, on the real numbers.")] = None,
    discrete_gaussian: Annotated[Amounts, typer.Option(help="Gaussian noise on the integers.")] = None,
    discrete_laplace: Annotated[Amounts, typer.Option(help="Laplace noise on the integers.")] = None,
    response: Annotated[Amounts, typer.Option(help="Randomized response, true with this probability.")] = None,
    pure: Annotated[Amounts, typer.Option(help="Anything with this epsilon.")] = None,
    approximate: Annotated[
        list[str] | None, typer.Option(help="Anything with this epsilon and delta: 0.5,1e-9.")
    ] = None,
    rho: Annotated[Amounts, typer.Option(help="Anything with this rho.")] = None,
    times: Annotated[list[int] | None, typer.Option(help="How often; of the noise before it, as all below.")] = None,
    sensitivity: Annotated[Amounts, typer.Option(help="How far one unit moves the answer; default: 1.")] = None,
    sampled: Annotated[Amounts, typer.Option(help="The rate of a secret Poisson sample.")] = None,
    shuffled: Annotated[list[int] | None, typer.Option(help="Among so many honest, shuffled reports.")] = None,
    values: Annotated[list[int] | None, typer.Option(help="Values of randomized response; default: 2.")] = None,
    delta: Annotated[float | None, typer.Option(help="The delta at which epsilon is asked for.")] = None,
    at: Annotated[float | None, typer.Option(help="Ask for delta at this epsilon instead.")] = None,
    json: Json = False,
) -> None:
    """Compute how private releases are together, from both sides; repeat for several kinds of noise, in order."""
    from sfumato.cli.epsilon import run

    given = {
        "gaussian": gaussian, "laplace": laplace, "discrete-gaussian": discrete_gaussian,
        "discrete-laplace": discrete_laplace, "response": response, "pure": pure, "approximate": approximate,
        "rho": rho, "times": times, "sensitivity": sensitivity, "sampled": sampled, "shuffled": shuffled,
        "values": values,
    }  # fmt: skip
    run(context.meta[ORDER], {name: found or [] for name, found in given.items()}, delta, at, json)


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
    version: Version = None,
    json: Json = False,
) -> None:
    """Attack a privacy claim, or show the largest epsilon without one.  No evidence proves nothing.

    The exit code is 1 when there is evidence against a claim; then the output is a script that reproduces it.
    """
    from sfumato.cli.audit import Wanted, run

    used = len(os.sched_getaffinity(0)) if cores is None else cores
    wanted = Wanted(seconds, adjacency, inputs, bounds, real_arithmetic, fixed_size, stop, used)
    run(target, release, (epsilon, delta, rho), wanted, json, version)


@app.command(epilog="Example: sfumato collect browser.toml reports/*.sfr")
def collect(
    collection: CollectionFile,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="Messages (.sfr), or tables with --column; none to --close only.",
            show_default=False,
        ),
    ] = None,
    journal: JournalFile = None,
    column: Annotated[str | None, typer.Option(help=COLUMN)] = None,
    round: Annotated[
        str | None, typer.Option(help="The round of a table's reports, and the one to close; messages name theirs.")
    ] = None,
    close: Annotated[bool, typer.Option("--close", help="End the round afterwards: it takes no more reports.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="With --close: erase replay marks.  Merge before.")] = False,
    key: Annotated[
        Path | None, typer.Option(help="The private key of sealed reports; default: beside the collection, .key.")
    ] = None,
    turn: Annotated[bool, typer.Option("--turn", help="End an inquiry's turn; write the next question.")] = False,
    question: Annotated[Path | None, typer.Option(help="Where to write it; default: .question.json.")] = None,
    people: People = None,
    json: Json = False,
) -> None:
    """Take in randomized reports, each once; what is malformed, repeated or replayed is refused and counted."""
    if people is not None:
        from sfumato.cli.collect import foresee

        return foresee(collection, people, bool(files) or close or turn, json)
    from sfumato.cli import turns
    from sfumato.cli.collect import Options, run

    if turns.meant(collection, turn or question is not None):
        given = {"--column": column is not None, "--close": close, "--forget": forget, "--key": key is not None}
        return turns.run(collection, files or [], turns.Options(journal, round, turn, question), given, json)
    run(collection, files or [], Options(journal, column, round, close, forget, key), json)


app.command(epilog="Example: sfumato relay browser.json --listen 127.0.0.1:8100 --out batches --limit 20")(relay)
app.command(epilog="Example: sfumato key browser.key")(key)


@app.command(epilog="Example: sfumato merge browser.toml whole.journal europe.journal asia.journal")
def merge(
    collection: CollectionFile,
    whole: Annotated[
        Path, typer.Argument(metavar="JOURNAL", help="The journal of the whole, made if missing.", show_default=False)
    ],
    pieces: Annotated[
        list[Path], typer.Argument(metavar="PIECE", help="Journals of the same collection.", show_default=False)
    ],
    json: Json = False,
) -> None:
    """Add journals of one collection up, round by round, each once; a piece takes no more reports afterwards."""
    from sfumato.cli.collect import merge

    merge(collection, whole, pieces, json)


@app.command(epilog="Example: sfumato estimate browser.toml --joint --plot browser.svg")
def estimate(
    collection: CollectionFile,
    journal: JournalFile = None,
    round: Annotated[str | None, typer.Option(help="Which round; default: the latest that has reports.")] = None,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    joint: Annotated[bool, typer.Option("--joint", help="Intervals that hold for all values at once.")] = False,
    consistent: Annotated[bool, typer.Option("--consistent", help="Show the nearest distribution.")] = False,
    out: Annotated[Path | None, typer.Option(help="Save the estimate: .json, or its table: .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a picture: .svg, .png or .html.")] = None,
    series: Annotated[bool, typer.Option("--series", help="All rounds, over time.")] = False,
    against: Annotated[str | None, typer.Option(help="An earlier round: what changed since.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Show all rows, however many.")] = False,
    json: Json = False,
) -> None:
    """Show what the collected reports say, with intervals whose coverage is proven."""
    from sfumato.cli import turns
    from sfumato.cli.estimate import Options, run

    if turns.meant(collection):
        given = {"--plot": plot is not None, "--series": series, "--against": against is not None}
        return turns.estimate(collection, journal, round, out, given, json)
    run(collection, Options(journal, round, level, joint, consistent, out, plot, series, against, all), json)


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    chosen = sys.argv[1:] if arguments is None else arguments
    if arguments is None:
        own_process()
    tolerant()
    try:
        command_for(app, chosen)(args=chosen, prog_name="sfumato")
    except Exception as error:
        sys.exit(failures.explain(error, "--json" in chosen))
