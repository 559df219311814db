"""The last step of `make demo`: a local collection, an audit, and one page with every picture.

python examples/demo.py demo    # after the other steps; writes demo/index.html
"""

from __future__ import annotations

import argparse
import contextlib
import html
import io
import re
import runpy
from pathlib import Path
from typing import Any

import sfumato as sf

GALLERY = Path(__file__).parent / "gallery"
STYLE = (
    "body{max-width:52rem;margin:0 auto;padding:2rem 1rem;font:1rem/1.55 system-ui,sans-serif;color:#1f2933}"
    "h1{margin-bottom:0}h2{margin-top:2.6rem;border-top:1px solid #e1e5ea;padding-top:1.6rem}"
    "figure{margin:1rem 0}svg{max-width:100%;height:auto}figcaption{color:#5a6672;font-size:.9rem}"
    "pre{background:#f5f7f9;padding:.8rem 1rem;white-space:pre-wrap;font-size:.82rem}"
)


def example(name: str, folder: Path) -> tuple[str, str]:
    """A program of the gallery, run in the folder: its picture, and what it printed."""
    said = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(said):
        runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
    return (folder / f"{name}.svg").read_text(), said.getvalue()


def drawn(chart: Any) -> str:
    """A chart as SVG."""
    picture = io.StringIO()
    chart.save(picture, format="svg")
    return picture.getvalue()


def figure(picture: str, words: str) -> str:
    return f"<figure>{re.sub(r'<[?].*?[?]>', '', picture)}<figcaption>{html.escape(words)}</figcaption></figure>"


def released(path: Path) -> str:
    """A release's picture, with its certificate below."""
    release = sf.load(path)
    return figure(drawn(release.plot()), f"{release.name}: {release.certificate.words()}")


def page(folder: Path) -> str:
    """Every picture of the demo, in the order of its steps."""
    releases = sorted((folder / "report" / "releases").glob("*.json"))
    curves = [path for path in releases if "curve" in path.stem]
    made = sf.load(folder / "synthetic.parquet")
    collected, estimate = example("local_frequencies", folder)
    attacked, finding = example("audit", folder)
    print(estimate, finding, sep="\n")
    parts = [
        "<h2>Statistics with certificates</h2><p>From <code>sfumato publish</code>. Each certificate says how far the "
        'error is from the best possible. The <a href="report/report.html">report</a> has guarantees and tables.</p>',
        *(released(path) for path in releases if path not in curves),
        "<h2>A curve</h2><p>One public function with a band that covers all of it.</p>",
        *map(released, curves),
        "<h2>A synthetic table</h2><p>Invented rows from <code>sfumato synthesize</code>, in "
        "<code>synthetic.parquet</code>; the table says what it is good for.</p>",
        figure(drawn(made.plot()), made.error().words()),
        "<h2>A local collection</h2><p>20,000 simulated devices, each randomizing its own value.</p>",
        figure(collected, "shares of start pages, from randomized reports alone"),
        "<h2>An audit</h2><p>A mechanism with half the noise that it needs, refuted; below it what the auditor "
        "says, first of the corrected mechanism.</p>",
        figure(attacked, "an event on two tables that differ in one row"),
        f"<pre>{html.escape(finding)}</pre>",
    ]
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>Sfumato: demo</title><style>{STYLE}</style>"
    return f"{head}<h1>Sfumato, in one minute</h1><p>About 200,000 people whom nobody ever met.</p>{''.join(parts)}"


def main() -> None:
    """Write the page beside what the other steps made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    folder = parser.parse_args().directory
    (folder / "index.html").write_text(page(folder), encoding="utf-8")
    print(f"every picture is in {folder / 'index.html'}")


if __name__ == "__main__":
    main()
