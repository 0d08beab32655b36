"""The rules for configurations, applied to what a cluster has decided instead of by streams that run here."""

from __future__ import annotations

from typing import Any

import pytest
from lib.meta_fixture import MetaFixture
from pyjs.protocol.api.stream import StreamConfig
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.effect import CommandRejected, Effect, StaleCommand, StreamCreated
from pyjs.server.jetstream.meta.state import AccountView
from pyjs.server.jetstream.streams.validation.config import check, check_update
from pyjs.server.jetstream.streams.validation.context import ValidationContext


def validation_context(view: AccountView) -> ValidationContext:
    def lookup(name: str) -> StreamConfig | None:
        document = view.config(name)
        return None if document is None else StreamConfig.from_json(document)

    return ValidationContext(lookup=lookup, clustered=True)


def create_command(meta: MetaFixture, **asked: Any) -> Any:
    """The command for a request of a client."""
    view = meta.state.view("A")
    config = check(StreamConfig.from_json(asked), validation_context(view))
    return meta.planner.create_stream(view, config.to_json(), meta.requester, len(meta.log) + 1)


def create(meta: MetaFixture, **asked: Any) -> list[Effect]:
    return meta.put(create_command(meta, **asked))


def update(meta: MetaFixture, **asked: Any) -> list[Effect]:
    view = meta.state.view("A")
    old = view.config(asked["name"])
    assert old is not None
    config = check_update(
        StreamConfig.from_json(old), StreamConfig.from_json(asked), validation_context(view)
    )
    return meta.put(meta.planner.update_stream(view, config.to_json(), meta.requester))


def test_replicas_are_allowed_and_defaults_are_stored() -> None:
    meta = MetaFixture()
    [made] = create(meta, name="S", num_replicas=3)
    assert isinstance(made, StreamCreated) and len(made.stream.peers) == 3
    config = StreamConfig.from_json(made.stream.config)
    assert (config.subjects, config.max_msgs, config.duplicate_window) == (["S"], -1, 120_000_000_000)
    update(meta, name="S", num_replicas=1)
    assert len(meta.state.of_account("A")[0].peers) == 1
    with pytest.raises(ApiError) as refused:
        create(meta, name="T", num_replicas=6)
    assert refused.value.err_code == 10052


def test_alone_there_are_no_replicas() -> None:
    with pytest.raises(ApiError) as refused:
        check_update(StreamConfig(name="S"), StreamConfig(name="S", num_replicas=3), ValidationContext())
    assert refused.value.err_code == 10074


def test_an_equal_request_finds_the_stream() -> None:
    meta = MetaFixture()
    create(meta, name="S", num_replicas=3)
    assert [type(effect).__name__ for effect in create(meta, name="S", num_replicas=3)] == ["AlreadyExists"]


def test_two_mirrors_of_each_other_do_not_come_to_be() -> None:
    """Each was validated before the other was there; the log lets only one of them in."""
    meta = MetaFixture()
    create(meta, name="A", subjects=["a"])
    first = create_command(meta, name="M1", sources=[{"name": "M2"}])
    second = create_command(meta, name="M2", sources=[{"name": "M1"}])
    assert isinstance(meta.put(first)[0], StreamCreated)
    assert meta.put(second) == [StaleCommand("stream M1")]
    with pytest.raises(ApiError, match="detected cycle"):
        create_command(meta, name="M2", sources=[{"name": "M1"}])


def test_a_late_overlap_is_refused_by_the_log() -> None:
    meta = MetaFixture()
    first, second = (
        create_command(meta, name="S", subjects=["a.*"]),
        create_command(meta, name="T", subjects=["a.b"]),
    )
    meta.put(first)
    [effect] = meta.put(second)
    assert isinstance(effect, CommandRejected) and effect.error.err_code == 10065
