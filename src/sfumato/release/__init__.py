"""What leaves the system: answers to questions, and tables."""

from sfumato.release.answers import FORMAT, Provenance, Release, canonical, digest
from sfumato.release.tables import TableRelease

__all__ = ["FORMAT", "Provenance", "Release", "TableRelease", "canonical", "digest"]
