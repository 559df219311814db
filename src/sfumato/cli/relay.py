"""Running a relay, ending its rounds, and making the key that reports are sealed to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sfumato.cards import counted
from sfumato.cli.console import say
from sfumato.errors import ParameterError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.keys import new_key
from sfumato.local.relay.delivering import posted
from sfumato.local.relay.limit import Limit
from sfumato.local.relay.relay import Relay
from sfumato.local.relay.tokens import token_of

__all__ = ["Options", "make_key", "run"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    out: Path | None
    to: str | None
    token: Path | None
    store: Path | None
    least: int | None
    full: int | None
    listen: str | None
    limit: int | None
    window: float
    origins: frozenset[str]
    proxy: str | None
    certificate: tuple[str, str] | None
    end: str | None
    discard: bool


def run(declaration: Path, options: Options) -> None:
    """Listen until told to stop, or end one round."""
    if (options.listen is None) == (options.end is None):
        raise ParameterError("give --listen HOST:PORT to take messages, or --end ROUND to end a round")
    if options.discard and options.end is None:
        raise ParameterError("--discard goes with --end: it throws away what is too little to leave")
    _apart(declaration)
    collection = Collection.read(declaration)
    deliver = _delivery(declaration, options)
    relay = Relay(collection, options.store or declaration.with_suffix(".relay"), options.least, options.full)
    if options.end is not None:
        before = relay.ended(options.end)
        count = relay.end(options.end, discard=options.discard)
        files = deliver(relay)
        told = "had ended before, and nothing more leaves" if before else f"has ended: {counted(count, 'report')} left"
        say(f"round {options.end} of {collection.name!r} {told}" + ("" if before else " in the last batch"))
        for path in files:
            say(str(path))
        return
    _serve(relay, declaration, lambda: deliver(relay), options)


def _apart(declaration: Path) -> None:
    """A relay that holds the key opens what it carries: that is refused, as far as it can be seen."""
    key = declaration.with_suffix(".key")
    if key.exists():
        raise ParameterError(
            f"{key} opens what this relay would carry; key and relay are for different people, on different machines: "
            "give the relay a copy of the declaration in a folder without the key"
        )


def _delivery(declaration: Path, options: Options) -> Callable[[Relay], list[Path]]:
    """What takes batches away: into a folder, or to the collector."""
    if (options.out is None) == (options.to is None):
        raise ParameterError("give --out FOLDER, or --to URL of the collector: batches go there")
    if options.to is not None:
        url = f"{options.to.rstrip('/')}/local/{declaration.stem}/batches"
        token = token_of(options.token or declaration.with_suffix(".token"))

        def post(relay: Relay) -> list[Path]:
            posted(relay, url, token)
            return []

        return post
    out = options.out
    assert out is not None
    if not out.is_dir():
        raise ParameterError(f"--out: {out} is no folder; make it first, batches are put there")
    return lambda relay: relay.deliver(out)


def make_key(path: Path) -> None:
    """Make a key pair and show the public half."""
    public = new_key(path)
    say(f'key = "{public}"')


def _serve(relay: Relay, declaration: Path, deliver: Callable[[], object], options: Options) -> None:
    from sfumato.server.connections import address_of, bound, serve, server_of
    from sfumato.server.local.alone import application
    from sfumato.server.local.collecting import named
    from sfumato.server.local.relaying import relaying
    from sfumato.server.local.terms import Terms
    from sfumato.server.places import is_loopback

    assert options.listen is not None
    terms = Terms(None if options.limit is None else Limit(options.limit, options.window), options.origins)
    name, secure = named(declaration), options.certificate is not None
    address = address_of(options.listen)
    if not (is_loopback(address[0]) or secure or options.proxy is not None):
        raise ParameterError(
            f"--listen {options.listen} can be reached by others: give --certificate and --key, or say "
            "--behind-proxy ADDRESS where one on the way does TLS"
        )
    (listening,) = bound(address)
    host, port = listening.getsockname()[:2]
    where = f"[{host}]" if ":" in host else host
    with listening, relaying(relay, name, deliver, terms) as router:
        print(f"listening at http{'s' * secure}://{where}:{port}/local/{name}", flush=True)  # for whoever started it
        serve(server_of(application(router), options.certificate, options.proxy), [listening])
