"""What `make check` asks of the repository beyond lint and types: versions agree, nothing foreign or half merged."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from clocks import find_clocks

ROOT = Path(__file__).parent.parent
INSTALLING = ("constraints.txt", "pyproject.toml", "Makefile", ".ci/run")  # packages come by name, never by address
SYSTEMS = ("spark", "postgres", "node", "browser", "fuzz")  # marks of tests that need what their own target installs
CONFLICT = re.compile(r"^(<{7}|[|]{7}|>{7})(?: |$)", re.MULTILINE)  # seven equals signs may underline a heading


def problems() -> list[str]:
    """One line for each thing that is wrong."""
    found = []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    code = re.search(r'VERSION = "(.+)"', (ROOT / "src/sfumato/version.py").read_text())
    news = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    versions = {
        "pyproject.toml": project, "version.py": code and code[1], "CHANGELOG.md": news and news[1],
        "CITATION.cff": cited and cited[1],
    }  # fmt: skip
    if len(set(versions.values())) != 1:
        found.append(f"versions differ: {versions}")
    for selected in re.findall(r"/pytest .*-m (\".*?\"|\S+)", (ROOT / "Makefile").read_text()):
        if selected not in SYSTEMS and not all(name in selected for name in SYSTEMS):
            found.append(f"the Makefile runs tests by {selected}: say whether {', '.join(SYSTEMS)} are among them")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tests = Counter(Path(name).name for name in listed if re.fullmatch(r"tests/.*test_[^/]*[.]py", name))
    found += [f"{count} files are called {name}: pytest reads one" for name, count in tests.items() if count > 1]
    for name in listed:
        path = ROOT / name
        if path.name == Path(__file__).name or not path.is_file() or path.suffix in {".png", ".svg"}:
            continue
        text = path.read_text(errors="replace")
        places = {str(ROOT.parent) + "/", str(Path.home()) + "/"} - {"/", "//"}
        found += [f"{name} names a place of this machine" for place in places if place in text]
        if CONFLICT.search(text):
            found.append(f"{name} holds both sides of a conflict: it was merged by half")
        if name in INSTALLING and re.search(r"index-url|https?://", text):
            found.append(f"{name} holds a download address")
        if re.fullmatch(r"tests/.*[.]py", name) and name != "tests/waiting.py":
            found += [f"{name}:{line} {what}: see tests/clocks.py" for line, what in find_clocks(text)]
        if name.startswith("src/") and text.count("\n") > 450:
            found.append(f"{name} has more than 450 lines: it is two files")
    return found


if __name__ == "__main__":
    wrong = problems()
    print("\n".join(wrong) or "the repository holds together")
    sys.exit(bool(wrong))
