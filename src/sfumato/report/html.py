"""The readable report: one self-contained page with pictures, claims and certificates; no network, no scripts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from sfumato.certificate import Certificate
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.ledger import Ledger
from sfumato.release import Release
from sfumato.report.answers import answers, cost, listed
from sfumato.report.page import PAGE, STYLE
from sfumato.report.plots import plot_budget, plot_release

__all__ = ["svg", "write_report"]

SHORT = 12  # tables up to this many rows are open from the start
COVERS = (
    "The error bars cover the noise that was added for privacy, and they are about the answer after clipping to the "
    "declared bounds and keeping the declared number of rows of each person; what was clipped or left out is not in "
    "them, nor is sampling error. Each bar holds for its own cell: over many cells, some bars will miss."
)


def write_report(releases: Sequence[Release], ledger: Ledger, path: str | Path) -> Path:
    """Write the page for `releases`, which were paid from `ledger`."""
    if not releases:
        raise ParameterError("releases is empty; a report needs at least one release")
    target = Path(path)
    page = _page(releases, ledger)
    draft = target.with_name(f".{target.name}.new")
    draft.write_text(page, encoding="utf-8")
    os.replace(draft, target)
    return target


def svg(chart: Any, label: str) -> str:
    """A chart as inline SVG, readable by screen readers; its title is left to the page."""
    import vl_convert

    described = {name: part for name, part in chart.to_dict().items() if name != "title"}
    drawn: str = vl_convert.vegalite_to_svg(described)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


def _page(releases: Sequence[Release], ledger: Ledger) -> str:
    terms, head = ledger.terms, ledger.head
    first = releases[0].provenance
    promise = ledger.spent().words().format(unit=first.unit)
    return PAGE.format(
        style=STYLE,
        dataset=escape(terms.dataset),
        date=datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        count=f"{len(releases)} release" + ("s" if len(releases) > 1 else ""),
        contents="".join(f'<li><a href="#r{i}">{escape(r.name)}</a></li>' for i, r in enumerate(releases, start=1)),
        promise=escape(_sentence(promise)),
        meaning=escape(_meaning(first.unit)),
        gauge=svg(plot_budget(ledger), "how much of the privacy budget is spent"),
        remaining=escape(cost(ledger.remaining())),
        budget=escape(cost(terms.budget)),
        covers=COVERS,
        releases="\n".join(_section(i, release) for i, release in enumerate(releases, start=1)),
        head=head,
        ledger=escape(ledger.path.name),
        version=escape(first.version),
    )


def _section(number: int, release: Release) -> str:
    place = release.provenance
    facts = {
        "Guarantee": _sentence(release.guarantee.words().format(unit=place.unit)),
        "Error to expect": _sentence(release.accuracy()),
        "Certificate": _sentence(release.certificate.words()),
        "Question": _question(release),
        "Mechanism": listed([str(part["type"]) for part in place.parts]) + ", chosen from public quantities only",
        "Ledger": f"charge {place.charge}, {place.time}",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    badge = "badge known" if isinstance(release.certificate, Certificate) else "badge"
    short = _short(release)
    under, figure = _figure(release)
    return (
        f'<section id="r{number}"><h2>{escape(release.name)}</h2><p class="over">{escape(under)}</p>{figure}'
        f'<p class="{badge}">{escape(short)}</p><dl>{rows}<dt>Ledger head</dt><dd><code>{place.head}</code></dd></dl>'
        f"{_table(release)}</section>"
    )


def _figure(release: Release) -> tuple[str, str]:
    """The line under the title and the picture; a release with too many keys for one has its table alone."""
    try:
        chart = plot_release(release)
    except UnsupportedQuery:
        return cost(release.guarantee), ""
    under = " ".join(chart.title["subtitle"])
    return under, f"<figure>{svg(chart, f'{release.name}: {under}')}</figure>"


def _short(release: Release) -> str:
    """The certificate in a few words."""
    if isinstance(release.certificate, Certificate):
        return release.certificate.short()
    return "no bound known"


def _question(release: Release) -> str:
    query = release.question.query
    columns = listed([str(key.column) for key in release.question.cells.keys])
    cells = f", {release.question.cells.count:,} cells of {columns}" if release.question.cells.keys else ""
    return f"{query.name}{cells}"


def _table(release: Release) -> str:
    shown = answers(release)
    if not shown.rows or shown.headings[0] == "answer":  # nothing, or one number, which the picture shows
        return ""
    marks = ['class="n"' if numeric else "" for numeric in shown.numeric]
    head = "".join(f"<th {mark}>{escape(text)}</th>" for mark, text in zip(marks, shown.headings, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td {mark}>{escape(text)}</td>" for mark, text in zip(marks, row, strict=True)) + "</tr>"
        for row in shown.rows
    )
    opened = " open" if len(shown.rows) <= SHORT else ""
    count = f"{len(shown.rows):,} row" + ("s" if len(shown.rows) > 1 else "")
    return (
        f"<details{opened}><summary>The numbers ({count})</summary>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"
    )


def _meaning(unit: str) -> str:
    return (
        "This holds whatever else a reader knows, now or later, and whatever they do with the numbers. "
        f"“{unit[0].upper()}{unit[1:]}” is the change that is protected against. It does not say that nothing can be "
        "learned about a person from the habits of everyone; it limits, to what is stated above, what can be learned "
        "from their being in this table."
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
