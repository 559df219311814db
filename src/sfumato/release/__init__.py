"""What leaves the system: answers to questions, and tables."""

from sfumato.release.answers import FORMAT, FORMER, Provenance, Release, dispute
from sfumato.release.identity import Identity, canonical, digest, scope
from sfumato.release.tables import TableRelease

__all__ = [
    "FORMAT",
    "FORMER",
    "Identity",
    "Provenance",
    "Release",
    "TableRelease",
    "canonical",
    "digest",
    "dispute",
    "scope",
]
