"""A leaf node of a cluster gives up leading streams while its hub is away (`jetstream_cluster_migrate`)."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from lib.cuttable_proxy import Cuttable
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.jetstream_cluster import READY_SECONDS, JetMesh
from lib.pool import START
from lib.process import free_port

HUB = """
listen: 127.0.0.1:<client>
server_name: HUB
leafnodes {{ listen: 127.0.0.1:{port} }}
"""
LEAF = """
leafnodes {{
    reconnect: 1s
    remotes: [{{
        url: "nats-leaf://127.0.0.1:{port}", account: ACC
        ignore_discovered_servers: true, jetstream_cluster_migrate: {{ leader_migrate_delay: 1s }}
    }}]
}}
"""


@pytest.mark.parametrize("kind", ["reference", "pyjs"])
def test_another_server_leads_while_the_hub_is_away(kind: str) -> None:
    port = free_port()
    with ExitStack() as stack:
        hub = START[kind](HUB.format(port=port))
        stack.callback(hub.stop)
        ways = [stack.enter_context(ExitStack()) for _ in range(3)]
        ports = [way.enter_context(Cuttable(port)).port for way in ways]
        mesh = JetMesh(kind, more=[LEAF.format(port=each) for each in ports])
        stack.callback(mesh.close)
        js = stack.enter_context(JetStream(mesh.login(mesh["s0"])))
        js.wire.sock.settimeout(2.0)

        def leader() -> str:
            try:
                return str(js.info("S")["cluster"].get("leader", ""))
            except (ApiFailureError, TimeoutError):
                return ""

        js.create("S", subjects=["s"], num_replicas=3)
        eventually(leader, READY_SECONDS)
        before = leader()
        ways[int(before[1:])].close()
        eventually(lambda: leader() not in ("", before), READY_SECONDS)
        assert js.publish("s", b"x")["seq"] == 1
