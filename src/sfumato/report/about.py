"""What a plan says of its page beside the releases: a title, a note, descriptions; and whose page a file is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sfumato.markup import filled
from sfumato.spaces.schema import Schema

__all__ = ["About", "page_for"]

MARK = '<meta name="sfumato-plan" content="{plan}"><meta name="sfumato-version" content="{version}">'
FORMER = "<title>{dataset}: private releases</title>"  # how a page of version 0.6 says whose it is


@dataclass(frozen=True, slots=True)
class About:
    """The words of a plan for its page; `plan` is the name of its file."""

    schema: Schema
    plan: str
    title: str | None = None
    note: str | None = None
    descriptions: Mapping[str, str] = field(default_factory=dict)  # by the names of releases
    missing_lines: str | None = None  # how lines of a text file count that cannot be read

    @property
    def mark(self) -> str:
        """What the head of the page says of itself."""
        return filled(MARK, plan=self.plan, version=self.schema.version or "")

    def owns(self, page: Path) -> bool:
        """Whether a page is of this plan and version, and may be written anew."""
        try:
            head = page.read_text(encoding="utf-8", errors="replace").partition("</head>")[0]
        except OSError:
            return False
        if 'name="sfumato-plan"' in head:
            return self.mark in head
        return self.schema.version is None and filled(FORMER, dataset=self.schema.dataset) in head


def page_for(directory: Path, about: About) -> Path:
    """Where the page goes: report.html, with its version where it has one; no page of another plan is written over."""
    version = [] if about.schema.version is None else [_plain(about.schema.version)]
    named = ["-".join(["report", *version]), "-".join(["report", _plain(Path(about.plan).stem), *version])]
    turns = (f"{named[1]}-{turn}" for turn in range(2, 1000))
    for name in (*named, *turns):
        page = directory / f"{name}.html"
        if not page.exists() or about.owns(page):
            return page
    return directory / f"{named[0]}.html"


def _plain(text: str) -> str:
    """A text that can be part of a file's name."""
    plain = "".join(one if one.isalnum() or one in "-_." else "-" for one in text)
    return plain.encode()[:80].decode(errors="ignore")  # bytes: those of a file's name are few
