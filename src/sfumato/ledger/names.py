"""Names in a ledger: of versions, of parts of what was measured together, of what was lost, of assumptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sfumato.errors import LedgerError
from sfumato.ledger.entries import Entry
from sfumato.ledger.protocol import Known, LedgerLike
from sfumato.privacy.claims import guarantee_from
from sfumato.privacy.guarantees import Guarantee

__all__ = [
    "TOGETHER", "Parts", "charged", "is_lost", "kept_title", "lost_words", "must_be_no_part", "plain_name", "resting",
    "told_apart", "version_words", "versioned",
]  # fmt: skip

BRIEF, MOST = 16, 900  # digits of a digest behind a name, and letters before it
TOGETHER = "together"  # the part of a charge's description that lists the releases and their questions


def charged(entries: Iterable[Entry]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The name and description of every release that was charged, by itself or in a batch, oldest first."""
    for entry in entries:
        if entry.kind == "charge":
            inside = entry.description.get("releases")
            pairs = entry.batch or ((entry.name, entry.digest),)
            described = inside if isinstance(inside, list) else [entry.description]
            yield from ((name, one) for (name, _), one in zip(pairs, described, strict=False))


def resting(spent: Guarantee, entries: Iterable[Entry]) -> Guarantee:
    """What was spent, as the claim that it is: with everything that the charges take for granted."""
    charges = [guarantee_from(entry.guarantee) for entry in entries if entry.kind == "charge" and entry.guarantee]
    return spent.assuming(*(name for claim in charges for name in claim.assumptions))


def versioned(name: str, version: str | None) -> str:
    """The name of a release of one version of a dataset; each version has its own.

    >>> versioned("count", None), versioned("count", "2026-11"), versioned("count, 2026-11", "2026-11")
    ('count', 'count, 2026-11', 'count, 2026-11')
    """
    return name if version is None or name.endswith(f", {version}") else f"{name}, {version}"


def told_apart(name: str, digest: str) -> str:
    """A name that stands for one question and spend alone: where many ask, questions in words may be the same.

    >>> told_apart("count", "0123456789abcdef0123"), plain_name("count #0123456789abcdef", "0123456789abcdef0123")
    ('count #0123456789abcdef', 'count')
    """
    return f"{name[:MOST]} #{digest[:BRIEF]}"


def plain_name(name: str, digest: str) -> str:
    """The same as people read it."""
    return name.removesuffix(f" #{digest[:BRIEF]}")


def kept_title(ledger: LedgerLike | None, title: str, version: str | None) -> str:
    """The name under which a ledger keeps a release: until version 0.5.0 it was that without the dataset's version."""
    plain = title if version is None else title.removesuffix(f", {version}")
    known = None if ledger is None or plain == title else ledger.known(plain)
    return title if known is None or _version(known.description) != version else plain


def version_words(entries: Iterable[Entry], version: str | None) -> str | None:
    """What it means for people that a ledger pays for several versions; nothing where it does for one alone."""
    found = {_version(described) for _, described in charged(entries)} | {version}
    names = sorted(name for name in found if name is not None)
    if version is None or len(names) < 2:
        return None
    listed = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return (
        f"this ledger pays for {len(names)} versions ({listed}): for somebody whose data is in all of them the losses "
        "add up to what is spent in all; for somebody who is in one alone, to what its releases cost"
    )


def _version(described: Mapping[str, Any]) -> str | None:
    specification = described.get("specification")
    version = specification.get("version") if isinstance(specification, Mapping) else None
    return version if isinstance(version, str) else None


class Parts:
    """The names of parts in a ledger, as far as it was read; one object may serve several threads."""

    def __init__(self) -> None:
        self.through = -1  # the number of the last entry that was read
        self._groups: dict[str, str] = {}

    def read(self, news: Sequence[Entry]) -> Parts:
        """Take note of entries; those that were read before change nothing."""
        found = [one for one in charged(news) if TOGETHER in one[1]]
        self._groups |= {part["name"]: group for group, described in found for part in described[TOGETHER]}
        self.through = max([self.through, *(entry.sequence for entry in news)])
        return self

    def group_of(self, name: str) -> str | None:
        """The release that a name was measured in, as one of several; none if it was not."""
        return self._groups.get(name)


def must_be_no_part(name: str, ledger: LedgerLike) -> None:
    """Refuse the name of a part for another release."""
    group = ledger.group_of(name)
    if group is not None:
        raise LedgerError(
            f"name {name!r} is already used in this ledger, measured as one of {group!r}; give this release a new name"
        )


def is_lost(name: str, known: Known | None, ledger: LedgerLike | None) -> bool:
    """Whether a release was charged and begun but never stored, so that it must be charged again."""
    if known is None or ledger is None or ledger.find(name, known.digest) is not None:
        return False
    return not ledger.is_paid(name, known.digest, known.description)


def lost_words(names: Sequence[str]) -> str:
    """What to do about releases that were lost; nothing where none was."""
    if not names:
        return ""
    was, them = ("was", "it") if len(names) == 1 else ("were", "them")
    return (
        f".  {', '.join(map(repr, names[:4]))} {was} charged before and never stored, as where a process is killed, "
        f"and would be charged again at the same spend: leave {them} out, or give a new name, and a spend that what is "
        "left takes"
    )
