"""Exit codes, and errors as one short screen: no traceback, no data."""

from __future__ import annotations

import errno
import json
import sys

from sfumato.cli.console import complain
from sfumato.errors import BudgetExceeded, SfumatoError

__all__ = ["EXIT_CODES", "Interrupted", "LedgerDoesNotVerify", "code_of", "explain"]

FINE, REFUSED, USAGE, EXCEEDED, BROKEN, INTERRUPTED = 0, 1, 2, 3, 4, 130

EXIT_CODES = (
    "Exit codes: 0 fine; 1 refused or failed; 2 wrong usage; 3 budget exceeded, nothing charged; "
    "4 the ledger does not verify; 130 interrupted."
)

GENERIC = "an unexpected failure; its details are withheld, since they may hold data"


class LedgerDoesNotVerify(SfumatoError):
    """A ledger was checked and found wanting."""


class Interrupted(SfumatoError):
    """Stopped by the user, between two steps."""


def code_of(error: Exception) -> int:
    """The exit code of an error."""
    if isinstance(error, Interrupted):
        return INTERRUPTED
    if isinstance(error, BudgetExceeded):
        return EXCEEDED
    return BROKEN if isinstance(error, LedgerDoesNotVerify) else REFUSED


def explain(error: Exception, as_json: bool) -> int:
    """Say what went wrong on standard error, and return the exit code."""
    if isinstance(error, SfumatoError):
        kind, message = type(error).__name__, str(error)
    elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        kind, message = "ParameterError", "a path is longer than the names of files can be; choose a shorter one"
    else:
        kind, message = "Unexpected", f"{GENERIC} (kind: {type(error).__name__})"
    code = code_of(error)
    if as_json:
        print(json.dumps({"error": kind, "message": message, "exit_code": code}), file=sys.stderr)
    else:
        complain(f"sfumato: {message}")
    return code
