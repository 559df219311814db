"""What does not fit in memory goes to a private folder outside the working directory, and nothing stays behind."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sfumato.engines import spill
from sfumato.engines.spill import PREFIX, private_folder, spilling
from sfumato.errors import ParameterError

SPILLING = """
import os, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import sfumato as sf
from sfumato.engines.spill import private_folder
from sfumato.queries import bind
n = 400_000
ids = np.random.default_rng(0).permutation(n)
pq.write_table(pa.table({"id": [f"patient-{i:09d}-" + "x" * 60 for i in ids], "x": ids * 1.0}), "t.parquet")
table = sf.read("t.parquet", schema={"x": sf.Interval(0, n, 1)}, unit="id", rows=1, dataset="d")
for setting in ("SET memory_limit = '40MB'", "SET threads = 1"):
    table.source.get_backend().raw_sql(setting)
seen = []
import threading, time
def watch():
    while not seen or seen[-1] is not None:
        seen.append(sum(f.stat().st_size for f in private_folder().glob("**/*tmp*") if f.is_file()))
        time.sleep(0.01)
threading.Thread(target=watch, daemon=True).start()
answer = table.answer(bind(sf.count(), table.schema).statistic).tolist()
print(answer, max(seen) > 0, sorted(os.listdir(".")), flush=True)
"""


def started(code, folder, **options):
    """A Python process of ours, its temporary files in `folder`."""
    environment = os.environ | {"TMPDIR": str(folder)}
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment, text=True, **options)


@pytest.mark.heavy
def test_spilling_leaves_nothing_in_the_working_directory_nor_behind(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "temporary").mkdir()
    process = started(SPILLING, tmp_path / "temporary", cwd=tmp_path / "work")
    printed, _ = process.communicate(timeout=120)
    assert printed.strip() == "[[400000]] True ['t.parquet']"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_where_spilling_is_forbidden_nothing_is_written_and_what_does_not_fit_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_SPILL", "never")
    (tmp_path / "work").mkdir()
    (tmp_path / "temporary").mkdir()
    process = started(SPILLING, tmp_path / "temporary", cwd=tmp_path / "work", stderr=subprocess.PIPE)
    printed, complained = process.communicate(timeout=120)
    assert process.returncode == 1
    assert printed == ""
    assert "EngineError" in complained
    assert "patient-" not in complained
    assert list((tmp_path / "temporary").iterdir()) == []
    assert [file.name for file in (tmp_path / "work").iterdir()] == ["t.parquet"]


def test_a_setting_that_is_not_known_is_refused(monkeypatch):
    monkeypatch.setenv("SFUMATO_SPILL", "no")
    with pytest.raises(ParameterError, match="SFUMATO_SPILL must be 'never' or unset"):
        spilling()


def test_the_folder_is_private_and_outside_the_working_directory():
    folder = private_folder()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert folder.name.startswith(PREFIX)
    assert folder.parent == Path(tempfile.gettempdir())


@pytest.mark.heavy
def test_what_a_killed_process_left_is_removed_by_the_next_and_a_living_one_s_is_kept(tmp_path):
    wait = "from sfumato.engines.spill import private_folder\nprint(private_folder(), flush=True)\ninput()"
    killed, living = (started(wait, tmp_path, stdin=subprocess.PIPE) for _ in range(2))
    left, kept = (Path(process.stdout.readline().strip()) for process in (killed, living))
    (left / "rows.tmp").write_text("rows")
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.exists()
    started("from sfumato.engines.spill import private_folder; private_folder()", tmp_path).communicate(timeout=300)
    assert not left.exists()
    assert kept.exists()
    living.communicate("\n", timeout=300)
    assert not kept.exists()


def test_folders_of_processes_killed_before_they_held_their_lock_are_removed_by_the_next(tmp_path):
    held = {f"{PREFIX}made": [], f"{PREFIX}unlocked": ["lock"], f"{PREFIX}used": ["x"], "sfumato-other": []}
    for name, files in held.items():
        (tmp_path / name).mkdir()
        for file in files:
            (tmp_path / name / file).touch()
    spill._sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sfumato-other", f"{PREFIX}used"]


def test_whoever_is_killed_while_removing_a_folder_leaves_one_that_the_next_removes(tmp_path, monkeypatch):
    folder = tmp_path / f"{PREFIX}left"
    (folder / "deep").mkdir(parents=True)
    for place in ("a", "lock", "z", "deep/rows"):
        (folder / place).touch()
    whole = shutil.rmtree

    def killed(path, *arguments, **options):
        if path == folder:
            raise KeyboardInterrupt
        whole(path, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            spill._sweep(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["lock"]
    spill._sweep(tmp_path)
    assert not folder.exists()


@pytest.mark.parametrize("moment", ["before its lock is made", "before its lock is held"])
def test_a_folder_that_another_process_sweeps_away_at_birth_is_made_anew(tmp_path, monkeypatch, moment):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module, name = (os, "open") if moment == "before its lock is made" else (spill.fcntl, "flock")
    done, swept = getattr(module, name), []

    def interrupted(*arguments):
        if not swept:
            swept.append(True)
            monkeypatch.setattr(module, name, done)
            spill._sweep(tmp_path)
        return done(*arguments)

    monkeypatch.setattr(module, name, interrupted)
    folder = spill._folder_of.__wrapped__(os.getpid())
    assert swept
    assert folder.is_dir()
    spill._sweep(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["lock"]
    assert list(tmp_path.iterdir()) == [folder]
    spill._remove(folder, os.getpid())
