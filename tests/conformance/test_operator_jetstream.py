"""Operator mode: a token grants JetStream to its account: on, off, limits, tiers, changed by pushes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.operator_fixture import ENABLED, Deployment, OperatorAccount, OperatorEnv
from lib.process import ServerProcess

NOT_ENABLED = (503, 10039, "JetStream not enabled for account")


def api(op: Deployment, account: OperatorAccount) -> JetStream:
    return JetStream(account.user().connect(op.server))


def test_an_account_without_storage_has_no_jetstream(op: Deployment) -> None:
    with api(op, op.account("A")) as js:
        assert js.raw("INFO").status == "503" or js.error("INFO") == NOT_ENABLED


def test_jetstream_is_switched_on_by_a_push(op: Deployment) -> None:
    account = op.account("A")
    with api(op, account) as js:
        op.push(account.set(limits=ENABLED))
        assert js.create("S", subjects=["s"])["config"]["name"] == "S"
        assert js.publish("s", "x")["seq"] == 1


def test_info_shows_the_tokens_limits(op: Deployment) -> None:
    limits = {
        "mem_storage": 1000,
        "disk_storage": 2000,
        "streams": 3,
        "consumer": 4,
        "max_ack_pending": 5,
        "mem_max_stream_bytes": 600,
        "disk_max_stream_bytes": 700,
        "max_bytes_required": True,
    }
    with api(op, op.account("A", limits=limits)) as js:
        assert js.call("INFO")["limits"] == {
            "max_memory": 1000,
            "max_storage": 2000,
            "max_streams": 3,
            "max_consumers": 4,
            "max_ack_pending": 5,
            "memory_max_stream_bytes": 600,
            "storage_max_stream_bytes": 700,
            "max_bytes_required": True,
        }


def refused(make: Callable[[], Any]) -> tuple[int, int, str]:
    with pytest.raises(ApiFailureError) as failure:
        make()
    error = failure.value
    return error.code, error.err_code, error.description


def test_one_stream_more_than_granted(op: Deployment) -> None:
    with api(op, op.account("A", jetstream=True, limits=ENABLED | {"streams": 1})) as js:
        js.create("A", subjects=["a"])
        assert refused(lambda: js.create("B", subjects=["b"])) == (
            400,
            10027,
            "maximum number of streams reached",
        )


def test_one_consumer_more_than_granted(op: Deployment) -> None:
    with api(op, op.account("A", limits=ENABLED | {"consumer": 1})) as js:
        js.create("A", subjects=["a"])
        js.consumer("A", "one")
        assert refused(lambda: js.consumer("A", "two")) == (400, 10026, "maximum consumers limit reached")


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_more_bytes_than_granted(op: Deployment, kind: str) -> None:
    field, code = {"memory": ("mem_storage", 10028), "file": ("disk_storage", 10047)}[kind]
    with api(op, op.account("A", limits=ENABLED | {field: 1000})) as js:
        error = refused(lambda: js.create("A", subjects=["a"], storage=kind, max_bytes=2000))
        assert error[:2] == (500, code)
        js.create("B", subjects=["b"], storage=kind)
        js.publish("b", "x" * 900)
        error = refused(lambda: js.publish("b", "x" * 900))
        assert (error[0], error[1], error[2]) == (400, 10002, "resource limits exceeded for account")


def test_a_stream_larger_than_granted(op: Deployment) -> None:
    limits = ENABLED | {"mem_max_stream_bytes": 100}
    with api(op, op.account("A", limits=limits)) as js:
        error = refused(lambda: js.create("A", subjects=["a"], max_bytes=200))
        assert error == (400, 10122, "stream max bytes exceeds account limit max stream bytes")
        assert js.create("B", subjects=["b"])["config"]["max_bytes"] == -1


def test_a_stream_without_bounds_where_bounds_are_required(op: Deployment) -> None:
    with api(op, op.account("A", limits=ENABLED | {"max_bytes_required": True})) as js:
        error = refused(lambda: js.create("A", subjects=["a"]))
        assert error == (400, 10113, "account requires a stream config to have max bytes set")
        js.create("A", subjects=["a"], max_bytes=100)


def test_more_acks_pending_than_granted(op: Deployment) -> None:
    with api(op, op.account("A", limits=ENABLED | {"max_ack_pending": 5})) as js:
        js.create("A", subjects=["a"])
        error = refused(lambda: js.consumer("A", "c", max_ack_pending=6))
        assert error[:2] == (400, 10121)
        js.consumer("A", "c", max_ack_pending=5)


def test_a_larger_grant_holds_at_once(op: Deployment) -> None:
    account = op.account("A", limits=ENABLED | {"streams": 1})
    with api(op, account) as js:
        js.create("A", subjects=["a"])
        assert refused(lambda: js.create("B", subjects=["b"]))[1] == 10027
        op.push(account.set(limits={"streams": 2}))
        js.create("B", subjects=["b"])
        assert js.call("INFO")["limits"]["max_streams"] == 2


def test_a_smaller_grant_leaves_what_is_there(op: Deployment) -> None:
    account = op.account("A", limits=ENABLED)
    with api(op, account) as js:
        js.create("A", subjects=["a"])
        js.create("B", subjects=["b"])
        js.fill("a", 3)
        op.push(account.set(limits={"streams": 1}))
        assert js.state("A")["messages"] == 3
        assert refused(lambda: js.create("C", subjects=["c"]))[1] == 10027


def test_a_grant_taken_back(op: Deployment) -> None:
    """The API is gone; the data comes back with the grant."""
    account = op.account("A", limits=ENABLED)
    with api(op, account) as js:
        js.create("A", subjects=["a"], storage="file")
        js.fill("a", 3)
        op.push(account.set(limits=dict.fromkeys(ENABLED, 0)))
        assert js.raw("INFO").status == "503" or js.error("INFO") == NOT_ENABLED
        op.push(account.set(limits=ENABLED))
        eventually(lambda: "error" not in js.raw("STREAM.INFO.A").json(), 10)  # pyjs opens it meanwhile
        assert js.state("A")["messages"] == 3


def tier(**limits: Any) -> dict[str, Any]:
    return {"tiered_limits": {"R1": ENABLED | limits}}


def test_tiers(op: Deployment) -> None:
    account = op.account("A", limits=tier(streams=1, mem_storage=1000))
    with api(op, account) as js:
        info = js.call("INFO")
        assert info["tiers"]["R1"]["limits"]["max_streams"] == 1
        assert info["tiers"]["R1"]["limits"]["max_memory"] == 1000
        assert info["limits"]["max_streams"] == 0
        js.create("A", subjects=["a"])
        assert refused(lambda: js.create("B", subjects=["b"]))[1] == 10027
        assert js.call("INFO")["tiers"]["R1"]["streams"] == 1


def test_a_tier_that_is_not_granted(op: Deployment) -> None:
    account = op.account("A", limits={"tiered_limits": {"R3": ENABLED}})
    with api(op, account) as js:
        error = refused(lambda: js.create("A", subjects=["a"]))
        assert error == (400, 10120, "no JetStream default or applicable tiered limit present")


def test_tiers_instead_of_global_limits_by_a_push(op: Deployment) -> None:
    account = op.account("A", limits=ENABLED)
    with api(op, account) as js:
        js.create("A", subjects=["a"])
        account.set(limits=dict.fromkeys(ENABLED, 0) | tier(streams=1))
        op.push(account)
        assert refused(lambda: js.create("B", subjects=["b"]))[1] == 10027


def test_streams_are_there_after_a_restart(launch: Callable[[str], ServerProcess]) -> None:
    """Of an account that nobody has connected to since."""
    env = OperatorEnv()
    store = 'jetstream { store_dir: "<store>" }'
    server = launch(env.full(more=store))
    op = Deployment(env, server)
    account, other = op.account("A", jetstream=True), op.account("B", jetstream=True)
    for each in (account, other):
        with api(op, each) as js:
            js.create("S", subjects=["s"], storage="file")
            js.fill("s", 3)
    server.restart()
    totals = op.ask("$SYS.REQ.SERVER.PING.JSZ")["data"]
    assert (totals["streams"], totals["messages"]) == (2, 6)
    with api(op, account) as js:
        assert js.state("S")["messages"] == 3


def test_a_stream_sourced_over_an_imported_api(op: Deployment) -> None:
    """As the video does it: the exporter's consumer API and delivery subject, imported under a prefix."""
    exporter = op.account("EX", jetstream=True)
    exporter.set(
        exports=[
            {"name": "api", "subject": "$JS.API.CONSUMER.>", "type": "service", "response_type": "Stream"},
            {"name": "data", "subject": "deliver.>", "type": "stream"},
            {"name": "fc", "subject": "$JS.FC.>", "type": "service"},
        ]
    )
    importer = op.env.account("IM", jetstream=True)
    importer.set(
        imports=[
            {
                "name": "api",
                "account": exporter.id,
                "subject": "$JS.API.CONSUMER.>",
                "local_subject": "JS.ex.API.CONSUMER.>",
                "type": "service",
            },
            {"name": "data", "account": exporter.id, "subject": "deliver.im.>", "type": "stream"},
            {"name": "fc", "account": exporter.id, "subject": "$JS.FC.>", "type": "service"},
        ]
    )
    op.push(exporter, importer)
    with api(op, exporter) as ex, api(op, importer) as im:
        ex.create("ORIGIN", subjects=["origin"])
        ex.fill("origin", 5)
        external = {"api": "JS.ex.API", "deliver": "deliver.im.copy"}
        im.create("COPY", mirror={"name": "ORIGIN", "external": external})
        copied(im)
        ex.fill("origin", 1)
        copied(im, 6)


def copied(js: JetStream, count: int = 5) -> None:
    eventually(lambda: js.state("COPY")["messages"] == count)
