"""What `pyjs reply` answers: a text, an echo of the request, or what a command prints.

Promises: what a request holds is never taken for a template, nor for more than a part of one word of the
command. Templates and the words of the command are checked before the first request.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...cli import render
from ...cli.errors import UsageError
from .template import Filler

COUNTER = "NATS-Reply-Counter"  # the header of an echo, as nats has it
_CALL = re.compile(r"\{\{[^{}]*\}\}")
_TOKEN = re.compile(r"\{\{(\d+)\}\}")
_BLANK = "\0"  # stands for a blank in a template, where words are told apart


class OutgoingReply(NamedTuple):
    """What goes back to who asked."""

    data: bytes
    headers: dict[str, str]


class Answers:
    """Makes the answer to each request.

    body: a template; command: its output is the answer. With neither, a request is its own answer.
    headers: by name, with templates as values. Raises CliError for what is wrong in any of them.
    """

    def __init__(self, body: str | None, command: str | None, headers: Mapping[str, str]) -> None:
        self._body = body
        self._words = _words(command) if command is not None else None
        self._headers = headers
        self._filler = Filler()
        for text in (body or "", *headers.values()):
            self._filler.fill(text, 0)
        for word in self._words or ():
            self._word(word, (), 0, "")

    async def to(self, request: Any, number: int) -> OutgoingReply:
        """Return the answer to a request; number: how many came before."""
        headers = {name: self._filler.fill(value, number) for name, value in self._headers.items()}
        text = request.data.decode(errors="replace")
        if self._body is not None:
            return OutgoingReply(self._filler.fill(self._body, number, text).encode(), headers)
        if self._words is None:
            return OutgoingReply(request.data, {**headers, **(request.headers or {}), COUNTER: str(number)})
        tokens = request.subject.split(".")
        words = [self._word(word, tokens, number, text) for word in self._words]
        return OutgoingReply(await _printed(words, request, text), headers)

    def _word(self, word: str, tokens: Sequence[str], number: int, text: str) -> str:
        """Return a word of the command, filled; `{{0}}` is the first token of the subject."""
        parts = _TOKEN.split(word)  # texts, and between them numbers of tokens
        shown = [self._filler.fill(part, number, text) for part in parts[::2]]
        for place, found in enumerate(parts[1::2]):
            shown[place] += tokens[int(found)] if int(found) < len(tokens) else ""
        return "".join(shown)


def _words(command: str) -> list[str]:
    kept = _CALL.sub(lambda found: found[0].replace(" ", _BLANK), command)
    try:
        words = [word.replace(_BLANK, " ") for word in shlex.split(kept)]
    except ValueError as error:
        raise UsageError(f"the command cannot be read: {error}") from None
    if not words:
        raise UsageError("the command is empty")
    return words


async def _printed(words: list[str], request: Any, text: str) -> bytes:
    """Return what a command prints. It gets the request as its input, and in variables."""
    variables = {"NATS_REQUEST_SUBJECT": request.subject, "NATS_REQUEST_BODY": text}
    try:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **variables},
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL in what the request holds
        render.log(f"The command cannot be run: {error}")
        return b""
    out, _ = await process.communicate(request.data)
    if process.returncode:
        render.log(f"The command ended with exit code {process.returncode}")
    return out
