"""Draws every picture of the guide into docs/pictures, from seeds and public numbers: the same bytes each time.

python website/pictures.py            # all of them
python website/pictures.py beliefs    # some, by name
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import answering
import comparing
import documents
import promises
import vl_convert

CERTIFICATES = ("certificates", "certificates-over-epsilon")  # a minute's work of benchmarks/certificate_page.py
PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
FIGURES: dict[str, Callable[[], Any]] = {
    name.replace("_", "-"): getattr(module, name)
    for module in (promises, answering, comparing, documents)
    for name in module.__all__
}
TAG, LONG = re.compile(r"<[^>]+>"), re.compile(r"-?\d+\.\d{3,}")
IDLE = re.compile(r' (?:(?:aria-\w+|role|class)="[^"]*"|pointer-events="none"|opacity="1")')  # pages describe pictures
HIDDEN = re.compile(r'<path d="" display="none"/>|<path d="[^"]*" display="none"/>')


def drawn(name: str) -> str:
    """A picture by its name."""
    return shortened(FIGURES[name]())


def shortened(chart: Any) -> str:
    """A picture as SVG, its coordinates rounded to hundredths of a pixel."""
    return bared(vl_convert.vegalite_to_svg(chart.to_dict()))


def bared(picture: str) -> str:
    """SVG without what only programs read, in hundredths of a pixel."""
    bare = TAG.sub(lambda tag: LONG.sub(_short, IDLE.sub("", tag[0])), picture)
    return HIDDEN.sub("", bare) + "\n"


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        (PICTURES / f"{name}.svg").write_text(drawn(name))
        print(name)
