"""Pictures of releases for the page: the report's own charts, as descriptions that the browser draws."""

from __future__ import annotations

from typing import Any

from sfumato.errors import UnsupportedQuery
from sfumato.release import Published

__all__ = ["picture"]


def picture(release: Published) -> dict[str, Any] | None:
    """The chart of a release as Vega-Lite, without its title; none where a release has too many keys for one.

    It is made of what was released, so it costs nothing.
    """
    try:
        described: dict[str, Any] = release.plot().to_dict(validate=False)
    except UnsupportedQuery:
        return None
    return {name: part for name, part in described.items() if name not in ("title", "$schema")}
