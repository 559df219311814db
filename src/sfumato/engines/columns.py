"""What may be said about the columns of a source: the first line of a file without names is a row of data.

So an error shows a name from the source only where it is a declared name in another spelling, and counts the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.errors import SchemaError

__all__ = ["absent"]


def absent(name: str, held: Iterable[object]) -> SchemaError:
    """The error for a declared column that the source does not have."""
    names = list(held)
    like = [repr(other) for other in names if isinstance(other, str) and _spelled(other) == _spelled(name)]
    hint = f", among them {like[0]} (capitals and blanks matter)" if like else ""
    columns = "column" if len(names) == 1 else "columns"
    separated = ", separated by commas in .csv and by tabs in .tsv" if len(names) == 1 else ""
    return SchemaError(
        f"the table has no column {name!r}; it has {len(names)} {columns}{hint}. Correct the name in the schema; "
        f"the first line of a text file must name the columns{separated}"
    )


def _spelled(name: str) -> str:
    """What is left of a name without capitals, blanks, hyphens, underscores and marks of the byte order."""
    return "".join(character for character in name.casefold() if character not in " \t\r-_.\"'\ufeff")
