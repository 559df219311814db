"""A thousand noisy answers accounted exactly: delta for every epsilon, with certified ends.

Both ends are certified: the upper one may be claimed, the lower one no accounting can undercut.
"""

import sfumato as sf

plan = sf.accounting.compose((sf.accounting.gaussian(1 / 50), 500), (sf.accounting.discrete_laplace(50, 1), 500))
lower, upper = plan.epsilon(delta=1e-6)
added = 500 * sf.accounting.compose((sf.accounting.gaussian(1 / 50), 1)).epsilon(1e-9).upper + 500 / 50
print(f"at delta 1e-6 epsilon is between {lower:.4f} and {upper:.4f}; adding up would claim {added:.0f}")
plan.plot().save("accounting_curve.svg")
