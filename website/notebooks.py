"""Runs the notebooks of examples/notebooks, cell by cell in one namespace, and stores what their cells show.

python website/notebooks.py            # all of them
python website/notebooks.py steward    # some, by name

No notebook server is needed: a cell's output is what it prints, then its last expression, a chart as a picture.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import altair as alt
import pictures
import vl_convert

NOTEBOOKS = Path(__file__).parent.parent / "examples" / "notebooks"
Notebook = dict[str, Any]


def read(name: str) -> Notebook:
    found: Notebook = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())
    return found


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def run(notebook: Notebook, folder: Path) -> Notebook:
    """The notebook with the outputs of its cells, run in a folder; a cell that raises ends it."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells, count = [], 0
    with contextlib.chdir(folder):
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                count += 1
                shown = [*_outputs(source(cell), namespace, count)]
                cell = {**cell, "execution_count": count, "outputs": shown}
            cells.append(cell)
    return {**notebook, "cells": cells}


def _outputs(code: str, namespace: dict[str, Any], count: int) -> Iterator[dict[str, Any]]:
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said, value = io.StringIO(), None
    with contextlib.redirect_stdout(said):
        exec(compile(tree, f"cell {count}", "exec"), namespace)
        if last is not None:
            assert isinstance(last, ast.Expr)
            value = eval(compile(ast.Expression(last.value), f"cell {count}", "eval"), namespace)
    if said.getvalue():
        yield {"output_type": "stream", "name": "stdout", "text": said.getvalue().splitlines(keepends=True)}
    if value is not None:
        yield {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": _data(value)}


def _data(value: Any) -> dict[str, list[str]]:
    """What a notebook keeps of a value: a picture, or its page and its text."""
    if isinstance(value, alt.TopLevelMixin):
        picture = pictures.bared(vl_convert.vegalite_to_svg(value.to_dict()))
        return {"image/svg+xml": picture.splitlines(keepends=True), "text/plain": ["a chart"]}
    data = {"text/plain": (str(value) if hasattr(value, "_repr_html_") else repr(value)).splitlines(keepends=True)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_().splitlines(keepends=True)
    return data


def page(name: str) -> tuple[str, dict[str, str]]:
    """A notebook as Markdown for the site, and the pictures that it shows by their names."""
    lines, drawn = [], dict[str, str]()
    for cell in read(name)["cells"]:
        if cell["cell_type"] == "markdown":
            lines += [source(cell).replace("](../../", "]("), ""]  # links of programs begin at the first folder
            continue
        lines += ["```python", source(cell), "```", ""]
        for output in cell["outputs"]:
            data = output.get("data", {"text/plain": output.get("text")})
            if "image/svg+xml" in data:
                picture = f"{name}-{len(drawn) + 1}.svg"
                drawn[picture] = "".join(data["image/svg+xml"])
                lines += [f"![What the cell above draws]({picture})", ""]
            else:
                lines += ["```text", "".join(data["text/plain"]).rstrip(), "```", ""]
    return "\n".join(lines), drawn


def keep(name: str) -> None:
    """Run a notebook in a folder of its own, and store its outputs."""
    with tempfile.TemporaryDirectory() as place:
        done = run(read(name), Path(place))
    (NOTEBOOKS / f"{name}.ipynb").write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")):
        print(each, flush=True)
        keep(each)
