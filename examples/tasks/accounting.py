"""What a thousand answers with Gaussian noise of standard deviation 20 cost together."""

import sfumato as sf

print(sf.accounting.reading([sf.accounting.Line("gaussian", 20, times=1000)], delta=1e-6))
