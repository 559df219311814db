"""Evidence against privacy claims.  `audit` attacks a callable; the other doors attack declared parts."""

from sfumato.auditing.auditor import audit
from sfumato.auditing.findings import Attempt, Evidence, Finding
from sfumato.auditing.probing import Examples

__all__ = ["Attempt", "Evidence", "Examples", "Finding", "audit"]
