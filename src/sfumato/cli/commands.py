"""Commands made of their functions: the one that is asked for, or all of them where help or none is.

Making all of them takes longer than many of them take to run; so do other things that a command can do without.
"""

from __future__ import annotations

import copy
import functools
import gc
import os
from collections.abc import Callable, Sequence

import typer
from typer.main import get_command, get_command_name

__all__ = ["command_for", "own_process"]


def own_process() -> None:
    """Settings of a process that runs one command: what it imports stays, and holds no garbage to look for; plugins
    that other packages bring for pydantic are not looked for either, and see no plan.
    """
    gc.set_threshold(20_000, 20, 20)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")


def command_for(app: typer.Typer, words: Sequence[str]) -> Callable[..., object]:
    """What runs these words: with one command where they begin with its name, with all otherwise."""
    return _made(app, words[0] if words and words[0] in _names(app) else None)


@functools.cache
def _made(app: typer.Typer, name: str | None) -> Callable[..., object]:
    if name is None:
        return get_command(app)
    alone = copy.copy(app)
    alone.registered_commands = [one for one in app.registered_commands if _named(one) == name]
    alone.registered_groups = [one for one in app.registered_groups if one.name == name]
    return get_command(alone)


def _names(app: typer.Typer) -> set[str | None]:
    return {*map(_named, app.registered_commands), *(one.name for one in app.registered_groups)}


def _named(command: typer.models.CommandInfo) -> str:
    assert command.callback is not None
    return command.name or get_command_name(command.callback.__name__)
