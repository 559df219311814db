"""Engines that need a server of their own."""

import os
import sys

import pytest

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark's workers have what the tests have, whoever starts it


@pytest.fixture(scope="session")
def server():
    """Two connections to the PostgreSQL server of `make test-postgres`: its owner's, and the reader's."""
    import ibis

    folder = os.environ["SFUMATO_POSTGRES"]
    owner, reader = (
        ibis.postgres.connect(host=folder, user=user, database="postgres") for user in ("postgres", "reader")
    )
    yield owner, reader
    owner.disconnect()
    reader.disconnect()
