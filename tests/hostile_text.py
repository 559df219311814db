"""One corpus of texts that would steer a terminal, a page, a picture, a spreadsheet or a file system."""

from __future__ import annotations

import re

__all__ = ["LABELS", "NAMES", "PATHS", "STEERING", "escapes_in"]

LABELS = {
    "closing markup": "[/bold]",
    "opening markup": "[bold red]ca",
    "link markup": "[link=http://evil.example]here[/link]",
    "unknown markup": "[unknown] [/] [[x]]",
    "emoji code": ":warning:",
    "clear screen": "\x1b[2J\x1b[31mevil",
    "one-byte escape": "\x9b2Jevil",
    "title of the window": "\x1b]0;pwned\x07",
    "bell": "ring\x07",
    "null": "a\x00b",
    "carriage return": "spent nothing\rSPENT",
    "line break": "first\nspent epsilon 0",
    "line separator": "first\u2028second",
    "tab": "a\tb",
    "delete": "a\x7fb",
    "right to left": "b\u202egpj.exe",
    "isolate": "\u2067abc\u2069",
    "no character": "x\uffffy\ufffe",
    "far no character": "x\U0001ffff",
    "byte order mark": "\ufeffx",
    "formula": "=cmd|' /C calc'!A0",
    "plus formula": "+1+cmd|' /C calc'!A0",
    "minus formula": "-2+3",
    "at formula": "@SUM(1+1)",
    "link formula": '=HYPERLINK("http://evil.example")',
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(2)>',
    "end of picture": "</svg><script>alert(3)</script>",
    "end of text": "</text></g><g onload=alert(4)>",
    "data section": "]]><x/>",
    "entity": "&lt;b&gt; &#27;",
    "braces": "{0} {unit} {style} %s %(x)s",
    "vega": "datum['x'] \"+alert(5)+\"",
    "quotes": 'it\'s "quoted" `so` \\ and',
    "backslash": "\\x1b[2J",
    "nothing": "",
    "space": " ",
    "long": "x" * 3000,
    "emoji": "👩‍👩‍👧 zwj",
    "hebrew": "שלום",
    "combining": "Z" + "\u0301" * 60,
    "answer": "answer",
    "fill": "FILL-IN",
}
NAMES = {kind: text for kind, text in LABELS.items() if text.isprintable() and 0 < len(text) <= 200}
PATHS = {
    "newline": "a\nb", "leading dash": "-rf", "option": "--json", "dots": "..x", "quotes": "it's \"x\"",
    "glob": "p[1]*?",
    "emoji": "👩‍👩‍👧", "escape": "\x1b[2Jx", "percent": "100%25", "space": " lead and trail ",
    "markup": "[bold]x[red]",
    "hash": "a#b", "semicolon": "a;b", "right to left": "x\u202ey", "long": "n" * 200,
}  # fmt: skip
STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\U0001ffff\ud800-\udfff]"
)


def escapes_in(text: str) -> list[str]:
    """What of a shown text would steer the reader's screen."""
    return STEERING.findall(text)
