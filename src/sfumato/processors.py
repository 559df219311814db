"""Linear algebra on one processor: of small matrices, its threads wait for one another and take several times as long.

A synthetic table of twenty columns took 8 seconds on one thread and 27 on two.  The setting is the process's, and is
put back; where several threads make releases at once, it may stay at one.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["alone"]


def alone() -> AbstractContextManager[object]:
    """Within it, libraries of linear algebra use one thread."""
    limits: AbstractContextManager[object] = _find_libraries(len(sys.modules)).limit(limits=1, user_api="blas")
    return limits


@lru_cache(maxsize=1)
def _find_libraries(modules: int) -> ThreadpoolController:
    """Find the libraries that are loaded; again once another number of modules is, since they may have brought some."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
