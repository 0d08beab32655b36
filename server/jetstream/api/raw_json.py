"""Responses as text, parts of which may already be JSON; long ones are written in slices."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import Any

from ...slices import Steps

STEP = 2048  # values, or strings of about 64 letters each, that are written without a pause


class RawJson:
    """A part of a response that is JSON already."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def to_text(response: Any) -> str:
    """Return a response as JSON."""
    parts: dict[str, str] = {}

    def hold_place(part: object) -> str:
        if not isinstance(part, RawJson):
            raise TypeError(f"{type(part).__name__} is no JSON")
        placeholder = token_hex(16)  # a random text, which cannot occur in the response
        parts[placeholder] = part.text
        return placeholder

    text = json.dumps(response, separators=(",", ":"), ensure_ascii=False, default=hold_place)
    for placeholder, part in parts.items():
        text = text.replace(f'"{placeholder}"', part, 1)
    return text


def is_long(response: Any) -> bool:
    """Return whether a response has to be written in slices."""
    return _weight(response) > STEP


def writing(response: Any) -> Steps[str]:
    """Do the same as `to_text`, in steps."""
    if not isinstance(response, dict | list) or not is_long(response):
        yield
        return to_text(response)
    parts: list[str] = []
    run: dict[Any, Any] = {}  # short members, by name or place, that are written together
    weight = 0
    named = isinstance(response, dict)
    for name, member in response.items() if isinstance(response, dict) else enumerate(response):
        more = _weight(member)
        if run and weight + more > STEP:
            parts.append(to_text(run if named else [*run.values()])[1:-1])
            run, weight = {}, 0
            yield
        if more > STEP:
            text = yield from writing(member)
            parts.append(f"{to_text(name)}:{text}" if named else text)
        else:
            run[name] = member
            weight += more
    if run:
        parts.append(to_text(run if named else [*run.values()])[1:-1])
    text = ",".join(parts)
    return f"{{{text}}}" if named else f"[{text}]"


def _weight(value: Any) -> int:
    """Return how much there is to write; the count ends somewhere above STEP."""
    weight = 0
    left = [value]
    while left and weight <= STEP:
        one = left.pop()
        weight += 1
        if isinstance(one, str):
            weight += len(one) // 64
        elif isinstance(one, dict | list):
            if len(one) > STEP:
                return len(one)
            left += one.values() if isinstance(one, dict) else one
    return weight
