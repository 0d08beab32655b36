"""Asks an OCSP responder by HTTP. It blocks, so it runs on a thread."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request

_MOST = 64 << 10  # bytes of an answer


class ResponderError(Exception):
    """No answer; the text says why."""


def ask(url: str, question: bytes, seconds: float) -> bytes:
    """Return the answer of a responder. Raises ResponderError. It is not led to another address."""
    headers = {"Content-Type": "application/ocsp-request", "Accept": "application/ocsp-response"}
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    try:
        request = urllib.request.Request(url, question, headers)  # noqa: S310 - http or https
        with opener.open(request, timeout=seconds) as answer:
            data: bytes = answer.read(_MOST + 1)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise ResponderError(f"{url}: {error}") from None
    if len(data) > _MOST:
        raise ResponderError(f"{url}: the answer is too long")
    return data
