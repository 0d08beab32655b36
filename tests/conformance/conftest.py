"""What most conformance tests start from: one server with JetStream and its API, or one in operator mode."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib.jetstream import ALONE, JetStream
from lib.operator_fixture import Deployment, OperatorEnv
from lib.process import ServerProcess

JETSTREAM = 'jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }'


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    """One server that a module's tests share. A module that needs another one has a `server` of its own."""
    return serve(ALONE)


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    """The API on a connection of the test's own."""
    with JetStream.of(server) as api:
        yield api


@pytest.fixture(scope="module")
def operated() -> tuple[OperatorEnv, str]:
    """The module's operator, and a configuration with a resolver that takes what is pushed and deleted."""
    env = OperatorEnv(signing=True)
    return env, env.full(allow_delete=True, timeout='"200ms"', more=JETSTREAM)


@pytest.fixture
def op(operated: tuple[OperatorEnv, str], serve: Callable[[str], ServerProcess]) -> Deployment:
    """The module's server in operator mode. A test makes accounts of its own and pushes them."""
    env, config = operated
    return Deployment(env, serve(config))
