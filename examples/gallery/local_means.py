"""A mean from devices, day after day: hours online, each randomized by its owner, with bands over the week.

One file declares the days; the history says what an owner who answers on all of them has paid.
"""

import numpy as np

import sfumato as sf

days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
usual = [3.1, 3.0, 3.2, 3.1, 3.9, 5.6, 5.2]
hours = sf.local.collect("hours online", bounds=(0, 12), spend=1.0, people=20_000, rounds=days)
print(hours.history())

rng = np.random.default_rng(24)
collector = sf.local.Collector(hours, "hours.journal")
for day, mean in zip(days, usual, strict=True):
    owners = np.clip(rng.normal(mean, 1.5, 20_000), 0, 12)  # simulated: on a device it is one number
    collector.add(sf.local.encode_batch(hours, sf.local.randomized(hours.protocol, owners), round=day))
print(collector.series().difference("fri", "sat"))
collector.series().plot().save("local_means.svg")
