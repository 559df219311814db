"""The turns of an inquiry from the shell: take answers in, end a turn, publish the next question, show the finding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.cards import counted
from sfumato.cli.collect import IDLE
from sfumato.cli.console import print_json, say
from sfumato.cli.sparing import must_be_apart
from sfumato.errors import ParameterError, ReportError, SchemaError
from sfumato.local.collection.collector import REASONS, Receipt
from sfumato.local.collection.feeds import add_file
from sfumato.local.interactive.conductor import Conductor
from sfumato.local.interactive.inquiry import Asked, Inquiry, declares_interaction
from sfumato.storage import writing

__all__ = ["Options", "estimate", "meant", "run"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asked for beyond the files."""

    journals: Path | None
    round: str | None
    turn: bool
    question: Path | None


def meant(declaration: Path, turn: bool = False) -> bool:
    """Whether a file declares an inquiry; --turn goes with one alone."""
    found = declares_interaction(declaration)
    if turn and not found and declaration.is_file():
        raise ParameterError(f"--turn and --question are for inquiries; {declaration} is a collection without turns")
    return found


def run(declaration: Path, files: list[Path], options: Options, given: dict[str, bool], as_json: bool) -> None:
    """Collect answers from each file, in order; then end the turn and write the next question, if that is asked."""
    _apart(given)
    if not files and not options.turn:
        raise ParameterError("name files of answers to collect from, or give --turn to ask the next question")
    for path in files:
        if not path.is_file():
            raise SchemaError(f"there is no file {path}; check the path")
    if options.turn:
        Inquiry.read(declaration).named(options.round)  # a round that there is not is named before anything is made
    place = options.question or declaration.with_suffix(".question.json")
    if not place.parent.is_dir():
        raise ParameterError(f"--question: {place.parent} is no folder; make it first, the question is put there")
    conductor = Conductor.open(declaration, options.journals)
    found: dict[Path, list[Receipt]] = {}
    for path in files:
        found.setdefault(path, []).extend(add_file(conductor, path))
    wrong = _complaints(found, conductor.inquiry.name)
    asked = _next(conductor, options.round, place) if options.turn and not wrong else None
    if as_json:
        rounds = [_state(conductor, round) for round in conductor.inquiry.rounds]
        written = None if asked is None else str(place)
        print_json({"inquiry": conductor.inquiry.name, "question": written, "rounds": rounds, "files": _files(found)})
    else:
        for path, receipts in found.items():
            say(f"{path}: {_told(receipts)}")
        for round in [options.round] if options.round else conductor.inquiry.rounds:
            _say(conductor, round)
        if asked is not None:
            say(
                f"{place} holds the question" if asked.collection is not None else f"{place} holds the whole transcript"
            )
    if wrong:  # an ended turn takes no answers, also not those of a file that is mended
        left = "; the turn is not ended: mend that, or give --turn without these files" if options.turn else ""
        raise ReportError("; ".join(wrong) + left)


def estimate(
    declaration: Path, journals: Path | None, round: str | None, out: Path | None, given: dict[str, bool], as_json: bool
) -> None:
    """Show what the ended turns of a round say."""
    _apart(given)
    place = journals or declaration.with_suffix(".turns")
    if not place.is_dir():
        raise SchemaError(f"nothing was collected yet: there is no directory {place}; run sfumato collect --turn first")
    finding = Conductor.open(declaration, place).finding(round)
    if not finding.transcript:
        raise ParameterError(f"no turn of round {finding.round} has ended yet; run sfumato collect --turn")
    if out is not None:
        must_be_apart(out, declaration, place)
        with writing(out):
            finding.save(out)
    if as_json:
        print_json(finding.to_record())
    else:
        say(str(finding))


def _apart(given: dict[str, bool]) -> None:
    wrong = [name for name, there in given.items() if there]
    if wrong:
        raise ParameterError(f"{', '.join(wrong)} goes with collections; rounds of an inquiry end by turns")


def _next(conductor: Conductor, round: str | None, place: Path) -> Asked:
    asked = conductor.turn(round)
    with writing(place):
        asked.save(place)
    return asked


def _state(conductor: Conductor, round: str) -> dict[str, Any]:
    asked = conductor.asked(round)
    ended = asked.collection is None
    return {"round": round, "turn": asked.turn, "ended": ended, "answers": conductor.waiting(round)}


def _say(conductor: Conductor, round: str) -> None:
    state = _state(conductor, round)
    name = f"round {round} of {conductor.inquiry.name!r}"
    if state["ended"]:
        say(f"{name} has ended after {state['turn']} turns; sfumato estimate shows what it found")
    else:
        block = conductor.inquiry.rule.block(conductor.asked(round).transcript)
        say(f"{name}: turn {state['turn']} holds {counted(state['answers'], 'answer')} of about {block:,}")


def _counted(receipts: list[Receipt]) -> tuple[int, Counter[str]]:
    """Answers counted, and refusals by reason; those of messages that are known already were told before."""
    fresh = [receipt for receipt in receipts if not receipt.before]
    return sum(one.accepted for one in fresh), sum((Counter(one.refused) for one in fresh), Counter[str]())


def _files(found: dict[Path, list[Receipt]]) -> list[dict[str, Any]]:
    counts = {path: _counted(receipts) for path, receipts in found.items()}
    return [
        {"file": str(path), "accepted": accepted, "refused": dict(refused)}
        for path, (accepted, refused) in counts.items()
    ]


def _told(receipts: list[Receipt]) -> str:
    accepted, refused = _counted(receipts)
    known = sum(receipt.before for receipt in receipts)
    parts = [f"{counted(accepted, 'answer')} counted" if receipts else "the file is empty"]
    parts += [f"{counted(known, 'message')} known already"] if known else []
    parts += [f"refused {counted(count, REASONS[reason])}: {reason}" for reason, count in refused.items()]
    return "; ".join(parts)


def _complaints(found: dict[Path, list[Receipt]], name: str) -> list[str]:
    """What is wrong with files that are damaged, empty or somebody else's."""
    wrong = [f"{path} is empty; expected messages of answers" for path, receipts in found.items() if not receipts]
    for path, receipts in found.items():
        bad = [one for one in receipts if not one.before and one.refused.keys() - IDLE]
        if bad:
            count = f"{len(bad):,} of {len(receipts):,} messages of {path}"
            wrong.append(f"{count} are no answers to {name!r}: {bad[0].words}")
    return wrong
