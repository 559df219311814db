"""Evidence against privacy claims.  `audit` attacks a callable; the other doors attack declared parts."""

from sfumato.auditing.accounting import GaussianNoise, LaplaceNoise, Law, audit_accounting
from sfumato.auditing.auditor import audit, largest_epsilon
from sfumato.auditing.enumeration import audit_law
from sfumato.auditing.findings import Attempt, Evidence, Finding
from sfumato.auditing.membership import audit_membership
from sfumato.auditing.metamorphic import audit_rowwise
from sfumato.auditing.probing import Examples
from sfumato.auditing.reconstruction import audit_reconstruction
from sfumato.auditing.sensitivity import audit_sensitivity
from sfumato.auditing.table import Target, audit_table, render

__all__ = [
    "Attempt",
    "Evidence",
    "Examples",
    "Finding",
    "GaussianNoise",
    "LaplaceNoise",
    "Law",
    "Target",
    "audit",
    "audit_accounting",
    "audit_law",
    "audit_membership",
    "audit_reconstruction",
    "audit_rowwise",
    "audit_sensitivity",
    "audit_table",
    "largest_epsilon",
    "render",
]
