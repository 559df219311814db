"""Taking in reports: files of messages, or a column of a table, into the journal of a collection."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cards import counted
from sfumato.cli.console import complain, print_json, progress_bar, say
from sfumato.errors import ParameterError, ReportError, SchemaError, SfumatoError
from sfumato.local.client.binding import UNBOUND
from sfumato.local.client.wire import HEADER, MAGIC, header_of
from sfumato.local.collection.collector import REASONS, UNOPENED, Collector, Receipt
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.feeds import add_file
from sfumato.local.collection.journal import THIN
from sfumato.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Options", "foresee", "merge", "opened", "run"]

IDLE = {
    "repeated batch",
    "repeated report",
    "closed round",
    "no report",
    UNOPENED,
    THIN,
}  # refusals that honest senders meet, too
THINNED = "counted, but too small to hide a report as declared,"
NAMED = 20  # columns of a table that a refusal lists
TABLES = (".parquet", ".pq", ".csv", ".tsv", ".duckdb", ".ddb", ".db")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for beyond the files."""

    journal: Path | None
    column: str | None
    round: str | None
    close: bool
    forget: bool
    key: Path | None = None


def run(declaration: Path, files: list[Path], options: Options, as_json: bool) -> None:
    """Collect from each file, in order, and say what was counted and what was refused."""
    if options.forget and not options.close:
        raise ParameterError("--forget goes with --close: marks are erased when a round ends")
    if not files and not options.close:
        raise ParameterError("name files to collect from, or give --close to end a round")
    _usable(files, options.column)
    collector = opened(declaration, options.journal, made=bool(files), key=_key(declaration, files, options.key))
    if options.close and collector.collection.bound:
        collector.collection.address(options.round)  # a round that there is not is named before anything is counted
    try:
        found = _collected(collector, files, options, quiet=as_json)
    except KeyboardInterrupt:
        complain("interrupted: what was counted so far stays; run it again, and each message counts once")
        raise
    wrong = _complaints(collector, found)
    if options.close and not wrong:
        collector.close(options.round, forget=options.forget)
    if as_json:
        print_json(_record(collector, found))
    else:
        _show(collector, found)
    if wrong:  # after everything that can be read was counted; a file that is mended can still be counted, too
        rest = "; what could be read is counted" if any(_accepted(receipts) for receipts in found.values()) else ""
        left = "; the round is not closed: mend that, or give --close without these files" if options.close else ""
        raise ReportError("; ".join(wrong) + rest + left)


def foresee(declaration: Path, people: int, others: bool, as_json: bool) -> None:
    """Show how large the error will be, from the declaration alone."""
    from sfumato.cli.turns import meant
    from sfumato.local.collection.preview import preview
    from sfumato.local.interactive.inquiry import Inquiry

    if others:
        raise ParameterError(
            "--people shows what to expect and collects nothing: give it without files, --close, --turn"
        )
    found = preview(Inquiry.read(declaration) if meant(declaration) else declaration, people)
    if as_json:
        print_json({"people": people, "table": found.columns()})
    else:
        say(str(found))


def _key(declaration: Path, files: list[Path], given: Path | None) -> Path | None:
    """The file of the private key: what was given, or the one beside the declaration, if there are reports to open."""
    beside = declaration.with_suffix(".key")
    return given if given is not None or not files or not beside.is_file() else beside


def opened(declaration: Path, journal: Path | None, *, made: bool = True, key: Path | None = None) -> Collector:
    """The collector of a declared collection, with its journal `made` if it is missing, or refused.

    Reports in place of a declaration are recognized and named.
    """
    if declaration.is_file():
        with declaration.open("rb") as file:
            head = file.read(HEADER.size)
        if head[: len(MAGIC)] == MAGIC:
            raise SchemaError(
                f"{declaration} holds reports, not a collection: they were made by {_maker(head, declaration.parent)}; "
                "give the collection's file (.toml or .json) first"
            )
    collection, place = Collection.read(declaration), journal or declaration.with_suffix(".journal")
    if not made and not place.exists():
        raise SchemaError(f"nothing was collected yet: there is no journal {place}; run sfumato collect first")
    return Collector(collection, place, key=None if collection.key is None else key)


def merge(declaration: Path, whole: Path, pieces: list[Path], as_json: bool) -> None:
    """Take the journals of pieces into one, each once."""
    for path in pieces:
        if not path.is_file():
            raise SchemaError(f"there is no journal {path}; check the path")
    parts = {path: opened(declaration, path) for path in pieces}  # refused before the whole is made
    collector, found = opened(declaration, whole), {}
    for path, part in parts.items():
        try:
            found[path] = [collector.merge(part)]
        except SfumatoError as error:
            done = ", ".join(map(str, found)) or "nothing"
            raise ReportError(f"{path}: {error}; {done} was merged before that") from None
    if as_json:
        print_json(_record(collector, found))
    else:
        _show(collector, found)


def _maker(message: bytes, *places: Path, here: Collection | None = None) -> str:
    """Whose a message is, by the declarations that lie around; else what it carries.

    One that is called as the collection `here` is told apart by its digest.
    """
    try:
        carried = header_of(message).address
    except ReportError as error:
        return f"no protocol that can be told ({error})"
    for path in sorted({path for place in places for path in place.iterdir() if path.suffix in (".toml", ".json")}):
        try:
            declared = Collection.read(path)
        except SfumatoError:
            continue
        if carried in (found := declared.addresses()):
            part = f"round {found[carried]} of " if len(declared.rounds) > 1 else ""
            told = f"protocol {declared.protocol.name!r} of {part}the collection {declared.name!r} ({path})"
            return f"{told}, {here.against(declared)}" if here is not None and here.name == declared.name else told
    what = "protocol with digest" if carried.version == UNBOUND else "collection with binding"
    return f"a {what} {carried.binding.hex()}, which no collection file nearby declares"


def _usable(files: list[Path], column: str | None) -> None:
    """Refuse files that cannot be read as they are named, before a journal is made."""
    for path in files:
        if not path.is_file():
            raise SchemaError(f"there is no file {path}; check the path")
        if column is None and path.suffix.lower() in TABLES:
            raise ParameterError(f"{path} is a table; name the column that holds reports with --column")


def _collected(collector: Collector, files: list[Path], options: Options, quiet: bool) -> dict[Path, list[Receipt]]:
    found: dict[Path, list[Receipt]] = {}
    with _progress(quiet) as bar:
        task = bar.add_task("", total=sum(path.stat().st_size for path in files))
        for path in files:
            bar.update(task, description=visible(path.name))
            if options.column is not None and path.suffix.lower() in TABLES:
                receipts = [_tabled(collector, path, options.column, options.round)]
                bar.advance(task, path.stat().st_size)
            else:
                receipts = add_file(collector, path, lambda size: bar.advance(task, size))
            found.setdefault(path, []).extend(receipts)  # a file may be named twice
    return found


def _tabled(collector: Collector, path: Path, column: str, round: str | None) -> Receipt:
    """A column of a table, recognized again by what the file holds, whatever it is called."""
    from sfumato.engines.reports import add_column
    from sfumato.engines.sources import open_source

    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    table = open_source(path)
    if column not in table.columns:  # of reports, whose names are no secret
        names = ", ".join(map(repr, table.columns[:NAMED])) + (", ..." if len(table.columns) > NAMED else "")
        raise SchemaError(f"{path} has no column {column!r}; name one of {names} with --column")
    return add_column(collector, table, column, f"{content}#{column}", round)


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress]:
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn

    with progress_bar(BarColumn(), DownloadColumn(), TimeRemainingColumn(), quiet=quiet) as bar:
        yield bar


def _record(collector: Collector, found: dict[Path, list[Receipt]]) -> dict[str, Any]:
    rounds = collector.journal.rounds()
    state = collector.state
    return {
        "collection": collector.collection.name,
        "journal": str(collector.journal.path),
        "round": state.name,
        "reports": state.reports,
        "refused": state.refused,
        "rounds": [
            {"round": one.name, "closed": one.closed, "reports": one.reports, "refused": one.refused} for one in rounds
        ],
        "files": [
            {"file": str(path), "accepted": _accepted(receipts), "known": sum(r.before for r in receipts),
             "refused": dict(_refused(receipts))}
            for path, receipts in found.items()
        ],
    }  # fmt: skip


def _show(collector: Collector, found: dict[Path, list[Receipt]]) -> None:
    for path, receipts in found.items():
        known = sum(receipt.before for receipt in receipts)
        parts = [f"{counted(_accepted(receipts), 'report')} counted" if receipts else "the file is empty"]
        parts += [f"{counted(known, 'message')} known already"] if known else []
        parts += [f"{THINNED if reason == THIN else 'refused'} {counted(count, REASONS[reason])}: {reason}"
                  for reason, count in _refused(receipts).items()]  # fmt: skip
        say(f"{path}: " + "; ".join(parts))
    for state in collector.journal.rounds() or (collector.state,):
        ended = ", closed" if state.closed else ""
        say(f"round {state.name} of {collector.collection.name!r} holds {counted(state.reports, 'report')}{ended}")


def _complaints(collector: Collector, found: dict[Path, list[Receipt]]) -> list[str]:
    """What is wrong with files that are damaged, empty or somebody else's."""
    return [words for path, receipts in found.items() if (words := _wrong(collector, path, receipts))]


def _wrong(collector: Collector, path: Path, receipts: list[Receipt]) -> str:
    if not receipts:
        return f"{path} is empty; expected messages of reports"
    if len(receipts) == 1 and receipts[0].refused.keys() == {"no report"} and not receipts[0].accepted:
        rows = receipts[0].refused["no report"]
        return f"{path}: none of its {rows:,} rows holds a report; the column must hold bare reports, not messages"
    bad = [receipt for receipt in receipts if not receipt.before and receipt.refused.keys() - IDLE]
    if not bad:
        return ""
    first, count = bad[0], f"{len(bad):,} of {len(receipts):,} messages of " if len(receipts) > 1 else ""
    if "another protocol" in first.refused or "another collection" in first.refused:
        with path.open("rb") as file:
            maker = _maker(
                file.read(HEADER.size), path.absolute().parent, collector.journal.path.parent, here=collector.collection
            )
        return f"{count}{path} was made by {maker}; this collection is {collector.collection.name!r}"
    return f"{count}{path}: {first.words}"


def _accepted(receipts: list[Receipt]) -> int:
    return sum(receipt.accepted for receipt in receipts if not receipt.before)


def _refused(receipts: list[Receipt]) -> Counter[str]:
    total: Counter[str] = Counter()
    for receipt in receipts:
        total.update({} if receipt.before else receipt.refused)
    return total
