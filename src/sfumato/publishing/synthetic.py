"""A synthetic table, from noisy marginals or smooth moments: the recipe, its preview, and its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sfumato import arguments
from sfumato.certificate import NoBoundKnown
from sfumato.engines import Table
from sfumato.planner import check_target
from sfumato.privacy.guarantees import Guarantee, to_record
from sfumato.randomness import Rng
from sfumato.release import Provenance
from sfumato.schema import Schema
from sfumato.synthesis.marginals.counting import Read
from sfumato.synthesis.marginals.mechanism import MarginalSynthesis
from sfumato.synthesis.marginals.rounds import LAST_STEPS, STEPS, rounds_of
from sfumato.synthesis.marginals.selection import LARGEST_TREE
from sfumato.synthesis.numeric import NumericSynthesis, numeric_instead
from sfumato.synthesis.table import SyntheticTable

__all__ = ["SynthesisPreview", "Synthesizing"]

# Seconds of one core, measured: a cell swept, a potential fitted, a pair scored, a value read or counted.
CELL, POTENTIAL, SCORE, VALUE = 4e-8, 2e-4, 2e-4, 8e-9
NO_BOUND = NoBoundKnown("the best error of synthetic tables of mixed columns is not known")
GUESSED = 10_000  # rows that a preview supposes where no size is declared


@dataclass(frozen=True, slots=True)
class SynthesisPreview:
    """What a synthetic table would cost and be good at: nothing is spent, no data is read."""

    guarantee: Guarantee
    columns: int
    size: int
    declared: bool
    column_noise: float  # total variation between a column's counts and its noisy ones, on average
    pairs: int
    smooth: bool  # whether the table is made for smooth queries
    megabytes: float
    seconds: float
    unit: str

    @property
    def _noise(self) -> str:
        if self.column_noise >= 1:
            return "noise outweighs the counts of a column"
        most = "" if self.pairs else "at most "  # what pairs do not take is spent on the columns, too
        return f"noise moves the counts of a column by {most}{self.column_noise:.3f} in total variation on average"

    def __str__(self) -> str:
        among = self.columns * (self.columns - 1) // 2
        supposed = "" if self.declared else " (supposed: declare size= in the schema)"
        relations = (
            f"pays for measuring {self.pairs} of {among} pairs"
            if self.pairs
            else "pays for measuring no pair: columns would be independent of one another"
        )
        measured = (
            "made for averages of smooth functions of all columns; too few rows for the shares of single values"
            if self.smooth
            else f"{self._noise}, before smoothing; the budget {relations}"
        )
        return (
            f"synthetic table of {self.columns} columns\n"
            f"  would cost   {self.guarantee.words().format(unit=self.unit)}\n"
            f"  measures     for {self.size:,} rows{supposed}: {measured}\n"
            f"  error        not stated: how far the rows will be from the table depends on the table\n"
            f"  certificate  {NO_BOUND.words()}\n"
            f"  needs        about {self.megabytes:,.0f} MB and at most {self.seconds:,.0f} s of one core"
        )


@dataclass(frozen=True, slots=True)
class Synthesizing:
    """The recipe of a synthetic table."""

    plan: MarginalSynthesis | NumericSynthesis
    progress: bool = True

    @classmethod
    def of(
        cls, schema: Schema, columns: Sequence[str] | None, spend: Guarantee, rows: int | None, progress: bool = True
    ) -> Synthesizing:
        """The synthesizer of these columns that meets `spend`: smooth for small tables of numbers, else marginal."""
        check_target(spend)
        names = columns if columns is None or isinstance(columns, str) else arguments.names("columns", columns)
        if rows is not None:
            arguments.whole("rows", rows)
        plan = MarginalSynthesis.calibrate(schema, names, spend, rows)  # type: ignore[arg-type]
        return cls(numeric_instead(plan) or plan, progress)

    @property
    def schema(self) -> Schema:
        """What it was calibrated for."""
        return self.plan.schema

    @property
    def columns(self) -> tuple[str, ...]:
        """The declared columns that it reads."""
        return tuple(column.name for column in self.plan.columns)

    @property
    def title(self) -> str:
        """The name unless another is given."""
        names = [column.name for column in self.plan.columns]
        return "synthetic " + (", ".join(names) if len(names) <= 4 else f"table of {len(names)} columns")

    def specification(self) -> dict[str, Any]:
        """What is asked."""
        return {
            "format": SyntheticTable.FORMAT,
            "columns": [column.name for column in self.plan.columns],
            "rows": self.plan.rows,
            "spend": to_record(self.plan.target),
        }

    def guarantee(self) -> Guarantee:
        """What the table costs."""
        return self.plan.guarantee()

    def described(self) -> dict[str, Any]:
        """The synthesizer, in the ledger."""
        return {"synthetic": [column.name for column in self.plan.columns], "mechanisms": [self.plan.to_record()]}

    def preview(self) -> SynthesisPreview:
        """What to expect, from public quantities only."""
        plan, schema = self.plan, self.plan.schema
        size = (schema.size or GUESSED) * (schema.unit.rows if schema.size and schema.fixed_size is None else 1)
        noise, pairs = plan.predicted(size) if isinstance(plan, MarginalSynthesis) else (1.0, 0)
        columns = len(plan.columns)
        couples = columns * (columns - 1) // 2 if pairs else 0
        steps = rounds_of(pairs) * STEPS + LAST_STEPS if pairs else STEPS
        cells = min(LARGEST_TREE, 16 ** min(columns, 9)) if pairs else 16 * columns
        made = plan.rows or size
        seconds = steps * (cells * CELL + POTENTIAL * (columns + pairs)) + VALUE * size * (columns + couples)
        seconds += rounds_of(pairs) * couples * SCORE
        memory = 8 * (256 * couples + 6 * cells + (65_536 + made) * columns)
        return SynthesisPreview(
            guarantee=self.guarantee(), columns=columns, size=size, declared=schema.size is not None,
            column_noise=noise, pairs=pairs, smooth=isinstance(plan, NumericSynthesis),
            megabytes=max(1.0, memory / 1e6),
            seconds=max(1.0, seconds), unit=schema.words(),
        )  # fmt: skip

    def publish(self, name: str, table: Table, rng: Rng, provenance: Provenance) -> SyntheticTable:
        """Measure, fit, generate; an interrupt loses the charge and nothing else."""
        names = tuple(column.name for column in self.plan.columns)
        with _shown(self.progress) as show:
            held, found = _made(self.plan, lambda: table.rows(names), rng, show)
        method = {**self.plan.to_record(), **found}
        rows = pa.table({column.name: column.decoded(held[column.name]) for column in self.plan.columns})
        return SyntheticTable(
            name, rows, self.plan.schema, self.guarantee(), NO_BOUND, replace(provenance, parts=(method,)),
            self.plan.target, method,
        )  # fmt: skip


def _made(
    plan: MarginalSynthesis | NumericSynthesis, read: Read, rng: Rng, show: Callable[[str, float], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The indices of all columns, and what else the run made public."""
    if isinstance(plan, NumericSynthesis):
        return plan.run(read, rng, show), {}
    made = plan.run(read, rng, show)
    return made.rows, {"total": made.total, "measured": list(made.measured)}


@contextmanager
def _shown(wanted: bool) -> Iterator[Callable[[str, float], None]]:
    """A progress bar beside the results, where there is a terminal to show it."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda words, part: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda words, part: bar.update(task, description=words, completed=part)
