"""A command whose options mean something by their order."""

from __future__ import annotations

import typer
from typer.core import TyperCommand

__all__ = ["ORDER", "InOrder"]

ORDER = "sfumato.order"  # where a context keeps the names


class InOrder(TyperCommand):
    """It keeps the order in which its options were given: a count belongs to the noise before it."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Note the names, then parse as always."""
        ctx.meta[ORDER] = [word.split("=")[0].removeprefix("--") for word in args if word.startswith("--")]
        return super().parse_args(ctx, args)
