"""Run a command beside a PostgreSQL server of its own, in a temporary folder that ends with it.

    python tests/serving.py COMMAND ...

The server listens on a socket in that folder and on no port of a network.  The owner of its tables is `postgres`; the
role `reader` may connect, hold temporary objects, and read what it is granted.  The command finds the folder in
SFUMATO_POSTGRES.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = Path("/usr/lib/postgresql")
ROLES = "CREATE ROLE reader LOGIN; REVOKE ALL ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO reader"


def served(command: list[str]) -> int:
    """The command's exit code."""
    programs = max(PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])).parent
    folder = Path(tempfile.mkdtemp(prefix="sfumato-server-"))
    data, as_owner = folder / "data", []
    if os.getuid() == 0:  # the server refuses to run as root
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        as_owner = ["runuser", "-u", "postgres", "--"]
    folder.chmod(0o755)
    control = [*as_owner, str(programs / "pg_ctl"), "-D", str(data), "-w"]
    options = f"-k {folder} -c listen_addresses=''"
    try:
        made = [
            str(programs / "initdb"),
            "-D",
            str(data),
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]
        subprocess.run([*as_owner, *made], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(
            [*control, "-l", str(folder / "log"), "-o", options, "start"], check=True, stdout=subprocess.DEVNULL
        )
        psql = [
            *as_owner,
            str(programs / "psql"),
            "-q",
            "-h",
            str(folder),
            "-U",
            "postgres",
            "-d",
            "postgres",
            "-c",
            ROLES,
        ]
        subprocess.run(psql, check=True)
        return subprocess.run(command, env=os.environ | {"SFUMATO_POSTGRES": str(folder)}, check=False).returncode
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, stdout=subprocess.DEVNULL)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    raise SystemExit(served(sys.argv[1:]))
