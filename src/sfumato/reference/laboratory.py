"""The laboratory: a session that repeats itself and protects nobody, for experiments and for one's own mechanisms.

Its releases come from a seed, so whoever knows it can undo the noise; its ledger lives in memory and is gone with the
process, so nobody knows afterwards what was spent.  Every release says so: in `repr`, in words, in the saved record, in
reports; a real ledger that holds one does not verify.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato import arguments
from sfumato.engines import Table, read
from sfumato.errors import ParameterError
from sfumato.ledger.memory import MemoryLedger
from sfumato.ledger.terms import Terms
from sfumato.privacy.guarantees import Guarantee
from sfumato.privacy.spending import guarantee_like
from sfumato.randomness import seeded
from sfumato.session import Session
from sfumato.spaces.schema import Schema

__all__ = ["lab"]


def lab(
    table: object, schema: Schema | None = None, *, budget: Guarantee | float, seed: int, allow: Iterable[str] = ()
) -> Session:
    """A session about a table (or what `sf.read` takes), drawn from a seed, with a budget that is kept in memory.

    The same seed and the same releases in the same order give the same answers.  It takes one's own mechanisms:
    `release(query, spend=..., mechanism=Mine)`, a class that says how it is calibrated.
    """
    if isinstance(table, Table):
        if schema is not None and schema != table.schema:
            raise ParameterError("schema must be left out for a table that was read behind another one")
        found = table
    elif schema is None:
        raise ParameterError("schema must say what is public of the table; give a Schema, or a table from sf.read(...)")
    else:
        found = read(table, schema=schema)
    granted: Guarantee = guarantee_like("budget", budget)  # type: ignore[assignment]
    arguments.instance("budget", granted, Guarantee, "a guarantee such as Pure(1.0)")
    rng, about = seeded(seed), found.schema
    terms = Terms(about.dataset, about.adjacency, about.unit, granted)
    ledger = MemoryLedger(terms, allow=allow, laboratory=f"drawn in a laboratory from seed {rng.seed}")
    return Session(found, budget=granted, ledger=ledger, allow=allow, rng=rng)
