"""The API of 2020 in operator mode, in a cluster, and for accounts whose JetStream is another domain's."""

from __future__ import annotations

from lib import pyjs_server
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.jetstream_cluster import JetMesh
from lib.operator_fixture import OperatorEnv

ACC = {"user": "acc", "pass": "acc"}


def test_in_operator_mode_a_tokens_permissions_hold() -> None:
    env = OperatorEnv()
    account = env.account("A", jetstream=True)
    jetstream = 'jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB, legacy_api: true }'
    running = pyjs_server.start(env.memory(account, more=jetstream))
    try:
        with account.user().connect(running) as wire:
            assert wire.request("$JS.STREAM.S.CREATE", '{"name":"S","subjects":["s"]}').body == b"+OK"
        denied = account.user(pub={"deny": ["$JS.API.STREAM.DELETE.*"]})
        with denied.connect(running) as wire:
            wire.pub("$JS.STREAM.S.DELETE", "", wire.inbox())
            said = wire.sync()
            assert said == [b"-ERR 'Permissions Violation for Publish to \"$JS.API.STREAM.DELETE.S\"'"]
            assert wire.request("$JS.STREAM.S.INFO").json()["config"]["name"] == "S"
    finally:
        running.stop()


def test_in_a_cluster_any_server_takes_a_request_once() -> None:
    mesh = JetMesh("pyjs", options="legacy_api: true")
    try:
        for number, server in enumerate(mesh.servers):
            name = f"S{number}"
            with JetStream.of(server, **ACC) as js:
                body = f'{{"name":"{name}","subjects":["{name}"],"num_replicas":3}}'
                assert js.wire.request(f"$JS.STREAM.{name}.CREATE", body).body == b"+OK"
                assert js.publish(name, b"x")["seq"] == 1
                assert js.wire.request(f"$JS.STREAM.{name}.MSG.BYSEQ", "1").json()["subject"] == name
                assert js.wire.request(f"$JS.STREAM.{name}.MSG.DELETE", "1").body == b"+OK"
                assert js.wire.sync() == []  # no second answer
                code, number_, _ = js.error(
                    "STREAM.TEMPLATE.CREATE.T", {"name": "T", "config": {"subjects": ["t"]}, "max_streams": 1}
                )
                assert (code, number_) == (503, 10036)
        with JetStream.of(mesh.servers[0], **ACC) as js:
            eventually(lambda: js.wire.request("$JS.STREAM.LIST").json() == ["S0", "S1", "S2"])
    finally:
        mesh.close()
