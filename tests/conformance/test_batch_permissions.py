"""Permissions of what comes in one read: one plan serves many acks or direct gets, and each is still checked.

The denied ones stand among hundreds of allowed ones. A check of the first of a run, or of one subject on
behalf of all that share a plan, would let them pass.
"""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.leaf_wire import LeafWire
from lib.process import ServerProcess
from lib.wire import Msg, Wire

COUNT = 240
DENIED = (7, 60, 61, 100, 239)
RULES = ("deny", "allow", "both")
ALLOWED = [number for number in range(1, COUNT + 1) if number not in DENIED]
GET, ACK = "$JS.API.DIRECT.GET.{stream}.{stream}.{number}", "$JS.ACK.{stream}.C.1.{number}.{number}.1.0"
IMPORTED_GET = "get.{stream}.{stream}.{number}"
MAPPED_GET, MAPPED_ACK = "map.get.{stream}.{number}", "map.ack.{stream}.{number}"
# What is checked in an account that has the streams, in one that imports them, and in one that maps subjects.
OF = {"A": (GET, ACK), "B": (IMPORTED_GET, ACK), "M": (GET, ACK)}
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream {{ store_dir: "<store>", max_mem: 100MB, max_file: 100MB }}
accounts {{
  SYS {{ users: [{{ user: SYS, password: p }}] }}
  A {{
    jetstream: enabled
    exports: [
      {{ service: "$JS.API.DIRECT.GET.>" }}
      {{ service: "$JS.ACK.>" }}
    ]
    users: [ {{ user: A, password: p }}, {users_A} ]
  }}
  B {{
    imports: [
      {{ service: {{ account: A, subject: "$JS.API.DIRECT.GET.>" }}, to: "get.>" }}
      {{ service: {{ account: A, subject: "$JS.ACK.>" }} }}
    ]
    users: [ {{ user: B, password: p }}, {users_B} ]
  }}
  M {{
    jetstream: enabled
    mappings: {{
      "map.get.*.*": "$JS.API.DIRECT.GET.$1.$1.$2"
      "map.ack.*.*": "$JS.ACK.$1.C.1.$2.$2.1.0"
    }}
    users: [ {{ user: M, password: p }}, {users_M} ]
  }}
}}
system_account: SYS
leafnodes {{ listen: 127.0.0.1:<leaf> }}
"""


def listed(template: str, numbers: Iterable[int] = DENIED) -> list[str]:
    """The subjects with these numbers, in any stream."""
    return [template.format(stream="*", number=number) for number in numbers]


def rights(account: str, rule: str) -> str:
    """What a user may publish.

    rule: `deny` has what it may not, `allow` each that it may, which is many, and `both` few patterns.
    """
    get, ack = OF[account]
    denied = f"deny: {listed(get) + listed(ack)}"
    if rule == "deny":
        return denied
    if rule == "both":
        wide = [each.format(stream="*", number="*") for each in (get, ack)]
        return f"allow: {wide}, {denied}"
    return f"allow: {listed(get, ALLOWED) + listed(ack, ALLOWED)}"


def user(name: str, publish: str) -> str:
    return f"{{ user: {name}, password: p, permissions: {{ publish: {{ {publish} }} }} }}"


def config(*, changed: bool = False) -> str:
    """The users of each account: one without restrictions, some with, and one with them when changed."""
    users = {}
    for name in OF:
        restricted = [user(f"{name}_{rule}", rights(name, rule)) for rule in RULES]
        free = f"{{ user: {name}_changed, password: p }}"
        changes = user(f"{name}_changed", rights(name, "deny")) if changed else free
        users[f"users_{name}"] = ", ".join([*restricted, changes])
    return CONFIG.format(**users).replace("'", '"')


Login = Callable[[str], Wire]


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(config())


@pytest.fixture
def login(server: ServerProcess) -> Login:
    return lambda name: server.connect(**{"user": name, "pass": "p"})


@pytest.fixture(params=sorted(OF))
def account(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def owner(account: str, login: Login, unique: str) -> Iterator[JetStream]:
    """The API of the account that has the streams: one to get from, one whose acks remove messages."""
    with JetStream(login("A" if account == "B" else account)) as js:
        fill(js, unique)
        yield js


def fill(js: JetStream, unique: str) -> None:
    js.create(f"G{unique}", subjects=[f"G{unique}.*"], allow_direct=True)
    js.create(f"W{unique}", subjects=[f"W{unique}"], retention="workqueue", allow_direct=True)
    js.consumer(f"W{unique}", "C", max_ack_pending=2 * COUNT)
    for number in range(1, COUNT + 1):
        js.wire.pub(f"G{unique}.{number}", str(number))
        js.wire.pub(f"W{unique}", str(number))
    messages, _ = js.pull(f"W{unique}", "C", COUNT)
    assert len(messages) == COUNT


@dataclass(frozen=True)
class Frame:
    """One get or ack: the subject that a client sends it to, and the one that is checked."""

    number: int
    sent: str
    checked: str
    reply: str = ""

    def __str__(self) -> str:
        return f"PUB {self.sent} {self.reply} 0\r\n\r\n"


def gets(account: str, unique: str) -> list[Frame]:
    frames = []
    for number in range(1, COUNT + 1):
        given = {"stream": f"G{unique}", "number": number}
        checked = OF[account][0].format(**given)
        sent = MAPPED_GET.format(**given) if account == "M" and number % 3 else checked
        frames.append(Frame(number, sent, checked, f"{unique}_in.{number}"))
    return frames


def acks(account: str, unique: str) -> list[Frame]:
    frames = []
    for number in range(1, COUNT + 1):
        given = {"stream": f"W{unique}", "number": number}
        checked = OF[account][1].format(**given)
        sent = MAPPED_ACK.format(**given) if account == "M" and number % 3 else checked
        frames.append(Frame(number, sent, checked))
    return frames


def in_runs(account: str, unique: str) -> list[Frame]:
    """Runs of gets and of acks, then one of each in turn."""
    first, second = gets(account, unique), acks(account, unique)
    half, tenth = COUNT // 2, COUNT // 10
    mixed = []
    for start in range(0, half, tenth):
        mixed += first[start : start + tenth] + second[start : start + tenth]
    for pair in zip(first[half:], second[half:], strict=True):
        mixed += pair
    return mixed


def together(frames: list[Frame]) -> str:
    return "".join(map(str, frames))


def answered(wire: Wire, count: int) -> tuple[list[int], list[bytes]]:
    """The numbers that were answered, until there are `count` and nothing more comes; and the errors."""
    received: list[Msg | bytes] = []
    while sum(isinstance(frame, Msg) for frame in received) < count:
        received.append(wire.next())
    received += wire.sync()
    numbers = [int(frame.body) for frame in received if isinstance(frame, Msg)]
    return numbers, [frame for frame in received if isinstance(frame, bytes)]


def violation(frame: Frame) -> bytes:
    return f"-ERR 'Permissions Violation for Publish to \"{frame.checked}\"'".encode()


def denials(frames: list[Frame]) -> list[bytes]:
    return [violation(frame) for frame in frames if frame.number in DENIED]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("known", [False, True])
def test_each_of_one_read_is_checked(
    owner: JetStream, login: Login, account: str, unique: str, rule: str, known: bool
) -> None:
    """known: whether a user who may do anything has used the same subjects before."""
    if known:
        with login(account) as other:
            other.sub(f"{unique}_in.*")
            other.send(together(gets(account, unique) + acks(account, unique)[:2]))
            assert answered(other, COUNT) == (list(range(1, COUNT + 1)), [])
    frames = in_runs(account, unique)
    with login(f"{account}_{rule}") as wire:
        wire.sub(f"{unique}_in.*")
        wire.send(together(frames))
        assert answered(wire, len(ALLOWED)) == (ALLOWED, denials(frames))
    only_denied_acks_are_left(owner, unique)


def only_denied_acks_are_left(owner: JetStream, unique: str) -> None:
    owner.left(f"W{unique}", len(DENIED))
    assert sorted(owner.stored(f"W{unique}")) == list(DENIED)
    assert owner.consumer_info(f"W{unique}", "C")["num_ack_pending"] == len(DENIED)


@pytest.mark.parametrize("account", ["A", "M"], indirect=True)
def test_a_reload_denies_what_comes_next(
    launch: Callable[[str], ServerProcess], account: str, unique: str
) -> None:
    server = launch(config())
    with JetStream(server.connect(**{"user": account, "pass": "p"})) as js:
        fill(js, unique)
        with server.connect(**{"user": f"{account}_changed", "pass": "p"}) as wire:
            wire.sub(f"{unique}_in.*")
            wire.send(together(gets(account, unique) + acks(account, unique)[:2]))
            assert answered(wire, COUNT) == (list(range(1, COUNT + 1)), [])
            server.configure(config(changed=True))
            server.signal(signal.SIGHUP)
            eventually(lambda: "Reloaded server configuration" in server.log())
            frames = in_runs(account, unique)
            wire.send(together(frames))
            assert answered(wire, len(ALLOWED)) == (ALLOWED, denials(frames))
        only_denied_acks_are_left(js, unique)


def test_a_leaf_is_refused_the_first_that_is_denied(server: ServerProcess, login: Login, unique: str) -> None:
    with JetStream(login("A")) as js:
        fill(js, unique)
    wire = LeafWire(socket.create_connection(("127.0.0.1", server.ports["leaf"])))
    with closing(wire):
        wire.until("INFO ")
        fields = {"user": "A_deny", "pass": "p", "name": unique, "cluster": unique, "remote_account": "X"}
        wire.send("CONNECT " + json.dumps(fields | {"version": "2.15.1", "headers": True}) + "\r\n")
        wire.send(f"LS+ {unique}_in.*\r\n")
        wire.lines_until_pong()
        frames = gets("A", unique)
        wire.send("".join(f"LMSG {frame.sent} {frame.reply} 0\r\n\r\n" for frame in frames))
        lines = wire.ends()
    answered_to = [int(line.split()[1].rpartition(".")[2]) for line in lines if line.startswith("HMSG ")]
    assert [line for line in lines if line.startswith("-ERR")] == [violation(frames[DENIED[0] - 1]).decode()]
    assert answered_to == list(range(1, DENIED[0]))[: len(answered_to)]
