"""Builds the wheel and the sdist, and tries the wheel outside the repository, in fresh environments with hashes.

python distribution/trial.py build/dist                  # with every Python of 3.11 and later that is here
python distribution/trial.py build/dist --only 3.12

In each environment: packages by `--require-hashes`, the wheel by `--no-deps`, `sfumato --version`, a release from a
plan, and the pages of the service, which are files of the package.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path

import requirements

ROOT = requirements.ROOT
HOOK = "import sys, setuptools.build_meta as backend; print(backend.{hook}(sys.argv[1]))"
PORT = 8787
PAGES = ("/", "/page/dom.js", "/page/house.css", "/local/pages/", "/local/sfumato.mjs")
PLAN = """format = "sfumato-plan/2"
table = { path = "shops.csv", dataset = "shops", unit = "row", size = 4 }
columns.shop = { type = "categories", values = ["north", "south"] }
budget = { epsilon = 1.0 }
ledger = { path = "shops.ledger" }
analysts.ana = { budget = { epsilon = 0.5 } }
release = [{ name = "shops", query = "count", by = "shop", spend = { epsilon = 0.5 } }]
"""
COLLECTING = "import sfumato as sf; sf.local.collect('pages', ['a', 'b'], spend=1.0, people=100).save('pages.json')"


def built(folder: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """The wheel and the sdist of a source tree, made by the backend that pyproject.toml names."""
    with tempfile.TemporaryDirectory() as place:
        run(sys.executable, "-m", "venv", place)
        python = f"{place}/bin/python"
        run(python, "-m", "pip", "install", "--quiet", "setuptools>=77")
        names = [
            run(python, "-c", HOOK.format(hook=hook), str(folder), cwd=source)
            for hook in ("build_wheel", "build_sdist")
        ]
    wheel, sdist = (folder / name.strip().splitlines()[-1] for name in names)
    return wheel, sdist


def lacking(wheel: Path) -> list[str]:
    """The files of the package that the wheel does not hold."""
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    listed = run("git", "ls-files", "src/sfumato", cwd=ROOT).split()
    return sorted(name for name in listed if name.removeprefix("src/") not in held)


def rebuilt(sdist: Path, wheel: Path) -> bool:
    """Whether the sdist alone makes a wheel of the same files."""
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        (source,) = Path(place).iterdir()
        again, _ = built(Path(place), source)
        with zipfile.ZipFile(again) as one, zipfile.ZipFile(wheel) as other:
            return sorted(one.namelist()) == sorted(other.namelist())


def tried(python: str, wheel: Path) -> dict[str, float]:
    """What was done in an environment of its own, in a folder of its own, and how many seconds each step took."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        place, start = Path(name), time.monotonic()
        own = str(place / "env/bin/python")
        sfumato = str(place / "env/bin/sfumato")

        def step(title: str) -> None:
            nonlocal start
            seconds[title], start = round(time.monotonic() - start, 1), time.monotonic()

        run(python, "-m", "venv", str(place / "env"))
        pip = (own, "-m", "pip", "install", "--quiet")
        run(*pip, "--require-hashes", "--requirement", str(requirements.HASHED), cwd=place)
        run(*pip, "--no-deps", str(wheel), cwd=place)
        step("install")
        assert run(sfumato, "--version", cwd=place).startswith("sfumato ")
        step("version")
        (place / "shops.csv").write_text("shop\nnorth\nsouth\nnorth\nnorth\n")
        (place / "shops.toml").write_text(PLAN)
        assert "within" in run(sfumato, "publish", "shops.toml", cwd=place)
        step("publish")
        run(own, "-c", COLLECTING, cwd=place)
        served(place, sfumato)
        step("pages")
    return seconds


def served(place: Path, sfumato: str) -> None:
    """Every page of the service answers."""
    command = [sfumato, "serve", "shops.toml", "--collect", "pages.json", "--port", str(PORT)]
    service = subprocess.Popen(command, cwd=place, stdout=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health").close()
                break
            except OSError:
                time.sleep(0.1)
        for page in PAGES:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}{page}") as answer:
                assert len(answer.read()) > 100, page
    finally:
        service.terminate()
        service.wait()


def run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def pythons(only: str | None) -> list[str]:
    """The interpreters of this machine that the hashes are for."""
    names = [f"python{version}" for version in requirements.PYTHONS if only in (None, version)]
    here = [
        name
        for name in names
        if (path := shutil.which(name)) and not subprocess.run([path, "-V"], capture_output=True).returncode
    ]
    return here or sys.exit(f"none of {', '.join(names)} is on this machine")


def main() -> None:
    """Build, look into the wheel, try it with every Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="one Python, such as 3.12")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    wheel, sdist = built(options.folder.resolve())
    if left := lacking(wheel):
        sys.exit(f"{wheel.name} lacks {', '.join(left)}")
    if not rebuilt(sdist, wheel):
        sys.exit(f"{sdist.name} makes another wheel than the repository")
    print(f"{wheel.name} {wheel.stat().st_size / 1e6:.1f} MB, {sdist.name} {sdist.stat().st_size / 1e6:.1f} MB")
    for python in pythons(options.only):
        steps = ", ".join(f"{name} {seconds} s" for name, seconds in tried(python, wheel).items())
        print(f"{python}: {steps}", flush=True)


if __name__ == "__main__":
    main()
