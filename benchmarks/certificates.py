"""Certificates: no bound is beaten, how far released errors are above them, what carries one, and bars that cover.

Run `python benchmarks/certificates.py --json [--only refute|factors|grid|coverage|figures]`: one JSON object a line
with the figure, its value, the target and whether it holds.  Without `--json` a table.  It ends with an error if a
bound is beaten or a planted false one is not; `--strict` also if any figure misses its target.  `--write` writes the
grid into docs/guide/certificates.md and the pictures beside it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

__all__ = ["Figure", "main"]

INSTANCES = 240
SEED = 14


@dataclass(frozen=True)
class Figure:
    """One measured figure and its verdict; `holds` is None where there is no target, `grave` makes the run fail."""

    figure: str
    value: float | None
    target: str = ""
    holds: bool | None = None
    grave: bool = False


def refute(options: argparse.Namespace) -> Iterator[Figure]:
    """Random small instances, and planted bounds that are false."""
    from refuting import planted, trials

    families: Counter[str] = Counter()
    beaten, proven, total, tight = 0, 0, 0, 0.0
    for trial in trials(options.instances, options.seed):
        total += 1
        families[f"{trial.family}, {trial.kind}"] += 1
        proven += trial.proven
        tight = max(tight, trial.tightness)
        if trial.beaten:
            beaten += 1
            name = f"BEATEN: {trial.what}: bound {trial.bound:.8g}, achieved {trial.reached.achieved:.8g}"
            yield Figure(name, trial.tightness, "<= 1", False, grave=True)
    for name, count in sorted(families.items()):
        yield Figure(f"instances: {name}", count)
    yield Figure("instances in all", total, f">= {options.instances}", total >= options.instances)
    yield Figure("bounds that a mechanism beats", beaten, "0", beaten == 0, grave=True)
    yield Figure("bounds that a program alone proves", proven)
    yield Figure("largest bound over an achieved error", round(tight, 6), "<= 1", tight <= 1 + 1e-6)
    for trial in planted(np.random.default_rng(options.seed)):
        name = f"planted, {trial.family}: {trial.what} ({trial.kind}), bound over achieved"
        yield Figure(name, round(trial.tightness, 4), "> 1", trial.beaten, grave=True)


def factors(options: argparse.Namespace) -> Iterator[Figure]:
    """How far over the bound the released error is, on the worst table."""
    from factors import cases, names_only

    for case in cases():
        found = case.factor()
        value = round(found, 4) if found < math.inf else None
        yield Figure(case.name, value, f"<= {case.asked:g}", found <= case.asked)
    yield Figure(*names_only())


def grid(options: argparse.Namespace) -> Iterator[Figure]:
    """What carries a certificate."""
    from certified import DAILY, OTHERS, share

    for name, kinds, least in (("daily questions", DAILY, 0.8), ("all kinds", DAILY | OTHERS, None)):
        certified, offered = share(list(kinds))
        value = round(certified / offered, 4)
        target, holds = (f">= {least}", value >= least) if least else ("", None)
        yield Figure(f"certified share of {offered} cells: {name}", value, target, holds)


def coverage(options: argparse.Namespace) -> Iterator[Figure]:
    """How often error bars cover, and how wide those of strategies are: `covering.py`, with few draws."""
    from covering import cases, chosen, covered

    for found in itertools.chain(*(covered(case, options.draws) for case in cases()), chosen(options.draws)):
        name = f"bars cover: {found.kind}, {found.mechanism}, {found.spend}"
        share = found.coverage if found.coverage is not None else found.joint
        yield Figure(f"{name}{f' ({found.why})' if found.why else ''}", share, "0.945 to 0.97", found.holds)
        if found.width is not None and found.mechanism.startswith("strategy"):
            yield Figure(
                f"width over the oracle's: {found.kind}, {found.spend}", found.width, "<= 1.1", found.width <= 1.1
            )


def figures(options: argparse.Namespace) -> Iterator[Figure]:
    """Selection of many, local means, K-norm at research size."""
    from factors import knorm, local_means, top_ten

    for part in (top_ten, local_means, knorm):
        for name, value, target, holds in part():
            yield Figure(name, value, target, holds)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Figure]]] = {
    "refute": refute, "factors": factors, "grid": grid, "coverage": coverage, "figures": figures,
}  # fmt: skip


def show(part: str, figure: Figure, as_json: bool) -> None:
    """One line."""
    if as_json:
        print(json.dumps({"part": part, **asdict(figure)}), flush=True)
        return
    verdict = {True: "holds", False: "FAILS", None: ""}[figure.holds]
    value = "none" if figure.value is None else f"{figure.value:g}"
    print(f"{figure.figure:96} {value:>12}  {figure.target:14} {verdict}", flush=True)


def main() -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=[*PARTS], action="append")
    parser.add_argument("--instances", type=int, default=INSTANCES)
    parser.add_argument("--draws", type=int, default=400, help="of each kind whose bars are simulated")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        from certificate_page import write

        write()
        return 0
    failed = False
    for part in options.only or PARTS:
        start = time.perf_counter()
        for figure in PARTS[part](options):
            failed |= figure.holds is False and (figure.grave or options.strict)
            show(part, figure, options.json)
        show(part, Figure(f"seconds: {part}", round(time.perf_counter() - start, 1)), options.json)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
