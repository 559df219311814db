"""Whole tables from a plan's table, ledger and budget: synthetic, or sanitized record by record."""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import cast

from sfumato import arguments
from sfumato.answers.frames import write_csv
from sfumato.cards import counted
from sfumato.cli.console import print_json, say
from sfumato.cli.interrupts import patient
from sfumato.cli.sparing import must_be_apart, must_spare
from sfumato.errors import ParameterError, SchemaError, SfumatoError, UnsupportedQuery
from sfumato.ledger.rules import lacking
from sfumato.orders import preview
from sfumato.plans import Plan, read_plan
from sfumato.plans.outlook import Standing, must_be_chargeable, must_know, opened, standing, stored
from sfumato.plans.ownership import must_be_ours
from sfumato.plans.plan import read_document
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import Guarantee
from sfumato.progress import listening, shown
from sfumato.queries import Query
from sfumato.release import Published
from sfumato.release.archive import load
from sfumato.release.folders import must_be_new
from sfumato.release.synthetic import SyntheticTable
from sfumato.report.answers import left
from sfumato.storage import PUBLISHED, clear_drafts, whole, writing

__all__ = ["more", "sanitize", "synthesize", "synthetic_table"]

KEPT = ".  The table is stored in the ledger: run the same command again at no further cost"

Amounts = tuple[float | None, float | None, float | None]  # epsilon, delta, rho


def synthesize(
    path: Path,
    amounts: Amounts,
    columns: list[str] | None,
    rows: int | None,
    good_for: str,
    target: str | None,
    keep: list[str] | None,
    person: list[str] | None,
    workload: Path | None,
    cuts: list[str] | None,
    triples: bool,
    weight: list[str] | None,
    out: Path | None,
    as_json: bool,
    name: str | None = None,
    version: str | None = None,
) -> None:
    """Without `out` show what it would cost and be good at; with it, publish and write."""
    from sfumato.queries.synthetic import synthetic

    asked = None if workload is None else _queries(workload)
    own = None if person is None else [name for name in person if name]  # --person "" names none
    query = synthetic(
        columns, rows=rows, good_for=good_for, target=target, weights=_weights(weight), keep=keep, person=own,
        workload=asked, cuts=cuts, triples=triples,
    )  # fmt: skip
    _run(_plan(path, out, version), query, _spend(*amounts), out, as_json, name)


def _weights(given: list[str] | None) -> dict[str, float] | None:
    """Weights by name, from `name=number`."""
    found: dict[str, float] = {}
    for text in given or ():
        name, equals, number = text.rpartition("=")
        if name in found:
            raise ParameterError(f"--weight names {name!r} twice; once is enough")
        try:
            found[name] = float(number)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise ParameterError(f"--weight takes a column and how much it matters, such as income=3; got {text!r}")
    return found or None


def _queries(path: Path) -> list[Query]:
    """The queries that a file lists under `workload`, each in the form that releases of a plan have."""
    form = 'list queries in it: workload = [{ query = "count", where = "age >= 65" }]'
    held = read_document(path, "workload", form)
    listed = held.get("workload") if isinstance(held, dict) and held.keys() == {"workload"} else held
    if not isinstance(listed, list):
        raise SchemaError(f"{path}: a workload is a list and nothing beside it; {form}")
    found = []
    for number, one in enumerate(listed, start=1):
        try:
            found.append(Query.from_record(arguments.mapping("a query", one)))
        except SfumatoError as error:
            raise SchemaError(f"{path}: query {number}: {error}") from None
    return found


def more(path: Path, rows: int, given: str | None, after: int, out: Path) -> None:
    """Write more rows of a saved synthetic table, as plain rows without its record."""
    import pyarrow.parquet as pq

    if out.suffix:
        _must_be_writable(out)
        if out.exists():
            raise ParameterError(f"--out: {out} is there already; choose another file, or remove that one")
    else:
        must_be_new(out)
    must_be_apart(out, path)
    table = synthetic_table(path, "more rows are drawn from")
    if not out.suffix:
        with writing(out), shown():
            table.write_more(out, rows, given, after=after)
        _told_of_more(table, rows, given, f"  folder       {out}")
        return
    if out.suffix == ".csv" and table.provenance.laboratory is not None:
        raise ParameterError("a table of a laboratory is not private, which a .csv cannot say; save it as .parquet")
    made = table.more(rows, given, after=after)
    with writing(out), _replaced(out) as draft:
        write_csv(made, draft, table.schema) if out.suffix == ".csv" else pq.write_table(made, draft)
    _told_of_more(table, made.num_rows, given, f"  file         {out}")


def _told_of_more(table: SyntheticTable, rows: int, given: str | None, place: str) -> None:
    say(f"{counted(rows, 'row')} like those of {table.name!r}{'' if given is None else f', where {given}'}")
    say("  cost         nothing: they were drawn from the released rows")
    say(place)


def synthetic_table(path: Path, done: str) -> SyntheticTable:
    """A saved synthetic table; another file is refused, with what is `done` to such tables."""
    if path.suffix.lower() == ".csv":
        raise UnsupportedQuery(
            f"{path} holds rows alone; {done} a synthetic table that was saved as .parquet: run sfumato synthesize "
            "again with --out FILE.parquet, which costs nothing for a table that is stored"
        )
    if path.suffix.lower() == ".toml":
        raise UnsupportedQuery(
            f"{path} is a plan; {done} a synthetic table that sfumato synthesize saved as .parquet; the plan's own "
            f"table is asked by sfumato sql {path} 'SELECT ...' or by a release in the plan, which charge"
        )
    saved = load(path)
    if saved.to_record()["format"] != SyntheticTable.FORMAT:
        raise UnsupportedQuery(f"{path} is no synthetic table; {done} one that was saved as .parquet")
    table = cast(SyntheticTable, saved)
    if table.edited:
        raise UnsupportedQuery(
            f"{path}: the rows are not those that were released, so that nothing is known of them; run sfumato "
            "synthesize again with another --out, which costs nothing for a table that is stored"
        )
    return table


def sanitize(
    path: Path,
    amounts: Amounts,
    columns: list[str] | None,
    together: list[str] | None,
    least: str,
    out: Path | None,
    as_json: bool,
    name: str | None = None,
    version: str | None = None,
) -> None:
    """Without `out` show what would be done to each column; with it, publish and write."""
    from sfumato.queries.sanitized import Subject, Together, sanitized

    plan = _plan(path, out, version)
    groups = [Together(tuple(name.strip() for name in group.split(","))) for group in together or ()]
    grouped = {name for group in groups for name in group.columns}
    plain = columns if columns is not None else [name for name in plan.schema.held if name not in grouped]
    subjects: list[Subject] = [*plain, *groups]
    _run(plan, sanitized(subjects, least=least), _spend(*amounts), out, as_json, name)


def _run(plan: Plan, query: Query, spend: Guarantee, out: Path | None, as_json: bool, name: str | None) -> None:
    if out is not None:
        _publish(plan, query, spend, out, as_json, name)
        return
    seen = preview(query, plan.schema, spend=spend, allow=plan.allow, name=name)
    if as_json:
        print_json(seen.to_record())
        return
    say(seen)
    stands = standing(plan, seen.guarantee)
    say(f"  budget       {'fits' if stands.fits else 'does NOT fit'}: {_room(seen.guarantee, stands)}")
    say("  to publish   give --out FILE.parquet or FILE.csv; nothing was spent and no data was read")


def _room(claim: Guarantee, stands: Standing) -> str:
    """What is left for a claim; where that is too little, what was asked for, and what to do."""
    if stands.fits:
        return f"{left(stands.left)} is left"
    return f"{lacking(claim, stands.left)}; only what is stored already comes for free"


def _plan(path: Path, out: Path | None, version: str | None) -> Plan:
    if out is not None:
        _must_be_writable(out)
    plan = read_plan(path, version)
    if out is not None:
        must_spare(plan, out)
    return plan


def _must_be_writable(out: Path) -> None:
    if out.suffix not in (".parquet", ".csv"):
        raise ParameterError(f"--out must end in .parquet or .csv, got {out}")
    try:
        place = arguments.path("--out", out).resolve()
        fits = not place.exists() or (place.is_file() and os.access(place, os.W_OK))
        with tempfile.TemporaryFile(dir=place.parent):  # a file can be made there; it has no name, and is gone
            pass
    except (OSError, RuntimeError):  # the latter of links in a circle
        fits = False
    if not fits:
        raise ParameterError(
            f"--out: {out} cannot be written; choose a file in a folder that exists; nothing was charged"
        )


def _replaced(out: Path) -> AbstractContextManager[Path]:
    """A draft that takes the file's place in the end; what killed processes left there goes, too."""
    clear_drafts(out.resolve().parent)
    return whole(out.resolve(), PUBLISHED)


def _publish(plan: Plan, query: Query, spend: Guarantee, out: Path, as_json: bool, name: str | None) -> None:
    must_know(plan, [out] if out.exists() else [])
    kept = stored(plan, query, spend, name)
    must_be_ours(out, kept)
    table, is_new = (kept, False) if kept is not None else _released(plan, query, spend, as_json, name)
    must_be_ours(out, table, KEPT)
    with writing(out, KEPT), _replaced(out) as draft:
        table.save(draft)
    if as_json:
        print_json({**table.to_record(), "file": str(out), "new_ledger": is_new, "stored": kept is not None})
        return
    say(table.words())
    if kept is not None:
        say("  cost         nothing now: it was stored, and is returned as it was")
    ledger = plan.ledger.existing()
    charges = 0 if ledger is None else sum(one.kind == "charge" and one.name == table.name for one in ledger.entries())
    if charges > 1:
        say(f"  charged      {charges} times: what was charged before was lost, as where a process is killed")
    say(f"  file         {out}")
    if out.suffix == ".parquet" and isinstance(table, SyntheticTable) and table.judged:
        file = shlex.quote(str(out))
        free = f"sfumato show {file} --errors; sfumato ask {file} count --where '...'; sfumato more {file} --rows 1000"
        say(f"  next, free   {free} --out FILE")
    if out.suffix == ".csv":
        say(
            "  record       is in the ledger, not in a .csv: with --out FILE.parquet the same command writes both, "
            "at no further cost, for sfumato show, ask and more"
        )


def _released(plan: Plan, query: Query, spend: Guarantee, as_json: bool, name: str | None) -> tuple[Published, bool]:
    """The table, charged and made now, and whether its ledger is new."""
    must_be_chargeable(plan, query, spend, name)
    session = opened(plan)
    if session.notice and not as_json:
        say(session.notice)
    with listening(lambda words, part: None) if as_json else nullcontext(), patient():
        return session.release(query, spend=spend, name=name), session.is_new


def _spend(epsilon: float | None, delta: float | None, rho: float | None) -> Guarantee:
    return guarantee_of({"epsilon": epsilon, "delta": delta, "rho": rho})
