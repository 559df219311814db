"""Telemetry without trust: phones randomize, a relay shuffles, a collector counts, an analyst estimates.

    python examples/telemetry.py demo                  # writes demo/browser.json, demo/reports.sfr, demo/browser.svg
    python examples/telemetry.py demo --people 20000

Nobody in it exists.  Each phone sends one report; the collector never sees a value.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sfumato import Pure
from sfumato.local import Client, Collection, Collector, add_file, choose, encode_batch, join, randomized

PAGES = ("search", "news", "mail", "maps", "games", "other")
SHARES = (0.38, 0.24, 0.16, 0.12, 0.06, 0.04)


def main() -> None:
    """Declare, report, relay, collect, estimate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    options = parser.parse_args()
    place = options.directory
    place.mkdir(parents=True, exist_ok=True)

    choice = choose(len(PAGES), Pure(options.epsilon), options.people)
    collection = Collection("start page of the browser", choice.protocol, PAGES, other="other")
    collection.save(place / "browser.json")
    print(f"chosen       {choice}")

    values = np.random.default_rng(7).choice(len(PAGES), options.people, p=SHARES)
    phones = [Client(collection).report(PAGES[value]) for value in values[:1000]]  # a thousand, one by one
    rest = randomized(collection.protocol, values[1000:])  # the others at once
    messages = [join(collection, phones), encode_batch(collection, rest)]
    (place / "reports.sfr").write_bytes(b"".join(messages))
    print(f"each phone   {Client(collection).describe().splitlines()[0]}")

    collector = Collector(collection, place / "browser.journal")
    for receipt in add_file(collector, place / "reports.sfr"):
        print(f"collector    {receipt.words}")
    print(f"a replay     {collector.add(phones[0]).words}")

    estimate = collector.estimate()
    print(estimate)
    low, high = estimate.interval(0.95, joint=True)
    for row in zip(PAGES, estimate.consistent(), low, high, SHARES, strict=True):
        print("  {:8s} {:6.3f}   {:6.3f} to {:5.3f}   truth {:5.3f}".format(*row))
    estimate.plot().save(place / "browser.svg")


if __name__ == "__main__":
    main()
