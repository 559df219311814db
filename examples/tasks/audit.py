"""Is a program as private as it says?  This one adds noise to a sum that nothing bounds."""

import sfumato as sf

print(sf.audit(lambda ages, rng: sum(ages) + rng.normal(), sf.Pure(1.0), inputs=[30.0, 41.0, 57.0], seconds=5))
