"""Changes of members while some of them cannot be reached."""

from __future__ import annotations

from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream

from .story import Fault, Story
from .values import STREAM

CHANGE_SECONDS = 90.0


def members(story: Story, number: int) -> Fault:
    """By turns: scale down and up, remove a peer, empty a server; each while one server is cut off."""
    play = [scale, peer_remove, emptied][(number - 1) % 3]
    yield from play(story)


def ask(story: Story, suffix: str, body: object = b"") -> None:
    """Ask once for a change, whatever comes of it: under a partition nobody may answer."""
    server = story.dice.choice(story.site.alive())
    try:
        story.site.try_call(server, suffix, body)
        said = "done"
    except (ApiFailureError, OSError, EOFError) as error:
        said = f"{type(error).__name__}: {error}"
    story.tell(f"{suffix} through {server.name}: {said}")


def replicas(story: Story, count: int) -> None:
    """Scale the stream, and wait until it is so."""

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
    """Cut one server off, not the meta leader, which must make the changes."""
    leader = story.site.leader()
    name = story.dice.choice([server.name for server in story.site.servers if server.name != leader])
    others = [server.name for server in story.site.servers if server.name != name]
    story.site.part([name], others, breaks=story.dice.random() < 0.5)
    story.tell(f"{name} is cut off")
    return name


def scale(story: Story) -> Fault:
    """Size → 1 → size, the change asked for while one is cut off."""
    story.whole()
    cut_one(story)
    yield story.some(0.5, 2)
    config = story.site.call(f"STREAM.INFO.{STREAM}", through=None)["config"]
    ask(story, f"STREAM.UPDATE.{STREAM}", config | {"num_replicas": 1})
    yield story.some(1, 4)
    story.site.switch.heal()
    replicas(story, 1)
    yield story.some(0.5, 2)
    replicas(story, story.size)


def peer_remove(story: Story) -> Fault:
    """A server is removed from the stream while one is cut off; then all take part again."""
    story.whole()
    cut_one(story)
    yield story.some(0.5, 2)
    gone = story.dice.choice(story.site.servers).name
    ask(story, f"STREAM.PEER.REMOVE.{STREAM}", {"peer": gone})
    yield story.some(1, 4)
    story.site.switch.heal()
    replicas(story, story.size)


def emptied(story: Story) -> Fault:
    """A server dies and is removed while another is cut off; it returns with an empty disk."""
    story.whole()
    cut = cut_one(story)
    leader = story.site.leader()
    names = [s.name for s in story.site.servers if s.name not in (cut, leader)]
    victim = story.site[story.dice.choice(names or [cut])]
    victim.kill()
    yield story.some(0.5, 2)
    _remove_server(story, victim.name)
    yield story.some(1, 3)
    story.site.switch.heal()
    story.site.wipe(victim)
    victim.launch()
    replicas(story, story.size)


def _remove_server(story: Story, name: str) -> None:
    for server in story.site.alive():
        try:
            with server.connect(user="admin", **{"pass": "admin"}) as wire:
                answer = JetStream(wire).raw("SERVER.REMOVE", {"peer": name})
        except (OSError, EOFError) as error:
            story.tell(f"SERVER.REMOVE {name} through {server.name}: {error!r}")
            continue
        story.tell(f"SERVER.REMOVE {name} through {server.name}: {answer.body.decode()[:200]}")
        return
