"""A table of audits: claim, best evidence, what was tried, for a list of targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sfumato.auditing.auditor import audit
from sfumato.auditing.findings import Finding
from sfumato.privacy.guarantees import Claim

__all__ = ["Target", "audit_table", "render"]


@dataclass(frozen=True)
class Target:
    """Something to audit: a callable and its claim, with further arguments of `audit`.

    `by` replaces `audit` for targets that another door attacks; it is called with `run`, `claim`
    and the options.
    """

    name: str
    run: Callable[..., Any]
    claim: Claim
    options: Mapping[str, Any] = field(default_factory=dict)
    by: Callable[..., Finding] = audit


def audit_table(
    targets: Iterable[Target],
    *,
    seconds: float | None = None,
    alpha: float = 1e-6,
    shared: bool = True,
) -> list[tuple[Target, Finding]]:
    """Audit each target; with `shared`, alpha is the error rate of the whole table."""
    chosen = list(targets)
    each = alpha / max(len(chosen), 1) if shared else alpha
    rows = []
    for target in chosen:
        options = dict(target.options)
        options.setdefault("alpha", each)
        if seconds is not None:
            options["seconds"] = seconds
        rows.append((target, target.by(target.run, target.claim, **options)))
    return rows


def render(rows: Iterable[tuple[Target, Finding]]) -> str:
    """The table as text, one line per target."""
    lines = [("target", "claim", "evidence", "what was tried", "power", "seconds")]
    for target, finding in rows:
        found = finding.evidence
        shown = "none found"
        if found is not None:
            limit = "" if isinstance(finding.claim, str) else f"epsilon >= {found.epsilon:.4g} "
            shown = f"{limit}by {found.attack}: {found.words}"[:90]
        elif not finding.audited:
            shown = f"NOTHING AUDITED: {finding.notes[0]}"[:90]
        elif finding.timing is not None:
            shown = "none found (timing: see the finding)"
        tried = ", ".join(f"{a.attack} ({a.runs})" for a in finding.tried)
        power = f"{finding.power:.3g}" if finding.power < float("inf") else "-"
        claim = finding.claim if isinstance(finding.claim, str) else repr(finding.claim)
        lines.append((target.name, claim, shown, tried, power, f"{finding.seconds:.1f}"))
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    ruled = [lines[0], tuple("-" * width for width in widths), *lines[1:]]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in ruled)
