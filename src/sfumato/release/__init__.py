"""What leaves the system: answers to questions, and tables."""

from sfumato.release.answers import FORMAT, FORMER, UNPROTECTED, Provenance, Release, dispute
from sfumato.release.identity import Identity, scope
from sfumato.release.tables import TableRelease

Published = Release | TableRelease

__all__ = [
    "FORMAT",
    "FORMER",
    "UNPROTECTED",
    "Identity",
    "Provenance",
    "Published",
    "Release",
    "TableRelease",
    "dispute",
    "scope",
]
