"""Responses as text, of which parts may be written already: what is long is written in slices."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import Any


class Written:
    """A part of a response whose JSON is known."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def to_text(response: dict[str, Any]) -> str:
    """Write a response."""
    parts: dict[str, str] = {}

    def hold_place(part: object) -> str:
        if not isinstance(part, Written):
            raise TypeError(f"{type(part).__name__} is no JSON")
        place = token_hex(16)  # which nobody can have put into the response
        parts[place] = part.text
        return place

    text = json.dumps(response, separators=(",", ":"), ensure_ascii=False, default=hold_place)
    for place, part in parts.items():
        text = text.replace(f'"{place}"', part, 1)
    return text
