"""Writes requirements-hashed.txt: every package that an installation needs, pinned, with the hashes of its wheels.

python distribution/requirements.py            # for each Python of PYTHONS; a few hundred megabytes are fetched

Versions are those of constraints.txt, hashes are of the files that pip would install on this kind of machine.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
HASHED, CONSTRAINTS = ROOT / "requirements-hashed.txt", ROOT / "constraints.txt"
EXTRAS = ("compiled", "polars", "postgres", "server")  # Spark has no wheel: pip builds it from source
PYTHONS = ("3.11", "3.12", "3.13")
HEADING = f"""\
# What Sfumato needs, with the extras {", ".join(EXTRAS)}: versions of constraints.txt, hashes of wheels.
# For Linux on x86_64 with glibc 2.28 or later, Python {", ".join(PYTHONS)}.  Written by distribution/requirements.py.
#
#   pip install --require-hashes --requirement requirements-hashed.txt
#   pip install --no-deps sfumato-VERSION-py3-none-any.whl
"""


def wanted() -> list[str]:
    """What the project asks for, as it is written in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *(each for name in EXTRAS for each in project["optional-dependencies"][name])]


def named(text: str) -> str:
    """A package's name as indexes spell it."""
    return re.sub(r"[-_.]+", "-", text).lower()


def fetched(version: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Name, version and hash of each wheel that pip takes for a Python."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", str(folder)]
    subprocess.run([*command, "--python-version", version, "--constraint", str(CONSTRAINTS), *wanted()], check=True)
    for wheel in folder.glob("*.whl"):
        name, release = wheel.name.split("-")[:2]
        yield named(name), release, hashlib.sha256(wheel.read_bytes()).hexdigest()


def pinned(text: str) -> dict[str, tuple[str, list[str]]]:
    """The packages of a file with hashes: each one's version and the hashes of its wheels."""
    found: dict[str, tuple[str, list[str]]] = {}
    for name, version, hashes in re.findall(r"^([\w.-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", text, re.M):
        found[name] = version, re.findall(r"sha256:([0-9a-f]+)", hashes)
    return found


def written(wheels: set[tuple[str, str, str]]) -> str:
    lines = [HEADING]
    for name, version in sorted({(name, version) for name, version, _ in wheels}):
        hashes = sorted(digest for each, release, digest in wheels if (each, release) == (name, version))
        lines.append(" \\\n".join([f"{name}=={version}", *(f"    --hash=sha256:{digest}" for digest in hashes)]))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    found: set[tuple[str, str, str]] = set()
    for python in PYTHONS:
        with tempfile.TemporaryDirectory() as place:
            found |= set(fetched(python, Path(place)))
    HASHED.write_text(written(found))
    print(f"{HASHED.name}: {len(pinned(HASHED.read_text()))} packages, {len(found)} wheels")
