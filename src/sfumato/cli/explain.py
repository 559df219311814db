"""A saved release or local estimate in plain words: what was promised, what could be learned, what errors mean."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from sfumato.accounting.posteriors import Belief, beliefs
from sfumato.cli.console import console, print_json, say, table
from sfumato.errors import SchemaError
from sfumato.local.collection.estimates import UNIT, Estimate, load_estimate, short
from sfumato.release.archive import load
from sfumato.report.explanation import HEADINGS, explained

__all__ = ["run"]

ESTIMATE = "sfumato-estimate/"
OTHERS = {
    "sfumato-collection/": "a declaration; sfumato collect FILE --people N says what to expect of it",
    "sfumato-inquiry/": "a declaration of turns; sfumato estimate FILE shows what they found",
    "sfumato-question/": "the question of a turn, for devices",
    "sfumato-finding/": "what turns found; sfumato estimate of their declaration shows it in words",
}


def run(path: Path, as_json: bool) -> None:
    """Print the explanation."""
    kind = _format(path)
    if kind.startswith(ESTIMATE):
        return _estimate(load_estimate(path), as_json)
    for start, what in OTHERS.items():
        if kind.startswith(start):
            raise SchemaError(f"{path} is no release, but {what}")
    found = explained(load(path))
    if as_json:
        print_json(found.to_record())
        return None
    say(found.name)
    _part("What was promised", found.promised())
    _part("What somebody could learn at most", found.attack())
    _beliefs(found.learned)
    for sentence in found.limits():
        say(f"  {sentence}")
    _part("What the error bar means", found.accuracy())
    _part("How good that is", (f"{found.certificate}.",))
    _part("What else counts", found.adding_up())
    return None


def _format(path: Path) -> str:
    """What a JSON file says that it is; nothing of others."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        record = json.loads(path.read_text(encoding="utf-8"))
        return str(record.get("format", "")) if isinstance(record, dict) else ""
    return ""


def _estimate(estimate: Estimate, as_json: bool) -> None:
    """Of reports that devices randomized: the promise is of one report, and holds against the collector."""
    claim, facts = estimate.guarantee(), estimate.facts()
    promised = (
        f"Each owner's report is randomized before it leaves: {claim.words().format(unit=UNIT)}.",
        f"All reports of one owner, over all rounds: {short(estimate.history())}.",
    )
    meant = (
        "Each interval covers with the probability of its level, over the coins and, for shares that are counted, over "
        "who was drawn; of many, some do not, unless they are joint.",
        "A standard error is over the coins alone, around what holds among those who reported.",
        *([f"This {facts['caution']}."] if "caution" in facts else []),
    )
    if as_json:
        learned = [belief.to_record() for belief in beliefs(claim)]
        print_json({"promised": promised, "beliefs": learned, "error": meant, "facts": facts})
        return
    say(estimate.title())
    _part("What was promised", promised)
    _part("What anybody, the collector included, could learn at most from one report", ())
    _beliefs(beliefs(claim))
    _part("What the error bar means", meant)
    _part("How good that is", (f"{facts['certificate']}.",) if "certificate" in facts else (facts["SUSPICIOUS"],))
    _part("What else counts", tuple(f"{name}: {facts[name]}." for name in ("shuffled", "refused") if name in facts))


def _beliefs(learned: tuple[Belief, ...]) -> None:
    whole = table(*HEADINGS, right=range(len(HEADINGS)))
    for belief in learned:
        whole.add_row(*belief.cells())
    console().print(whole)


def _part(heading: str, sentences: tuple[str, ...]) -> None:
    say(f"\n{heading}")
    for sentence in sentences:
        say(f"  {sentence}")
