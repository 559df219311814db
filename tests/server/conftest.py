"""A small dataset with its plan, and a service of it."""

from __future__ import annotations

import pytest

from houses import House, people


@pytest.fixture
def house(tmp_path):
    with House(people(tmp_path)) as running:
        yield running


@pytest.fixture
def ana(house):
    with house.client("ana") as client:
        yield client
