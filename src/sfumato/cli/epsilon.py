"""The privacy of releases that a person lists by options, in order: what noise, how often, at which delta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.accounting.lines import NOISES, Line, reading
from sfumato.cli.console import console, print_json, say, table
from sfumato.errors import ParameterError
from sfumato.numeric import shown_down, shown_up

__all__ = ["lines_of", "run"]

DIGITS = 5


def run(
    order: Sequence[str], given: Mapping[str, Sequence[Any]], delta: float | None, epsilon: float | None, as_json: bool
) -> None:
    """Print both ends of epsilon at `delta`, or of delta at `epsilon`."""
    lines = lines_of(order, given)
    found = reading(lines, delta=delta, epsilon=epsilon)
    asked = {"delta": delta} if epsilon is None else {"epsilon": epsilon}
    name = "epsilon" if epsilon is None else "delta"
    if as_json:
        print_json({"lines": [line.words() for line in lines], **asked, name: [found.lower, found.upper]})
        return
    whole = table("released", fold=True)
    for line in lines:
        whole.add_row(line.words())
    console().print(whole)
    at = ", ".join(f"{key} = {value:g}" for key, value in asked.items())
    say(f"{name} at {at}: at most {shown_up(found.upper, DIGITS)}, which may be claimed")
    if found.lower is None:
        say("How much less a sharper accounting could claim is not known: some promise here has no worst mechanism.")
    else:
        say(f"At least {shown_down(found.lower, DIGITS)}: no accounting of these releases can claim less.")
    say("True if all of it was fixed before the first answer was seen" + _about(lines) + ".")


def lines_of(order: Sequence[str], given: Mapping[str, Sequence[Any]]) -> list[Line]:
    """The lines: each noise begins one, and what follows it up to the next noise belongs to it."""
    values = {name: iter(found) for name, found in given.items()}
    parts: list[dict[str, Any]] = []
    for name in (name for name in order if name in given):
        value = next(values[name])
        if name in NOISES:
            parts.append({"noise": name, **(_both(value) if name == "approximate" else {"amount": value})})
        elif not parts:
            raise ParameterError(f"--{name} belongs to the noise before it; begin with one of --{', --'.join(NOISES)}")
        elif name in parts[-1]:
            raise ParameterError(f"--{name} is given twice for --{parts[-1]['noise']}; give each noise its own")
        else:
            parts[-1][name] = value
    return [Line(**part) for part in parts]


def _both(text: str) -> dict[str, float]:
    """An epsilon and a delta, as they are written."""
    try:
        epsilon, delta = map(float, text.split(","))
    except ValueError:
        raise ParameterError(
            f"--approximate takes an epsilon and a delta with a comma between, such as 0.5,1e-9; got {text!r:.40}"
        ) from None
    return {"amount": epsilon, "delta": delta}


def _about(lines: Sequence[Line]) -> str:
    """What sampled and shuffled lines take for granted."""
    sampled = any(line.sampled is not None for line in lines)
    shuffled = any(line.shuffled is not None for line in lines)
    return ("; nobody learns who is in a sample, and one unit is added or removed" if sampled else "") + (
        "; all shuffled reports come from people who follow the protocol, and one is replaced" if shuffled else ""
    )
