"""Text that may come from anywhere, made safe to show: what would steer a reader's screen is spelled out."""

from __future__ import annotations

import unicodedata

__all__ = ["visible"]

STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, invisible formatting, lone surrogates, separators of lines
JOINERS = "\u200c\u200d"  # inside words and emoji, where they change no order


def visible(text: str, keep: str = "") -> str:
    r"""The text with every character that steers a terminal, reorders a line or breaks XML written as an escape.

    `keep` names characters that stay, such as the line ends of our own sentences.

    >>> visible("[bold]ca\x1b[2J\u202egpj"), visible("first\nsecond", keep="\n")
    ('[bold]ca\\x1b[2J\\u202egpj', 'first\nsecond')
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(one.encode("unicode_escape").decode() if _steers(one) and one not in keep else one for one in text)


def _steers(one: str) -> bool:
    if one in JOINERS:
        return False
    nothing = ord(one) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(one) <= 0xFDEF  # code points that never are characters
    return nothing or unicodedata.category(one) in STEERING
