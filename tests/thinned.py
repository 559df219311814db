"""Parameters of which a few are tried in each run, and all of them in the long one."""

from __future__ import annotations

import pytest


def thinned(values, quick):
    """The first `quick` values as they are, the others marked heavy."""
    values = list(values)
    return [*values[:quick], *(pytest.param(value, marks=pytest.mark.heavy) for value in values[quick:])]
