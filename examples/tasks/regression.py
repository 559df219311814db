"""Values of houses by income: a curve, with a band about the regression function."""

import sfumato as sf

columns = {"income": sf.Interval(0, 15), "value": sf.Interval(0, 600)}
session = sf.Session(sf.read("houses.csv", schema=columns, size=3000), budget=1.0, ledger="houses.ledger")
value = session.release(sf.regression("value", "income"), spend=1.0).curve
print(value.at([2, 6, 12]), value.half_width(0.95))
