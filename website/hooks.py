"""What the site is made of beside the pages in docs: generated pages, and links that leave the folder of the pages.

Pages are written for readers of the repository too.  So a link to a program leads, in the site, to a page that shows
it, a key of a reference to its entry, and a list needs no empty line before it.
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import commands
import interface
import measured
import notebooks
import proofs
import references
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
SHOWN = ("README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md")  # pages of the repository's first folder
PROGRAMS = ("examples", "experiments")
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"(^```.*?^```$|(?<=\n\n)(?: {4}[^\n]*\n?)+)", re.MULTILINE | re.DOTALL)  # blocks of code
ITEM = re.compile(r"^(?!\s*(?:[-*+]|\d+\.) |\s*$|\|)(.*)\n(?=(?:[-*+]|\d+\.) )", re.MULTILINE)
NOTE = re.compile(r"`(?:docs/proofs/)?([\w-]+\.md)`")  # a note that another note names
FINGERPRINT = re.compile(r"\A(# .+) \(fingerprint (\w+)\)\n")
KEPT = re.compile(r"(`+[^`]*`+|(?<=\])\([^)]*\)|<a id=[^>]*>)")  # code and addresses, in which no sign is ours
BRACKET = re.compile(r"<(?!/?(?:sup|sub|a|br|p|b|i)\b[^<>,]*>|!--)")  # of an inner product, not of a tag
KEYS = set(references.works())


def on_config(config: Any) -> Any:
    """Fill in the patterns of the navigation: pages that may be there or not, and pages that come in numbers."""
    config.nav = [entry for each in config.nav for entry in _filled(each, Path(config.docs_dir))]
    return config


def _filled(entry: Any, docs: Path) -> list[Any]:
    if isinstance(entry, str):
        return sorted(str(path.relative_to(docs)) for path in docs.glob(entry)) if "*" in entry else [entry]
    ((title, value),) = entry.items()
    if isinstance(value, str):
        return [entry]
    return [{title: kept}] if (kept := [inner for each in value for inner in _filled(each, docs)]) else []


def on_files(files: Files, config: Any) -> Files:
    made = interface.pages() | {
        "reference/commands.md": commands.page(),
        "reference/references.md": references.page(),
        "proofs/index.md": proofs.index(),
        "benchmarks.md": measured.page(),
        "programs/index.md": _listing(),
    }
    made |= {f"repository/{name}": (ROOT / name).read_text() for name in SHOWN}
    made |= {f"programs/{_place(path)}.md": _program(path) for path in _programs()}
    for path in notebooks.NOTEBOOKS.glob("*.ipynb"):
        text, drawn = notebooks.page(path.stem)
        made |= {f"programs/{_place(path)}.md": text}
        made |= {f"programs/{_place(path.parent)}/{name}": picture for name, picture in drawn.items()}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    if page.file.src_uri.startswith("proofs/"):
        markdown = NOTE.sub(_noted, FINGERPRINT.sub(_set_apart, markdown))
    parts = FENCE.split(markdown)  # every other one is a block
    return "".join(part if place % 2 else _prose(part, page.file.src_uri) for place, part in enumerate(parts))


def _prose(text: str, place: str) -> str:
    text = "".join(part if kept % 2 else _plain(part, place) for kept, part in enumerate(KEPT.split(text)))
    text = LINK.sub(lambda link: _led(link[1], place) + (link[2] or ""), ITEM.sub(r"\1\n\n", text))
    if place.startswith("proofs/"):
        at = posixpath.relpath("reference/references.md", "proofs")
        text = references.CITATION.sub(
            lambda key: f"[{key[1]}]({at}#{key[1].lower()})" if key[1] in KEYS else key[1], text
        )
    return text


def _plain(text: str, place: str) -> str:
    """Brackets of formulas, and in proofs the underscores of indices, as they are written."""
    text = BRACKET.sub("&lt;", text)
    return text.replace("_", r"\_") if place.startswith("proofs/") and place != "proofs/index.md" else text


def _noted(named: re.Match[str]) -> str:
    return f"[{named[0]}]({named[1]})" if (proofs.NOTES / named[1]).is_file() else named[0]


def _set_apart(first: re.Match[str]) -> str:
    return f'{first[1]}\n\n<p class="fingerprint">fingerprint of the code: {first[2]}</p>\n'


def _led(target: str, place: str) -> str:
    """Where a link of the repository leads in the site."""
    home = posixpath.dirname(place)
    started = posixpath.join("docs", home) if not place.startswith(("repository/", "programs/")) else "."
    whole = posixpath.normpath(posixpath.join(started, target))
    if whole in SHOWN:
        inside = f"repository/{whole}"
    elif whole.split("/")[0] in PROGRAMS:
        inside = f"programs/{whole}.md" if (ROOT / whole).is_file() else "programs/index.md"
    elif whole.startswith("docs/"):
        inside = whole.removeprefix("docs/")
        if (ROOT / whole).is_dir():
            inside = "index.md" if inside in ("guide", "formats") else f"{inside}/index.md"
    else:
        return target
    return posixpath.relpath(inside, home or ".")


def _programs() -> list[Path]:
    return sorted(path for folder in PROGRAMS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".toml"))


def _place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _program(path: Path) -> str:
    language = {".py": "python", ".toml": "toml"}[path.suffix]
    return f"# `{_place(path)}`\n\n```{language}\n{path.read_text().rstrip()}\n```\n"


def _listing() -> str:
    lines = [
        "# Examples and experiments",
        "",
        "Every example is executed by the tests.",
        "",
        "| program | about |",
        "|---|---|",
    ]
    for path in [*_programs(), *sorted(notebooks.NOTEBOOKS.glob("*.ipynb"))]:
        text = notebooks.page(path.stem)[0] if path.suffix == ".ipynb" else path.read_text()
        first = text.lstrip().splitlines()[0].strip('"# ')
        lines.append(f"| [`{_place(path)}`]({_place(path)}.md) | {measured.cell(first)} |")
    return "\n".join(lines)
