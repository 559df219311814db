"""Sealed reports through a relay: one party knows who sent, another what was sent, and neither knows both.

Devices seal to the collector's key, the relay shuffles; shuffling makes the promise far stronger.
"""

import numpy as np

import sfumato as sf

public = sf.local.new_key("mail.key")  # the private half stays in the file
mail = sf.local.collect("mail client", ["web", "app", "none"], spend=2.0, people=800, key=public, batch=400)
relay = sf.local.Relay(mail, "mail.relay")
values = np.random.default_rng(26).choice(["web", "app", "none"], 800, p=[0.5, 0.3, 0.2])
relay.add_all([sf.local.Client(mail).report(str(value)) for value in values])
relay.end()
(batch,) = relay.deliver(".")  # all reports of the round, shuffled, without names or times

collector = sf.local.Collector(mail, "mail.journal", key="mail.key")
collector.add(batch.read_bytes())
estimate = collector.estimate()
print(estimate)
print("after the shuffle:", estimate.central(delta=1e-6))
estimate.plot().save("sealed_reports.svg")
