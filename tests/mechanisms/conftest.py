"""Fixtures of the mechanism tests; no deadlines, since machines are shared."""

from hypothesis import settings
from oracle import oracle

__all__ = ["oracle"]

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
