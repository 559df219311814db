"""Spark killed midway: the charge stands, nothing is released, nothing stays behind, and asking again is safe."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.ledger import Ledger
from waiting import wait_until

pytestmark = pytest.mark.spark

# A process that asks two questions about persons.  Its table waits where it is read, until a file is gone; what is to
# be killed is killed while the job of the second question waits.
ASKING = """
import os, signal, sys, threading, time
import sfumato as sf
from sfumato.engines.spark import started

folder, how = sys.argv[1:]
spark = started()
java = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
print("java", java, flush=True)

def read(batches):
    while os.path.exists(folder + "/hold"):
        open(folder + "/begun", "w").close()
        time.sleep(0.05)
    yield from batches

def killed():
    while not os.path.exists(folder + "/begun"):
        time.sleep(0.05)
    if how == "canceled":
        spark.sparkContext.cancelAllJobs()
        os.remove(folder + "/hold")
    else:
        os.remove(folder + "/hold")  # so that Spark's own workers end; the job is far from its end
        os.kill(java if how == "java" else os.getpid(), signal.SIGKILL)

frame = spark.read.parquet(folder + "/visits.parquet").mapInArrow(read, "id long, x long, c string")
columns = {"x": sf.Integers(0, 99), "c": sf.Categories(["a", "b"])}
held = sf.read(frame, schema=columns, unit="id", rows=2, dataset="visits")
session = sf.Session(held, budget=sf.Pure(9.0), ledger=folder + "/visits.ledger")
print("shown", session.release(sf.count(), spend=1.0).name, flush=True)
if how != "nothing":
    open(folder + "/hold", "w").close()
    threading.Thread(target=killed, daemon=True).start()
for turn in range(1 if how in ("nothing", "java") else 2):
    try:
        print("shown", session.release(sf.mean("x").by("c"), spend=1.0).name, flush=True)
    except sf.errors.EngineError as error:
        print("failed", error, flush=True)
"""


def attempt(folder, how):
    """The lines that a process printed, its code, and what is left of it once Java has ended as well."""
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(folder / "temporary")}
    environment.pop("SPARK_LOCAL_DIRS", None)
    command = [sys.executable, "-c", ASKING, str(folder), how]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)
    first, *lines = done.stdout.splitlines() or [done.stderr[-2000:]]
    java = Path("/proc") / first.split()[-1]
    wait_until(lambda: not java.exists())
    return lines, done.returncode, [path for path in (folder / "temporary").rglob("*") if path.is_file()]


def entries(folder):
    found = Ledger.existing(folder / "visits.ledger").entries()
    return [[one.name for one in found if one.kind == kind] for kind in ("charge", "release")]


@pytest.mark.parametrize("how", ["canceled", pytest.param("java", marks=pytest.mark.heavy), "python"])
def test_what_is_killed_midway_has_been_paid_and_shows_nothing(tmp_path, how):
    (tmp_path / "temporary").mkdir()
    held = {"id": [i % 50 for i in range(400)], "x": [i % 100 for i in range(400)], "c": ["a", "b"] * 200}
    pq.write_table(pa.table(held), tmp_path / "visits.parquet")
    lines, code, left = attempt(tmp_path, how)
    charged, stored = entries(tmp_path)
    mean = "mean of x by c"
    assert lines[0] == "shown count", lines
    if how == "canceled":
        assert lines[1].startswith(f"failed release '{mean}' failed after its charge"), lines
        assert lines[2:] == [f"shown {mean}"]  # the same session goes on
        assert (code, charged, stored) == (0, ["count", mean, mean], ["count", mean])
    else:
        assert [line.split(" ")[0] for line in lines[1:]] == (["failed"] if how == "java" else [])
        assert (charged, stored) == (["count", mean], ["count"])
        assert code == (-signal.SIGKILL if how == "python" else code)
    assert bool(left) is (how == "python")  # a killed process leaves its folder,
    lines, code, left = attempt(tmp_path, "nothing")
    assert (lines, code, left) == (["shown count", f"shown {mean}"], 0, [])  # and the next one removes it
    assert entries(tmp_path) == [["count", mean, mean], ["count", mean]]
