"""Publishing a plan: what was done is printed here; how it is done is in `sfumato.plans.execution`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from sfumato.cli.answers import answer_table
from sfumato.cli.console import console, print_json, progress_bar, say
from sfumato.cli.failures import Interrupted
from sfumato.cli.interrupts import patient
from sfumato.cli.sparing import must_spare
from sfumato.ledger.names import version_words
from sfumato.ledger.protocol import spent_words
from sfumato.plans import Plan, read_plan
from sfumato.plans.execution import KEPT, Carried, carried_out, must_be_directory
from sfumato.plans.outlook import Outlook, fit, must_know, outlook
from sfumato.privacy.claims import to_record
from sfumato.release import Published
from sfumato.report.about import About, page_for
from sfumato.report.answers import cost, left
from sfumato.storage import writing

__all__ = ["run"]


def run(path: Path, out: Path | None, new_ledger: bool, as_json: bool, version: str | None = None) -> None:
    """Release in order, write the files, show the answers."""
    plan = read_plan(path, version)
    directory = out if out is not None else plan.path.with_name(f"{plan.path.stem}-report")
    must_be_directory(directory)
    must_spare(plan, directory / "report.html", directory / "releases/any.json", directory / "releases/any.parquet")
    seen = outlook(plan)
    plan = seen.plan
    fit(plan, seen)
    if not new_ledger:
        must_know(plan, _records(directory / "releases"), "give --new-ledger, or another --out")
    for notice in (plan.same_for_all, plan.missing_lines, plan.doubt):
        if notice is not None and not as_json:
            say(notice)
    if seen.division is not None and not as_json:
        for line in seen.division.lines():
            say(line)
    again = ["sfumato", "publish", str(path), *(["--version", version] if version else [])]
    again += [*(["--out", str(out)] if out else []), *(["--new-ledger"] if new_ledger else [])]
    done = _carried_out(plan, seen, directory / "releases", shlex.join(again), quiet=as_json)
    saving = seen.free or done.offer.words()
    about = About(plan.schema, plan.path.name, plan.title, plan.note, seen.descriptions, plan.missing_lines)
    report = _report(done, directory, saving, about)
    if as_json:
        print_json(_record(done, directory, report))
        return
    console().print(answer_table(done.releases, seen.times, done.together, seen.paid))
    if seen.free or done.offer.claim is not None:
        say(saving)
    say(f"spent {spent_words(done.ledger.spent(), plan.budget, cost)}; left {left(done.ledger.remaining())}")
    for one in done.releases:
        if "over time" in one.advice():
            say(f"{one.name}: {one.advice()['over time']}")
    versions = version_words(done.ledger.entries(), plan.schema.version)
    if versions is not None:
        say(versions)
    say(f"files   {directory}/releases/*.json, *.parquet and {report}")
    say(f"ledger  {plan.ledger}")
    say(f"head    {done.ledger.head}  (keep it: it shows later edits)")


def _records(directory: Path) -> list[Path]:
    """The files that say where each release comes from: its JSON, or its Parquet where that is all there is."""
    told = list(directory.glob("*.json"))
    stems = {file.stem for file in told}
    return [*told, *(file for file in directory.glob("*.parquet") if file.stem not in stems)]


def _carried_out(plan: Plan, seen: Outlook, directory: Path, again: str, quiet: bool) -> Carried:
    """Carry out the plan; who interrupts it is told how to go on: the same command `again`."""
    if not seen.orders:
        return carried_out(plan, seen, directory)
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    begun: list[str] = []
    with progress_bar(*columns, quiet=quiet) as bar, patient(lambda: bool(begun)) as stop:
        task = bar.add_task("", total=len(plan.releases))

        def begin(name: str) -> None:
            if stop.asked:
                done = f"after {len(begun)}" if begun else "before the first"
                kept = ", which are stored; run the same command again for the rest" if begun else "; to begin again"
                raise Interrupted(f"stopped {done} of {len(plan.releases)} releases{kept}: {again}")
            bar.update(task, description=name, completed=len(begun))
            begun.append(name)

        return carried_out(plan, seen, directory, begin, (lambda words: None) if quiet else say)


def _report(done: Carried, directory: Path, saving: str, about: About) -> Path:
    """The page; one that shows this very state of the ledger, in these words, is left as it is."""
    page = page_for(directory, about)
    spoken = (about.title, about.note, *about.descriptions.values())
    if (
        not any(spoken)
        and done.unchanged
        and page.is_file()
        and done.ledger.head in page.read_text(encoding="utf-8", errors="replace")
    ):
        return page
    from sfumato.report.html import write_report

    with writing(directory, KEPT):
        files = [f"releases/{name}{release.FILES[0]}" for release, name in zip(done.releases, done.names, strict=True)]
        return write_report(done.releases, done.ledger, page, saving, files, about)


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
