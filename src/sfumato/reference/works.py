"""The bibliography and the proof notes, as they lie in the repository or in the installed package."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["Work", "home", "proof", "works"]

PACKED = Path(__file__).parents[1] / "notes"  # where a wheel has them (setup.py)
ACCENTS = {"'": "\u0301", '"': "\u0308", "^": "\u0302", "`": "\u0300", "v": "\u030c", "c": "\u0327", "~": "\u0303"}
PLACES = ("journal", "booktitle", "school", "publisher", "howpublished", "note", "series")


@dataclass(frozen=True, slots=True)
class Work:
    """A work that is cited: its key in docs/references.bib, who wrote it, what, where and when, and its address."""

    key: str
    author: str
    title: str
    place: str
    year: str
    address: str

    def __str__(self) -> str:
        said = [self.author.replace(" and ", "; "), self.title, self.place, self.year, self.address]
        return ". ".join(each for each in said if each)


def home() -> Path:
    """The folder that holds `references.bib` and `proofs`."""
    return PACKED if PACKED.is_dir() else Path(__file__).parents[3] / "docs"


def proof(note: str) -> str:
    """The text of a note, by its name such as `docs/proofs/laplace.md`."""
    return (home() / "proofs" / Path(note).name).read_text(encoding="utf-8")


@cache
def works() -> dict[str, Work]:
    """Every work of the bibliography by its key."""
    text, found = (home() / "references.bib").read_text(encoding="utf-8"), {}
    for start in re.finditer(r"^@\w+\{(\w+),", text, re.MULTILINE):
        parts = _fields(text[start.end() : _closing(text, start.end())])
        place = next((parts[name] for name in PLACES if name in parts), "")
        named = [parts.get("author", ""), parts["title"], place, parts.get("year", ""), _address(parts)]
        found[start[1]] = Work(start[1], *named)
    return found


def _address(parts: dict[str, str]) -> str:
    if "doi" in parts:
        return f"https://doi.org/{parts['doi']}"
    return f"https://arxiv.org/abs/{parts['eprint']}" if "eprint" in parts else ""


def _fields(body: str) -> dict[str, str]:
    found, place = {}, 0
    while match := re.compile(r"\s*,?\s*(\w+)\s*=\s*([{\"]|\w+)").match(body, place):
        if match[2] in ("{", '"'):
            end = _closing(body, match.end()) if match[2] == "{" else body.index('"', match.end())
            found[match[1].lower()], place = _plain(body[match.end() : end]), end + 1
        else:
            found[match[1].lower()], place = match[2], match.end()
    return found


def _closing(text: str, start: int) -> int:
    """Where the brace that was opened before `start` is closed."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError("a brace of the bibliography is never closed")


def _plain(text: str) -> str:
    """Text without braces, with accents as letters and formulas as they are read aloud."""
    text = re.sub(r"\\(['\"^`vc~])\s*\{?\\?([A-Za-z])\}?", lambda m: m[2] + ACCENTS[m[1]], text)
    text = re.sub(r"\\(\w+)", r"\1", text.replace("--", "\u2013").replace("~", " "))
    return unicodedata.normalize("NFC", " ".join(re.sub(r"[{}$\\]", "", text).split()))
