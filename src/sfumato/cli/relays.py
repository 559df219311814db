"""The commands between devices and the collector, and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["CollectionFile", "JournalFile", "People", "key", "relay"]

CollectionFile = Annotated[
    Path, typer.Argument(metavar="COLLECTION", help="A declared collection, TOML or JSON.", show_default=False)
]
JournalFile = Annotated[Path | None, typer.Option(help="The journal; default: beside the collection, .journal.")]
People = Annotated[
    int | None, typer.Option(help="Collect nothing: show how large the error will be if so many report.")
]


def relay(
    collection: CollectionFile,
    out: Annotated[Path | None, typer.Option(help="The folder that batches are put into.")] = None,
    to: Annotated[
        str | None, typer.Option(metavar="URL", help="The collector's server that batches are posted to.")
    ] = None,
    token: Annotated[
        Path | None, typer.Option(help="With --to: the collector's token; default: beside the collection, .token.")
    ] = None,
    listen: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Take messages there, over HTTP.")] = None,
    least: Annotated[int | None, typer.Option(help="The smallest batch; default: as declared.")] = None,
    full: Annotated[
        int | None, typer.Option(help="Let batches of this size leave before the round ends; default: none.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="How many messages a sender may send in a window.")] = None,
    window: Annotated[float, typer.Option(help="Seconds of a window.")] = 3600.0,
    origin: Annotated[
        list[str] | None, typer.Option(metavar="URL", help="A site whose pages may send here; repeat it for more.")
    ] = None,
    behind_proxy: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="What stands in front, and is believed who sent a message.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="For TLS: the certificate's file.")] = None,
    key: Annotated[Path | None, typer.Option(help="For TLS: the file of the certificate's key.")] = None,
    store: Annotated[
        Path | None, typer.Option(help="The relay's file; default: beside the collection, .relay.")
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="ROUND", help="End a round: what waits leaves, if enough.")] = None,
    discard: Annotated[
        bool, typer.Option("--discard", help="With --end: throw away reports that are too few to leave.")
    ] = False,
) -> None:
    """Stand between devices and the collector: drop addresses, limit senders, gather, shuffle, send on."""
    from sfumato.cli.relay import Options, run

    if (certificate is None) != (key is None):
        raise typer.BadParameter("--certificate and --key go together")
    tls = None if certificate is None else (str(certificate), str(key))
    origins = frozenset(origin or ())
    run(
        collection,
        Options(out, to, token, store, least, full, listen, limit, window, origins, behind_proxy, tls, end, discard),
    )


def key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the private key shall be.", show_default=False)],
) -> None:
    """Make a key that reports are sealed to: the private one stays in the file, the public one is shown."""
    from sfumato.cli.relay import make_key

    make_key(file)
