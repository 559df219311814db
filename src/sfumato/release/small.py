"""A small database that may be shown: a few rows, and what they say of the counting queries they were chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato import arguments
from sfumato.answers.statements import Accuracy
from sfumato.mechanisms.synthetic.net import Net
from sfumato.mechanisms.synthetic.small_database import SmallDatabase
from sfumato.queries.query import Query
from sfumato.queries.small_database import CountingQueries
from sfumato.release.tables import TableRelease

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SmallTable"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SmallTable(TableRelease):
    """Rows that answer counting queries about as the table does.  Whatever is computed from them is free."""

    FORMAT: ClassVar[str] = "sfumato-small/1"

    @property
    def question(self) -> CountingQueries:
        """What was asked, bound to the schema again."""
        query = Query.from_record(self.method["query"])
        return query.details.bind(query, self.schema)  # type: ignore[return-value]

    @property
    def mechanism(self) -> SmallDatabase | Net:
        """How the rows were chosen."""
        kind = Net if self.method["type"] == "net" else SmallDatabase
        parameters = {name: self.method[name] for name in self.method if name not in ("query", "output")}
        return kind.from_record(self.question, parameters)

    def answers(self, level: float = 0.95) -> pa.Table:
        """An Arrow table: each counting query, its share of the small database's rows, and where an error is stated
        (that needs a declared size, and all databases as candidates) the ends of bars that hold for all at once.
        """
        import pyarrow as pa

        question, beta = self.question, 1 - arguments.level(level)
        shares = question.shares(self.method["output"])
        columns: dict[str, Any] = {"query": question.labels(), "share": shares.tolist()}
        best = self.mechanism.best
        size = self.schema.size if question.query.condition is None else None  # how many rows meet one is not public
        if size is not None and best is not None:
            reach = best + self.mechanism.error(beta) / size
            most = float(question.matrix.max())
            columns |= {"low": np.clip(shares - reach, 0, most), "high": np.clip(shares + reach, 0, most)}
        return pa.table(columns)

    def error(self, level: float = 0.95) -> Accuracy:
        """How much worse than the best database of this size the chosen one can be."""
        return self.question.accuracy(self.mechanism, 1 - level)
