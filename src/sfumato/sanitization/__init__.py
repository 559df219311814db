"""Sanitized tables: every record perturbed by itself, so that every later query is free."""

from sfumato.sanitization.blocks import Together, together
from sfumato.sanitization.plan import Sanitization, sanitization
from sfumato.sanitization.table import SanitizedTable

__all__ = ["Sanitization", "SanitizedTable", "Together", "sanitization", "together"]
