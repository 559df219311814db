"""Many checks in one test, of which every one that fails is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def run_checks(checks: Iterable[Callable[..., None]], *case: object, **parts: object) -> None:
    """Run every check on the same case, and raise one group that holds each failure under its check's name."""
    failures = []
    for check in checks:
        try:
            check(*case, **parts)
        except Exception as error:
            error.add_note(f"broken: {check.__name__}")
            failures.append(error)
    if failures:
        names = [error.__notes__[-1] for error in failures]
        raise ExceptionGroup("; ".join(names), failures)
