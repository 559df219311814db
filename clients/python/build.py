"""The client alone as a wheel: what a device needs, from the same source, with numpy and the standard library only.

`python clients/python/build.py DIRECTORY` writes `sfumato_client-VERSION-py3-none-any.whl`: the modules below and all
that they import when they are loaded, unchanged, under their own names (`from sfumato.local import Device`).  It takes
the place of the whole package and is not installed beside it.  Sealed reports need the extra `sealed`.
"""

from __future__ import annotations

import argparse
import ast
import base64
import hashlib
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
WANTED = (
    "sfumato.local.client",
    "sfumato.local.client.device",
    "sfumato.local.collection.declaration",  # reads the declared file
    "sfumato.local.interactive.participant",
    "sfumato.local.questions.longitudinal",
)
ALLOWED = {"numpy", "sfumato", *sys.stdlib_module_names}


def modules() -> list[Path]:
    """The files of the wanted modules and of all that they import when they are loaded."""
    found: dict[str, Path] = {}
    waiting = list(WANTED)
    while waiting:
        name = waiting.pop()
        path = SOURCE / Path(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in found or not path.exists():
            continue  # a name inside a module
        found[name] = path
        waiting += [name.rpartition(".")[0]] if "." in name else []
        waiting += _loaded(path)
    return sorted(found.values())


def _loaded(path: Path) -> list[str]:
    """What a module of ours imports outside functions and type checks; anything but numpy is refused."""
    names: list[str] = []
    waiting: list[ast.AST] = list(ast.parse(path.read_text(encoding="utf-8")).body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += ast.iter_child_nodes(node)
    foreign = {name for name in names if name.split(".")[0] not in ALLOWED}
    if foreign:
        raise SystemExit(f"{path.relative_to(SOURCE)} imports {', '.join(sorted(foreign))}: no part of a client")
    return [name for name in names if name.split(".")[0] == "sfumato"]


def build(directory: Path) -> Path:
    """Write the wheel; the same source gives the same bytes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {one.split(">")[0]: one for one in project["dependencies"]}
    name = f"sfumato_client-{project['version']}"
    metadata = (
        f"Metadata-Version: 2.4\nName: sfumato-client\nVersion: {project['version']}\n"
        "Summary: What the owner of a value runs: local privacy with numpy and the standard library\n"
        f"License-Expression: {project['license']}\nRequires-Python: {project['requires-python']}\n"
        f"Requires-Dist: {needed['numpy']}\nProvides-Extra: sealed\n"
        f'Requires-Dist: {needed["cryptography"]} ; extra == "sealed"\n'
    )
    contents = {str(path.relative_to(SOURCE)): path.read_bytes() for path in modules()}
    contents["sfumato/py.typed"] = b""
    contents[f"{name}.dist-info/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    contents[f"{name}.dist-info/METADATA"] = metadata.encode()
    tags = "Wheel-Version: 1.0\nGenerator: sfumato\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    contents[f"{name}.dist-info/WHEEL"] = tags.encode()
    lines = [f"{path},sha256={_hash(content)},{len(content)}" for path, content in contents.items()]
    contents[f"{name}.dist-info/RECORD"] = "\n".join([*lines, f"{name}.dist-info/RECORD,,", ""]).encode()
    target = directory / f"{name}-py3-none-any.whl"
    directory.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in contents.items():
            wheel.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return target


def _hash(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    print(build(parser.parse_args().directory))
