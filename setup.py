"""Beside what pyproject.toml says: a wheel holds the proof notes and the bibliography, which help() and cite() name."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

DOCS = Path(__file__).parent / "docs"


def pack(package: Path) -> None:
    """Copy the notes and the bibliography into the folder of a package."""
    notes = package / "notes"
    (notes / "proofs").mkdir(parents=True, exist_ok=True)
    for path in [DOCS / "references.bib", *DOCS.glob("proofs/*.md")]:
        shutil.copyfile(path, notes / path.relative_to(DOCS))


class WithNotes(build_py):
    """The build of every wheel, and of nothing that is edited in place."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            pack(Path(self.build_lib) / "sfumato")


if __name__ == "__main__":
    setup(cmdclass={"build_py": WithNotes})
