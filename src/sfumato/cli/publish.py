"""Publishing a plan: each release is charged, computed, stored in the ledger, and only then written and shown."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from sfumato.cli.answers import answer_table
from sfumato.cli.console import complain, console, print_json, progress_bar, say, writing
from sfumato.cli.failures import Interrupted
from sfumato.cli.opening import Outlook, fit, must_know, opened, outlook
from sfumato.plans import Plan, read_plan
from sfumato.privacy.guarantees import to_record
from sfumato.release import Release
from sfumato.report.answers import cost, left

if TYPE_CHECKING:
    from sfumato.session import Session

__all__ = ["file_names", "run"]

KEPT = ".  The releases so far are stored in the ledger: run the same command again at no further cost for them"


def run(path: Path, out: Path | None, new_ledger: bool, as_json: bool) -> None:
    """Release in order, write the files, show the answers."""
    plan = read_plan(path)
    seen = outlook(plan)
    fit(plan, seen)
    directory = out if out is not None else plan.path.with_name(f"{plan.path.stem}-report")
    if not new_ledger:
        must_know(plan, (directory / "releases").glob("*.json"), "give --new-ledger, or another --out")
    session = opened(plan)
    with writing(directory):
        (directory / "releases").mkdir(parents=True, exist_ok=True)
    if session.notice and not as_json:
        say(session.notice)
    releases = _released(plan, session, seen, directory / "releases", quiet=as_json)
    report = _report(releases, session, directory)
    if as_json:
        print_json(_record(session, releases, directory, report))
        return
    console().print(answer_table(releases, seen.stored))
    say(f"spent {cost(session.spent)} of {cost(session.ledger.terms.budget)}; left {left(session.remaining)}")
    say(f"files   {directory}/releases/*.json, *.parquet and {report}")
    say(f"ledger  {plan.ledger}")
    say(f"head    {session.ledger.head}  (keep it: it shows later edits)")


def file_names(names: list[str]) -> list[str]:
    """A file name for each release name, all different.

    >>> file_names(["Mean salary, by state", "mean salary by state", "π"])
    ['mean-salary-by-state', 'mean-salary-by-state-2', 'release']
    """
    chosen: dict[str, None] = {}
    turns: dict[str, int] = {}  # the last number that was tried for a base
    for name in names:
        base = candidate = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:80] or "release"
        while candidate in chosen:
            turns[base] = turns.get(base, 1) + 1
            candidate = f"{base}-{turns[base]}"
        chosen[candidate] = None
    return list(chosen)


def _released(plan: Plan, session: Session, seen: Outlook, directory: Path, quiet: bool) -> list[Release]:
    from rich.progress import BarColumn, MofNCompleteColumn, TimeElapsedColumn

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    releases: list[Release] = []
    names = file_names([settled.title for settled in seen.orders])
    with progress_bar(*columns, quiet=quiet) as bar, _patient() as stop:
        task = bar.add_task("", total=len(names))
        for settled, name in zip(seen.orders, names, strict=True):
            if stop.asked:
                raise Interrupted(
                    f"stopped after {len(releases)} of {len(names)} releases, which are stored; "
                    f"run the same command again for the rest: sfumato publish {plan.path}"
                )
            bar.update(task, description=settled.title)
            release = session.fulfill(settled)
            _save(release, directory, name)
            releases.append(release)
            bar.advance(task)
    return releases


def _save(release: Release, directory: Path, name: str) -> None:
    """Both files, each put in place whole."""
    with writing(directory, KEPT):
        for suffix in (".json", ".parquet"):
            draft = release.save(directory / f".{name}.new{suffix}")
            os.replace(draft, directory / f"{name}{suffix}")


def _report(releases: list[Release], session: Session, directory: Path) -> Path:
    from sfumato.report.html import write_report

    with writing(directory, KEPT):
        return write_report(releases, session.ledger, directory / "report.html")


@dataclass(slots=True)
class _Stop:
    """Whether an interrupt has come."""

    asked: bool = False


@contextmanager
def _patient() -> Iterator[_Stop]:
    """An interrupt waits for the release under way, which is already charged; a second one does not."""
    stop = _Stop()

    def remember(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        complain("\nfinishing the release under way, which is already charged, then stopping")
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _record(session: Session, releases: list[Release], directory: Path, report: Path) -> dict[str, Any]:
    names = file_names([release.name for release in releases])
    return {
        "releases": [
            {**release.to_record(), "file": str(directory / "releases" / f"{name}.json")}
            for release, name in zip(releases, names, strict=True)
        ],
        "spent": to_record(session.spent),
        "remaining": to_record(session.remaining),
        "report": str(report),
        "ledger": str(session.ledger.path),
        "head": session.ledger.head,
        "new_ledger": session.is_new,
    }
