"""A synthetic table from a plan's table, ledger and budget."""

from __future__ import annotations

from pathlib import Path

from sfumato.cli.console import print_json, writing
from sfumato.cli.opening import opened
from sfumato.errors import ParameterError
from sfumato.plans import read_plan
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure

__all__ = ["run"]

KEPT = ".  The table is stored in the ledger: run the same command again at no further cost"


def run(
    path: Path,
    amounts: tuple[float | None, float | None, float | None],
    columns: list[str] | None,
    rows: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Without `out` show what it would cost and be good at; with it, publish and write."""
    spend, plan = _spend(*amounts), read_plan(path)
    if out is not None and out.suffix not in (".parquet", ".csv"):
        raise ParameterError(f"--out must end in .parquet or .csv, got {out}")
    if out is None:
        from sfumato.publishing.synthetic import Synthesizing

        preview = Synthesizing.of(plan.schema, columns, spend, rows).preview()
        if as_json:
            print_json({"pairs": preview.pairs, "megabytes": preview.megabytes, "seconds": preview.seconds,
                        "column_error": preview.column_error, "smooth_error": preview.smooth_error})  # fmt: skip
        else:
            print(preview)
            print("  to publish   give --out FILE.parquet or FILE.csv")
        return
    session = opened(plan)
    table = session.synthesize(columns, spend=spend, rows=rows, progress=not as_json)
    with writing(out, KEPT):
        table.save(out)
    if as_json:
        print_json({**table.to_record(), "file": str(out)})
    else:
        print(table)
        print(f"  file         {out}")


def _spend(epsilon: float | None, delta: float | None, rho: float | None) -> Guarantee:
    if rho is not None and epsilon is None and delta is None:
        return Concentrated(rho)
    if epsilon is not None and rho is None:
        return Pure(epsilon) if delta is None else Approximate(epsilon, delta)
    raise ParameterError("give what to spend: --epsilon, --epsilon with --delta, or --rho alone")
