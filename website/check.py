"""Look at the built site: every link and anchor leads somewhere in it, and nothing is loaded from elsewhere.

python website/check.py build/site
"""

from __future__ import annotations

import html
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "prefetch", "manifest", "modulepreload", "shortcut"}
URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")

WORD = re.compile(r"[^\W_]+")
HIDDEN = re.compile(  # what stands in a source and is not shown as text
    r"!\[[^]]*\]\([^)]*\)|\]\([^)]*\)|^\s*\d+\.|<!--.*?-->|<a id=[^>]*>|</?(?:sup|sub|br|a)>|^```\w+|\bfingerprint\b",
    re.MULTILINE | re.DOTALL,
)


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what a browser loads to show it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADED and LOADED[tag] in given:
            self.loads.append(given[LOADED[tag]])
        elif tag == "link" and RELATIONS & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])


def problems(site: Path) -> list[str]:
    """One line for each thing that is wrong."""
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    found = []
    for path, page in pages.items():
        where = path.relative_to(site)
        if path.name == "404.html":
            continue
        for target in page.loads:
            if _elsewhere(target):
                found.append(f"{where} loads {target}")
            elif not _file(path, target).exists():
                found.append(f"{where} loads {target}, which is not there")
        for target in page.links:
            if _elsewhere(target):
                continue
            led, anchor = _file(path, target), unquote(urlsplit(target).fragment)
            if not led.exists():
                found.append(f"{where} links to {target}, which is not there")
            elif anchor and not anchor.startswith("__") and led in pages and anchor not in pages[led].anchors:
                found.append(f"{where} links to {target}: no such place on that page")
    for style in site.rglob("*.css"):
        for match in URL.finditer(style.read_text()):
            if _elsewhere(target := match[1] or match[2]) and not target.startswith("data:"):
                found.append(f"{style.relative_to(site)} loads {target}")
    return found


def lost(site: Path, docs: Path) -> list[str]:
    """Words of the sources that their pages do not show: a sign of a formula that was taken for markup."""
    found = []
    for source in sorted(docs.rglob("*.md")):
        shown = re.sub(r"<[^>]*>", " ", (site / source.relative_to(docs)).with_suffix(".html").read_text())
        prose = HIDDEN.sub(" ", source.read_text())
        absent = set(WORD.findall(prose)) - set(WORD.findall(html.unescape(shown)))
        if absent:
            found.append(f"the page of {source.relative_to(docs)} lacks the words {sorted(absent)}")
    return found


def _elsewhere(target: str) -> bool:
    return bool(urlsplit(target).scheme) or target.startswith("//")


def _file(page: Path, target: str) -> Path:
    place = unquote(urlsplit(target).path)
    return (page.parent / place).resolve() if place else page


if __name__ == "__main__":
    docs, site = (Path(given).resolve() for given in sys.argv[1:3])
    wrong = problems(site) + lost(site, docs)
    print("\n".join(wrong) or "every link leads somewhere, nothing is loaded from elsewhere, no word is lost")
    sys.exit(bool(wrong))
