"""One name for one thing, whichever door: Python, command line, plan files, HTTP."""

from __future__ import annotations

import inspect
from dataclasses import fields

import pytest
import typer

import sfumato as sf
from sfumato.cli.app import app
from sfumato.plans.document import Amount, ReleaseSection, TableSection
from sfumato.queries.kinds import ALIASES, KINDS
from sfumato.server import models

AMOUNTS = {"epsilon", "delta", "rho"}
SHOWING = {"json", "out", "name", "version"}  # of the command line alone, of `release`, or of `from_plan`
GROUP = typer.main.get_command(app)


def options(command: str) -> set[str]:
    """The options of a command, spelled as in Python."""
    found = {name for each in GROUP.commands[command].params for name in each.opts if name.startswith("--")}
    return {name.removeprefix("--").replace("-", "_") for name in found} - {"help"}


def parameters(function: object) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}  # type: ignore[arg-type]


def test_amounts_have_the_same_names_everywhere():
    python = {each.name for kind in (sf.Pure, sf.Approximate, sf.Concentrated) for each in fields(kind)}
    assert python - {"assumptions"} == AMOUNTS
    assert set(Amount.model_fields) == set(models.Amount.model_fields) == AMOUNTS
    for command in ("synthesize", "sanitize", "extent", "sql", "audit"):
        assert options(command) >= AMOUNTS, command


def test_what_a_release_takes_is_named_alike_in_python_plans_and_requests():
    python = parameters(sf.Session.release)
    shared = {"spend", "within", "level", "name", "mechanism"}
    assert shared <= python
    assert shared <= set(ReleaseSection.model_fields)
    assert set(models.Ask.model_fields) == shared | {
        "query",
        "sql",
        "kind",
    }  # in Python a class as `spend`


def test_what_a_table_takes_is_named_alike_in_python_and_plans():
    plan = set(TableSection.model_fields) - {"engine", "connection", "path"}  # in Python they are the source
    assert plan <= parameters(sf.read)


@pytest.mark.parametrize(
    ("command", "function", "own"),
    [
        ("synthesize", sf.Session.synthesize, {"column", "weight"}),  # once for each of `columns`, of `weights`
        ("sanitize", sf.sanitized, {"column", "together"}),  # `together` is a function of its own
        ("extent", sf.extent, set()),
        ("audit", sf.audit, {"release", "real_arithmetic", "stop"}),  # assumptions of the claim; not `sharpen`
    ],
)
def test_options_of_commands_are_the_arguments_in_python(command, function, own):
    assert options(command) - AMOUNTS - SHOWING - own <= parameters(function)


def test_every_kind_of_question_in_a_plan_is_a_function_in_python():
    missing = {kind for kind in (*KINDS, *ALIASES) if kind.replace("-", "_") not in dir(sf)}
    assert missing == set()


def test_a_question_is_written_in_a_plan_with_the_names_of_its_arguments():
    for question in (sf.mean("age").by("team"), sf.quantiles("age", [0.5]), sf.top("team", 1), sf.extent("age")):
        record = question.to_record()
        given = parameters(getattr(sf, record["query"])) | {"query", "by", "where", "per_person"}
        assert set(record) <= given, record
