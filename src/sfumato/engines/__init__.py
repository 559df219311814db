"""Engines: exact answers as whole numbers, computed where the data lives."""

from sfumato.engines.checking import Check, check
from sfumato.engines.engine import Table
from sfumato.engines.sources import column_types, open_source, read

__all__ = ["Check", "Table", "check", "column_types", "open_source", "read"]
