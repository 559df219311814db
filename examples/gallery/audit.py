"""An audit that refutes a faulty mechanism: evidence anybody can run again.

The noise fits numbers between 0 and 1, but the data reach to 2.  The auditor finds two neighbors and an event.
"""

import altair as alt
import numpy as np
import pandas as pd

import sfumato as sf


def faulty(ages, rng):
    """Claims epsilon 1; the sum moves by up to 2, the noise is for 1."""
    return sum(min(max(age, 0.0), 2.0) for age in ages) + rng.laplace(0, 1.0)


def right(ages, rng):
    """The same with the noise that it needs."""
    return sum(min(max(age, 0.0), 2.0) for age in ages) + rng.laplace(0, 2.0)


claim = sf.Pure(1.0, assumptions={"real-arithmetic"})  # of the mathematics: floating point is another story
terms = {"inputs": [0.5, 1.0, 2.0], "bounds": (0.0, 2.0), "seed": 1}
print(sf.audit(right, claim, seconds=2, **terms), end="\n\n")  # no evidence, which proves nothing
finding = sf.audit(faulty, claim, seconds=60, **terms)  # ends with the first evidence, mostly within a second
print(finding)
one, other = finding.evidence.rates
bars = {"on one table": one, "on its neighbor": other, "allowed by the claim": np.e * other}
rows = pd.DataFrame({"table": bars.keys(), "rate": bars.values()})
x = alt.X("rate", title=f"how often the event is seen, in {finding.evidence.trials:,} runs each")
chart = alt.Chart(rows).mark_bar(color="#1f5fa8").encode(y=alt.Y("table", sort=None, title=None), x=x)
title = f"Refuted: at least epsilon {finding.evidence.epsilon:.2f} where 1 is claimed"
chart.properties(title=title, width=420, height=90).save("audit.svg")
