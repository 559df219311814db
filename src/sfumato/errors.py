"""What goes wrong, as types.  A message names the argument, the reason and the fix, and no data."""

__all__ = [
    "AssumptionRefused",
    "BoundBroken",
    "BudgetExceeded",
    "EngineError",
    "LedgerError",
    "ParameterError",
    "ReportError",
    "SchemaError",
    "SfumatoError",
    "UnsupportedQuery",
]


class SfumatoError(Exception):
    """The root of every error that Sfumato raises on purpose."""


class ParameterError(SfumatoError, ValueError):
    """An argument is outside what its definition allows."""


class SchemaError(SfumatoError, ValueError):
    """The declared schema, plan or file layout does not fit."""


class UnsupportedQuery(SfumatoError, ValueError):
    """The question cannot be answered under this schema, target or engine."""


class AssumptionRefused(SfumatoError):
    """A guarantee rests on an assumption that the session has not allowed by name."""


class BoundBroken(SfumatoError):
    """An error is claimed below what is proven to be possible: the claim, the error or the bound is false."""


class BudgetExceeded(SfumatoError):
    """The charge does not fit into what remains of the budget; nothing was charged."""


class LedgerError(SfumatoError):
    """The ledger cannot be opened, does not belong to this dataset, or fails verification."""


class EngineError(SfumatoError):
    """The engine failed.  Its own text is withheld, since it may hold a value of the data."""


class ReportError(SfumatoError, ValueError):
    """A local report, or a batch of them, is not what the protocol sends; the reason says which part."""
