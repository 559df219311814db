"""Questions in SQL: text becomes the same queries that plans hold, and nothing else."""

from sfumato.sql.spends import requests, spends
from sfumato.sql.statement import Asked, asked
from sfumato.sql.tables import tables_of
from sfumato.sql.writing import sql_of

__all__ = ["Asked", "asked", "requests", "spends", "sql_of", "tables_of"]
