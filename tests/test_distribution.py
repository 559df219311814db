"""What a release is made of agrees with itself: pinned packages, hashes, the bill of materials, the named tests."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def requirements() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "distribution"))
    yield importlib.import_module("requirements")
    sys.path.remove(str(ROOT / "distribution"))


def test_hashed_packages_are_the_constrained_ones_and_all_that_is_asked_for(requirements: ModuleType) -> None:
    pinned = requirements.pinned(requirements.HASHED.read_text())
    constrained = dict(line.split("==") for line in requirements.CONSTRAINTS.read_text().split())
    constrained = {requirements.named(name): version for name, version in constrained.items()}
    assert {name: version for name, (version, _) in pinned.items()}.items() <= constrained.items()
    asked = {requirements.named(re.split(r"[^\w.-]", each)[0]) for each in requirements.wanted()}
    assert asked <= pinned.keys()
    lines = [line for line in requirements.HASHED.read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == sum(1 + len(hashes) for _, hashes in pinned.values())
    assert "//" not in requirements.HASHED.read_text()
    assert len(pinned["numpy"][1]) == len(requirements.PYTHONS)  # a wheel for each


def test_the_bill_of_materials_names_every_package_once_and_is_the_same_again(requirements: ModuleType) -> None:
    sbom = importlib.import_module("sbom")
    bill = sbom.bill()
    assert bill == sbom.bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    names = [component["name"] for component in bill["components"]]
    assert sorted(names) == sorted(requirements.pinned(requirements.HASHED.read_text()))
    places = {component["bom-ref"] for component in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert {entry["ref"] for entry in bill["dependencies"]} == places
    assert {each for entry in bill["dependencies"] for each in entry["dependsOn"]} <= places
    graph = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    (scipy,) = [needed for ref, needed in graph.items() if "/scipy@" in ref]
    assert any(each.startswith("pkg:pypi/numpy@") for each in scipy)
    unlicensed = [component["name"] for component in bill["components"] if "licenses" not in component]
    assert set(unlicensed) <= {"psycopg", "psycopg-binary"}  # not in the environment of the tests


def test_every_file_of_the_package_is_package_data() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    patterns = [f"src/{package.replace('.', '/')}/{each}" for package, several in declared.items() for each in several]
    listed = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    others = [name for name in listed.split() if not name.endswith(".py")]
    assert len(others) > 20
    assert [name for name in others if not any(fnmatch(name, pattern) for pattern in patterns)] == []


def test_the_page_of_stability_names_tests_that_are_there() -> None:
    rows = re.findall(r"`(tests/[\w/]+\.py)`: (.*) \|", (ROOT / "docs" / "stability.md").read_text())
    assert len(rows) > 7
    for file, names in rows:
        source = (ROOT / file).read_text()
        for name in re.findall(r"`(\w+)`", names):
            assert f"def {name}(" in source, f"{file} has no {name}"
