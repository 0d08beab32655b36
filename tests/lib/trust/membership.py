"""Changes of members while some of them cannot be reached."""

from __future__ import annotations

from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream

from .scenario import Fault, Story
from .site import is_led
from .values import BUCKET, JOBS, STREAM

CHANGE_SECONDS = 90.0


def members(story: Story, number: int) -> Fault:
    """Play one of the changes below, by turns."""
    play = [scale, crash_in_change, emptied, peer_remove, recreated, wiped_first][(number - 1) % 6]
    story.tell(play.__name__)
    yield from play(story)


def ask(story: Story, suffix: str, body: object = b"") -> None:
    """Ask once for a change, whatever the result: during a partition nobody may answer."""
    server = story.dice.choice(story.site.alive())
    try:
        story.site.try_call(server, suffix, body)
        said = "done"
    except (ApiFailureError, OSError, EOFError) as error:
        said = f"{type(error).__name__}: {error}"
    story.tell(f"{suffix} through {server.name}: {said}")


def replicas(story: Story, count: int) -> None:
    """Scale the stream, and wait until that is done."""

    def scaled() -> bool:
        try:
            info = story.site.call(f"STREAM.INFO.{STREAM}")
            config = info["config"] | {"num_replicas": count}
            if info["config"]["num_replicas"] != count:
                story.site.try_call(story.dice.choice(story.site.alive()), f"STREAM.UPDATE.{STREAM}", config)
        except (ApiFailureError, OSError, EOFError):
            return False
        others = info["cluster"].get("replicas") or []
        return len(others) == count - 1 and all(other["current"] for other in others)

    eventually(scaled, CHANGE_SECONDS)


def cut_one(story: Story) -> str:
    """Cut one server off, but not the meta leader, which must make the changes."""
    leader = story.site.leader()
    name = story.dice.choice([server.name for server in story.site.servers if server.name != leader])
    others = [server.name for server in story.site.servers if server.name != name]
    story.site.part([name], others, breaks=story.dice.random() < 0.5)
    story.tell(f"{name} is cut off, {leader} leads")
    return name


def scale(story: Story) -> Fault:
    """Scale down to one and up again, or to five and back, requested while one server is cut off."""
    story.whole()
    cut_one(story)
    yield story.some(0.5, 2)
    count = story.dice.choice([1, 1, story.size])
    config = story.site.call(f"STREAM.INFO.{STREAM}", through=None)["config"]
    ask(story, f"STREAM.UPDATE.{STREAM}", config | {"num_replicas": count})
    yield story.some(1, 4)
    story.site.switch.heal()
    replicas(story, count)
    yield story.some(0, 2)
    replicas(story, story.replicas)


def crash_in_change(story: Story) -> Fault:
    """Scale down to one and up again; servers lose their power meanwhile."""
    story.whole()
    for count in (1, story.replicas):
        config = story.site.call(f"STREAM.INFO.{STREAM}")["config"] | {"num_replicas": count}
        ask(story, f"STREAM.UPDATE.{STREAM}", config)
        yield story.some(0, 1.5)
        victims = story.pick(story.dice.choice([1, story.size]))
        story.tell(f"power {[victim.name for victim in victims]}")
        for victim in victims:
            victim.kill()
        for victim in victims:
            if story.site.faulty:
                story.site.cut_power(victim)
        story.site.launch(victims)
        replicas(story, count)


def peer_remove(story: Story) -> Fault:
    """Remove a member from the stream while one server is cut off."""
    story.whole()
    cut_one(story)
    yield story.some(0.5, 2)
    info = story.site.call(f"STREAM.INFO.{STREAM}")["cluster"]
    gone = story.dice.choice([info.get("leader", ""), *[other["name"] for other in info["replicas"]]])
    ask(story, f"STREAM.PEER.REMOVE.{STREAM}", {"peer": gone})
    yield story.some(1, 4)
    story.site.switch.heal()
    replicas(story, story.replicas)


def emptied(story: Story) -> Fault:
    """Remove a server that died and bring it back with an empty disk; another one is cut off for a while."""
    story.whole()
    cut = cut_one(story) if story.dice.random() < 0.5 else ""
    leader = story.site.leader()
    victim = story.site[story.dice.choice([n for n in story.site.names if n not in (cut, leader)])]
    story.tell(f"{victim.name} loses its disk")
    victim.kill()
    yield story.some(0.5, 2)
    if story.dice.random() < 0.5:
        _remove_server(story, victim.name, cut)
    yield story.some(1, 3)
    story.site.switch.heal()
    story.site.wipe(victim)
    victim.launch()
    replicas(story, story.replicas)
    story.whole()


def wiped_first(story: Story) -> Fault:
    """Kill all; a minority with empty disks comes back first, alone with one that is whole.

    It is a minority of each stream's servers, too: without most of its copies nobody can say what was
    acknowledged. Of ten pairs of servers three streams rule out nine at most.
    """
    story.whole()
    held = [set(story.site.members(stream)) for stream in (STREAM, JOBS, BUCKET)]
    servers = story.pick(story.size)
    count = story.minority
    while any(len(names & {server.name for server in servers[:count]}) > 1 for names in held):
        servers = story.pick(story.size)
    for server in servers:
        server.kill()
    wiped, one, rest = servers[:count], servers[count], servers[count + 1 :]
    story.tell(f"{[server.name for server in wiped]} are empty, and back first with {one.name}")
    for server in wiped:
        story.site.wipe(server)
        server.launch()
    yield story.some(0, 2)
    one.launch()
    yield story.some(2, 6)
    for server in rest:
        server.launch()
    replicas(story, story.replicas)
    story.whole()


def recreated(story: Story) -> Fault:
    """Delete another stream and make it again while a server is down: the old one must not come back."""
    name = "AGAIN"
    config = {"name": name, "subjects": [f"{name}.>"], "num_replicas": story.replicas}
    story.site.call(f"STREAM.CREATE.{name}", config)
    for number in range(3):
        _publish(story, f"{name}.old", f"old {number}")
    victim = story.dice.choice(story.site.servers)
    victim.kill()
    yield story.some(0, 1)
    story.site.call(f"STREAM.DELETE.{name}", seconds=CHANGE_SECONDS)
    kept = story.dice.random() < 0.5
    story.tell(f"{name} is deleted while {victim.name} is down" + (", and made again" if kept else ""))
    if kept:
        story.site.call(f"STREAM.CREATE.{name}", config)
        _publish(story, f"{name}.new", "new")
    victim.launch()
    story.whole()
    if not kept:
        for server in story.site.servers:
            listed = story.site.call("STREAM.NAMES", through=server)["streams"]
            assert name not in listed, f"{server.name} lists the stream that was deleted while it was down"
        return
    for member in story.site.members(name):
        story.site.lead(name, member)
        state = story.site.call(f"STREAM.INFO.{name}", fits=is_led)["state"]
        assert state["messages"] == state["last_seq"] == 1, f"{name} led by {member}: {state}"
    story.site.call(f"STREAM.DELETE.{name}")


def _publish(story: Story, subject: str, text: str) -> None:
    """Publish one message, which is acknowledged."""

    def acked() -> bool:
        try:
            with story.site.wire(story.dice.choice(story.site.alive())) as wire:
                answer = wire.request(subject, text, {"Nats-Msg-Id": text})
        except (OSError, EOFError):
            return False
        return not answer.status and "seq" in answer.json()

    eventually(acked, CHANGE_SECONDS)


def _remove_server(story: Story, name: str, cut: str) -> None:
    for server in story.site.alive():
        if server.name == cut:
            continue
        try:
            with server.connect(user="admin", **{"pass": "admin"}) as wire:
                answer = JetStream(wire).raw("SERVER.REMOVE", {"peer": name})
        except (OSError, EOFError) as error:
            story.tell(f"SERVER.REMOVE {name} through {server.name}: {error!r}")
            continue
        story.tell(f"SERVER.REMOVE {name} through {server.name}: {answer.body.decode()[:200]}")
        return
