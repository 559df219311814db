"""A process beside the one that serves, which releases and carries out jobs.

Previews and pages are short, releases and jobs are not, and one interpreter computes one thing at a time: in a process
of their own, behind the other in the system's order, long ones keep nobody waiting.  The two speak in lines of JSON.
The process beside ends when the one that serves does, however that ends.  Where it dies itself, another takes its
place, and what it was asked is asked again under the same request id, under which nothing is charged twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import threading
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from sfumato.errors import LedgerError, SfumatoError
from sfumato.plans import read_plan
from sfumato.server.hands import AT_ONCE, Here, Reply, desks_of
from sfumato.server.models import ReleaseAsk
from sfumato.server.running import CONFIGURED

__all__ = ["Aside"]

BEHIND = 5  # steps of niceness
LONGEST = 1 << 28  # bytes of a line: whole tables are answers too
TRIES = 4  # processes that may die over one request
PAUSE = 0.5  # seconds between two of them
FAREWELL = 2.0  # seconds in which a process ends that says nothing more
PATIENCE = 20.0  # seconds that what runs has when nobody waits for it any more


class Gone(Exception):
    """The process ended before it answered."""


class Aside:
    """The process, as the one that serves sees it."""

    def __init__(self, plans: Sequence[str]) -> None:
        self._told = json.dumps({"plans": [os.path.abspath(plan) for plan in plans]})
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._number, self._over = 0, False
        self._process: asyncio.Future[Process] | None = None
        self._line, self._since = "", 0.0  # what was said last of its ends, and when

    async def start(self) -> None:
        """Begin; the process is ready a moment later, and what is asked meanwhile waits for it."""
        self._process = asyncio.get_running_loop().create_future()
        self._keeping = asyncio.create_task(self._keep())
        self._limit = asyncio.Semaphore(AT_ONCE)

    async def stop(self, patience: float) -> None:
        """Let it finish what runs."""
        self._over = True
        if self._process is not None and self._process.done():
            process = self._process.result()
            assert process.stdin is not None
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._keeping), patience)
            if process.returncode is None:
                process.kill()
        self._keeping.cancel()

    async def released(self, dataset: str, analyst: str, ask: ReleaseAsk) -> Reply:
        """What the process answers."""
        asked = ask.model_copy(update={"request": ask.request or secrets.token_hex(16)})
        line = {"dataset": dataset, "analyst": analyst, "ask": asked.model_dump(exclude_none=True)}
        async with self._limit:
            for _ in range(TRIES):
                with contextlib.suppress(Gone):
                    return await self._sent(line)
        return Reply.to(LedgerError("the process that releases does not start"))

    async def _sent(self, line: dict[str, Any]) -> Reply:
        assert self._process is not None
        process = await asyncio.shield(self._process)
        assert process.stdin is not None
        self._number += 1
        number = self._number
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            process.stdin.write(json.dumps({"number": number, **line}).encode("ascii") + b"\n")
            await process.stdin.drain()
        except (ConnectionError, RuntimeError):  # it ended, or is about to
            self._waiting.pop(number, None)
            await asyncio.sleep(PAUSE)
            raise Gone from None
        return await answer

    async def _keep(self) -> None:
        """Start a process, hand on what it says, and start the next when it ends."""
        while not self._over:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", __name__, stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
                limit=LONGEST, env=os.environ | {CONFIGURED: self._told},
            )  # fmt: skip
            assert self._process is not None
            assert process.stdout is not None
            self._process.set_result(process)
            reason = ""
            with contextlib.suppress(ValueError, ConnectionError):
                async for line in process.stdout:
                    said = json.loads(line)
                    if "ended" in said:
                        reason = said["ended"]
                        continue
                    answer = self._waiting.pop(said.pop("number"), None)
                    if answer is not None and not answer.done():
                        answer.set_result(Reply(**said))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), FAREWELL)
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            self._process = asyncio.get_running_loop().create_future()
            lost, self._waiting = self._waiting, {}
            for answer in lost.values():
                if not answer.done():
                    answer.set_exception(Gone())
            if not self._over:
                self._tell(process.returncode, reason)
                await asyncio.sleep(PAUSE)

    def _tell(self, code: int | None, reason: str) -> None:
        """Say to whoever runs the service that the process ended, the same at most once a minute.

        What it printed itself is not handed on: it may hold data.
        """
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        line = f"sfumato: the process that releases ended {how}{reason and ', '}{reason}; it is started again"
        now = time.monotonic()
        if line != self._line or now - self._since > 60.0:
            self._line, self._since = line, now
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def main() -> None:
    """Be that process: answer lines until there are no more."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group; the one that serves says when to end
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # a system may forbid it; then it competes, and nothing else
        os.nice(BEHIND)
    said = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer, and nowhere to be seen
    here = _begun(said)
    here.begin()
    lock, pool = threading.Lock(), ThreadPoolExecutor(AT_ONCE)
    for line in sys.stdin.buffer:
        pool.submit(_answer, here, json.loads(line), said, lock)
    end = threading.Timer(PATIENCE, os._exit, (0,))
    end.daemon = True
    end.start()
    pool.shutdown()
    here.end(PATIENCE)


def _begun(said: IO[bytes]) -> Here:
    """What answers; where it cannot begin, the reason is handed on, as far as it cannot hold data."""
    try:
        plans = [read_plan(path) for path in json.loads(os.environ[CONFIGURED])["plans"]]
        return Here(desks_of(plans, must_open=False))
    except Exception as error:
        told = f": {error}" if isinstance(error, SfumatoError) else ""
        said.write(json.dumps({"ended": f"{type(error).__name__}{told}"}).encode("ascii") + b"\n")
        said.flush()
        raise SystemExit(1) from None


def _answer(here: Here, asked: dict[str, Any], said: IO[bytes], lock: threading.Lock) -> None:
    reply = here.answered(asked["dataset"], asked["analyst"], ReleaseAsk.model_validate(asked["ask"]))
    try:
        line = _line(asked["number"], reply)
    except Exception as error:  # such as a value that JSON does not know: never silence, for which one would wait
        line = _line(asked["number"], Reply.to(error))
    with lock, contextlib.suppress(OSError, ValueError):  # nobody may be there any more
        said.write(line)
        said.flush()


def _line(number: int, reply: Reply) -> bytes:
    return json.dumps({"number": number, **reply.to_record()}, allow_nan=False).encode("ascii") + b"\n"


if __name__ == "__main__":
    main()
