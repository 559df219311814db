"""Attacking a claim: any callable by name, or a release of a plan on small invented tables."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from sfumato.auditing import Finding
from sfumato.auditing import audit as attack
from sfumato.cli.console import print_json
from sfumato.cli.neighbors import neighbors
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
from sfumato.plans import Plan, PlannedRelease, read_plan
from sfumato.privacy.guarantees import Approximate, Concentrated, Guarantee, Pure

__all__ = ["ClaimRefuted", "run"]

Amounts = tuple[float | None, float | None, float | None]


class ClaimRefuted(SfumatoError):
    """There is evidence against the claim."""


def run(target: str, release: str | None, amounts: Amounts, seconds: float, as_json: bool) -> None:
    """Print what was found; evidence against the claim is an error."""
    claim = _claim(*amounts)
    if Path(target).suffix.lower() in (".toml", ".json"):
        finding = _attack_plan(Path(target), release, claim, seconds)
    elif claim is None:
        raise ParameterError("an audit needs the claim: give --epsilon, --epsilon with --delta, or --rho")
    else:
        finding = attack(_callable(target), claim, seconds=seconds)
    if as_json:
        print_json(_record(finding))
    if finding.refuted:
        raise ClaimRefuted(str(finding))
    if not as_json:
        print(finding)


def _claim(epsilon: float | None, delta: float | None, rho: float | None) -> Guarantee | None:
    if rho is not None and (epsilon is not None or delta is not None):
        raise ParameterError("give --rho alone, or --epsilon with or without --delta")
    if rho is not None:
        return Concentrated(rho)
    if epsilon is None:
        if delta is not None:
            raise ParameterError("--delta needs --epsilon beside it")
        return None
    return Pure(epsilon) if delta is None else Approximate(epsilon, delta)


def _callable(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    if not (module and name):
        raise ParameterError(f"target must be module:function or a plan's file, got {target!r}")
    sys.path.insert(0, "")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        raise ParameterError(f"there is no {name!r} in a module {module!r}; run where it can be imported") from None
    if not callable(found):
        raise ParameterError(f"{target} is not a function; it must map data to an output")
    return cast("Callable[..., Any]", found)


def _attack_plan(path: Path, name: str | None, claim: Guarantee | None, seconds: float) -> Finding:
    plan = read_plan(path)
    if name is None:
        known = ", ".join(repr(release.name) for release in plan.releases)
        raise ParameterError(f"--release is missing: which release of the plan? It has {known}")
    target = _Released(plan, plan.release(name))
    pairs = neighbors(plan.schema)
    for pair in pairs:
        for data in pair:
            target.answer(data)  # before the clock starts, so that all of it goes into the attack
    return attack(target, claim or target.mechanism.guarantee(), pairs=pairs, seconds=seconds)


class _Released:
    """A planned release as a function of a table.  Exact answers are kept, since they are the same each time."""

    def __init__(self, plan: Plan, planned: PlannedRelease) -> None:
        from sfumato.planner import best
        from sfumato.queries import bind
        from sfumato.queries.keys import Keys
        from sfumato.randomness import secure

        question = bind(planned.query, plan.schema)
        if isinstance(question, Keys):
            raise UnsupportedQuery(f"release {planned.name!r} discovers its keys; audit it as module:function")
        self.name, self.plan, self.question = planned.name, plan, question
        self.mechanism: Any = best(question, planned.spend)
        self.rng = secure()
        self.answers: dict[str, Any] = {}

    def __call__(self, data: Any) -> Any:
        return self.mechanism.release(self.answer(data), self.rng)

    def answer(self, data: Any) -> Any:
        """The exact answer, as a session computes it."""
        from sfumato.engines import read
        from sfumato.session import exact_answer

        key = repr(data.to_pydict())
        if key not in self.answers:
            self.answers[key] = exact_answer(read(data, schema=self.plan.schema), self.question, self.mechanism)
        return self.answers[key]


def _record(finding: Finding) -> dict[str, Any]:
    found = finding.evidence
    return {
        "target": finding.target,
        "claim": repr(finding.claim),
        "refuted": finding.refuted,
        "evidence": None
        if found is None
        else {
            "attack": found.attack, "epsilon": found.epsilon, "delta": found.delta, "event": found.words,
            "relation": found.relation, "rates": list(found.rates), "trials": found.trials, "script": found.script,
        },
        "tried": [
            {"attack": a.attack, "tried": a.tried, "runs": a.runs, "power": a.power if math.isfinite(a.power) else None}
            for a in finding.tried
        ],
        "timing": finding.timing,
        "notes": list(finding.notes),
        "seconds": finding.seconds,
    }  # fmt: skip
