"""Publishing a plan: what was done is printed here; how it is done is in `sfumato.plans.execution`."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

from sfumato.cli.answers import answer_table
from sfumato.cli.console import console, print_json, progress_bar, say
from sfumato.cli.failures import Interrupted
from sfumato.cli.interrupts import patient
from sfumato.ledger.names import version_words
from sfumato.ledger.protocol import spent_words
from sfumato.plans import Plan, read_plan
from sfumato.plans.execution import KEPT, Carried, carried_out, must_be_directory
from sfumato.plans.outlook import Outlook, fit, must_know, outlook
from sfumato.privacy.guarantees import to_record
from sfumato.release import Published
from sfumato.report.answers import cost, left
from sfumato.storage import writing

__all__ = ["run"]


def run(path: Path, out: Path | None, new_ledger: bool, as_json: bool, version: str | None = None) -> None:
    """Release in order, write the files, show the answers."""
    plan = read_plan(path, version)
    directory = out if out is not None else plan.path.with_name(f"{plan.path.stem}-report")
    must_be_directory(directory)
    seen = outlook(plan)
    plan = seen.plan
    fit(plan, seen)
    if not new_ledger:
        files = chain.from_iterable((directory / "releases").glob(f"*.{kind}") for kind in ("json", "parquet"))
        must_know(plan, files, "give --new-ledger, or another --out")
    if seen.division is not None and not as_json:
        for line in seen.division.lines():
            say(line)
    done = _carried_out(plan, seen, directory / "releases", quiet=as_json)
    saving = seen.free or done.offer.words()
    report = _report(done, directory, saving)
    if as_json:
        print_json(_record(done, directory, report))
        return
    console().print(answer_table(done.releases, seen.times, done.together, seen.paid))
    say(saving)
    say(f"spent {spent_words(done.ledger.spent(), plan.budget, cost)}; left {left(done.ledger.remaining())}")
    versions = version_words(done.ledger.entries(), plan.schema.version)
    if versions is not None:
        say(versions)
    say(f"files   {directory}/releases/*.json, *.parquet and {report}")
    say(f"ledger  {plan.ledger}")
    say(f"head    {done.ledger.head}  (keep it: it shows later edits)")


def _carried_out(plan: Plan, seen: Outlook, directory: Path, quiet: bool) -> Carried:
    if not seen.orders:
        return carried_out(plan, seen, directory)
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with progress_bar(*columns, quiet=quiet) as bar, patient() as stop:
        task = bar.add_task("", total=len(plan.releases))
        begun: list[str] = []

        def begin(name: str) -> None:
            if stop.asked:
                raise Interrupted(
                    f"stopped after {len(begun)} of {len(plan.releases)} releases, which are stored; "
                    f"run the same command again for the rest: sfumato publish {plan.path}"
                )
            bar.update(task, description=name, completed=len(begun))
            begun.append(name)

        return carried_out(plan, seen, directory, begin, (lambda words: None) if quiet else say)


def _report(done: Carried, directory: Path, saving: str) -> Path:
    """The page; one that shows this very state of the ledger is left as it is."""
    page = directory / "report.html"
    if done.unchanged and page.is_file() and done.ledger.head in page.read_text(encoding="utf-8", errors="replace"):
        return page
    from sfumato.report.html import write_report

    with writing(directory, KEPT):
        files = [f"releases/{name}{release.FILES[0]}" for release, name in zip(done.releases, done.names, strict=True)]
        return write_report(done.releases, done.ledger, page, saving, files)


def _record(done: Carried, directory: Path, report: Path) -> dict[str, Any]:
    named = zip(done.releases, done.contents, done.names, strict=True)
    return {
        "releases": [
            {**_described(release, stored), "file": str(directory / "releases" / f"{name}{release.FILES[0]}")}
            for release, stored, name in named
        ],
        "batch": {"saved": done.offer.saved, "words": done.offer.words()},
        "spent": to_record(done.ledger.spent()),
        "remaining": to_record(done.ledger.remaining()),
        "report": str(report),
        "ledger": done.ledger.place,
        "head": done.ledger.head,
        "new_ledger": done.is_new,
    }


def _described(release: Published, stored: bytes | None) -> dict[str, Any]:
    """Its record, as it was stored where that is a record."""
    if stored is None or release.FILES[0] != ".json":
        described: dict[str, Any] = release.to_record()
        return described
    record: dict[str, Any] = json.loads(stored)
    return record
