"""What a long step is doing, told to whoever listens: nobody, unless a caller shows it.

Only public words and shares of the work pass here.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Protocol, cast

from sfumato.markup import filled

__all__ = ["Listener", "listening", "shown", "stage", "tell"]

Listener = Callable[[str, float], None]  # what is being done, and the part of the work that is behind
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)

PATIENCE = 1.0  # seconds before a notebook shows a bar: most answers are there by then


def tell(words: str, part: float) -> None:
    """Say what begins now, and how much of the whole is behind, from 0 to 1."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(words, part)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hand what is told inside to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def stage(words: str, number: int, count: int) -> Iterator[None]:
    """One of several steps, `number` from 0: what is told inside is a part of it."""
    outer = _LISTENER.get()
    if outer is None:
        yield
        return
    outer(words, number / count)
    with listening(lambda inner, part: outer(f"{words}: {inner}", (number + part) / count)):
        yield


@contextmanager
def shown() -> Iterator[None]:
    """A bar as soon as something is told, on the terminal or in a notebook after a second; none where nobody looks, or
    somebody listens already.
    """
    display = None if _LISTENER.get() is not None else _notebook()
    if display is not None:
        bar = _Cell(display)
        with listening(bar.show):
            try:
                yield
            finally:
                bar.clear()
        return
    if _LISTENER.get() is not None or not sys.stderr.isatty():
        yield
        return
    with ExitStack() as stack:
        bars: list[Listener] = []

        def show(words: str, part: float) -> None:
            if not bars:
                bars.append(_bar(stack))
            bars[0](words, part)

        with listening(show):
            yield


def _bar(stack: ExitStack) -> Listener:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    bar = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = bar.add_task("", total=1.0)
    return lambda words, part: bar.update(task, description=words, completed=part)


class Handle(Protocol):
    """What IPython gives for something displayed, to draw it anew."""

    def update(self, shown: object) -> None: ...


class Display(Protocol):
    """IPython's module of that name."""

    def HTML(self, data: str) -> object: ...  # noqa: N802 (its own name)

    def display(self, shown: object, *, display_id: bool) -> Handle: ...


def _notebook() -> Display | None:
    """What displays in the notebook that runs this, if one does: IPython with a kernel, which is loaded then."""
    loaded = sys.modules.get("IPython")
    shell = None if loaded is None else loaded.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    return cast(Display, importlib.import_module("IPython.display"))


class _Cell:
    """A bar below a notebook's cell, redrawn in place, and gone when the work is done."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._begun = time.monotonic()
        self._handle: Handle | None = None

    def show(self, words: str, part: float) -> None:
        """Draw what is being done, once it has taken a while."""
        if self._handle is None and time.monotonic() - self._begun < PATIENCE:
            return
        bar = filled("<progress value='{part}' max='1'></progress> {words}", part=f"{part:.3f}", words=words)
        if self._handle is None:
            self._handle = self._display.display(self._display.HTML(str(bar)), display_id=True)
        else:
            self._handle.update(self._display.HTML(str(bar)))

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))
