"""The handlers of the requests that several servers answer together, in place of those of `api.table`.

The server that a request is routed to runs its handler: see `router`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .consumer_api import ConsumerApi
from .info_api import InfoApi
from .list_api import ListApi
from .move_api import CANCEL, MOVE, MoveApi
from .restore_api import RestoreApi
from .step_down_api import StepDownApi
from .stream_api import StreamApi

if TYPE_CHECKING:
    from ...cluster.context import ClusterContext
    from ..request import Handler


def handlers(cluster: ClusterContext) -> dict[str, Handler]:
    """Return the handlers by the subject after `$JS.API.`."""
    streams, consumers, leaders = StreamApi(cluster), ConsumerApi(cluster), StepDownApi(cluster)
    moves = MoveApi(cluster, streams)
    infos, backups = InfoApi(cluster.view), RestoreApi(cluster)
    lists = ListApi(cluster.view, cluster.proposer, cluster.queries)
    return {
        "INFO": infos.account,
        "STREAM.CREATE.*": streams.create,
        "STREAM.UPDATE.*": streams.update,
        "STREAM.NAMES": lists.stream_names,
        "STREAM.LIST": lists.streams,
        "STREAM.INFO.*": infos.stream,
        "STREAM.DELETE.*": streams.delete,
        "STREAM.RESTORE.*": backups.restore,
        "STREAM.PEER.REMOVE.*": streams.remove_peer,
        "STREAM.PEER.EVACUATE.*": streams.remove_peer,
        "STREAM.CANCEL_MOVE.*": moves.cancel,
        MOVE: moves.move_own,
        CANCEL: moves.cancel_own,
        "STREAM.LEADER.STEPDOWN.*": leaders.step_down,
        "CONSUMER.CREATE.*": consumers.create,
        "CONSUMER.CREATE.*.>": consumers.create,
        "CONSUMER.DURABLE.CREATE.*.*": consumers.create_durable,
        "CONSUMER.NAMES.*": lists.consumer_names,
        "CONSUMER.LIST.*": lists.consumers,
        "CONSUMER.INFO.*.*": infos.consumer,
        "CONSUMER.DELETE.*.*": consumers.delete,
        "CONSUMER.PAUSE.*.*": consumers.pause,
        "CONSUMER.PEER.REMOVE.*.*": consumers.remap_peer,
        "CONSUMER.PEER.EVACUATE.*.*": consumers.remap_peer,
        "CONSUMER.LEADER.STEPDOWN.*.*": leaders.step_down,
    }
