"""Engines: exact answers as whole numbers, computed where the data lives."""

from sfumato.engines.checking import Check, check
from sfumato.engines.sources import column_types, open_source, read
from sfumato.engines.table import Table

__all__ = ["Check", "Table", "check", "column_types", "open_source", "read"]
