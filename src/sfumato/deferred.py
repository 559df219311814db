"""Large libraries that few questions need, imported when first used: a count starts without compilers and solvers."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar, cast

from sfumato.errors import UnsupportedQuery

__all__ = ["Listed", "Module", "compiled", "function", "njit"]

T = TypeVar("T")


class Module:
    """A module that is imported when one of its names is first used.

    >>> Module("math").sqrt(4.0)
    2.0
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)


def function(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is first called."""

    def call(*given: object, **named: object) -> Any:
        return getattr(importlib.import_module(module), name)(*given, **named)

    return call


class Listed(Mapping[str, T]):
    """A closed list of what the modules of a package hold, by names of its own, each imported when first asked for.

    >>> listed = Listed("sfumato", {"raise": "numeric:round_up"})
    >>> listed["raise"](1.0), list(listed), list(listed.by_name())
    (1.0000000000000002, ['raise'], ['round_up'])
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places = package, dict(places)
        self._held: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._held:
            module, _, own = self._places[name].partition(":")
            self._held[name] = cast(T, getattr(importlib.import_module(f"{self._package}.{module}"), own))
        return self._held[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def by_name(self, *others: str) -> Listed[Any]:
        """The same, and what else there is, under the names that their modules give them."""
        places = sorted((*self._places.values(), *others), key=lambda place: place.partition(":")[2])
        return Listed(self._package, {place.partition(":")[2]: place for place in places})

    def attribute(self, name: str) -> T:
        """What a package answers when it is asked for an attribute that it lacks."""
        if name not in self._places:
            raise AttributeError(f"module {self._package!r} has no attribute {name!r}")
        return self[name]


def compiled() -> bool:
    """Whether loops can be compiled: the extra `compiled` is installed."""
    return importlib.util.find_spec("numba") is not None


class Compiled:
    """A function that numba compiles when any such function is first called."""

    def __init__(self, plain: FunctionType, options: dict[str, Any]) -> None:
        self.plain, self.options, self.made = plain, options, None
        self.__name__, self.__doc__, self.__module__ = plain.__name__, plain.__doc__, plain.__module__

    def __call__(self, *given: object) -> Any:
        if self.made is None:
            with _COMPILING:
                if self.made is None:
                    _compile()
        return self.made(*given)  # type: ignore[misc]


_WAITING: list[Compiled] = []
_COMPILING = Lock()


def njit(**options: object) -> Callable[[Any], Any]:
    """As numba's `njit`, without importing numba before the first call."""

    def deferred(plain: FunctionType) -> Compiled:
        made = Compiled(plain, options)
        _WAITING.append(made)
        return made

    return deferred


def _compile() -> None:
    """Hand every waiting function to numba, and let those that call one another find what numba made of them."""
    if not compiled():
        raise UnsupportedQuery(
            "walks over the facets of a hull are compiled, and the compiler is not installed; "
            "install the extra `compiled` (pip install 'sfumato[compiled]'), or choose another mechanism"
        )
    import numba

    waiting = list(_WAITING)
    made = {one: numba.njit(**one.options)(one.plain) for one in waiting}
    for names in (one.plain.__globals__ for one in waiting):
        found = {name: held for name, held in list(names.items()) if isinstance(held, Compiled)}
        names.update({name: made.get(held, held.made) for name, held in found.items()})
    for one in waiting:  # only now: another thread calls what is made, which must find no other half
        one.made = made[one]
    del _WAITING[: len(waiting)]
