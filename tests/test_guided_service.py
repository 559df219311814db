"""The commands of two pages, the service's and local collection's, as they stand there, with real processes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.cli import serving
from sfumato.ledger import Ledger
from sfumato.local import Collection, Collector

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def find_ports(count: int) -> list[int]:
    """Return ports that are free, below those that the system gives to whoever asks for any."""
    found: list[int] = []
    start = 20_000 + os.getpid() % 12_000
    for port in range(start, start + 500):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            found.append(port)
        if len(found) == count:
            return found
    raise AssertionError("no port is free")


def walked(text: str, place: Path, *named: int) -> str:
    """Run the shell's blocks of a page in a folder, with free ports in place of those that it names; what was said."""
    script = "\n".join(
        ["set -euo pipefail", "set -m", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", *BLOCK.findall(text)]
    )
    for port, free in zip(named, find_ports(len(named)), strict=True):
        script = script.replace(str(port), str(free))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.heavy  # twenty seconds of processes that start and stop
def test_the_page_leads_from_a_clone_to_a_service_with_two_analysts(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = walked((ROOT / "docs" / "guide" / "service.md").read_text(), tmp_path, 8000)
    preview, release = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("preview", "release"))
    assert preview["fits"]
    assert preview["more"] >= 1
    assert release["charged"]["epsilon"] == 0.1
    ledger = Ledger.existing(tmp_path / "service" / "people.ledger")
    assert ledger.verify().holds
    assert sorted({entry.account for entry in ledger.entries() if entry.kind == "charge"}) == ["ana", "bob"]
    spent = ledger.spent()
    assert isinstance(spent, sf.Approximate)
    assert 0.3 - 1e-9 <= spent.epsilon <= 0.3 + 1e-9  # the mean once, the median once
    assert Ledger.existing(tmp_path / "safe" / "people.ledger").head == ledger.head
    assert "it is stored" in said


@pytest.mark.heavy
def test_the_page_for_analysts_asks_a_service_that_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    guide = ROOT / "docs" / "guide"
    served = (guide / "service.md").read_text().split("**Ask.**")[0]
    said = walked(f"{served}\n{(guide / 'asking.md').read_text()}\n```sh\nkill %1\nwait %1\n```\n", tmp_path, 8000)
    assert "2 questions of one statement" in said
    assert "what is left buys an error of" in said
    seen, age, job = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("seen", "age", "job"))
    assert seen["stored"]
    assert age["charged"] is None
    assert job["charged"]["epsilon"] == pytest.approx(0.1)
    assert (tmp_path / "salaries.csv").read_text().startswith('"salary"')


@pytest.mark.heavy
def test_the_page_leads_from_devices_over_a_relay_to_an_estimate(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "guide" / "local.md").read_text()
    page = text.split("### Over HTTP", 1)[1].split("\n### ", 1)[0]
    said = walked(page, tmp_path, 8100, 8200)
    for name, reports in (("pages", 1), ("mail", 4)):
        collection = Collection.read(tmp_path / f"{name}.json")
        assert Collector(collection, tmp_path / f"{name}.journal").state.reports == reports
    assert "guarantee" in said
    assert not (tmp_path / "relay" / "mail.key").exists()


def test_the_examples_of_deployment_name_options_that_there_are() -> None:
    """Neither is run here: an image is not built, and there is no systemd; what can be read is read."""
    known = set(re.findall(r"--[a-z-]+", subprocess.run(
        [sys.executable, "-m", "sfumato.cli", "serve", "--help"], capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"}).stdout))  # fmt: skip
    unit = (ROOT / "deploy" / "sfumato.service").read_text()
    command = re.search(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    assert command is not None
    image = (ROOT / "deploy" / "Containerfile").read_text()
    started = json.loads(image.rsplit("CMD ", 1)[1])
    for words in (shlex.split(command[1]), started):
        assert Path(words[0]).name == "sfumato"
        assert words[1] == serving.serve.__name__
        assert {word for word in words if word.startswith("--")} <= known
    rights = (
        "NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet=\n", "PrivateTmp=yes", "User=sfumato",
        "UMask=0077", "LimitCORE=0", "PrivateDevices=yes", "SystemCallFilter=@system-service",
    )  # fmt: skip
    for right in rights:
        assert right in unit, right
    assert "USER 10001" in image
    assert "not built" in image
    assert "nothing here builds or tests it" in (ROOT / "docs" / "guide" / "service.md").read_text()
