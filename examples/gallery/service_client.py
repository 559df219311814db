"""An analyst asks a service and never sees the data: a steward's command, a token, and the names of a session.

The steward's part is three commands; what the analyst sees are the very releases that the service stored.
"""

import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf

PORT, SFUMATO = "8765", [sys.executable, "-m", "sfumato.cli"]
rng = np.random.default_rng(29)
pd.DataFrame({"shop": rng.choice(["north", "south", "web"], 5_000, p=[0.5, 0.3, 0.2])}).to_parquet("shops.parquet")
Path("shops.toml").write_text("""format = "sfumato-plan/2"
table = { path = "shops.parquet", dataset = "shops", unit = "row", size = 5000 }
columns.shop = { type = "categories", values = ["north", "south", "web"] }
budget = { epsilon = 1.0 }
ledger = { path = "shops.ledger" }
service = { tick = 0.2 }
analysts.ana = { budget = { epsilon = 0.5 } }
""")
added = subprocess.run([*SFUMATO, "analyst", "add", "shops.toml", "ana"], check=True, capture_output=True, text=True)
service = subprocess.Popen([*SFUMATO, "serve", "shops.toml", "--port", PORT], stdout=subprocess.DEVNULL)
try:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health").close()
            break
        except OSError:
            time.sleep(0.1)
    shops = sf.connect(f"http://127.0.0.1:{PORT}", token=added.stdout.splitlines()[0])
    release = shops.release(sf.count().by("shop"), spend=0.1, name="visits by shop")
    print(release, shops.remaining, sep="\n")
finally:
    service.terminate()
    service.wait()
release.plot().save("service_client.svg")
