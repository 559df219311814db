"""The client's own wheel: built from listed modules, it runs where numpy and the standard library are all there is."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("build", ROOT / "clients" / "python" / "build.py")
BUILD = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(BUILD)


def test_the_client_runs_with_numpy_and_the_standard_library_alone(tmp_path):
    """No site packages (-S): the path holds the unpacked wheel and numpy, nothing else."""
    site, numpy = tmp_path / "site", tmp_path / "numpy"
    with zipfile.ZipFile(BUILD.build(tmp_path)) as wheel:
        assert wheel.testzip() is None
        wheel.extractall(site)
    numpy.mkdir()
    for source in Path(np.__file__).parents[1].glob("numpy*"):
        (numpy / source.name).symlink_to(source)
    code = (
        f"import runpy, sys; sys.path[:0] = [{str(site)!r}, {str(numpy)!r}]; sys.argv = ['alone', {str(tmp_path)!r}]; "
    )
    code += f"runpy.run_path({str(Path(__file__).with_name('alone.py'))!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-E", "-S", "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Pure(epsilon=2.0)")


def test_the_wheel_holds_the_source_as_it_is_and_the_same_bytes_each_time(tmp_path):
    first, second = (BUILD.build(tmp_path / name).read_bytes() for name in "ab")
    assert first == second
    with zipfile.ZipFile(next((tmp_path / "a").iterdir())) as wheel:
        ours = [name for name in wheel.namelist() if name.endswith(".py")]
        assert all(wheel.read(name) == (ROOT / "src" / name).read_bytes() for name in ours)
        (metadata,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
        needs = [line for line in wheel.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
    assert len([line for line in needs if "extra" not in line]) == 1
    assert not {name for name in ours if name.startswith(("sfumato/cli", "sfumato/engines", "sfumato/session"))}
    assert len(ours) < 90


def test_an_import_of_anything_else_stops_the_build(tmp_path, monkeypatch):
    package = tmp_path / "sfumato"
    package.mkdir()
    (package / "__init__.py").write_text("def later():\n    import scipy\n")
    (package / "part.py").write_text("import scipy\n")
    monkeypatch.setattr(BUILD, "SOURCE", tmp_path)
    monkeypatch.setattr(BUILD, "WANTED", ("sfumato",))
    assert [path.name for path in BUILD.modules()] == ["__init__.py"]
    monkeypatch.setattr(BUILD, "WANTED", ("sfumato.part",))
    with pytest.raises(SystemExit, match="imports scipy"):
        BUILD.modules()
