"""What a command writes never replaces or joins what it reads."""

from __future__ import annotations

import glob
import os
from fnmatch import fnmatchcase
from pathlib import Path

from sfumato.errors import ParameterError
from sfumato.plans import Plan

__all__ = ["must_be_apart", "must_spare"]


def must_spare(plan: Plan, *written: Path) -> None:
    """Refuse to write over the plan or its ledger, or over and among what it reads."""
    read = [file for one in (plan.table, plan.people) if one is not None for file in one.files]
    for out in written:
        must_be_apart(out, plan.path, *read, plan.ledger.file)


def must_be_apart(out: Path, *read: Path | None) -> None:
    """Refuse to write over what is read, or among the files of a folder or pattern: those would be read as data."""
    place = out.resolve()
    for file in (one for one in read if one is not None):
        whole = Path(os.path.abspath(file))
        pattern = "*".join(glob.escape(piece) for piece in str(whole).split("*"))
        among = fnmatchcase(str(place), pattern) or fnmatchcase(os.path.abspath(out), pattern)
        within = whole.is_dir() and place.is_relative_to(whole.resolve())
        if among or within or (out.exists() and file.exists() and out.samefile(file)):
            raise ParameterError(f"--out: {out} would replace or join what is read here; choose another file")
