"""JetStream clusters with a resolver that cannot list its accounts: the first request is answered, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.operator_fixture import OperatorEnv
from lib.pool import START
from lib.process import ServerProcess, free_port
from lib.token_library import Library, library_of_tokens

SLOWNESS = 0.3  # seconds that a look-up takes


@pytest.fixture
def library() -> Iterator[Library]:
    with library_of_tokens(slowness=SLOWNESS) as found:
        yield found


@pytest.fixture
def env() -> OperatorEnv:
    return OperatorEnv()


@pytest.fixture
def servers(implementation: str, env: OperatorEnv, library: Library) -> Iterator[list[ServerProcess]]:
    library.tokens[f"/jwt/{env.sys.id}"] = env.sys.token()
    ports = [free_port() for _ in range(3)]
    routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports)
    started: list[ServerProcess] = []
    try:
        for number, port in enumerate(ports):
            more = (
                'jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }\n'
                f"cluster {{ name: C, listen: 127.0.0.1:{port}, routes: [{routes}] }}"
            )
            config = env.url(f"http://127.0.0.1:{library.server_port}/jwt/")
            config = config[: config.index("resolver_preload")] + f"system_account: {env.sys.id}\n{more}\n"
            started.append(START[implementation](config.replace("server_name: S", f"server_name: s{number}")))
        yield started
    finally:
        for server in started:
            server.stop()


def meta_leader(env: OperatorEnv, server: ServerProcess) -> str:
    with env.system(server) as wire:
        answer = wire.request(f"$SYS.REQ.SERVER.{wire.info['server_id']}.JSZ").json()
    meta = answer["data"].get("meta_cluster") or {}
    return str(meta.get("leader", "")) if meta.get("cluster_size") == 3 else ""


def test_the_first_request_of_an_account_that_the_leader_does_not_know_is_answered(
    servers: list[ServerProcess], env: OperatorEnv, library: Library
) -> None:
    eventually(lambda: len({meta_leader(env, one) for one in servers} - {""}) == 1, 30)
    leader = meta_leader(env, servers[0])
    other = next(one for number, one in enumerate(servers) if f"s{number}" != leader)
    account = env.account("A", jetstream=True)
    library.tokens[f"/jwt/{account.id}"] = account.token()
    with JetStream(account.user().connect(other)) as js:
        made = js.create("S", subjects=["s"], num_replicas=3)
        assert made["config"]["num_replicas"] == 3
        eventually(lambda: js.publish("s", "x").get("seq") == 1, 10)
        assert js.call("STREAM.NAMES")["streams"] == ["S"]
