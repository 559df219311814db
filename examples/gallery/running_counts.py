"""Visits counted month by month for a year, charged once.

Every month the table has grown and the next count is published; twelve answers err little more than one.
"""

import numpy as np
import pandas as pd

import sfumato as sf

days = pd.date_range("2026-01-01", "2026-12-31")
visits = pd.DataFrame({"day": np.repeat(days, np.random.default_rng(11).poisson(6 + 4 * np.sin(np.arange(365) / 58)))})
question = sf.running("day", "2026-01-01", months=12)

for month in (4, 8, 12):
    so_far = visits[visits.day.dt.month <= month]
    table = sf.read(
        so_far, schema={"day": sf.Dates("2026-01-01", "2026-12-31")}, dataset="clinic", version=f"2026-{month:02}"
    )
    session = sf.Session(
        table, budget=sf.Pure(1.0), ledger="clinic.ledger", allow=["fixed-dates"]
    )  # rows keep their date
    release = session.release(question, spend=sf.Pure(1.0))
    print(f"{release.name}: {release.accuracy()}; spent {session.spent}")
release.plot().save("running_counts.svg")
