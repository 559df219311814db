"""A statement of SQL and a plan: read, previewed or released; everything that is printed is public."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.cli.answers import answer_table
from sfumato.cli.console import console, print_json, say
from sfumato.cli.interrupts import patient
from sfumato.errors import ParameterError
from sfumato.orders import preview
from sfumato.plans import Plan, read_plan
from sfumato.plans.outlook import must_be_chargeable, opened, standing, stored
from sfumato.privacy.claims import guarantee_of, to_record
from sfumato.privacy.guarantees import Guarantee
from sfumato.release import Published
from sfumato.report.answers import cost, left
from sfumato.sql import Asked, asked, spends, tables_of
from sfumato.visible import visible

__all__ = ["run"]

Amounts = tuple[float | None, float | None, float | None]  # epsilon, delta, rho


def run(path: Path, text: str, amounts: Amounts, release: bool, as_json: bool, version: str | None = None) -> None:
    """Without amounts how the text is read; with them what it would cost; with `release` the answers."""
    plan = read_plan(path, version)
    questions = asked(text, plan.schema, *tables_of(plan))
    if all(amount is None for amount in amounts):
        if release:
            raise ParameterError("--release needs what the statement may cost: --epsilon, also --delta, or --rho")
        _read(plan, questions, as_json)
        return
    spend = guarantee_of(dict(zip(("epsilon", "delta", "rho"), amounts, strict=True)))
    parts = spends([one.query for one in questions], plan.schema, spend, plan.allow)
    (_released if release else _previewed)(plan, questions, spend, parts, as_json)


def _read(plan: Plan, questions: tuple[Asked, ...], as_json: bool) -> None:
    if as_json:
        print_json({"dataset": plan.schema.dataset, "questions": [_record(one) for one in questions]})
        return
    for one in questions:
        say("" if one.name is None else visible(one.name))
        say(f"  question     {one.query.name}")
        _say_notes(one)
    say("Nothing was spent and no data was read.  What it would cost: give --epsilon")


def _previewed(
    plan: Plan, questions: tuple[Asked, ...], spend: Guarantee, parts: list[Guarantee], as_json: bool
) -> None:
    pairs = list(zip(questions, parts, strict=True))
    seen = [preview(one.query, plan.schema, spend=part, allow=plan.allow, name=one.name) for one, part in pairs]
    stands = standing(plan, spend)
    if as_json:
        found = [{**_record(one), **each.to_record()} for one, each in zip(questions, seen, strict=True)]
        print_json({"dataset": plan.schema.dataset, "spend": to_record(spend), "fits": stands.fits, "questions": found})
        return
    for one, each in zip(questions, seen, strict=True):
        say(each)
        _say_notes(one)
    fits = "fits" if stands.fits else "does NOT fit, unless it is stored"
    say(f"in all {cost(spend)} at most, which {fits}: {left(stands.left)} is left")
    say("Nothing was spent and no data was read.  To release: give --release")


def _released(
    plan: Plan, questions: tuple[Asked, ...], spend: Guarantee, parts: list[Guarantee], as_json: bool
) -> None:
    pairs = list(zip(questions, parts, strict=True))
    kept = [stored(plan, one.query, part, one.name) for one, part in pairs]
    made = [one for one in kept if one is not None]
    if len(made) < len(pairs):
        made = _made(plan, pairs, as_json)
    remaining = standing(plan, spend).left
    if as_json:
        print_json({"releases": [one.to_record() for one in made], "remaining": to_record(remaining)})
        return
    console().print(answer_table(made))
    for one in questions:
        _say_notes(one)
    say(f"left {left(remaining)}")


def _made(plan: Plan, pairs: list[tuple[Asked, Guarantee]], as_json: bool) -> list[Published]:
    """The answers, of which some must be charged and computed."""
    for one, part in pairs:
        must_be_chargeable(plan, one.query, part, one.name)
    session = opened(plan)
    if session.notice and not as_json:
        say(session.notice)
    with patient():
        return session.release_all([{"query": one.query, "spend": part, "name": one.name} for one, part in pairs])


def _record(one: Asked) -> dict[str, Any]:
    return {"name": one.name, "question": one.query.name, "query": one.query.to_record(), "notes": list(one.notes)}


def _say_notes(one: Asked) -> None:
    for note in one.notes:
        say(f"  note         {note}")
