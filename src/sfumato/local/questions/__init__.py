"""Larger questions, built from protocols and with their interface; the closed list of both."""

from __future__ import annotations

from typing import Any

from sfumato.errors import ParameterError
from sfumato.local.protocols import PROTOCOLS, LocalProtocol
from sfumato.local.questions.marginals import Marginals
from sfumato.local.questions.ranges import Ranges
from sfumato.local.questions.sets import Sets

__all__ = ["QUESTIONS", "Marginals", "Ranges", "Sets", "question_from"]

QUESTIONS: dict[str, type[LocalProtocol]] = {**PROTOCOLS, **{kind.name: kind for kind in (Ranges, Marginals, Sets)}}


def question_from(record: dict[str, Any]) -> LocalProtocol:
    """The protocol or question that `to_record` wrote; unknown names and parts are refused."""
    name = record.get("type")
    if name not in QUESTIONS:
        raise ParameterError(f"unknown protocol {name!r}; known are {', '.join(QUESTIONS)}")
    try:
        return QUESTIONS[str(name)].from_record(record)
    except (KeyError, TypeError):
        raise ParameterError(f"a {name} protocol lacks a part or has one of a wrong type") from None
