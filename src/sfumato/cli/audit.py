"""Attacking a claim: any callable by name, or a release of a plan on small invented tables."""

from __future__ import annotations

import ast
import importlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sfumato.auditing import Finding, largest_epsilon
from sfumato.auditing import audit as attack
from sfumato.cli.console import complain, print_json, say
from sfumato.cli.neighbors import neighbors
from sfumato.errors import ParameterError, SfumatoError, UnsupportedQuery
from sfumato.plans import read_plan
from sfumato.plans.outlook import outlook
from sfumato.privacy.claims import guarantee_of
from sfumato.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from sfumato.auditing.tabular import ArrowTable

__all__ = ["ClaimRefuted", "NothingAudited", "Released", "Wanted", "run"]

Amounts = tuple[float | None, float | None, float | None]
FEW_RUNS = 2000  # of which little can be concluded


class ClaimRefuted(SfumatoError):
    """There is evidence against the claim."""


class NothingAudited(SfumatoError):
    """No run of the target could have shown anything."""


@dataclass(frozen=True)
class Wanted:
    """What was asked of an audit, beside its target and its claim."""

    seconds: float = 60.0
    adjacency: str = "add-remove"
    inputs: str | None = None
    bounds: tuple[float, float] | None = None
    real_arithmetic: bool = False
    fixed_size: bool = False
    stop: bool = False
    cores: int = 1

    def options(self) -> dict[str, Any]:
        """The arguments of `audit` for a function."""
        return {
            "adjacency": self.adjacency, "inputs": _example(self.inputs), "bounds": self.bounds,
            "fixed_size": self.fixed_size, **self.effort(),
        }  # fmt: skip

    def effort(self) -> dict[str, Any]:
        """The arguments of `audit` for any target."""
        return {"seconds": self.seconds, "sharpen": not self.stop, "cores": self.cores}


def run(
    target: str, release: str | None, amounts: Amounts, wanted: Wanted, as_json: bool, version: str | None = None
) -> None:
    """Print what was found; evidence against the claim is an error, and the script that reproduces it the output."""
    claim = _claim(*amounts, wanted.real_arithmetic)
    if Path(target).suffix.lower() in (".toml", ".json"):
        if claim is None and amounts[1] is not None:
            raise ParameterError("--delta needs --epsilon beside it; without both, the plan's own claim is attacked")
        finding = _attack_plan(Path(target), release, claim, wanted, version)
    elif version is not None:
        raise ParameterError("--version is for a plan; what module:function releases has none")
    elif claim is None:
        options = wanted.options() | {"real_arithmetic": wanted.real_arithmetic, "delta": amounts[1] or 0.0}
        options.pop("sharpen")
        finding = largest_epsilon(_callable(target), **options)
    else:
        finding = attack(_callable(target), claim, **wanted.options())
    if as_json:
        print_json(_record(finding))
    elif not finding.refuted and finding.audited:
        say(finding)
    elif finding.evidence is not None:
        say(finding.evidence.script)
    if finding.refuted:
        raise ClaimRefuted(str(finding))
    if not finding.audited:
        raise NothingAudited(str(finding))


def _example(text: str | None) -> Any:
    """The value that --inputs writes down."""
    if text is None:
        return None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ParameterError("--inputs must be a Python list of rows, such as [1.0, 2.5] or [(1, 'a')]") from None


def _claim(epsilon: float | None, delta: float | None, rho: float | None, real: bool) -> Guarantee | None:
    assumptions = frozenset({"real-arithmetic"} if real else ())
    if epsilon is None and rho is None:
        return None
    return guarantee_of({"epsilon": epsilon, "delta": delta, "rho": rho}, assumptions)


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


def _attack_plan(path: Path, name: str | None, claim: Guarantee | None, wanted: Wanted, version: str | None) -> Finding:
    if wanted != Wanted(wanted.seconds, real_arithmetic=wanted.real_arithmetic, stop=wanted.stop, cores=wanted.cores):
        raise ParameterError("a plan says what its rows and neighbors are; --adjacency, --inputs, --bounds and "
                             "--fixed-size are for module:function")  # fmt: skip
    plan = read_plan(path, version)
    plan.must_publish()
    if name is None:
        known = ", ".join(repr(release.name) for release in plan.releases)
        raise ParameterError(f"--release is missing: which release of the plan? It has {known}")
    target = Released(path, name, version)
    pairs = neighbors(plan.schema)
    for pair in pairs:
        for data in pair:
            target.answer(data)  # before the clock starts, so that all of it goes into the attack
    _tell_how_many(target, pairs[0][0], wanted)
    return attack(target, claim or target.mechanism.guarantee(), pairs=pairs, **wanted.effort())


def _tell_how_many(target: Released, data: ArrowTable, wanted: Wanted) -> None:
    """Say before it begins that an attack will have few runs, as of a release that makes a whole table each time."""
    begun = time.perf_counter()
    target(data)
    each = time.perf_counter() - begun
    runs = int(wanted.cores * wanted.seconds / each)
    if runs < FEW_RUNS:
        enough = math.ceil(FEW_RUNS * each / wanted.cores)
        complain(
            f"one run of {target.name!r} takes about {each:.2g} s, so that {wanted.seconds:g} s are about {runs:,} "
            f"runs, where evidence may take {FEW_RUNS:,} and more: give --seconds {enough}"
        )


class Released:
    """A planned release as a function of a table.  Exact answers are kept, since they are the same each time."""

    def __init__(self, path: Path | str, name: str, version: str | None = None) -> None:
        from sfumato.planner import best
        from sfumato.queries import bind
        from sfumato.queries.keys import Keys
        from sfumato.randomness import secure

        plan = read_plan(Path(path), version)
        planned = plan.release(name)
        if planned.spend is None or planned.within is not None:
            planned = outlook(plan).plan.release(name)
        question = bind(planned.query, plan.schema)
        if isinstance(question, Keys):
            raise UnsupportedQuery(f"release {planned.name!r} discovers its keys; audit it as module:function")
        self.name, self.plan, self.question = planned.name, plan, question
        of_version = "" if version is None else f", {version!r}"
        called = f"Released({str(path)!r}, {name!r}{of_version})"
        self.source = f"from sfumato.cli.audit import Released\n\ntarget = {called}"
        self.mechanism = best(question, planned.paid)
        self.rng = secure()
        self.answers: dict[str, Any] = {}

    def __call__(self, data: ArrowTable) -> Any:
        return self.mechanism.release(self.answer(data), self.rng)

    def answer(self, data: ArrowTable) -> Any:
        """The exact answer, as a session computes it."""
        from sfumato.engines import read

        key = repr(data.to_pydict())
        if key not in self.answers:
            self.answers[key] = self.mechanism.take(read(data, schema=self.question.schema))
        return self.answers[key]


def _record(finding: Finding) -> dict[str, Any]:
    found = finding.evidence
    return {
        "target": finding.target,
        "claim": None if finding.claim is None else repr(finding.claim),
        "refuted": finding.refuted,
        "audited": finding.audited,
        "epsilon": finding.epsilon,
        "evidence": None
        if found is None
        else {
            "attack": found.attack, "epsilon": found.epsilon, "delta": found.delta, "event": found.words,
            "relation": found.relation, "rates": list(found.rates), "trials": found.trials, "script": found.script,
        },
        "tried": [
            {
                "attack": a.attack, "tried": a.tried, "runs": a.runs, "reach": a.reach,
                "power": a.power if a.power is not None and math.isfinite(a.power) else None,
            }
            for a in finding.tried
        ],
        "timing": finding.timing,
        "notes": list(finding.notes),
        "seconds": finding.seconds,
    }  # fmt: skip
