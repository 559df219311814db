"""The readable report: one self-contained page with pictures, claims and certificates; no network, no scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from sfumato.accounting.posteriors import beliefs
from sfumato.answers.certificate import Certificate
from sfumato.errors import ParameterError, UnsupportedQuery
from sfumato.ledger import LedgerLike
from sfumato.ledger.names import resting, version_words
from sfumato.ledger.offers import charged_together
from sfumato.markup import Markup, filled, joined
from sfumato.numeric import shown_up
from sfumato.privacy.guarantees import Guarantee
from sfumato.release import Published
from sfumato.report.about import About
from sfumato.report.answers import Answers, cost, laid_out, left, listed
from sfumato.report.declared import HEADINGS as DECLARED_HEADINGS
from sfumato.report.declared import declared
from sfumato.report.explanation import HEADINGS
from sfumato.report.page import PAGE, STYLE
from sfumato.report.plots import plot_budget
from sfumato.report.style import Chart
from sfumato.spaces.schema import Schema
from sfumato.storage import PUBLISHED, whole

__all__ = ["svg", "write_report"]

SHORT = 12  # tables up to this many rows are open from the start
ALONE = "nothing was saved by charging releases together: each was charged by itself"
COVERS = (
    "The error bars cover the noise that was added for privacy, and they are about the answer after clipping to the "
    "declared bounds and keeping the declared number of rows of each person; what was clipped or left out is not in "
    "them, nor is sampling error. Each bar holds for its own cell: over many cells, some bars will miss."
)


def write_report(
    releases: Sequence[Published],
    ledger: LedgerLike,
    path: str | Path,
    saving: str = ALONE,
    files: Sequence[str] = (),
    about: About | None = None,
) -> Path:
    """Write the page for `releases`, which were paid from `ledger`; `saving` says why none were charged together.

    `files`: where each release lies, from the page on, for a link to it.  `about`: what their plan says of the page.
    """
    if not releases:
        raise ParameterError("releases is empty; a report needs at least one release")
    target = Path(path)
    page = _page(releases, ledger, saving, files, about or About(releases[0].question.schema, ""))
    with whole(target, PUBLISHED) as draft:
        draft.write_text(page, encoding="utf-8")
    return target


def svg(chart: Chart, label: str) -> Markup:
    """A chart as inline SVG, readable by screen readers; its title is left to the page."""
    import vl_convert

    described = {name: part for name, part in chart.to_dict(validate=False).items() if name != "title"}
    drawn: str = vl_convert.vegalite_to_svg(described)
    named = filled('<svg role="img" aria-label="{label}" ', label=label)
    return Markup(drawn.replace("<svg ", named, 1))


def _page(releases: Sequence[Published], ledger: LedgerLike, saving: str, files: Sequence[str], about: About) -> str:
    terms, head = ledger.terms, ledger.head
    first = releases[0].provenance
    entries = ledger.entries()
    promise = resting(ledger.spent(), entries).words().format(unit=first.unit)
    together = [batch.words() for batch in charged_together(terms, entries)]
    numbered = list(enumerate(releases, start=1))
    return filled(
        PAGE,
        style=Markup(STYLE),
        mark=about.mark if about.plan else Markup(),
        over=" · ".join(("Private releases", *([terms.dataset] if about.title else ()), *_version(about))),
        title=about.title or terms.dataset,
        note=_paragraphs(about.note),
        dataset=terms.dataset,
        date=datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        count=f"{len(releases)} release" + ("s" if len(releases) > 1 else ""),
        contents=joined(filled('<li><a href="#r{i}">{name}</a></li>', i=i, name=r.name) for i, r in numbered),
        promise=_sentence(promise),
        meaning=_meaning(first.unit),
        gauge=svg(plot_budget(ledger), "how much of the privacy budget is spent"),
        remaining=left(ledger.remaining()),
        budget=cost(terms.budget),
        beliefs=_beliefs(terms.budget, about.schema),
        versions=_paragraphs(_summed(version_words(entries, about.schema.version))),
        declared=_declared(about.schema, about.missing_lines),
        together=" ".join(_sentence(words) for words in together or [saving]),
        covers=COVERS,
        releases=joined(
            _section(i, release, files[i - 1] if files else None, about.descriptions.get(release.name))
            for i, release in numbered
        ),
        head=head,
        ledger=ledger.name,
        version=first.version,
    )


SECTION = """
<section id="r{number}"><h2>{name}</h2><p class="over">{under}</p>{described}{figure}{table}
<dl>{facts}{file}</dl><p class="{badge}">{short}</p>
<details><summary>For the record: certificate, mechanism, ledger</summary><dl>{more}
<dt>Ledger head</dt><dd><code>{head}</code></dd></dl></details></section>
"""


FILE = '<dt>File</dt><dd><a href="{href}">{file}</a></dd>'


def _section(number: int, release: Published, file: str | None, described: str | None) -> Markup:
    place = release.provenance
    facts = {
        "Guarantee": _sentence(place.claimed(release.guarantee)),
        **({"Disputed": _sentence("; ".join(release.disputes))} if release.disputed else {}),
        "Error to expect": _sentence(release.accuracy()),
        **{name.capitalize(): _sentence(text) for name, text in release.advice().items()},
        "Question": _question(release),
    }
    more = {
        "Certificate": _sentence(release.certificate.words()),
        "Mechanism": listed([str(part["type"]) for part in place.parts]) + ", chosen from public quantities only",
        "Ledger": place.entry if place.charge is None else f"charge {place.charge}, {place.time}",
    }
    under, figure = _figure(release)
    return filled(
        SECTION,
        number=number,
        name=release.name,
        under=under,
        figure=figure,
        badge="badge known" if isinstance(release.certificate, Certificate) else "badge",
        short=release.certificate.short(),
        described=_paragraphs(described),
        facts=_listed(facts),
        more=_listed(more),
        file=Markup() if file is None else filled(FILE, href=quote(file), file=file),
        head=place.head or "known to the steward",
        table=_table(release),
    )


def _listed(facts: Mapping[str, str]) -> Markup:
    return joined(filled("<dt>{name}</dt><dd>{text}</dd>", name=n, text=t) for n, t in facts.items())


def _paragraphs(text: str | None) -> Markup:
    """A text of a plan: its paragraphs, which blank lines part."""
    parts = [part.strip() for part in (text or "").split("\n\n")]
    return joined(filled("<p>{part}</p>", part=part) for part in parts if part)


def _version(about: About) -> tuple[str, ...]:
    return () if about.schema.version is None else (f"version {about.schema.version}",)


def _summed(words: str | None) -> str | None:
    return None if words is None else _sentence(words)


BUDGET = """<details><summary>What the whole budget can tell about one of those who are protected</summary>
<p>Suppose somebody knows everything else, and wonders {doubt}. Through everything that this ledger will ever pay for,
of all versions of the data together, the odds change by a factor of at most {factor}, up or down{exception}.</p>
<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"""


def _beliefs(budget: Guarantee, schema: Schema) -> Markup:
    """How far all of the budget can move a belief, at most; a concentrated one is read as an epsilon at a delta."""
    said = budget.statement()
    rows = [belief.cells() for belief in beliefs(budget)]
    exception = f", but for a chance of {shown_up(said.delta, 3)}" if said.delta else ""
    read = ""
    if budget.names() == ("rho",):
        read = f" (epsilon {shown_up(said.epsilon, 3)} at a delta of {shown_up(said.delta, 3)})"
    return filled(
        BUDGET, doubt=schema.doubt(), factor=f"{said.factor}{read}", exception=exception,
        head=joined(_cell("th", text.capitalize(), True) for text in HEADINGS),
        body=joined(filled("<tr>{row}</tr>", row=joined(_cell("td", text, True) for text in row)) for row in rows),
    )  # fmt: skip


DECLARED = """<h2>What was declared</h2>
<p>The plan declares these facts beforehand; none of them is read off the data by Sfumato. {protects}</p>
{lines}<details{opened}><summary>The columns ({count})</summary>
<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>"""


def _declared(schema: Schema, missing_lines: str | None) -> Markup:
    rows = declared(schema)
    lines = _paragraphs(None if missing_lines is None else f"{missing_lines[:1].upper()}{missing_lines[1:]}.")
    size = "" if schema.size is None else f" The declared number of rows or people is {schema.size:,}."
    return filled(
        DECLARED, lines=lines, protects=f"Protected against is {schema.words()}.{size}", count=str(len(rows)),
        opened=Markup(" open" if len(rows) <= SHORT else ""),
        head=joined(_cell("th", text, False) for text in DECLARED_HEADINGS),
        body=joined(filled("<tr>{row}</tr>", row=joined(_cell("td", text, False) for text in row)) for row in rows),
    )  # fmt: skip


def _figure(release: Published) -> tuple[str, Markup]:
    """The line under the title and the picture; a release with too many keys for one has its table alone."""
    try:
        chart = release.plot()
    except UnsupportedQuery:
        return cost(release.guarantee), Markup()
    under = " ".join(chart.title["subtitle"])
    return under, filled("<figure>{drawn}</figure>", drawn=svg(chart, f"{release.name}: {under}"))


def _question(release: Published) -> str:
    query, labels = release.question.query, list(release.answer.keys.values())
    if not labels:
        return query.name
    rows = {"asked": "answers over", "crossed": "cells and sums of"}.get(release.answer.order, "cells of")
    cells = f", {len(set(zip(*labels, strict=True))):,} {rows} {listed(list(release.answer.keys))}"
    return f"{query.name}{cells}"


def _table(release: Published) -> Markup:
    shown = laid_out(release)
    if not shown.rows or shown.kinds[0] == "answer":  # nothing, or one number, which the picture shows
        return Markup()
    head = joined(_cell("th", text, number) for text, number in zip(shown.headings, shown.numeric, strict=True))
    rows = (joined(_cell("td", t, number) for t, number in zip(row, shown.numeric, strict=True)) for row in shown.rows)
    return filled(
        "<details{opened}><summary>The numbers ({count})</summary>"
        "<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></details>",
        opened=Markup(" open" if len(shown.rows) <= SHORT else ""),
        count=_counted(release, shown),
        head=head,
        body=joined(filled("<tr>{row}</tr>", row=row) for row in rows),
    )


def _counted(release: Published, shown: Answers) -> str:
    rows = f"{len(shown.rows):,} row" + ("s" if len(shown.rows) > 1 else "")
    return f"the first {rows} of {release.table().num_rows:,}" if release.answer.kind == "rows" else rows


def _cell(tag: str, text: str, number: bool) -> Markup:
    return filled("<{tag}{mark}>{text}</{tag}>", tag=tag, mark=Markup(' class="n"' if number else ""), text=text)


def _meaning(unit: str) -> str:
    return (
        "This holds whatever else a reader knows, now or later, and whatever they do with the numbers. "
        f"“{unit[0].upper()}{unit[1:]}” is the change that is protected against. It does not say that nothing can be "
        "learned about a person from the habits of everyone; it limits, to what is stated above, what can be learned "
        "from their being in this table."
    )


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
