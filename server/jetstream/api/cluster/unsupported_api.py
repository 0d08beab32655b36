"""UnsupportedApi: what nats-server's clusters do and this one does not; the error names what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .....protocol.errors import ApiError, api_error

if TYPE_CHECKING:
    from ...cluster.cluster import JetStreamCluster
    from ..request import Request, Response
    from ..table import Row

_MOVE_BACK = "a move cannot be cancelled: give the stream its former placement by STREAM.UPDATE"
# subject after `$JS.API.` -> type of the response, why not
OF_ACCOUNTS: dict[str, tuple[str, str]] = {
    "STREAM.PEER.EVACUATE.*": (
        "stream_evacuate_peer",
        "peers are not evacuated: take them away one by one by STREAM.PEER.REMOVE",
    ),
    "STREAM.CANCEL_MOVE.*": ("stream_cancel_move", _MOVE_BACK),
}
OF_THE_SYSTEM: dict[str, tuple[str, str]] = {
    "META.RESCUE": (
        "meta_rescue",
        "a majority is not lowered: put back the directory of a server that is missing, from a copy",
    ),
    "SERVER.EVACUATE": (
        "meta_server_remove",
        "servers are not evacuated: move streams by STREAM.PEER.REMOVE, or remove it by SERVER.REMOVE",
    ),
    "ACCOUNT.STREAM.MOVE.*.*": (
        "stream_update",
        "streams are moved by their own account: STREAM.UPDATE with a placement, or STREAM.PEER.REMOVE",
    ),
    "ACCOUNT.STREAM.CANCEL_MOVE.*.*": ("stream_update", _MOVE_BACK),
}


def refusal(text: str) -> ApiError:
    """The error for this."""
    return api_error("JSStreamGeneralErrorF", err=text)


class UnsupportedApi:
    """The handlers of ordinary accounts."""

    def __init__(self, cluster: JetStreamCluster) -> None:
        self._cluster = cluster

    def table(self) -> dict[str, Row]:
        """By pattern, see api.table."""
        return {pattern: (kind, self.refuse, True) for pattern, (kind, _) in OF_ACCOUNTS.items()}

    def refuse(self, request: Request) -> Response:
        """Answer that it is not served, and, first, whether there is such a stream."""
        *words, name = request.tokens
        if self._cluster.state.stream(request.account.name, name) is None:
            raise api_error("JSStreamNotFoundErr")
        raise refusal(OF_ACCOUNTS[".".join([*words, "*"])][1])
