"""Several mechanisms side by side, and where a thing of this library is proven and cited."""

from __future__ import annotations

import importlib
import inspect
import re
import time
from dataclasses import dataclass

import numpy.typing as npt

from sfumato.errors import ParameterError
from sfumato.randomness import seeded
from sfumato.reference.calibrated import Calibrated

__all__ = ["Citation", "cite", "compare"]

KEY = re.compile(r"\b((?:[A-Z][a-z]+){1,5}?(?:EtAl)?(?:19|20)\d\d)\b")
NOTE = re.compile(r"docs/proofs/[\w-]+\.md")


def compare(
    *mechanisms: Calibrated[npt.ArrayLike, object], data: npt.ArrayLike | None = None
) -> list[dict[str, object]]:
    """One line a mechanism, the least mean l2 error first: claim, mean error, mean square, 95 % error, certificate.

    With `data`, public ones such as zeros, also the seconds that one draw takes.
    """
    lines = []
    for one in mechanisms:
        line: dict[str, object] = {"name": one.name, "guarantee": repr(one.guarantee()), "error": one.error()}
        if one.moments is not None:
            line |= {"mean": one.moment(1, "l2"), "mean_square": one.moment(2, "l2")}
        line["certificate"] = one.certificate.words()
        if data is not None:
            started = time.perf_counter()
            one.draw(data, seeded(0))
            line["seconds"] = time.perf_counter() - started
        lines.append(line)
    return sorted(lines, key=lambda line: float(str(line.get("mean", line["error"]))))


@dataclass(frozen=True, slots=True)
class Citation:
    """The keys of docs/references.bib that a thing rests on, and the notes that prove it."""

    name: str
    keys: tuple[str, ...]
    proofs: tuple[str, ...]


def cite(thing: object) -> Citation:
    """What to cite for a class, a function or a mechanism of this library, from the module that states it.

    >>> cite("sfumato.mechanisms.noise.laplace").proofs
    ('docs/proofs/laplace.md',)
    """
    if isinstance(thing, Calibrated):
        thing = thing.mechanism
    if isinstance(thing, str):
        home = thing
    else:
        named = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
        home = str(getattr(named, "__module__", ""))
    if not home.startswith("sfumato."):
        raise ParameterError("thing must be a class, a function or a mechanism of sfumato")
    text = importlib.import_module(home).__doc__ or ""
    found = Citation(home, tuple(dict.fromkeys(KEY.findall(text))), tuple(dict.fromkeys(NOTE.findall(text))))
    if not (found.keys or found.proofs):
        raise ParameterError(
            f"{home} names no paper or proof; of a function that makes a mechanism, cite what it makes"
        )
    return found
