"""The two ends of a collection in a line each: declare it by what is public, read the messages that came."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sfumato import arguments
from sfumato.errors import ParameterError
from sfumato.local.choosing import choose, choose_mean, choose_yes_no
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
    yes_no: Sequence[str] | None = None,
    size: int | None = None,
    spend: Pure | Approximate | float | Mapping[str, float],
    people: int,
    other: str | None = None,
    version: str = "1",
    rounds: Sequence[str] = ("1",),
    most: int | None = None,
    key: str | None = None,
    batch: int | None = None,
    clients: str = "python",
) -> Collection:
    """A collection of one label a person, of one number within `bounds` whose mean is asked for, or of many yes or no.

    `yes_no` names questions that everybody answers with those that are yes, such as settings that are on, of which one
    person has at most `size`, if that is known.
    The protocol is that of the least error for about so many people, among those that `clients` know ("python", or
    "javascript"; `choose` with the same argument tells what that costs).  `spend` is what one report may cost its
    owner; `other` the label of values that are none of them, or missing.  `version`, `rounds`, `most`, `key`
    and `batch` are those of the `Collection`: with rounds an owner answers once in each, and `spend` is for one of
    these answers.

    >>> collect("team", ["Sales", "Research", "none"], spend=1.0, people=20_000, other="none").protocol.name
    'grr'
    >>> collect("age", bounds=(0, 120), spend=2.0, people=20_000).protocol.name
    'window'
    >>> collect("settings", yes_no=["dark", "large", "mute"], spend=1.0, people=20_000).protocol.name
    'marginals'
    """
    promised: Pure | Approximate = guarantee_like("spend", spend)  # type: ignore[assignment]
    if [labels, bounds, yes_no].count(None) != 2 or (size is not None and yes_no is None):
        raise ParameterError(
            "give labels, such as ['yes', 'no'], or the bounds of a number, such as bounds=(0, 120), or questions as "
            "yes_no=['dark', 'large'], perhaps with size, the most that anybody answers with yes"
        )
    if isinstance(rounds, str) or not isinstance(rounds, Sequence):
        raise ParameterError("rounds must be a list of names, such as ['monday', 'tuesday']")
    named = tuple(rounds)
    if clients != "python" and most is not None:
        raise ParameterError(f"most is for clients that keep values; {clients} clients keep none")
    if yes_no is not None:
        if isinstance(yes_no, str) or not isinstance(yes_no, Sequence) or not yes_no:
            raise ParameterError("yes_no must be a list of names, such as ['dark', 'large']")
        if other is not None:
            raise ParameterError("other is for one label a person; a question of yes or no has none")
        asked = choose_yes_no(len(yes_no), promised, people, size, clients).protocol
        return Collection(name, asked, tuple(yes_no), None, version, named, most, key=key, batch=batch)
    if bounds is not None:
        ends = arguments.several("bounds", bounds)
        if len(ends) != 2:
            raise ParameterError(f"bounds must be the lowest and the highest number, got {len(ends)} of them")
        protocol, called = choose_mean(*ends, promised, people, clients=clients).protocol, ()
        return Collection(name, protocol, called, other, version, named, most, key=key, batch=batch)
    if isinstance(labels, str) or not isinstance(labels, Sequence) or len(labels) < 2:
        raise ParameterError("labels must be a list of at least two texts, such as ['yes', 'no']")
    chosen = choose(len(labels), promised, people, clients=clients).protocol
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
