"""The commands of the query service, and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.ledgers import Json, ledgers
from sfumato.cli.options import PlanFile

__all__ = ["analysts", "register", "serve", "whole"]

analysts = typer.Typer(no_args_is_help=True, help="Tokens for those who may ask the service: add, list, revoke.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The analyst, as the plan names them.", show_default=False)]


def _version(asked: bool) -> None:
    if asked:
        from sfumato.version import VERSION

        typer.echo(f"sfumato {VERSION}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version.")]


def whole(version: Version = False) -> None:
    """What stands before any command."""


def register(app: typer.Typer) -> None:
    """Add the commands about ledgers, and those of the service."""
    app.add_typer(ledgers, name="ledger")
    app.add_typer(analysts, name="analyst")
    app.command(epilog="Example: sfumato serve people.toml")(serve)


def serve(
    plans: Annotated[
        list[Path] | None, typer.Argument(metavar="PLAN...", help="One plan for each dataset.", show_default=False)
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need TLS.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0: any that is free.", min=0, max=65535)] = 8000,
    workers: Annotated[int, typer.Option(help="Processes.", min=1, max=64)] = 1,
    certificate: Annotated[Path | None, typer.Option(help="The file of a TLS certificate, with its chain.")] = None,
    key: Annotated[Path | None, typer.Option(help="The file of its key.")] = None,
    behind_proxy: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A proxy there does TLS; it is believed where requests come from."),
    ] = None,
    playground: Annotated[
        bool, typer.Option("--playground", help="Invented data to try questions on, truth beside the private answer.")
    ] = False,
    collect: Annotated[
        list[Path] | None, typer.Option(help="A collection or inquiry whose reports are taken here; repeat for more.")
    ] = None,
    relay: Annotated[
        str | None, typer.Option(metavar="URL", help="With --collect: the relay that pages send to, of batches.")
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="With --collect: a site whose pages may send; repeat.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="With --collect: messages of a sender in a window.", min=1)] = None,
    window: Annotated[float, typer.Option(help="Seconds of a window.")] = 3600.0,
    open_metrics: Annotated[
        bool, typer.Option("--open-metrics", help="Let this machine read /metrics without a steward's token.")
    ] = False,
) -> None:
    """Let analysts ask over HTTP: plans say who may, and for how much; nobody sees the data."""
    from sfumato.cli.console import say
    from sfumato.server.local.terms import Collecting
    from sfumato.server.running import Running, run

    names = tuple(str(plan) for plan in plans or ())
    tls = [None if file is None else str(file) for file in (certificate, key)]
    files = tuple(str(file) for file in collect or ())
    collecting = Collecting(files, relay, tuple(origin or ()), limit, window)
    running = Running(names, host, port, workers, tls[0], tls[1], behind_proxy, playground, collecting, open_metrics)

    def announce(url: str) -> None:
        say(f"serving {', '.join((*names, *files)) or 'the playground'} at {url}")
        for line in collecting.directions(url):
            say(line)

    run(running, announce)


@analysts.command("add", epilog="Example: sfumato analyst add people.toml ana --expires 90d")
def analyst_add(
    plan: PlanFile,
    name: Name,
    expires: Annotated[str | None, typer.Option(help="How long the token is let in: 12h, 90d, 8w.")] = None,
    also: Annotated[list[Path] | None, typer.Option(help="Another plan that the token is for; repeat.")] = None,
    json: Json = False,
) -> None:
    """Make a token for an analyst of a plan; it is printed once, and only its hash is kept."""
    from sfumato.cli.tokens import add

    add([plan, *(also or [])], name, expires, json)


@analysts.command("list", epilog="Example: sfumato analyst list people.toml")
def analyst_list(plan: PlanFile, json: Json = False) -> None:
    """Show who may ask, and their tokens by the beginning of their hash."""
    from sfumato.cli.tokens import show

    show(plan, json)


@analysts.command("revoke", epilog="Example: sfumato analyst revoke people.toml ana")
def analyst_revoke(
    plan: PlanFile,
    name: Name,
    token: Annotated[str, typer.Option(help="Only the token whose hash begins so, as `list` shows it.")] = "",
    json: Json = False,
) -> None:
    """End the tokens of an analyst; the service lets none of them in from the next second on."""
    from sfumato.cli.tokens import revoke

    revoke(plan, name, token, json)
