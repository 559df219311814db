"""Telemetry without trust: phones randomize and seal, a relay shuffles, a collector counts, an analyst estimates.

    python examples/telemetry.py demo                  # writes demo/browser.json, demo/batches, demo/browser.svg
    python examples/telemetry.py demo --people 20000

Nobody in it exists.  The relay is a process of its own: it sees addresses and sealed reports, which it cannot read.
The collector reads reports in random order, and sees no address.
"""

from __future__ import annotations

import argparse
import http.client
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from sfumato import Pure
from sfumato.local import Client, Collection, Collector, Device, add_file, collect, new_key

PAGES = ("search", "news", "mail", "maps", "games", "other")
SHARES = (0.38, 0.24, 0.16, 0.12, 0.06, 0.04)
SENDERS = 32


def post(url: str, messages: list[bytes]) -> int:
    """Send messages one by one; how many the relay has taken."""
    line = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    taken = 0
    for message in messages:
        line.request("POST", urlsplit(url).path, message)
        answer = line.getresponse()
        answer.read()
        taken += answer.status == 200
    line.close()
    return taken


def relayed(place: Path, collection: Collection, values: np.ndarray, budget: Pure) -> int:
    """Start a relay, let every phone send its report to it, and end the round; how many reports it took."""
    for folder in ("batches", "relay"):
        (place / folder).mkdir(exist_ok=True)
    declaration = collection.save(place / "relay" / "browser.json")  # a copy, without the key: the relay refuses both
    command = [sys.executable, "-m", "sfumato.cli", "relay", str(declaration), "--out", str(place / "batches")]
    with subprocess.Popen([*command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True) as relay:
        try:
            assert relay.stdout is not None
            taken = sent(relay.stdout.readline().split()[-1], place, collection, values, budget)
        finally:
            relay.terminate()
    subprocess.run([*command, "--end", "1"], check=True, stdout=subprocess.DEVNULL)
    return taken


def sent(url: str, place: Path, collection: Collection, values: np.ndarray, budget: Pure) -> int:
    """Every phone sends its report: one of them in full, with budget and outbox, the others in short."""
    phone = Device(collection, place / "phone.db", budget=budget)
    phone.record(PAGES[values[0]])
    for message in phone.pending():
        if post(url, [message]):
            phone.acknowledge(message)  # only now: it is on the relay's disk
    messages = [Client(collection).report(PAGES[value]) for value in values[1:]]
    with ThreadPoolExecutor(SENDERS) as pool:
        taken = sum(pool.map(post, [url] * SENDERS, [messages[start::SENDERS] for start in range(SENDERS)]))
    return taken + (not phone.pending())


def main() -> None:
    """Declare, report, relay, collect, estimate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--people", type=int, default=5_000)
    parser.add_argument("--epsilon", type=float, default=2.0)
    options = parser.parse_args()
    place = options.directory
    place.mkdir(parents=True, exist_ok=True)

    public = new_key(place / "browser.key")
    collection = collect(
        "start page of the browser", PAGES, spend=options.epsilon, people=options.people, other="other",
        key=public, batch=options.people // 2,
    )  # fmt: skip
    collection.save(place / "browser.json")
    print(f"declared     {collection.protocol.name}, sealed, in batches of {collection.batch:,} at least")

    values = np.random.default_rng(7).choice(len(PAGES), options.people, p=SHARES)
    print(f"each phone   {Client(collection).describe().splitlines()[0]}")
    taken = relayed(place, collection, values, Pure(options.epsilon))
    print(f"relay        {taken:,} reports taken, and none of them read")

    collector = Collector(collection, place / "browser.journal", key=place / "browser.key")
    for batch in sorted((place / "batches").glob("*.sfr")):
        for receipt in add_file(collector, batch):
            print(f"collector    {receipt.words}")
        print(f"a replay     {collector.add(batch.read_bytes()).words}")

    estimate = collector.estimate()
    print(estimate)
    print(f"after the shuffle, the collector learns of one phone at most {estimate.central(delta=1e-6)}")
    low, high = estimate.interval(0.95, joint=True)
    for row in zip(PAGES, estimate.consistent(), low, high, SHARES, strict=True):
        print("  {:8s} {:6.3f}   {:6.3f} to {:5.3f}   truth {:5.3f}".format(*row))
    estimate.plot().save(place / "browser.svg")


if __name__ == "__main__":
    main()
