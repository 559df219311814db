"""Where a thing of this library is proven and cited: mechanisms, releases, bounds, certificates, functions, notes."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.answers.certificate import Certificate, Floor, NoBoundKnown
from sfumato.errors import ParameterError
from sfumato.reference.bound import Bound
from sfumato.reference.calibrated import Calibrated
from sfumato.reference.works import Work, home, proof, works

__all__ = ["NOTES_OF_BOUNDS", "Citation", "cite"]

KEY = re.compile(r"\b((?:[A-Z][a-z]+){1,5}?(?:EtAl)?(?:19|20)\d\d)\b")
NOTE = re.compile(r"docs/proofs/[\w-]+\.md")

NOTES_OF_BOUNDS = {  # how the name of a bound begins: the notes that prove it, as docs/guide/certificates.md lists them
    "least variance of a count, along sets": ("bounds-items",),
    "least variance of a count": ("bounds-truncation", "bounds-divergence", "bounds-linear"),
    "least error along a chain": ("bounds-ratios", "bounds-quotients", "bounds-posterior"),
    "volume by dithering": ("bounds-dithering",),
    "volumes of projections": ("bounds-projections", "bounds-metric"),
    "volume": ("bounds-metric", "bounds-volume"),
    "climbing from": ("bounds-selection", "bounds-keys", "bounds-climb"),
    "linear program over channels": ("bounds-randomizers",),
    "5.3 of": ("bounds-record",),
    "5.5 of": ("bounds-record",),
    "van Trees": ("bounds-minimax",),
    "minimax": ("bounds-minimax",),
    "packing": ("bounds-packing",),
}


@dataclass(frozen=True, slots=True)
class Citation:
    """The keys of docs/references.bib that a thing rests on, and the notes that prove it."""

    name: str
    keys: tuple[str, ...]
    proofs: tuple[str, ...]

    @property
    def works(self) -> tuple[Work, ...]:
        """The works behind the keys, with their addresses where they are known."""
        return tuple(works()[key] for key in self.keys if key in works())

    def read(self) -> str:
        """The notes themselves, which an installed package holds as well."""
        return "\n".join(map(proof, self.proofs))

    def __str__(self) -> str:
        notes = [f"  proof: {note}" for note in self.proofs]
        return "\n".join([self.name, *notes, *(f"  {work}" for work in self.works)])


def cite(thing: object) -> Citation:
    """What to cite for a mechanism, release, certificate, bound, function or class, or for a note by its name.

    Works are those that the thing names itself; where it names none, those of the notes that prove it.

    >>> cite("sfumato.mechanisms.noise.laplace").works[0].address
    'https://doi.org/10.1137/09076828X'
    >>> cite("knorm").proofs
    ('docs/proofs/real_vectors.md',)
    """
    if isinstance(thing, Calibrated):
        thing = thing.mechanism
    if isinstance(thing, str):
        return _named(thing)
    if isinstance(thing, Certificate | Floor):
        return _bound(thing.bound_name)
    if isinstance(thing, Bound):
        return _bound(thing.name)
    if isinstance(thing, NoBoundKnown):
        raise ParameterError(f"{thing.words()}; there is nothing to cite")
    verdict = getattr(thing, "certificate", None)
    if isinstance(verdict, Certificate | Floor | NoBoundKnown):  # what was released
        made = getattr(thing, "mechanism", None)
        parts = [] if made is None else [cite(made)]
        return _together(parts if isinstance(verdict, NoBoundKnown) else [*parts, cite(verdict)])
    named = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
    return _stated(str(getattr(named, "__module__", "")), named)


def _named(name: str) -> Citation:
    """By the name of a note, of a function of `sf.reference`, or of a module."""
    note = name.removeprefix("docs/proofs/").removesuffix(".md")
    if re.fullmatch(r"[\w-]+", note) and (home() / "proofs" / f"{note}.md").is_file():
        return _of(note, (), (f"docs/proofs/{note}.md",))
    if "." not in name:
        found = getattr(importlib.import_module("sfumato.reference"), name, None)
        if inspect.isroutine(found):
            return cite(found)
        raise ParameterError(
            f"there is no note and no function of sf.reference called {name!r:.40}; notes are the files of docs/proofs"
        )
    return _stated(name, None)


def _stated(module: str, thing: object) -> Citation:
    """From the thing's own words, or else from those of the module that states it."""
    if not module.startswith("sfumato."):
        raise ParameterError("thing must be a mechanism, a release, a bound, a certificate, a class or a function of "
                             "sfumato, or the name of a note such as 'laplace'")  # fmt: skip
    try:
        words = importlib.import_module(module).__doc__ or ""
    except ImportError:
        raise ParameterError(f"there is no module {module!r:.60}; name a note, such as 'laplace'") from None
    own = (thing.__doc__ or "") if inspect.isroutine(thing) else ""
    text, name = (own, f"{module}.{getattr(thing, '__name__', '')}") if NOTE.search(own) else (words, module)
    found = _of(name, KEY.findall(text), NOTE.findall(text))
    if not (found.keys or found.proofs):
        raise ParameterError(
            f"{module} names no paper or proof; of a function that makes a mechanism, cite what it makes"
        )
    return found


def _bound(name: str) -> Citation:
    known = [begin for begin in NOTES_OF_BOUNDS if name.startswith(begin)]
    if not known:
        raise ParameterError(f"the bound {name!r:.60} is not of this library; cite where it comes from")
    notes = NOTES_OF_BOUNDS[max(known, key=len)]
    return _of(name, KEY.findall(name), [f"docs/proofs/{note}.md" for note in notes])


def _together(parts: list[Citation]) -> Citation:
    name = "; ".join(part.name for part in parts)
    keys, proofs = ([key for part in parts for key in getattr(part, kind)] for kind in ("keys", "proofs"))
    return Citation(name, tuple(dict.fromkeys(keys)), tuple(dict.fromkeys(proofs)))


def _of(name: str, keys: Iterable[str], notes: Iterable[str]) -> Citation:
    """Keys and notes once each; without keys, those of the notes."""
    proofs, known = tuple(dict.fromkeys(notes)), works()
    found = [key for key in keys if key in known]
    if not found:
        found = [key for note in proofs for key in KEY.findall(proof(note)) if key in known]
    return Citation(name, tuple(dict.fromkeys(found)), proofs)
