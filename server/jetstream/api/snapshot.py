"""The API families STREAM.SNAPSHOT and STREAM.RESTORE: refused, with an error that says so.

Source: ADR-2 and the reference's snapshot format (tar in S2 framing), which this server does not write yet.
"""

from __future__ import annotations

from ....protocol.api.messages import RestoreRequest, SnapshotRequest
from ....protocol.errors import api_error
from .request import Request, Response

TEXT = "snapshots are not supported by this server"


def snapshot(request: Request) -> Response:
    """Answer STREAM.SNAPSHOT.<stream>."""
    asked = request.read(SnapshotRequest)
    request.account.lookup(request.tokens[2])
    if not asked.deliver_subject:
        raise api_error("JSSnapshotDeliverSubjectInvalidErr")
    raise api_error("JSStreamSnapshotErrF", err=TEXT)


def restore(request: Request) -> Response:
    """Answer STREAM.RESTORE.<stream>."""
    request.read(RestoreRequest)
    if request.tokens[2] in request.account.streams:
        raise api_error("JSStreamNameExistRestoreFailedErr")
    raise api_error("JSStreamRestoreErrF", err=TEXT)
