"""Local protocols beside pure-ldp and multi-freq-ldpy: seconds to randomize and to estimate, and memory.

`--json` prints one object a line: the figure, its value (a ratio of times within this run, or gigabytes), the target
and whether it holds.  Ours: n = 10^6, k = 1,024, epsilon = 1, with the secure generator, on one thread.  The peers loop
over users in Python; they are measured on fewer users, twice, and extrapolated by a line (marked `extrapolated_from`).
They live in an environment of their own, since they want other versions (see `--help` for how to make it); without them
our own times are printed and the ratios have no verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

K, EPSILON, USERS = 1024, 1.0, 10**6
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
PEERS = ("pure-ldp", "multi-freq-ldpy")
ENVIRONMENT = (
    "python -m venv peers; peers/bin/pip install pure-ldp==1.2.0 multi-freq-ldpy==0.2.5 scikit-learn statsmodels "
    "bitarray bitstring 'xxhash<4'; then pass --peer-python peers/bin/python"
)
SIZES = {  # users a peer randomizes; reports a peer estimates from; reports we aggregate in pieces; messages; kills
    "quick": {"users": 1000, "hashed": 40, "pieces": 10**6, "largest": 2 * 10**6, "messages": 20_000, "kills": 20},
    "usual": {"users": 4000, "hashed": 200, "pieces": 10**6, "largest": 10**8, "messages": 60_000, "kills": 200},
    "full": {"users": 50_000, "hashed": 2000, "pieces": 10**6, "largest": 10**8, "messages": 60_000, "kills": 200},
}
COLLECTING = Path(__file__).resolve().with_name("collecting.py")
HASHING = {"olh", "flh"}
ROUNDS = 3  # the fastest counts, for ours and for the peers
FUNCTIONS = 10_000  # hash functions of the fast variant of local hashing, as its authors advise
FEW = 500  # with which it is measured: its server tabulates all of them, a cost in proportion
TOGETHER = 4  # pieces that are also tallied as one
UNEVEN = 333_333  # reports of the smaller pieces
ESTIMATED = 60_000  # reports a peer estimates from where that is cheap


def say(figure: str, value: Any, target: Any = None, holds: bool | None = None, **more: Any) -> None:
    """One line of the result."""
    print(json.dumps({"figure": figure, "value": value, "target": target, "holds": holds, **more}), flush=True)


def values(n: int) -> np.ndarray:
    """Values with a long tail."""
    rng = np.random.default_rng(1)
    return (K * rng.random(n) ** 2).astype(np.int64)


# ours


def protocols() -> dict[str, Any]:
    """The protocols that a peer offers too."""
    from sfumato.local.protocols import (
        GeneralizedResponse,
        HadamardResponse,
        LocalHashing,
        OptimizedUnary,
        SubsetSelection,
        SymmetricUnary,
    )
    from sfumato.privacy.guarantees import Pure

    kinds = (GeneralizedResponse, OptimizedUnary, SymmetricUnary, LocalHashing, HadamardResponse, SubsetSelection)
    return {kind.name: kind.calibrate(K, Pure(EPSILON)) for kind in kinds}


def pieces(protocol: Any, n: int) -> list[tuple[int, int]]:
    """Chunks of users whose reports take about 64 MB."""
    size = max(1, min(n, (1 << 26) // protocol.report_bytes))
    return [(start, min(n, start + size)) for start in range(0, n, size)]


def ours(name: str) -> None:
    """One protocol in a process of its own: seconds, memory, error against its exact deviation."""
    from sfumato.local.tallying import tally
    from sfumato.randomness import secure

    protocol, rng, truth = protocols()[name], secure(), values(USERS)
    warm = protocol.randomize(truth[:1000], rng)
    protocol.estimate(tally(protocol, warm), 1000)
    best = {"randomize": float("inf"), "estimate": float("inf")}
    for _ in range(ROUNDS):
        spent = {"randomize": 0.0, "estimate": 0.0}
        total: Any = np.zeros(protocol.cells, dtype=np.int64)
        for start, end in pieces(protocol, USERS):
            reports, seconds = timed(lambda s=start, e=end: protocol.randomize(truth[s:e], rng))
            spent["randomize"] += seconds
            counts, seconds = timed(lambda r=reports: tally(protocol, r))
            spent["estimate"] += seconds
            total = total + counts
        estimate, seconds = timed(lambda t=total: protocol.estimate(t, USERS))
        spent["estimate"] += seconds
        best = {part: min(best[part], spent[part]) for part in best}
    shares = np.bincount(truth, minlength=K) / USERS
    square = float(((estimate - shares) ** 2).sum()) / float(np.sum(protocol.variance(USERS, shares)))
    print(json.dumps({**best, "gigabytes": memory(), "square error over its exact mean": square}))


def memory() -> float:
    """The largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def aggregate(largest: int, piece: int) -> None:
    """Fresh reports arriving in pieces: the same tally as in one piece or in uneven ones, with flat memory."""
    from sfumato.local.tallying import tally
    from sfumato.randomness import secure

    protocol, rng, truth = protocols()["olh"], secure(), values(piece)
    total, other = np.zeros((2, protocol.cells), dtype=np.int64)
    marks: list[float] = []
    seconds = 0.0
    for _ in range(0, largest, piece):
        payload = protocol.encode(protocol.randomize(truth, rng))
        began = time.process_time()
        arrived = protocol.decode(payload)
        total += tally(protocol, arrived)
        seconds += time.process_time() - began
        for start in range(0, piece, UNEVEN):
            other += tally(protocol, arrived[start : start + UNEVEN])
        marks.append(memory())
    few = [protocol.randomize(truth, rng) for _ in range(TOGETHER)]  # after the marks: it holds several pieces
    one = tally(protocol, np.concatenate(few))
    same = bool(np.array_equal(total, other) and np.array_equal(one, sum(tally(protocol, part) for part in few)))
    print(json.dumps({"reports": largest, "seconds": seconds, "same": same, "gigabytes": marks[-1],
                      "grown": marks[-1] - marks[0]}))  # fmt: skip


# peers, run by their own interpreter: nothing of sfumato is imported here


def pure_ldp(users: int, hashed: int) -> dict[str, dict[str, float]]:
    """Seconds a user."""
    import pure_ldp.frequency_oracles as oracles

    def hadamard() -> tuple[Any, Any]:
        server = oracles.HadamardResponseServer(EPSILON, K)
        return oracles.HadamardResponseClient(EPSILON, K, server.get_hash_funcs()), server

    makers = {
        "grr": lambda: (oracles.DEClient(EPSILON, K), oracles.DEServer(EPSILON, K)),
        "oue": lambda: (oracles.UEClient(EPSILON, K, use_oue=True), oracles.UEServer(EPSILON, K, use_oue=True)),
        "sue": lambda: (oracles.UEClient(EPSILON, K), oracles.UEServer(EPSILON, K)),
        "olh": lambda: (oracles.LHClient(EPSILON, K, use_olh=True), oracles.LHServer(EPSILON, K, use_olh=True)),
        "flh": lambda: (
            oracles.FastLHClient(EPSILON, K, FEW, use_olh=True),
            oracles.FastLHServer(EPSILON, K, FEW, use_olh=True),
        ),
        "hadamard": hadamard,
    }
    found = {}
    for name, make in makers.items():
        client, _ = make()

        def estimate(reports: list[Any], make: Any = make) -> None:
            _, server = make()
            for report in reports:
                server.aggregate(report)
            server.estimate_all(range(1, K + 1))

        truth = [int(value) + 1 for value in values(users)]
        found[name] = costs(client.privatise, estimate, truth, hashed if name == "olh" else users)
    found["flh"]["estimate"] += (FUNCTIONS / FEW - 1) * found["flh"]["fixed"]  # a table row for each function
    return found


def multi_freq_ldpy(users: int, hashed: int) -> dict[str, dict[str, float]]:
    """Seconds a user."""
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    calls = {
        "grr": (lambda v: GRR.GRR_Client(v, K, EPSILON), lambda r: GRR.GRR_Aggregator_MI(r, K, EPSILON)),
        "oue": (lambda v: UE.UE_Client(v, K, EPSILON, True), lambda r: UE.UE_Aggregator_MI(r, EPSILON, True)),
        "sue": (lambda v: UE.UE_Client(v, K, EPSILON, False), lambda r: UE.UE_Aggregator_MI(r, EPSILON, False)),
        "olh": (lambda v: LH.LH_Client(v, K, EPSILON, True), lambda r: LH.LH_Aggregator_MI(r, K, EPSILON, True)),
        "subset": (lambda v: SS.SS_Client(v, K, EPSILON), lambda r: SS.SS_Aggregator_MI(r, K, EPSILON)),
    }
    found = {}
    for name, (client, server) in calls.items():
        client(0)  # compiled before it is timed
        truth = [int(value) for value in values(users)]
        found[name] = costs(client, server, truth, hashed if name == "olh" else users)
    return found


def costs(client: Any, server: Any, truth: list[int], n: int) -> dict[str, float]:
    """Seconds for all users: randomizing by proportion, estimating by a line through half and all of n reports."""
    parts = [timed(lambda t=truth[start::ROUNDS]: [client(value) for value in t]) for start in range(ROUNDS)]
    reports = [report for part, _ in parts for report in part]
    randomize = min(seconds / len(part) for part, seconds in parts)
    if n == len(truth):  # a line needs many reports where each costs little
        reports = reports * max(1, ESTIMATED // n)
        n = len(reports)
    server(reports[: max(2, n // 10)])
    half, whole = (timed(lambda r=reports[:m]: server(r))[1] for m in (n // 2, n))
    slope = max(0.0, whole - half) / (n - n // 2)
    return {"randomize": randomize * USERS, "estimate": whole + slope * (USERS - n),
            "fixed": max(0.0, whole - slope * n), "users": len(truth), "hashed": n}  # fmt: skip


def timed(work: Any) -> tuple[Any, float]:
    """What it returns, and its processor seconds."""
    began = time.process_time()
    done = work()
    return done, time.process_time() - began


def run(python: str, *arguments: str, file: Path | None = None) -> dict[str, Any] | None:
    """This file, or another one, in a process of its own; None if it fails."""
    command = [python, "-W", "ignore", str(file or Path(__file__).resolve()), *arguments]
    alone = os.environ | dict.fromkeys(THREADS, "1")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    if done.returncode:
        print(f"{' '.join(arguments)} failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """All figures."""
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Peers: {ENVIRONMENT}.")
    parser.add_argument("--json", action="store_true", help="one JSON object a line (the only form)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--peer-python", default=os.environ.get("SFUMATO_PEER_PYTHON", sys.executable))
    parser.add_argument("--ours", help=argparse.SUPPRESS)
    parser.add_argument("--aggregate", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--peer", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--deployed", action="store_true", help="only collections as they are deployed")
    chosen = parser.parse_args()
    size = SIZES["quick" if chosen.quick else "full" if chosen.full else "usual"]
    if chosen.ours:
        ours(chosen.ours)
    elif chosen.aggregate:
        aggregate(*chosen.aggregate)
    elif chosen.peer:
        peer, users, hashed = chosen.peer
        print(json.dumps((pure_ldp if peer == PEERS[0] else multi_freq_ldpy)(int(users), int(hashed))))
    else:
        deployed(size)
        if not chosen.deployed:
            compare(size, chosen.peer_python)


def deployed(size: dict[str, int]) -> None:
    """A collection as it is deployed: pieces and a merge, single messages, kills."""
    many = run(sys.executable, "merged", str(size["largest"]), file=COLLECTING)
    say(f"{size['largest']} reports through four pieces and a merge: exact tally", many and many["exact"], True,
        bool(many and many["exact"]))  # fmt: skip
    if many:
        say(f"{size['largest']} reports through four pieces and a merge: gigabytes", many["gigabytes"], 1,
            many["gigabytes"] < 1, seconds=many["seconds"])  # fmt: skip
    one = run(sys.executable, "single", str(size["messages"]), file=COLLECTING)
    if one:
        say("durable messages of one report a second, on the clock", one["rate"], 20_000, one["rate"] >= 20_000,
            load=one["load"])  # fmt: skip
        say("durable messages of one report a second of the processor", one["processor"], 20_000,
            one["processor"] >= 20_000)  # fmt: skip
        say("durable messages of one report, times as many as plain appends that are synced one by one",
            one["rate"] / one["floor"], appends=one["floor"])  # fmt: skip
    drill = run(sys.executable, "kills", str(size["kills"]), file=COLLECTING)
    say(f"{size['kills']} kills of devices, relay and collector: lost, counted twice or overspent",
        len(drill["problems"]) if drill else None, 0, bool(drill and not drill["problems"]),
        **(drill or {}))  # fmt: skip


def compare(size: dict[str, int], peer_python: str) -> None:
    """Ours, the peers, and the ratios."""
    mine = {name: run(sys.executable, "--ours", name) for name in ("grr", "oue", "sue", "olh", "hadamard", "subset")}
    for name, row in mine.items():
        if row is None:
            say(f"{name}: n = 10^6, k = 1,024", None, None, False)
            continue
        say(f"{name}: seconds to randomize and to estimate, n = 10^6, k = 1,024", [row["randomize"], row["estimate"]])
        say(f"{name}: gigabytes", row["gigabytes"], 2, row["gigabytes"] < 2)
        ratio = row["square error over its exact mean"]
        say(f"{name}: square error over its exact mean", ratio, [0.7, 1.3], 0.7 <= ratio <= 1.3)
    for peer in PEERS:
        theirs = run(peer_python, "--peer", peer, str(size["users"]), str(size["hashed"]))
        if theirs is None:
            say(f"{peer} is not installed in {Path(peer_python).name}'s environment: {ENVIRONMENT}", None)
            continue
        for name, row in theirs.items():
            own = mine["olh" if name == "flh" else name]
            for part in ("randomize", "estimate"):
                target = 200 if part == "estimate" and name in HASHING else 10
                ratio = row[part] / own[part] if own else 0.0
                say(f"{peer} {name}: {part}, times as long as ours", ratio, target, ratio >= target,
                    extrapolated_from=row["hashed" if part == "estimate" else "users"],
                    peer_seconds=row[part])  # fmt: skip
    grown = run(sys.executable, "--aggregate", str(size["largest"]), str(size["pieces"]))
    if grown is None:
        say("aggregation in pieces", None, None, False)
        return
    say(f"{grown['reports']} reports in pieces: the same answer as in one", grown["same"], True, grown["same"])
    say(f"{grown['reports']} reports in pieces: gigabytes by which memory grew after the first", grown["grown"], 0.05,
        grown["grown"] <= 0.05, gigabytes=grown["gigabytes"], seconds=grown["seconds"])  # fmt: skip


if __name__ == "__main__":
    main()
