"""A density with its band, evaluated where one likes."""

import sfumato as sf

session = sf.Session(sf.read("visits.csv", schema={"age": sf.Interval(0, 100)}), budget=1.0, ledger="density.ledger")
ages = session.release(sf.density("age", bandwidth=5), spend=1.0).curve
print(ages.at([18, 40, 65]), ages.half_width(0.95), ages.integral(18, 65))
