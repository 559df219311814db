"""A private density with its band, and the mean curve of many homes.

python examples/curves.py                 # on invented tables
python examples/curves.py --people 50000 --homes 2000
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import sfumato as sf
from sfumato.samples import people

HOURS = [f"h{i:02d}" for i in range(24)]


def homes(count: int, seed: int = 3) -> pa.Table:
    """Invented daily curves of consumption, kWh an hour; some points are missing."""
    rng = np.random.default_rng(seed)
    hour = np.arange(24)
    shape = 0.4 + 0.5 * np.exp(-((hour - 8) ** 2) / 6) + 0.9 * np.exp(-((hour - 19) ** 2) / 8)
    values = shape * rng.gamma(4, 0.25, (count, 1)) + rng.gamma(1, 0.1, (count, 24))
    values[rng.random((count, 24)) < 0.01] = np.nan
    return pa.table({name: values[:, i] for i, name in enumerate(HOURS)})


def main() -> None:
    """Preview, release, evaluate, integrate, sample, save, load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--homes", type=int, default=1000)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="sfumato-"))

    table = sf.read(
        people(options.people),
        schema={"age": sf.Interval(0, 110, step=1)},
        unit="person_id",
        rows=1,
        size=options.people,
        dataset="people",
    )
    session = sf.Session(table, budget=sf.Approximate(2.0, 1e-5), ledger=directory / "people.ledger")
    ages, spend = sf.density("age", bandwidth=3), sf.Approximate(1.0, 1e-6)
    print(session.preview(ages, spend=spend))
    release = session.release(ages, spend=spend)
    share, low, high = release.curve.integral(18, 65)
    print(f"of working age: {share:.1%}, between {low:.1%} and {high:.1%}")
    print(f"five people who never lived: {np.sort(release.curve.sample(5, sf.reference.secure())).round(1).tolist()}")
    saved = sf.load(release.save(directory / "ages.json"))
    both = [one.curve.at(40.25)[0] for one in (release, saved)]
    print(f"the density at 40.25, as released and as loaded: {both[0]:.5f} {both[1]:.5f}")

    space = sf.Interval(0, 10, step=0.001)
    meters = sf.read(homes(options.homes), schema=dict.fromkeys(HOURS, space), size=options.homes, dataset="homes")
    session = sf.Session(meters, budget=spend, ledger=directory / "homes.ledger")
    day = session.release(sf.mean_curve(HOURS, radius=0.8, center=0.8, waves=5, period=24), spend=spend).curve
    low, high = day.band(np.arange(24.0))
    for hour in (4, 8, 19):
        print(f"{hour:02d}:00 {day.at(hour)[0]:.2f} kWh, between {low[hour]:.2f} and {high[hour]:.2f}")


if __name__ == "__main__":
    main()
