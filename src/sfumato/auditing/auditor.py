"""The doors of the auditor: attack a claim about any callable, or show the largest epsilon without a claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.accounting.promises import points
from sfumato.auditing import clock
from sfumato.auditing.attack import Attack
from sfumato.auditing.confirming import Errors
from sfumato.auditing.findings import Evidence, Finding
from sfumato.auditing.ladders import ladder_pairs
from sfumato.auditing.neighbors import Pair, explicit, pairs_for, relation_of
from sfumato.auditing.probing import examples_for
from sfumato.auditing.running import Runner, name_of
from sfumato.errors import ParameterError
from sfumato.privacy.adjacency import AddRemove, Adjacency, Replace, Row, Unit
from sfumato.privacy.guarantees import Claim

__all__ = ["audit", "largest_epsilon"]

LARGE = 3.0  # an epsilon from which events that show a violation are mostly too rare to be counted


def audit(
    target: Callable[..., Any],
    claim: Claim,
    *,
    inputs: object = None,
    pairs: Sequence[tuple[Any, Any] | Pair] | None = None,
    records: Sequence[Any] | None = None,
    bounds: tuple[float, float] | None = None,
    unit: Unit = Row(),  # noqa: B008 (frozen)
    adjacency: Adjacency | str = AddRemove(),  # noqa: B008 (frozen)
    fixed_size: bool = False,
    seconds: float = 60.0,
    alpha: float = 1e-6,
    seed: int = 0,
    generator: Callable[..., Any] = np.random.default_rng,
    forks: bool = False,
    sharpen: bool = False,
    cores: int = 1,
) -> Finding:
    """Look for evidence that `target` does not keep `claim`.

    `target(data)` or `target(data, rng)` may return anything.  `inputs` is an example of its data
    (or an `Examples` of several); without it, common shapes are tried.  Neighbors are made from it,
    unless `pairs` gives them.  `records` or `bounds` restrict what a record may be; otherwise NaN,
    infinities and huge values are records too.  Under replacement `fixed_size=True` keeps to tables of
    the examples' sizes, for claims that depend on a public size.  `forks=True` counts noise that a forked
    child repeats as evidence.  A claim that assumes `real-arithmetic` is not attacked by its bits.

    All of `seconds` is used to look for evidence.  The first evidence ends the audit, unless `sharpen=True`
    asks to go on for the largest epsilon that can be shown.  `cores` runs share the runs that count.
    `generator` is called with `seed`, or without if it takes nothing, and makes the `rng` of the target.
    `finding.audited` is False, and a note says why, if every run raised or gave one and the same output.
    """
    if not isinstance(claim, Claim):
        raise ParameterError(f"claim must be a guarantee such as Pure(1.0), got {type(claim).__name__}")
    attacked = points(claim)
    start, attack = _attack(
        target, attacked, "real-arithmetic" not in claim.assumptions, inputs=inputs, pairs=pairs, records=records,
        bounds=bounds, unit=unit, adjacency=adjacency, fixed_size=fixed_size, seconds=seconds, alpha=alpha, seed=seed,
        generator=generator, forks=forks, sharpen=sharpen, cores=cores,
    )  # fmt: skip
    evidence = attack.carry_out()
    if evidence is None and attack.audited and min(epsilon for epsilon, _ in attacked) >= LARGE:
        attack.notes.append(
            "at so large an epsilon a violation shows in events too rare to count; where the noise is known, "
            "audit_accounting computes the loss, and a target with batch() is run more often"
        )
    return _finding(target, claim, evidence, attack, start)


def largest_epsilon(
    target: Callable[..., Any], *, delta: float = 0.0, real_arithmetic: bool = False, **options: object
) -> Finding:
    """The largest epsilon at `delta` that can be shown of `target` in the time, without a claim.

    `finding.epsilon` is a lower limit, wrong with probability at most `alpha`; the true epsilon may be larger.
    `options` are those of `audit`; `real_arithmetic=True` sets aside what low bits of floats show.
    """
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must lie in [0, 1), got {delta!r}")
    defaults = audit.__kwdefaults__ or {}
    unknown = set(options) - set(defaults)
    if unknown:
        raise ParameterError(f"options must be those of audit; it has no {', '.join(sorted(unknown))}")
    start, attack = _attack(target, ((0.0, delta),), not real_arithmetic, **{**defaults, **options, "sharpen": True})
    evidence = attack.carry_out()
    return _finding(target, None, evidence, attack, start)


def _finding(
    target: Callable[..., Any], claim: Claim | None, evidence: Evidence | None, attack: Attack, start: float
) -> Finding:
    return Finding(
        name_of(target), claim, evidence, tuple(attack.tried), attack.clock, tuple(attack.notes),
        clock.now() - start, attack.audited,
    )  # fmt: skip


def _attack(
    target: Callable[..., Any],
    attacked: Sequence[tuple[float, float]],
    bits: bool,
    *,
    inputs: object,
    pairs: Sequence[tuple[Any, Any] | Pair] | None,
    records: Sequence[Any] | None,
    bounds: tuple[float, float] | None,
    unit: Unit,
    adjacency: Adjacency | str,
    fixed_size: bool,
    seconds: float,
    alpha: float,
    seed: int,
    generator: Callable[..., Any],
    forks: bool,
    sharpen: bool,
    cores: int,
) -> tuple[float, Attack]:
    """When the audit began, and its attack, ready to be carried out."""
    relation = relation_of(adjacency)
    _check(seconds, alpha, cores, fixed_size, relation)
    start = clock.now()
    runner = Runner(target, generator, seed)
    if pairs is not None:
        found = explicit(pairs)
    else:
        examples = examples_for(runner, inputs, relation)
        found = pairs_for(examples, relation, unit, records, bounds, fixed_size)
        if relation == AddRemove.name:
            tried = {repr(pair.record): pair.record for pair in found[:40] if pair.record is not None}
            found += ladder_pairs(runner, examples[0], [*tried.values()][:8], start + 0.1 * seconds)
    if not found:
        raise ParameterError("no neighboring inputs could be made; give inputs= or pairs=")
    attack = Attack(
        runner, attacked, found, Errors(alpha), start + seconds, bits=bits, forks=forks, sharpen=sharpen, cores=cores
    )
    return start, attack


def _check(seconds: float, alpha: float, cores: int, fixed_size: bool, relation: str) -> None:
    if not seconds > 0:
        raise ParameterError(f"seconds must be positive, got {seconds!r}")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must lie between 0 and 1, got {alpha!r}")
    if isinstance(cores, bool) or not isinstance(cores, int) or cores < 1:
        raise ParameterError(f"cores must be a whole number of at least 1, got {cores!r}")
    if fixed_size and relation != Replace.name:
        raise ParameterError(f"fixed_size is for adjacency='replace'; under {relation!r} the size is not public")
