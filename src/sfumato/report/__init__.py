"""Plots and the readable report of releases.  What makes pictures and pages is imported only when one is made."""

from typing import Any

from sfumato.deferred import Listed

_NAMES: Listed[Any] = Listed(__name__, {}).by_name("html:write_report", "plots:plot_budget", "plots:plot_release")

__all__ = [*_NAMES]


def __getattr__(name: str) -> Any:
    return _NAMES.attribute(name)


def __dir__() -> list[str]:
    return sorted(__all__)
