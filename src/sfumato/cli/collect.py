"""Taking in reports: files of messages, or a column of a table, into the journal of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.console import print_json, progress_bar, say
from sfumato.errors import ParameterError, ReportError, SchemaError, SfumatoError
from sfumato.local.client.wire import HEADER, MAGIC, digest_of
from sfumato.local.collection.collector import REASONS, Collector, Receipt
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.feeds import add_file
from sfumato.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Options", "opened", "run"]

TABLES = (".parquet", ".pq", ".csv", ".tsv", ".duckdb", ".ddb", ".db")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for beyond the files."""

    journal: Path | None
    column: str | None
    close: bool
    forget: bool


def run(declaration: Path, files: list[Path], options: Options, as_json: bool) -> None:
    """Collect from each file, in order, and say what was counted and what was refused."""
    if options.forget and not options.close:
        raise ParameterError("--forget goes with --close: marks are erased when a round ends")
    collector = opened(declaration, options.journal)
    found = _collected(collector, files, options.column, quiet=as_json)
    if options.close:
        collector.close(options.forget)
    if as_json:
        print_json(_record(collector, found))
    else:
        _show(collector, found)
    _complain(collector, found)


def opened(declaration: Path, journal: Path | None) -> Collector:
    """The collector of a declared collection; reports in place of a declaration are recognized and named."""
    if declaration.is_file():
        with declaration.open("rb") as file:
            head = file.read(HEADER.size)
        if head[: len(MAGIC)] == MAGIC:
            raise SchemaError(
                f"{declaration} holds reports, not a collection: they were made by {_maker(head, declaration.parent)}; "
                "give the collection's file (.toml or .json) first"
            )
    return Collector.open(declaration, journal)


def _maker(message: bytes, *places: Path) -> str:
    """Which protocol made a message, by the declarations that lie around; else its digest."""
    try:
        digest = digest_of(message)
    except ReportError as error:
        return f"no protocol that can be told ({error})"
    for path in sorted({path for place in places for path in place.iterdir() if path.suffix in (".toml", ".json")}):
        try:
            declared = Collection.read(path)
        except SfumatoError:
            continue
        if declared.protocol.digest == digest:
            return f"protocol {declared.protocol.name!r} of the collection {declared.name!r} ({path})"
    return f"a protocol with digest {digest.hex()}, which no collection file nearby declares"


def _collected(collector: Collector, files: list[Path], column: str | None, quiet: bool) -> dict[Path, list[Receipt]]:
    found: dict[Path, list[Receipt]] = {}
    for path in files:
        if not path.is_file():
            raise SchemaError(f"there is no file {path}; check the path")
    with _progress(quiet) as bar:
        task = bar.add_task("", total=sum(path.stat().st_size for path in files))
        for path in files:
            bar.update(task, description=visible(path.name))
            if column is not None and path.suffix.lower() in TABLES:
                from sfumato.engines.reports import add_column
                from sfumato.engines.sources import open_source

                found[path] = [add_column(collector, open_source(path), column, f"{path.name}#{column}")]
                bar.advance(task, path.stat().st_size)
            elif path.suffix.lower() in TABLES:
                raise ParameterError(f"{path} is a table; name the column that holds reports with --column")
            else:
                found[path] = add_file(collector, path, lambda size: bar.advance(task, size))
    return found


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn

    with progress_bar(BarColumn(), DownloadColumn(), TimeRemainingColumn(), quiet=quiet) as bar:
        yield bar


def _record(collector: Collector, found: dict[Path, list[Receipt]]) -> dict[str, Any]:
    state = collector.state
    return {
        "collection": collector.collection.name,
        "journal": str(collector.journal.path),
        "round": state.number,
        "reports": state.reports,
        "refused": state.refused,
        "files": [
            {"file": str(path), "accepted": _accepted(receipts), "known": sum(r.before for r in receipts),
             "refused": dict(_refused(receipts))}
            for path, receipts in found.items()
        ],
    }  # fmt: skip


def _show(collector: Collector, found: dict[Path, list[Receipt]]) -> None:
    for path, receipts in found.items():
        known = sum(receipt.before for receipt in receipts)
        parts = [f"{_accepted(receipts):,} reports counted"]
        parts += [f"{known:,} messages known already"] if known else []
        parts += [f"refused {count:,} {REASONS[reason]}: {reason}" for reason, count in _refused(receipts).items()]
        say(f"{path}: " + "; ".join(parts))
    state = collector.state
    say(f"round {state.number} of {collector.collection.name!r} holds {state.reports:,} reports")


def _complain(collector: Collector, found: dict[Path, list[Receipt]]) -> None:
    """A file of which nothing could be used is an error; it says whose reports they are, where that is known."""
    for path, receipts in found.items():
        if receipts and not any(receipt.accepted or receipt.before for receipt in receipts):
            first = receipts[0]
            if "another protocol" in first.refused:
                with path.open("rb") as file:
                    maker = _maker(file.read(HEADER.size), path.absolute().parent, collector.journal.path.parent)
                raise ReportError(f"{path} was made by {maker}; this collection is {collector.collection.name!r}")
            raise ReportError(f"{path}: {first.words}")


def _accepted(receipts: list[Receipt]) -> int:
    return sum(receipt.accepted for receipt in receipts if not receipt.before)


def _refused(receipts: list[Receipt]) -> Counter[str]:
    total: Counter[str] = Counter()
    for receipt in receipts:
        total.update({} if receipt.before else receipt.refused)
    return total
