"""Linear algebra on one processor: of small matrices, its threads wait for one another and take several times as long.

A synthetic table of twenty columns took 8 seconds on one thread and 27 on two.  The setting is the process's, and is
put back; where several threads make releases at once, it may stay at one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

__all__ = ["alone"]


def alone() -> AbstractContextManager[object]:
    """Within it, libraries of linear algebra use one thread."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1, user_api="blas")
    return limits
