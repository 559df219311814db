"""HTML from text: whatever is not markup already is escaped, here and nowhere else."""

from __future__ import annotations

from html import escape

from sfumato.visible import visible

__all__ = ["Markup", "filled", "joined"]


class Markup(str):
    """Text that is HTML already, made by the functions of this module or by the renderer of pictures."""

    __slots__ = ()


def filled(template: str, **parts: object) -> Markup:
    """The template with each part in its place, escaped unless it is markup.

    >>> filled("<b title='{a}'>{b}</b>{c}", a="x' onclick='y", b="<i>\\x07", c=Markup("<hr>"))
    "<b title='x&#x27; onclick=&#x27;y'>&lt;i&gt;\\\\x07</b><hr>"
    """
    return Markup(template.format(**{name: _safe(part) for name, part in parts.items()}))


def joined(parts: object) -> Markup:
    """Several parts after one another, each escaped unless it is markup."""
    return Markup("".join(_safe(part) for part in parts))  # type: ignore[attr-defined]


def _safe(part: object) -> str:
    return part if isinstance(part, Markup) else escape(visible(str(part)))
