"""Any commands leave equal states on all servers, by log or by snapshot, and never an inconsistent one."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from lib.examples import seeds
from lib.meta_fixture import MetaFixture, check, config, server
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.apply import apply
from pyjs.server.jetstream.meta.command import (
    ChangePeers,
    Command,
    CreateStream,
    DeleteConsumer,
    DeleteStream,
    GroupStarted,
    PeerMove,
    PeersConfirmed,
    PreferLeader,
    PurgeAccount,
    PutConsumer,
    PutServer,
    RemoveServer,
    ReplaceServer,
    UpdateStream,
)
from pyjs.server.jetstream.meta.effect import CommandRejected, Effect, StaleCommand
from pyjs.server.jetstream.meta.node_info import NodeStatus
from pyjs.server.jetstream.meta.snapshot import MetaSnapshotError, restore, take
from pyjs.server.jetstream.meta.state import MetaState
from pyjs.server.jetstream.meta.tier_limits import TierLimits

PLAYED = 18  # seeds; the rarest effect is in the 17th
TIER_LIMITS = [
    TierLimits(),
    TierLimits(max_streams=2),
    TierLimits("R3", max_streams=1),
    TierLimits(max_consumers=2),
    TierLimits(max_store=100),
]


def any_config(random: Random) -> dict[str, object]:
    subjects = random.sample(["a.>", "a.b", "*.c", "d", "e.*", "f"], random.randint(0, 3))
    return config(
        random.choice("STUV"),
        random.choice([1, 1, 2, 3, 5]),
        subjects=subjects,
        max_bytes=random.choice([-1, 10, 50]),
        consumer_limits={"max_ack_pending": random.choice([0, 5, 50])},
        storage=random.choice(["file", "memory"]),
        **({"placement": {"cluster": random.choice("CD")}} if random.random() < 0.3 else {}),
    )


def any_reads(meta: MetaFixture, random: Random) -> dict[tuple[str, str, str], int]:
    """Mostly true ones."""
    read = (random.choice(["stream", "consumers"]), random.choice("STUV"), "")
    return {read: meta.state.revision(random.choice("AB"), read)} if random.random() < 0.7 else {}


def wild(meta: MetaFixture, random: Random) -> Command:
    """A command that nobody thought about: what a late or mistaken leader may have left in the log."""
    account, name = random.choice("AB"), random.choice("STUV")
    ids = [*meta.state.servers, server(random.randint(1, 9), random.choice("123")).id]
    peers = tuple(random.choice(ids) for _ in range(random.randint(0, 5)))
    group = random.choice(["", f"G{random.randint(0, 5)}"])
    stream = meta.state.stream(account, name)
    revision = stream.revision if stream is not None and random.random() < 0.7 else 5
    tier_limits, reads = random.choice(TIER_LIMITS), any_reads(meta, random)
    someone = server(random.randint(1, 9), random.choice("123"), cluster=random.choice("CD"))
    joins: Command = PutServer(someone) if random.random() < 0.5 else ReplaceServer(someone)
    move = PeerMove(account, name, peers, group, revision)
    consumer = {
        "durable_name": random.choice("xyz"),
        "max_ack_pending": random.randint(0, 60),
        "num_replicas": 0,
    }
    return random.choice(
        [
            CreateStream(
                account, any_config(random), group or "G", "C", peers, 5, peers[0] if peers else "x"
            ),
            UpdateStream(
                account,
                any_config(random),
                tier_limits,
                reads,
                {},
                peers,
                group,
                "C",
                "x",
                random.choice(["scale", "move"]),
            ),
            ChangePeers(move),
            RemoveServer(random.choice(ids), (move,)),
            joins,
            PeersConfirmed(account, name, stream.placed if stream else 0),
            GroupStarted(account, name, stream.placed if stream else 0, peers or tuple(ids[:3])),
            PreferLeader(account, name, random.choice(ids)),
            DeleteStream(account, name),
            PutConsumer(account, name, random.choice("xyz"), consumer, 5, "", {}, tier_limits, reads),
            DeleteConsumer(account, name, random.choice("xyz")),
            PurgeAccount("B"),
        ]
    )


def sensible(meta: MetaFixture, random: Random) -> Command | None:
    """What a leader would propose just now."""
    account, name, planner = random.choice("AB"), random.choice("STUV"), meta.planner
    view, tier_limits = meta.state.view(account), random.choice(TIER_LIMITS)
    stream = meta.state.stream(account, name)
    for one in meta.state.servers:
        meta.node_statuses[one] = NodeStatus(online=random.random() < 0.85)
    kind = random.randrange(10)
    if kind <= 2:
        return planner.create_stream(view, any_config(random), meta.requester, len(meta.log), tier_limits)
    if kind == 3:
        return planner.update_stream(view, any_config(random), meta.requester, tier_limits)
    if kind == 4 and stream is not None:
        return planner.remove_peer(account, name, random.choice(stream.peers))
    if kind == 5 and len(meta.state.servers) > 4:
        return planner.remove_server(peer=random.choice(list(meta.state.servers)))
    if kind == 6:
        return planner.admit(server(random.randint(1, 9), random.choice("123"), cluster=random.choice("CCD")))
    if kind == 7:
        healing = planner.heal()
        return random.choice(healing) if healing else None
    if kind == 8 and stream is not None:
        return PeersConfirmed(account, name, stream.placed)
    wanted = {"durable_name": random.choice("xyz"), "max_ack_pending": random.randint(0, 60)}
    return planner.put_consumer(view, name, wanted, meta.requester, len(meta.log), tier_limits=tier_limits)


def play(seed: int, *, wildness: float, steps: int = 150) -> tuple[MetaFixture, list[list[Effect]]]:
    random = Random(seed)
    meta = MetaFixture(5, seed=seed)
    outcomes: list[list[Effect]] = [[]] * len(meta.log)
    for _ in range(steps):
        command: Command | None
        if random.random() < wildness:
            command = wild(meta, random)
        else:
            try:
                command = sensible(meta, random)
            except ApiError:
                continue
        if command is not None:
            outcomes.append(meta.put(command))
            check(meta.state)
    return meta, outcomes


@pytest.mark.parametrize("wildness", [0.0, 0.3, 1.0])
@seeds(PLAYED)
def test_replicas_agree_and_nothing_breaks(seed: int, wildness: float) -> None:
    meta, outcomes = play(seed, wildness=wildness)
    other, halfway = MetaState(), len(meta.log) // 2
    late = MetaState()
    for index, entry in enumerate(meta.log, 1):
        effects = apply(other, index, entry)
        assert index <= 5 or effects == outcomes[index - 1]
        if index == halfway:
            late = restore(take(other))
            assert late == other
        elif index > halfway:
            assert apply(late, index, entry) == effects
            assert apply(late, index, entry) == []
    assert take(meta.state) == take(other) == take(late)
    assert late == other == meta.state


def test_the_random_commands_reach_everything() -> None:
    """The sequences above are no empty promise: every effect and the common refusals are among them."""
    made: set[str] = set()
    errors: set[int] = set()
    for seed in range(PLAYED):
        for wildness in (0.0, 0.3, 1.0):
            for effects in play(seed, wildness=wildness)[1]:
                made |= {type(effect).__name__ for effect in effects}
                errors |= {effect.error.err_code for effect in effects if isinstance(effect, CommandRejected)}
    assert made == {kind.__name__ for kind in get_args(Effect)}
    assert errors >= {10005, 10014, 10026, 10027, 10040, 10044, 10047, 10058, 10059, 10065, 10069}


def test_a_sensible_leader_is_seldom_refused() -> None:
    """What the planner proposes is refused only for limits and consumers, which it leaves to the log."""
    for seed in range(10):
        for effects in play(seed, wildness=0.0)[1]:
            for effect in effects:
                assert not isinstance(effect, StaleCommand)
                if isinstance(effect, CommandRejected):
                    assert effect.error.err_code in {10026, 10027, 10047, 10065, 10069}


@pytest.mark.parametrize(
    "data", [b"", b"\x02{}", b"\x01", b"\x01[]", b"\x01{}", b'\x01{"index":1,"servers":[{}]}']
)
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(MetaSnapshotError):
        restore(data)


def test_a_snapshot_keeps_every_letter() -> None:
    meta = MetaFixture()
    meta.create(description="ü \udce4 €")
    meta.consume(metadata={"k": "v"})
    assert restore(take(meta.state)) == meta.state
