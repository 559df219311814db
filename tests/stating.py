"""Every class of the package that states a guarantee and draws, wherever it lives: what the nets must hold."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache

import sfumato

DRAWS = ("release", "randomize", "run", "publish")  # what a class that states a guarantee may call its random step


@cache
def stating() -> frozenset[type]:
    """Classes, not protocols of types nor unfinished ones, that have a guarantee and a random step of their own."""
    names = (found.name for found in pkgutil.walk_packages(sfumato.__path__, "sfumato."))
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    classes = {
        kind for module in modules for kind in vars(module).values() if inspect.isclass(kind) and _is_ours(kind, module)
    }
    return frozenset(kind for kind in classes if callable(getattr(kind, "guarantee", None)) and _draws(kind))


def place(kind: type) -> str:
    """Where a class lives, shortly."""
    return f"{kind.__module__.removeprefix('sfumato.')}.{kind.__qualname__}"


def _is_ours(kind: type, module: object) -> bool:
    is_protocol = getattr(kind, "_is_protocol", False)
    return kind.__module__ == getattr(module, "__name__", "") and not is_protocol and not inspect.isabstract(kind)


def _draws(kind: type) -> bool:
    return any(callable(getattr(kind, name, None)) for name in DRAWS)
