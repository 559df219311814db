"""Whether releases are outputs of one mechanism, published one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sfumato.queries.running import series_of
from sfumato.release.answers import Release

__all__ = ["is_series"]


def is_series(releases: Sequence[Release]) -> bool:
    """Whether each is of another period of one series, by the same mechanism, and repeats what was published before."""
    first, outputs, versions = releases[0], [], set()
    for release in releases:
        series = series_of(release.question)
        if series is None or series.query.to_record() != first.question.query.to_record():
            return False
        if replace(series.schema, version=None) != replace(first.question.schema, version=None):
            return False
        if release.mechanism.to_record() != first.mechanism.to_record():
            return False
        versions.add(series.period)
        outputs.append(np.asarray(release.output, dtype=object))
    longest = max(outputs, key=len)
    return len(versions) == len(releases) and all(np.array_equal(one, longest[: len(one)]) for one in outputs)
