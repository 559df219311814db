"""The two ends of a collection in a line each: declare it by what is public, read the messages that came."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.local.choosing import choose, choose_mean
from sfumato.local.collection.collector import Collector
from sfumato.local.collection.declaration import Collection
from sfumato.local.collection.estimates import Estimate
from sfumato.privacy.guarantees import Approximate, Pure
from sfumato.privacy.spending import guarantee_like

__all__ = ["collect", "estimate"]


def collect(
    name: str,
    labels: Sequence[str] | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    spend: Pure | Approximate | float | Mapping[str, float],
    people: int,
    other: str | None = None,
    version: str = "1",
    rounds: Sequence[str] = ("1",),
    most: int | None = None,
    key: str | None = None,
    batch: int | None = None,
) -> Collection:
    """A collection of one label a person, or of one number within `bounds` whose mean is asked for.

    The protocol is that of the least error for about so many people.  `spend` is what one report may cost its owner;
    `other` the label of values that are none of them, or missing.  `version`, `rounds`, `most`, `key` and `batch` are
    those of the `Collection`: with rounds an owner answers once in each, and `spend` is for one of these answers.

    >>> collect("team", ["Sales", "Research", "none"], spend=1.0, people=20_000, other="none").protocol.name
    'grr'
    >>> collect("age", bounds=(0, 120), spend=2.0, people=20_000).protocol.name
    'window'
    """
    promised: Pure | Approximate = guarantee_like("spend", spend)  # type: ignore[assignment]
    if (labels is None) == (bounds is None):
        raise ParameterError("give labels, such as ['yes', 'no'], or the bounds of a number, such as bounds=(0, 120)")
    if isinstance(rounds, str) or not isinstance(rounds, Sequence):
        raise ParameterError("rounds must be a list of names, such as ['monday', 'tuesday']")
    named = tuple(rounds)
    if bounds is not None:
        ends = arguments.several("bounds", bounds)
        if len(ends) != 2:
            raise ParameterError(f"bounds must be the lowest and the highest number, got {len(ends)} of them")
        protocol, called = choose_mean(*ends, promised, people).protocol, ()
        return Collection(name, protocol, called, other, version, named, most, key=key, batch=batch)
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) < 2:
        raise ParameterError("labels must be a list of at least two texts, such as ['yes', 'no']")
    chosen = choose(len(labels), promised, people).protocol
    return Collection(name, chosen, tuple(labels), other, version, named, most, key=key, batch=batch)


def estimate(collection: Collection, messages: Iterable[bytes]) -> Estimate:
    """What messages say that are all at hand, each counted once; a `Collector` takes them as they come, and keeps on.

    >>> from sfumato.local import Client
    >>> pets = collect("pets", ["cat", "dog"], spend=8.0, people=100)
    >>> estimate(pets, [Client(pets).report("dog") for _ in range(100)]).reports
    100
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
        collector = Collector(collection, Path(place) / "journal")
        collector.add_all(messages)
        return collector.estimate()
