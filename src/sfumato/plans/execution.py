"""Carrying out a plan: each release is charged, computed, stored in the ledger, and only then written to its files.

What the ledger holds already is taken from it: where all of a plan is stored, no table is read and nothing is planned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from sfumato.answers.frames import write_csv
from sfumato.errors import ParameterError
from sfumato.ledger import LedgerLike
from sfumato.ledger.offers import Offer
from sfumato.plans.joint import parts
from sfumato.plans.outlook import Outlook, opened, opened_table
from sfumato.plans.ownership import must_be_ours, provenance
from sfumato.plans.plan import Plan
from sfumato.records import readable
from sfumato.release import Published, Release
from sfumato.release.archive import PUBLICATIONS, read
from sfumato.storage import PUBLISHED, whole, writing

__all__ = ["Carried", "carried_out", "file_names", "must_be_directory"]

KEPT = ".  The releases so far are stored in the ledger: run the same command again at no further cost for them"


@dataclass(frozen=True, slots=True)
class Carried:
    """A plan carried out: its releases in order, the bytes of those that were stored as they are, the name of each
    one's files, the ledger, and what was saved.

    `unchanged` if everything was stored before, and its files were as they should be.
    """

    releases: tuple[Published, ...]
    contents: tuple[bytes | None, ...]
    names: tuple[str, ...]
    ledger: LedgerLike
    offer: Offer
    is_new: bool
    unchanged: bool
    together: Mapping[str, str] = field(default_factory=dict)  # what each part of a joint release was measured with


def carried_out(
    plan: Plan,
    seen: Outlook,
    directory: Path,
    begin: Callable[[str], None] = lambda name: None,
    notice: Callable[[str], None] = lambda words: None,
) -> Carried:
    """Release in order and write the files; `begin` is told each name, and may raise to stop before it is charged."""
    must_be_directory(directory)
    named = [(one.name, *(name for name, _ in one.members if name in seen.asked)) for one in plan.releases]
    names = file_names([name for group in named for name in group])
    _must_be_ours(plan, seen, directory, [name for group in named for name in group], names)
    table = opened_table(plan) if seen.orders else None
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    session = None if table is None else opened(plan, table)
    if session is not None and session.notice:
        notice(session.notice)
    offer = seen.offer if session is None else session.prepay(list(seen.orders.values()))
    releases: list[Published] = []
    contents: list[bytes | None] = []
    together: dict[str, str] = {}
    unchanged = session is None
    for one in plan.releases:
        begin(one.name)
        if one.name in seen.stored:
            release = read(seen.stored[one.name].content)
        else:
            assert session is not None
            release = session.fulfill(seen.orders[one.name])
        members = [] if not one.members else list(parts(release, one, seen.asked))
        together |= dict.fromkeys((member.name for member in members), one.name)
        for shown in (release, *members):
            as_stored = one.name in seen.stored and shown is release and release.stated is None
            contents.append(seen.stored[one.name].content if as_stored else None)
            if one.name not in seen.stored or not _is_written(contents[-1], shown, directory, names[len(releases)]):
                unchanged = False
                _write(shown, directory, names[len(releases)])
            if shown.name in plan.adding_up:
                with writing(directory, KEPT), whole(directory / f"{names[len(releases)]}.csv", PUBLISHED) as draft:
                    write_csv(cast(Release, shown).adding_up(), draft)  # the plan was checked: rows are counted
            releases.append(shown)
    ledger = plan.ledger.existing() if session is None else session.ledger
    assert ledger is not None  # it holds what was carried out
    return Carried(
        tuple(releases), tuple(contents), tuple(names), ledger, offer, seen.is_new, unchanged, together
    )  # fmt: skip


def must_be_directory(directory: Path) -> None:
    """Refuse a place for files where one of the names above it is a file, before anything is made or charged."""
    for place in (directory, *directory.parents):
        if place.exists():
            if not place.is_dir():
                raise ParameterError(
                    f"--out: {directory} cannot be written ({place} is a file); choose a place that can be written; "
                    "nothing was charged"
                )
            return


def _must_be_ours(plan: Plan, seen: Outlook, directory: Path, titles: list[str], names: list[str]) -> None:
    """Refuse, before anything is charged, to replace files that are not Sfumato's; those beside a release's are."""
    kinds = {one.name: one.query.kind for one in plan.releases}
    for title, name in zip(titles, names, strict=True):
        files = PUBLICATIONS[kinds[title]].FILES if kinds.get(title) in PUBLICATIONS else Release.FILES
        suffixes = {*files, *([".csv"] if title in plan.adding_up else [])}
        there = [file for suffix in sorted(suffixes) if (file := directory / f"{name}{suffix}").exists()]
        if not any(map(provenance, there)):
            for file in there:
                must_be_ours(file, read(seen.stored[title].content) if title in seen.stored else None)


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


def _write(release: Published, directory: Path, name: str) -> None:
    """Its files, each put in place whole and durably; the one that holds its record comes last, and vouches for all."""
    with writing(directory, KEPT):
        for suffix in reversed(release.FILES):
            with whole(directory / f"{name}{suffix}", PUBLISHED) as draft:
                release.save(draft)


def _is_written(stored: bytes | None, release: Published, directory: Path, name: str) -> bool:
    """Whether the files of a stored release are there, the one that `sfumato.load` reads with its very bytes."""
    first, *others = (directory / f"{name}{suffix}" for suffix in release.FILES)
    content = release.to_bytes() if stored is None else stored  # which takes long where intervals do
    try:
        wanted = readable(json.loads(content)).encode() if first.suffix == ".json" else content
        return all(file.is_file() for file in others) and first.read_bytes() == wanted
    except (OSError, ValueError):
        return False
