"""Running a target: whatever comes out is an output, also an exception, a warning or an exit.

A target is any callable of the data, or of the data and a source of randomness.  When it has a
method `batch(data, count, rng)`, that is called for many runs at once.  Data are copied for each run
of a target that was seen to change them.
"""

from __future__ import annotations

import copy
import inspect
import random
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from sfumato.auditing import clock
from sfumato.auditing.findings import abridged
from sfumato.auditing.shapes import printed
from sfumato.errors import ParameterError

__all__ = ["Died", "Raised", "Runner", "Seen", "Warned", "name_of", "takes_rng"]

LONGEST = 200  # characters of an exception or an output that a note shows

Generator = Callable[[int], Any]


@dataclass(frozen=True, slots=True)
class Raised:
    """The run ended in an exception (or an orderly exit) of this type and text."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Warned:
    """The run gave an output and also warned."""

    output: object
    kinds: tuple[str, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended without an answer: `how` is its exit code, signal, or 'hangs'."""

    how: str


class Seen:
    """What all outputs have in common: a target that always fails, or always says the same, shows nothing."""

    def __init__(self) -> None:
        self.first: object = None
        self.runs, self.answered, self.differed = 0, False, False

    def look(self, outputs: Sequence[Any]) -> None:
        """Compare further outputs with the first, until one is an answer and one differs."""
        for output in outputs:
            if self.answered and self.differed:
                return
            plain = output.output if isinstance(output, Warned) else output
            if not self.runs:
                self.first = plain
            self.runs += 1
            self.answered = self.answered or not isinstance(plain, Raised)
            self.differed = self.differed or (plain is not self.first and printed(plain) != printed(self.first))

    @property
    def failed(self) -> str | None:
        """That no run gave an answer, in words."""
        if not self.runs:
            return "every pair that was tried has an input that ends the process; nothing else was audited"
        if isinstance(self.first, Raised) and not self.answered:
            text = abridged(self.first.text, LONGEST)[1:-1]
            return f"every run raised {self.first.kind}{': ' if text else ''}{text}; nothing was audited"
        return None

    @property
    def blank(self) -> str | None:
        """That nothing can be concluded from the outputs, in words; None where they differ."""
        if self.failed is not None or self.differed:
            return self.failed
        return f"every run gave the same output, {abridged(self.first, LONGEST)}; nothing was audited"


def name_of(target: object) -> str:
    """The name under which a target is reported."""
    name = getattr(target, "name", None) or getattr(target, "__qualname__", None)
    return str(name or type(target).__name__)


def takes_rng(target: Callable[..., Any]) -> bool:
    """Whether the target wants a second positional argument, its source of randomness."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.default is p.empty and p.kind in positional]
    return len(required) >= 2 or any(p.name == "rng" for p in parameters)


def _of_seed(generator: Callable[..., Any]) -> Generator:
    """A maker of generators that is called with a seed; one that takes none, such as `secure`, is called without."""
    if not callable(generator):
        raise ParameterError(f"generator must make a generator from a seed, as numpy.random.default_rng does; got a "
                             f"{type(generator).__name__}: give the function, not what it makes")  # fmt: skip
    try:
        parameters = inspect.signature(generator).parameters
    except (TypeError, ValueError):
        return generator
    return generator if parameters else lambda _: generator()


class Runner:
    """Draws outputs of a target, counting runs and time."""

    def __init__(self, target: Callable[..., Any], generator: Callable[..., Any], seed: int) -> None:
        self.target, self.made_by = target, generator
        generator = _of_seed(generator)
        self.rng = generator(seed)
        self.children = 0
        self.generator, self.seed = generator, seed
        self.runs = 0
        self.spent = 0.0
        self.seen = Seen()
        self.batch = getattr(target, "batch", None)
        self.wants_rng = takes_rng(target)
        self._copies = False

    def watch(self, data: object) -> None:
        """Run once and note whether the target changes its input."""
        before = copy.deepcopy(data)
        given = copy.deepcopy(data)
        self.one(given)
        if repr(before) != repr(given):
            self._copies = True

    def reseed(self) -> None:
        """New states for the generators within reach, different in every child."""
        seed = (self.seed * 1_000_003 + self.children) % 2**32
        self.rng = self.generator(seed)
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 (the target may use the global generator)

    def one(self, data: object) -> Any:
        """One output."""
        return self.draw(data, 1)[0]

    def draw(self, data: object, count: int) -> Sequence[Any]:
        """`count` independent outputs on the same data."""
        start = clock.now()
        self.runs += count
        try:
            outputs = self._together(data, count) if self.batch is not None else self._separately(data, count)
        finally:
            self.spent += clock.now() - start
        self.seen.look(outputs)
        return outputs

    @property
    def pace(self) -> float:
        """Seconds per run so far."""
        return self.spent / max(self.runs, 1)

    def affordable(self, wanted: int, least: int, seconds: float) -> int:
        """How many runs fit into the time at the pace so far, as far as they are wanted, and the least of use."""
        return int(min(wanted, max(least, seconds / max(self.pace, 1e-9))))

    def _together(self, data: object, count: int) -> Sequence[Any]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                outputs = self.batch(copy.deepcopy(data), count, self.rng)  # type: ignore[misc]
                return cast("Sequence[Any]", outputs if isinstance(outputs, np.ndarray) else list(outputs))
            except (Exception, SystemExit) as error:
                return [Raised(type(error).__name__, str(error))] * count

    def _separately(self, data: object, count: int) -> list[Any]:
        outputs: list[Any] = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(count):
                output = self._run(copy.deepcopy(data) if self._copies else data)
                if caught:
                    kinds = tuple(sorted({w.category.__name__ for w in caught}))
                    texts = tuple(sorted({str(w.message) for w in caught}))
                    output = Warned(output, kinds, texts)
                    caught.clear()
                outputs.append(output)
        return outputs

    def quick(self, data: object) -> Any:
        """One run without bookkeeping, for the clock."""
        return self._run(data)

    def _run(self, data: object) -> Any:
        try:
            return self.target(data, self.rng) if self.wants_rng else self.target(data)
        except (Exception, SystemExit) as error:
            return Raised(type(error).__name__, str(error))
