"""Frequencies from devices that never send their value: each report is randomized where it is made.

Nobody, the collector included, learns from a report more than a factor of e^epsilon in odds.
"""

import numpy as np

import sfumato as sf

pages = ["search", "news", "mail", "maps", "other"]
collection = sf.local.collect("start page", pages, spend=1.0, people=20_000, other="other")
print(sf.local.Client(collection).describe())  # what leaves the device, in plain words
print(len(sf.local.Client(collection).report("mail")), "bytes are one report")

owners = np.random.default_rng(23).choice(5, 20_000, p=[0.4, 0.3, 0.15, 0.1, 0.05])  # simulated
reports = sf.local.encode_batch(collection, sf.local.randomized(collection.protocol, owners))
estimate = sf.local.estimate(collection, [reports])
print(estimate)
estimate.plot().save("local_frequencies.svg")
