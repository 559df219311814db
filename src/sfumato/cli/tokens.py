"""Tokens for those who may ask the service."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import console, print_json, say, table
from sfumato.errors import ParameterError
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
    for plan in plans:
        token = _roster(plan).add(name, expires, token)
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
    """End tokens."""
    ended = _roster(read_plan(path)).revoke(name, beginning)
    if as_json:
        print_json({"analyst": name, "revoked": ended})
    else:
        say(f"{ended} token{'' if ended == 1 else 's'} of {name} ended")


def _roster(plan: Plan) -> Roster:
    return Roster(opened_store(plan), plan.schema.dataset)


def _must_know(plan: Plan, name: str) -> None:
    if name not in plan.service.analysts:
        known = ", ".join(plan.service.analysts) or "nobody"
        raise ParameterError(f"{plan.path}: there is no [analysts.{name}]; the plan knows {known}")
