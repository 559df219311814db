"""A bill of materials in CycloneDX 1.6 (JSON), from the pinned packages and the metadata of those installed here.

python distribution/sbom.py build/sbom.cdx.json

The same packages give the same bytes: no time, no serial number, no name of a machine.
"""

from __future__ import annotations

import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import requirements


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((requirements.ROOT / "pyproject.toml").read_text())["project"]
    return found


def license_of(name: str) -> list[dict[str, Any]]:
    """The license that a package states: an expression of SPDX, or its own words; none, if it is not installed here."""
    try:
        metadata = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        return []
    if expression := metadata.get("License-Expression"):
        return [{"expression": expression}]
    stated = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    words = stated[0] if stated else (metadata.get("License") or "").strip().splitlines()[:1]
    return [{"license": {"name": words if isinstance(words, str) else words[0]}}] if words else []


def needs(name: str, known: set[str]) -> list[str]:
    """The pinned packages that a package names, those of its extras aside."""
    try:
        stated = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    names = {requirements.named(re.split(r"[^\w.-]", each)[0]) for each in stated if "extra ==" not in each}
    return sorted(names & known)


def bill() -> dict[str, Any]:
    """Every package of requirements-hashed.txt, and what needs what."""
    own, pinned = project(), requirements.pinned(requirements.HASHED.read_text())
    places = {name: f"pkg:pypi/{name}@{version}" for name, (version, _) in pinned.items()}
    top = f"pkg:pypi/{own['name']}@{own['version']}"
    components = [
        {
            "type": "library", "bom-ref": places[name], "name": name, "version": version, "purl": places[name],
            **({"licenses": found} if (found := license_of(name)) else {}),
            "properties": [{"name": "sfumato:wheel:sha-256", "value": digest} for digest in hashes],
        }
        for name, (version, hashes) in pinned.items()
    ]  # fmt: skip
    direct = {requirements.named(re.split(r"[^\w.-]", each)[0]) for each in requirements.wanted()}
    graph = {top: sorted(places[name] for name in direct)}
    graph |= {places[name]: [places[each] for each in needs(name, set(places))] for name in places}
    main = {"type": "library", "bom-ref": top, "name": own["name"], "version": own["version"], "purl": top}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**main, "licenses": [{"expression": own["license"]}]}},
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": needed} for ref, needed in graph.items()],
    }


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(bill(), indent=2) + "\n")
    print(f"{target}: {len(bill()['components'])} packages")
