"""The page of references, written from the bibliography."""

from __future__ import annotations

import re

from sfumato.reference.works import Work, works

CITATION = re.compile(r"\b((?:[A-Z][a-z]+){1,5}?(?:EtAl)?(?:19|20)\d\d)\b")


def page() -> str:
    lines = ["# References", "", "What the proofs, the guide and the code cite.", ""]
    for key, work in sorted(works().items()):
        lines += [f'<a id="{key.lower()}"></a>**{key}**  ', f"{said(work)}", ""]
    return "\n".join(lines)


def said(work: Work) -> str:
    parts = [work.author.replace(" and ", "; "), f"*{safe(work.title)}*", safe(work.place), work.year]
    found = f" [{work.address.removeprefix('https://')}]({work.address})" if work.address else ""
    return f"{'. '.join(each for each in parts if each)}.{found}"


def safe(text: str) -> str:
    """Text whose signs are no markup."""
    return re.sub(r"([_*<])", r"\\\1", text)
