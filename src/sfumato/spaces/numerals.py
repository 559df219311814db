"""What a number looks like in a text file: one pattern each, so that engines and spaces cannot disagree.

The patterns must match a whole field, and mean the same to Python, RE2 and Java.  They know ASCII digits only:
no thousands separators, no underscores, no hexadecimal numbers; the text "nan" is not a number, so it is missing.
Whole numbers may end in a point and zeros, as programs write them that keep gaps as NaN.
"""

from __future__ import annotations

import math
import re

__all__ = [
    "FALSE",
    "INFINITE",
    "MINUS_INFINITE",
    "NUMBER",
    "TRUE",
    "WHOLE",
    "WHOLE_LIMIT",
    "number_in",
    "truth_in",
    "whole_in",
]

NUMBER = r"[ \t]*[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,4})?[ \t]*"
INFINITE = r"[ \t]*[+]?[iI][nN][fF]([iI][nN][iI][tT][yY])?[ \t]*"
MINUS_INFINITE = r"[ \t]*-[iI][nN][fF]([iI][nN][iI][tT][yY])?[ \t]*"
WHOLE = r"[ \t]*[+-]?[0-9]{1,18}([.]0*)?[ \t]*"  # eighteen digits fit in 64 bits
WHOLE_LIMIT = 10**18  # labels that are whole numbers lie below it, with either sign
TRUE = r"[ \t]*[tT][rR][uU][eE][ \t]*"
FALSE = r"[ \t]*[fF][aA][lL][sS][eE][ \t]*"


def number_in(text: str) -> float | None:
    """The number that a text stands for, or None.

    >>> number_in(" 1.5e3"), number_in("-inf"), number_in("1_000"), number_in("nan")
    (1500.0, -inf, None, None)
    """
    if re.fullmatch(NUMBER, text):
        return float(text)
    if re.fullmatch(INFINITE, text):
        return math.inf
    return -math.inf if re.fullmatch(MINUS_INFINITE, text) else None


def whole_in(text: str) -> int | None:
    """The whole number that a text stands for, or None.

    >>> whole_in("+007"), whole_in("7.0"), whole_in("7.5")
    (7, 7, None)
    """
    return int(text.partition(".")[0]) if re.fullmatch(WHOLE, text) else None


def truth_in(text: str) -> bool | None:
    """What a text says of true and false, or None.

    >>> truth_in("TRUE"), truth_in(" 0 "), truth_in("yes")
    (True, False, None)
    """
    if re.fullmatch(TRUE, text):
        return True
    return False if re.fullmatch(FALSE, text) else {0: False, 1: True}.get(whole_in(text))  # type: ignore[arg-type]
