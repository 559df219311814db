"""Six jobs of local collection from one import, with simulated owners: `python examples/six_jobs.py`."""

import tempfile

import numpy as np

import sfumato.local as sl

people, one = np.random.default_rng(0), sl.Pure(1.0)


def sent(collection, values, round=None):
    """What the owners of values send; on their devices it is `sl.Device(collection, "device.db").record(value)`."""
    return sl.encode_batch(collection, sl.randomized(collection.protocol, values), round=round)


# a category each, a number each, a set each, two attributes each
pages = sl.collect("start page", ["mail", "maps", "news"], spend=one, people=20_000)
print(sl.estimate(pages, [sent(pages, people.choice(3, 20_000, p=[0.5, 0.3, 0.2]))]))
ages = sl.collect("age", bounds=(0, 120), spend=one, people=20_000)
print(sl.estimate(ages, [sent(ages, people.normal(40, 12, 20_000))]))
apps = sl.Collection("apps", sl.Sets.calibrate(4, one, size=2), ("chat", "mail", "maps", "music"))
print(sl.estimate(apps, [sent(apps, [[i % 4, 1] for i in range(20_000)])]))
plans = sl.Collection("plans", sl.Marginals.calibrate([2, 2], one), ("free", "paid", "phone", "desktop"))
print(sl.estimate(plans, [sent(plans, people.integers(0, 2, (20_000, 2)))]))

with tempfile.TemporaryDirectory() as place:
    # every day again: what changed, and what all days cost
    days = sl.collect("mood", ["good", "bad"], spend=one, people=20_000, rounds=["mon", "tue"])
    collector = sl.Collector(days, f"{place}/days.journal")
    collector.add_all([sent(days, people.choice(2, 20_000, p=[p, 1 - p]), d) for d, p in (("mon", 0.5), ("tue", 0.7))])
    print(collector.series().difference("mon", "tue"))
    # words that nobody declared, found letter by letter
    words = sl.Inquiry("words", sl.FrequentStrings("abt", 3, sl.Pure(4.0), users=20_000, least=0.05))
    conductor = sl.Conductor(words, f"{place}/words.turns")
    while (asked := conductor.asked()).collection is not None:
        conductor.add(sent(asked.collection, people.choice(["tab", "bat", "a"], 5_000)))
        conductor.turn()
    print(conductor.finding())
