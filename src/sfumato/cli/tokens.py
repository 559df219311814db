"""Tokens for those who may ask the service."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sfumato.cli.console import console, print_json, say, table
from sfumato.errors import LedgerError, ParameterError, SfumatoError
from sfumato.plans import Plan, read_plan
from sfumato.report.answers import cost
from sfumato.server.roster import Roster
from sfumato.server.store import opened_store

__all__ = ["add", "revoke", "show"]


def add(paths: list[Path], name: str, expires: str | None, as_json: bool) -> None:
    """Print a new token, and keep its hash for each plan."""
    plans = [read_plan(path) for path in paths]
    for plan in plans:
        _must_know(plan, name)
    token = None
    places = [str(path.absolute()) for path in paths]
    for plan, place in zip(plans, places, strict=True):
        token = _roster(plan).add(name, expires, token, [one for one in places if one != place])
    if as_json:
        print_json({"analyst": name, "token": token, "datasets": [plan.schema.dataset for plan in plans]})
        return
    say(f"{token}")
    say(f"This is the token of {name}, shown once: hand it over by a way that nobody else reads.")


def show(path: Path, as_json: bool) -> None:
    """Who may ask."""
    plan = read_plan(path)
    held = _roster(plan).tokens()
    if as_json:
        print_json([{"analyst": one.analyst, **one.to_record()} for one in held])
        return
    whole = table("analyst", "role", "budget", "token", "created", "expires", "revoked")
    for analyst in plan.service.analysts.values():
        budget = "none" if analyst.budget is None else cost(analyst.budget)
        rows = [one for one in held if one.analyst == analyst.name]
        for one in rows:
            whole.add_row(
                analyst.name, analyst.role, budget, one.hash[:12], one.created, one.expires or "", one.revoked or ""
            )
        if not rows:
            whole.add_row(analyst.name, analyst.role, budget, "none yet", "", "", "")
    console().print(whole)


def revoke(path: Path, name: str, beginning: str, as_json: bool) -> None:
    """End tokens, for every plan that they were made for; whatever could not be ended is told."""
    plan = read_plan(path)
    roster = _roster(plan)
    tokens = roster.tokens()
    own = [one for one in tokens if one.analyst == name]
    if not own:
        _must_be_known(plan, name, {one.analyst for one in tokens})
    chosen = [one for one in own if one.hash.startswith(beginning)]
    if beginning and not chosen:
        known = ", ".join(one.hash[:12] for one in own) or "none"
        raise ParameterError(f"no token of {name} begins with {beginning!r:.40}; theirs are {known}; nothing was ended")
    now, ended, datasets, failed = datetime.now(UTC), 0, {plan.schema.dataset: roster}, list[str]()
    for one in chosen:
        places = [
            (path.absolute(), plan.schema.dataset),
            *((Path(other), None) for other in roster.list_plans(one.hash)),
        ]
        live = False
        for place, dataset in places:
            try:
                if dataset is None:
                    other = read_plan(place)
                    dataset = other.schema.dataset
                    datasets[dataset] = datasets.get(dataset) or _roster(other)
                live |= any(held.hash == one.hash and held.valid(now) for held in datasets[dataset].tokens())
                datasets[dataset].revoke(name, one.hash)
            except SfumatoError as error:
                failed.append(f"{place}: {error}")
        ended += live
    if as_json:
        print_json({"analyst": name, "revoked": ended, "datasets": list(datasets)})
    else:
        say(f"{ended} token{'' if ended == 1 else 's'} of {name} ended, for {', '.join(datasets)}")
    if failed:
        raise LedgerError(
            f"a token was made for another plan as well, and could not be ended there; revoke it there ({failed[0]})"
        )


def _must_be_known(plan: Plan, name: str, holders: set[str]) -> None:
    """Refuse a name that is most likely mistyped: that the plan does not know, and that holds no token."""
    known = sorted(holders | plan.service.analysts.keys())
    if name not in known:
        raise ParameterError(
            f"{plan.path}: there is no analyst {name!r:.80}; known are {', '.join(known) or 'none'}; nothing was ended"
        )


def _roster(plan: Plan) -> Roster:
    return Roster(opened_store(plan), plan.schema.dataset)


def _must_know(plan: Plan, name: str) -> None:
    if name not in plan.service.analysts:
        known = ", ".join(plan.service.analysts) or "nobody"
        raise ParameterError(f"{plan.path}: there is no [analysts.{name}]; the plan knows {known}")
