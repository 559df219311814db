"""Whole tables from a plan's table, ledger and budget: synthetic, or sanitized record by record."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.cli.console import print_json, say, writing
from sfumato.cli.opening import must_know, opened, standing
from sfumato.errors import ParameterError
from sfumato.plans import Plan, read_plan
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure, to_record

if TYPE_CHECKING:
    from sfumato.release import TableRelease
    from sfumato.session import Session

__all__ = ["sanitize", "synthesize"]

KEPT = ".  The table is stored in the ledger: run the same command again at no further cost"

Amounts = tuple[float | None, float | None, float | None]  # epsilon, delta, rho


def synthesize(
    path: Path, amounts: Amounts, columns: list[str] | None, rows: int | None, out: Path | None, as_json: bool
) -> None:
    """Without `out` show what it would cost and be good at; with it, publish and write."""
    spend, plan = _spend(*amounts), _plan(path, out)
    if out is not None:
        _publish(plan, out, as_json,
                 lambda session: session.synthesize(columns, spend=spend, rows=rows, progress=not as_json))  # fmt: skip
        return
    from sfumato.publishing.synthetic import Synthesizing

    asked = Synthesizing.of(plan.schema, columns, spend, rows)
    preview = asked.preview()
    if as_json:
        print_json({"pairs": preview.pairs, "megabytes": preview.megabytes, "seconds": preview.seconds,
                    "column_noise": preview.column_noise, "smooth": preview.smooth})  # fmt: skip
        return
    _show(str(preview), plan, asked.guarantee())


def sanitize(
    path: Path, amounts: Amounts, columns: list[str] | None, together: list[str] | None, out: Path | None, as_json: bool
) -> None:
    """Without `out` show what would be done to each column; with it, publish and write."""
    from sfumato.publishing.sanitized import Sanitizing
    from sfumato.sanitization import Together

    spend, plan = _spend(*amounts), _plan(path, out)
    groups = [Together(tuple(name.strip() for name in group.split(","))) for group in together or ()]
    grouped = {name for group in groups for name in group.columns}
    plain = columns if columns is not None else [name for name in plan.schema.columns if name not in grouped]
    subjects: list[str | Together] = [*plain, *groups]
    if out is not None:
        _publish(plan, out, as_json, lambda session: session.sanitize(subjects, spend=spend))
        return
    randomizer = Sanitizing.of(plan.schema, subjects, spend).randomizer
    claim, certificate = randomizer.guarantee(), randomizer.certificate()
    if as_json:
        print_json({"guarantee": to_record(claim), "error_in_words": randomizer.accuracy(),
                    "certificate": certificate.to_record(), "mechanism": randomizer.to_record()})  # fmt: skip
        return
    _show(
        f"sanitized table of {len(randomizer.columns)} columns\n"
        f"  would cost   {claim.words().format(unit=plan.schema.words())}\n"
        f"  error        {randomizer.accuracy()}\n"
        f"  certificate  {certificate.words()}",
        plan,
        claim,
    )


def _plan(path: Path, out: Path | None) -> Plan:
    if out is not None and out.suffix not in (".parquet", ".csv"):
        raise ParameterError(f"--out must end in .parquet or .csv, got {out}")
    if out is not None and (out.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK)):
        raise ParameterError(
            f"--out: {out} cannot be written; choose a file in a folder that exists; nothing was charged"
        )
    return read_plan(path)


def _publish(plan: Plan, out: Path, as_json: bool, make: Callable[[Session], TableRelease]) -> None:
    must_know(plan, [out] if out.exists() else [])
    session = opened(plan)
    if session.notice and not as_json:
        say(session.notice)
    before = session.ledger.head
    table: Any = make(session)
    stored = session.ledger.head == before
    with writing(out, KEPT):
        table.save(out)
    if as_json:
        print_json({**table.to_record(), "file": str(out), "new_ledger": session.is_new, "stored": stored})
    else:
        say(table)
        if stored:
            say("  cost         nothing now: it was stored, and is returned as it was")
        say(f"  file         {out}")


def _show(preview: str, plan: Plan, claim: Guarantee) -> None:
    say(preview)
    say(f"  budget       {standing(plan, claim)}")
    say("  to publish   give --out FILE.parquet or FILE.csv; nothing was spent and no data was read")


def _spend(epsilon: float | None, delta: float | None, rho: float | None) -> Guarantee:
    if rho is not None and epsilon is None and delta is None:
        return Concentrated(rho)
    if epsilon is not None and rho is None:
        return Pure(epsilon) if delta is None else Approximate(epsilon, delta)
    raise ParameterError("give what to spend: --epsilon, --epsilon with --delta, or --rho alone")
