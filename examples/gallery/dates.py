"""Dates and times of day: when do people come, and on which day is half of the season over?

Kind of data: timestamps, declared twice, by day and by time of day.  Answers are dates and times.
"""

import numpy as np
import pandas as pd

import sfumato as sf

rng = np.random.default_rng(19)
days, minutes = rng.triangular(0, 60, 90, 5_000).astype(int), np.clip(rng.normal(15 * 60, 150, 5_000), 0, 1439)
came = pd.Timestamp("2026-01-01") + pd.to_timedelta(days, unit="D") + pd.to_timedelta(minutes.round(), unit="min")

columns = {"came": sf.Dates("2026-01-01", "2026-03-31"), "clock": sf.TimeOfDay(step=900, of="came")}
table = sf.read(pd.DataFrame({"came": came}), schema=columns, dataset="doors", size=5_000)
session = sf.Session(table, budget=sf.Pure(1.0), ledger="doors.ledger")
print("half had come by", session.release(sf.median("came"), spend=sf.Pure(0.2)).value)
print("in March half come by", session.release(sf.median("clock").where("month(came) = 3"), spend=sf.Pure(0.2)).value)
release = session.release(sf.histogram("hour(clock)"), spend=sf.Pure(0.2))
release.plot().save("dates.svg")
