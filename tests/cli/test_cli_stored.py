"""A plan that is stored already is answered from its ledger: no table is read, nothing is planned or written again."""

import json
import subprocess
import sys

import pytest

from sfumato.ledger import Ledger
from sfumato.release.archive import load

UNUSED = ("sfumato.planner", "sfumato.orders", "sfumato.session", "sfumato.engines.table", "ibis", "duckdb", "pandas",
          "altair", "vl_convert", "numba", "scipy", "pyarrow", "cryptography", "numpy.polynomial",
          "sfumato.accounting.batch", "sfumato.bounds", "sfumato.mechanisms.synthetic",
          "sfumato.sampling.processes.kernels", "sfumato.queries.functions.learning")  # fmt: skip
LOOK = """
import json, sys
from sfumato.cli import main
try:
    main(["publish", "plan.toml", "--out", "out"])
except SystemExit as ended:
    assert ended.code == 0
print(json.dumps(sorted(sys.modules)))
"""
TABLES = """
[[release]]
name = "made"
query = "synthetic"
columns = ["age", "state"]
rows = 40
spend = { epsilon = 0.5, delta = 1e-7 }

[[release]]
name = "perturbed"
query = "sanitized"
columns = ["state"]
spend = { epsilon = 0.5 }
"""


CURVES = """
[[release]]
name = "ages"
query = "density"
columns = ["age"]
spend = { epsilon = 0.5, delta = 1e-7 }

[[release]]
name = "by state"
query = "mean"
column = "age"
by = "state"
spend = { epsilon = 0.5, delta = 1e-7 }
"""


def written(place):
    files = [*(place / "out").rglob("*.*")]
    return {file.relative_to(place): (file.stat().st_mtime_ns, file.read_bytes()) for file in files}


def test_a_stored_plan_reads_no_table_plans_nothing_and_writes_nothing(place, run):
    plan = place / "plan.toml"
    plan.write_text(plan.read_text().replace("epsilon = 4.0", "epsilon = 9.0") + CURVES)
    assert run("publish", "plan.toml", "--out", "out").code == 0
    before = written(place)
    (place / "people.parquet").unlink()
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, cwd=place)
    assert "everything was stored: nothing was charged" in done.stdout
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "sfumato.plans.outlook" in loaded
    assert [name for name in UNUSED if name in loaded] == []
    assert written(place) == before


@pytest.mark.heavy
def test_a_plan_with_whole_tables_in_its_batch_writes_lost_files_again_at_no_cost(place, run):
    head = (place / "plan.toml").read_text().split("[[release]]")[0].replace("epsilon = 4.0", "epsilon = 6.0")
    head = head.replace('unit = { column = "id", rows = 1 }', 'unit = "row"\nadjacency = "replace"')
    counts = "".join(
        f'\n[[release]]\nname = "up to {age}"\nquery = "count"\nwhere = "age <= {age}"\nspend = {{ epsilon = 0.1 }}\n'
        for age in range(24)
    )
    (place / "plan.toml").write_text(head + counts + TABLES)
    first = run("publish", "plan.toml", "--out", "out")
    assert first.code == 0, first.err
    assert "26 releases charged together cost epsilon" in first.out
    page = (place / "out/report.html").read_text()
    assert "26 releases charged together cost epsilon" in page
    entries = Ledger.existing(place / "people.ledger").entries()
    assert [len(entry.batch) for entry in entries if entry.batch is not None] == [26]
    before = written(place)
    assert "nothing was charged" in run("publish", "plan.toml", "--out", "out").out
    assert written(place) == before
    for suffix in ("parquet", "csv"):
        (place / f"out/releases/made.{suffix}").unlink()
    (place / "out/releases/perturbed.parquet").write_bytes(b"torn")
    refused = run("publish", "plan.toml", "--out", "out")
    assert (refused.code, "perturbed.parquet is there already" in refused.err) == (1, True)
    assert "nothing was charged" in refused.err
    (place / "out/releases/perturbed.parquet").unlink()
    assert "nothing was charged" in run("publish", "plan.toml", "--out", "out").out
    again = written(place)
    assert again.keys() == before.keys()
    for name, (_, content) in before.items():
        if name.suffix != ".html":
            assert again[name][1] == content
    assert len(Ledger.existing(place / "people.ledger").entries()) == len(entries)
    assert load(place / "out/releases/made.parquet").provenance.batch == 26
