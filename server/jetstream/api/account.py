"""INFO: what the account uses and may use."""

from __future__ import annotations

from ....protocol.api.messages import response
from .request import Request, Response


def info(request: Request) -> Response:
    """Answer `$JS.API.INFO`."""
    return response(request.kind, request.account.info())
