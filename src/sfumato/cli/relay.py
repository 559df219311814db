"""Running a relay, ending its rounds, and making the key that reports are sealed to."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path

from sfumato.cli.console import say
from sfumato.errors import ParameterError
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.keys import new_key
from sfumato.local.relay.limit import Limit
from sfumato.local.relay.relay import Relay
from sfumato.local.relay.serving import Server

__all__ = ["Options", "make_key", "run"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for."""

    out: Path
    store: Path | None
    least: int | None
    full: int | None
    listen: str | None
    limit: int | None
    window: float
    end: str | None
    discard: bool


def run(declaration: Path, options: Options) -> None:
    """Listen until told to stop, or end one round."""
    if (options.listen is None) == (options.end is None):
        raise ParameterError("give --listen HOST:PORT to take messages, or --end ROUND to end a round")
    if options.discard and options.end is None:
        raise ParameterError("--discard goes with --end: it throws away what is too little to leave")
    if not options.out.is_dir():
        raise ParameterError(f"--out: {options.out} is no folder; make it first, batches are put there")
    collection = Collection.read(declaration)
    relay = Relay(collection, options.store or declaration.with_suffix(".relay"), options.least, options.full)
    if options.end is not None:
        count = relay.end(options.end, discard=options.discard)
        files = relay.deliver(options.out)
        say(f"round {options.end} of {collection.name!r} has ended: {count:,} reports left in the last batch")
        for path in files:
            say(str(path))
        return
    assert options.listen is not None
    limit = None if options.limit is None else Limit(options.limit, options.window)
    _serve(Server(relay, options.out, _address(options.listen), limit))


def make_key(path: Path) -> None:
    """Make a key pair and show the public half."""
    public = new_key(path)
    say(f'key = "{public}"')


def _serve(server: Server) -> None:
    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    print(f"listening at {server.url}", flush=True)  # before anything else, for whoever started it
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        server.server_close()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise ParameterError(f"--listen is HOST:PORT, such as 127.0.0.1:8100, not {text!r}")
    return host.strip("[]"), int(port)
