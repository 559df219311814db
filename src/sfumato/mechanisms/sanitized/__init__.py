"""Sanitized tables: every record perturbed by itself, so that every later query is free."""

from sfumato.mechanisms.sanitized.plan import Sanitization

__all__ = ["Sanitization"]
