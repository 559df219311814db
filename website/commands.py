"""The reference page of the commands, written from their own help."""

from __future__ import annotations

import re
from typing import Any

import typer

from sfumato.cli.app import app


def page() -> str:
    group = typer.main.get_command(app)
    lines = ["# Commands", "", plain(group.help), "", "Every command takes `--help`.", ""]
    lines += ["| command | does |", "|---|---|"]
    rows = list(walked(group, "sfumato"))
    lines += [f"| [`{name}`](#{anchor(name)}) | {plain(command.help).splitlines()[0]} |" for name, command in rows]
    for name, command in rows:
        lines += ["", *described(name, command)]
    return "\n".join(lines) + "\n"


def walked(group: Any, name: str) -> Any:
    """Every command with its whole name, those of groups in their place."""
    for part, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walked(command, f"{name} {part}")
        elif not command.hidden:
            yield f"{name} {part}", command


def described(name: str, command: Any) -> list[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    shown = " ".join(f"{each.name.upper()}" if each.required else f"[{each.name.upper()}]" for each in arguments)
    usage = f"{name} {shown}{' [OPTIONS]' if options else ''}".replace("  ", " ")
    lines = [f"## `{name}` {{ #{anchor(name)} }}", "", plain(command.help), "", "```text", usage, "```"]
    rows = [(each.name.upper(), plain(getattr(each, "help", None))) for each in arguments]
    rows += [(", ".join([*each.opts, *each.secondary_opts]), plain(each.help)) for each in options]
    if rows:
        lines += ["", "| | |", "|---|---|", *(f"| `{term}` | {said} |" for term, said in rows)]
    if command.epilog:
        lines += ["", plain(command.epilog)]
    return lines


def anchor(name: str) -> str:
    return name.replace(" ", "-")


def plain(text: str | None) -> str:
    """Help without the marks of the terminal."""
    bare = re.sub(r"\[/?[a-z ]*\]", "", (text or "").replace("\\[", "["))
    return re.sub(r"([<|*])", r"\\\1", bare)
