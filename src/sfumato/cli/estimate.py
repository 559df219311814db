"""What the reports of a collection say, for people, programs, files and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cards import counted
from sfumato.cli.collect import opened
from sfumato.cli.console import console, print_json, say, table
from sfumato.cli.sparing import must_be_apart
from sfumato.errors import ParameterError, ReportError
from sfumato.local.collection.estimates import Estimate, limits_in_words
from sfumato.local.collection.series import Difference, Series
from sfumato.local.questions.limits import checked_level
from sfumato.privacy.claims import to_record
from sfumato.report.answers import decimals, spaced
from sfumato.storage import writing
from sfumato.visible import visible

__all__ = ["Options", "run"]

DOUBT = "this tally can hardly come from honest reports"
SHOWN = 40  # rows on the screen


@dataclass(frozen=True, slots=True)
class Options:
    """How to read the tally."""

    journal: Path | None
    round: str | None
    level: float
    joint: bool
    consistent: bool
    out: Path | None
    plot: Path | None
    series: bool = False
    against: str | None = None
    all: bool = False


def _over_rounds(declaration: Path, options: Options, as_json: bool) -> None:
    """All rounds, or what changed between two of them."""
    series = opened(declaration, options.journal, made=False).series()
    found: Series | Difference = series
    if options.consistent or (options.plot is not None and options.against is not None):
        raise ParameterError("--consistent goes with one round, and --plot with one or with all")
    if options.against is not None:
        found = series.difference(options.against, options.round or series.rounds[-1].round)
    columns = found.columns(options.level, joint=options.joint)
    if options.out is not None:
        if options.out.suffix != ".parquet":
            raise ParameterError(f"rounds are saved as .parquet, not {options.out.suffix!r}; --json prints them")
        import pyarrow.parquet as pq

        with writing(options.out):
            pq.write_table(found.table(options.level, joint=options.joint), options.out)
    if options.plot is not None:
        from sfumato.report.local import plot_series, save_picture

        with writing(options.plot):
            save_picture(plot_series(series, options.level), options.plot)
    if as_json:
        history = to_record(series.history())
        print_json({"collection": series.collection.name, "history": history, "level": options.level,
                    "joint": options.joint, "table": columns})  # fmt: skip
    else:
        rows = len(columns["label"]) if options.all else SHOWN
        say(visible(str(found.card(options.level, joint=options.joint, first=rows)), keep="\n"))
    if any(one.suspicions() for one in series.rounds):
        raise ReportError(DOUBT)


def run(declaration: Path, options: Options, as_json: bool) -> None:
    """Estimate, write what was asked for, and show it."""
    checked_level(options.level)
    for written in (options.out, options.plot):
        if written is not None:
            must_be_apart(written, declaration, options.journal)
    if options.series or options.against is not None:
        _over_rounds(declaration, options, as_json)
        return
    estimate = opened(declaration, options.journal, made=False).estimate(options.round)
    if options.out is not None:
        with writing(options.out):
            estimate.save(options.out, options.level, joint=options.joint, consistent=options.consistent)
    if options.plot is not None:
        from sfumato.report.local import plot_estimate, save_picture

        with writing(options.plot):
            chart = plot_estimate(estimate, options.level, joint=options.joint, consistent=options.consistent)
            save_picture(chart, options.plot)
    if as_json:
        print_json(estimate.to_record(options.level, joint=options.joint, consistent=options.consistent))
    else:
        if estimate.suspicions():
            say(f"SUSPICIOUS: {DOUBT}")
        say(estimate.words())
        console().print(_table(estimate, options))
        say(_limits(estimate, options))
    if estimate.suspicions():
        raise ReportError(DOUBT)


def _cut(estimate: Estimate, options: Options) -> bool:
    """Whether the largest of many are chosen: single intervals would not cover."""
    return len(estimate.rows()) > SHOWN and not options.all and not estimate.ordered


def _limits(estimate: Estimate, options: Options) -> str:
    """What the limits on the screen claim."""
    joint, over = options.joint or _cut(estimate, options), counted(len(estimate.rows()), "value")
    found = limits_in_words(estimate.columns(options.level), options.level, joint, over)
    chosen = ", of which the largest are shown" if _cut(estimate, options) else ""
    return f"intervals: {found['intervals']}{chosen}" if found else "no interval is stated"


def _table(estimate: Estimate, options: Options) -> Any:
    shown, cut = len(estimate.rows()) if options.all else SHOWN, _cut(estimate, options)
    joint = options.joint or cut
    columns = estimate.columns(options.level, joint=joint, consistent=options.consistent)
    digits = decimals(columns, None) if "low" in columns else 4
    headings = ["consistent" if options.consistent else "estimate"]
    if "low" in columns:
        headings.append(f"{'joint ' if joint else ''}{options.level:.4g} interval")
    whole = table("", *headings, right=range(1, 1 + len(headings)))
    order = range(len(columns["label"]))
    if cut:
        order = sorted(order, key=lambda place: -columns["estimate"][place])  # type: ignore[assignment]
    for place in list(order)[:shown]:
        row = [columns["label"][place], spaced(columns["estimate"][place], digits)]
        if "low" in columns:
            row.append(f"{spaced(columns['low'][place], digits)} to {spaced(columns['high'][place], digits)}")
        whole.add_row(*row)
    if len(order) > shown:
        whole.add_row(f"… {len(order) - shown:,} more; --all shows them", *[""] * len(headings))
    return whole
