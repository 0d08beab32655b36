"""Chapter 7: a mirror and a pull consumer in another account."""

from __future__ import annotations

import asyncio
import re

from ..client import connected
from ..stage import wait_until
from . import answers
from .copies import AGGREGATE
from .ground import UNLIMITED
from .player import Player
from .report import Copy
from .topology import HUB, MEMBERS

IMPORTER = "pyjs --context=hub --creds keys/creds/OP/IMPORTER/iuser.creds"
PUSHES = 3  # nsc waits a second for answers, which may be too short for nine servers on a busy machine
FETCH_SECONDS = 10.0


def across(player: Player) -> None:
    """Chapter 7: push exports and imports, and use a mirror and a consumer through them."""
    stage = player.stage
    _nsc(
        player,
        "add account -n IMPORTER",
        f"edit account --name IMPORTER {UNLIMITED}",
        "add user --account IMPORTER -n iuser",
        "add export --account TEST --name Consumer-API --service --response-type Stream"
        " --subject '$JS.hub.API.CONSUMER.>'",
        "add import --account IMPORTER --src-account TEST --name Remote-Consumer-API --service"
        " --remote-subject '$JS.hub.API.CONSUMER.>' --local-subject 'JS.test@hub.API.CONSUMER.>'",
        "add export --account TEST --name Data-Path --response-type Stream --subject 'deliver.>'",
        "add import --account IMPORTER --src-account TEST --name Remote-Data-Path"
        " --remote-subject 'deliver.importer.>'",
    )
    push(player, "IMPORTER", "SYS", "TEST")
    diagram(player, "account-component-diagram-cross", "IMPORTER", "SYS", "TEST")
    player.add(
        f"{IMPORTER} s add crossacc --mirror aggregate --replicas 3",
        "crossacc",
        HUB,
        answers.mirror_of_account("JS.test@hub.API", "deliver.importer.crossacc"),
    )
    player.report(
        "The mirror in the other account has all messages from before",
        f"pyjs --context=hub s report --creds {IMPORTER.rpartition(' ')[2]}",
        HUB,
        {"crossacc": AGGREGATE[70]},
        Copy("hub", "crossacc", "Mirror", "JS.test@hub.API", "aggregate"),
    )
    stage.say(
        "A durable pull consumer can be shared as well. The exports from before make room for narrower ones."
    )
    _nsc(
        player,
        "delete export --account TEST --subject '$JS.hub.API.CONSUMER.>'",
        "delete import --account IMPORTER --subject '$JS.hub.API.CONSUMER.>'",
        "add export --account TEST --name Next-API --service --response-type Stream"
        " --subject '$JS.hub.API.CONSUMER.MSG.NEXT.aggregate.DUR'",
        "add import --account IMPORTER --name Remote-Next-API --src-account TEST"
        " --remote-subject '$JS.hub.API.CONSUMER.MSG.NEXT.aggregate.DUR'"
        " --local-subject 'from.test.API.CONSUMER.MSG.NEXT.aggregate.DUR' --service",
        "add export --account TEST --name Ack-API --service --response-type Stream"
        " --subject '$JS.ACK.aggregate.DUR.>'",
        "add import --account IMPORTER --name Remote-Ack-API --src-account TEST"
        " --remote-subject '$JS.ACK.aggregate.DUR.>' --service",
    )
    push(player, "IMPORTER", "SYS", "TEST")
    _consume(player)


def _consume(player: Player) -> None:
    stage = player.stage
    text = stage.run("pyjs --context=hub c add aggregate DUR --pull --deliver all", answers=answers.CONSUMER)
    stage.claim(
        "The consumer DUR has all 70 messages before it, and as many replicas as its stream",
        _field(text, "Unprocessed Messages") == "70" and sorted(_members(text)) == HUB.servers,
        f"unprocessed {_field(text, 'Unprocessed Messages')}; on {', '.join(sorted(_members(text)))}",
    )
    text = stage.run(f"{IMPORTER} consumer next aggregate DUR --js-api-prefix=from.test.API")
    place = re.search(r"cons seq: (\d+) / str seq: (\d+) / pending: (\d+)", text)
    stage.claim(
        "The other account gets the first message, with where it was first stored, and acknowledges it",
        place is not None
        and place.groups() == ("1", "1", "69")
        and "Nats-Stream-Source: test:" in text
        and "hello world" in text
        and "Acknowledged message" in text,
        place[0] if place else "no message",
    )
    stage.say("The same from a program: nats-py with the prefix from.test.API, bound to the consumer.")
    creds = str(stage.directory / IMPORTER.rpartition(" ")[2])
    lines = asyncio.run(_fetched(player.topology.urls(HUB.members).split(","), creds, 69))
    stage.output("\n".join([*lines[:2], "...", *lines[-2:]]))
    stage.claim(
        "The program receives the other 69, in order, from the durable consumer of another account",
        lines == [_line(sequence) for sequence in range(2, 71)],
        f"{len(lines)} messages",
    )
    info = "pyjs --context=hub c info aggregate DUR"
    wait_until(lambda: _field(stage.output_of(info).text, "Outstanding Acks").startswith("0 "))
    text = stage.run(info)
    stage.claim(
        "All 70 are acknowledged through the import",
        _field(text, "Unprocessed Messages") == "0"
        and _field(text, "Acknowledgment floor").startswith("Consumer sequence: 70 Stream sequence: 70"),
        f"acknowledgment floor {_field(text, 'Acknowledgment floor')}",
    )


def _line(sequence: int) -> str:
    return f"consumer {sequence}, stream {sequence}, pending {70 - sequence}: hello world"


async def _fetched(urls: list[str], credentials: str, count: int) -> list[str]:
    client = await connected(urls, user_credentials=credentials)
    try:
        bound = await client.jetstream(prefix="from.test.API").pull_subscribe_bind("DUR", "aggregate")
        lines: list[str] = []
        while len(lines) < count:
            for message in await bound.fetch(min(10, count - len(lines)), timeout=FETCH_SECONDS):
                await message.ack()
                at = message.metadata
                lines.append(
                    f"consumer {at.sequence.consumer}, stream {at.sequence.stream}, "
                    f"pending {at.num_pending}: {message.data.decode()}"
                )
        await client.flush()
        return lines
    finally:
        await client.close()


def _field(text: str, name: str) -> str:
    found = re.search(rf"(?m)^ +{name}: (.*)$", text)
    return found[1].strip() if found else ""


def _members(text: str) -> list[str]:
    return re.findall(r"(?m)^ +(?:Leader|Replica): (srv-\d+)", text)


def _nsc(player: Player, *lines: str) -> None:
    for line in lines:
        player.stage.run(f"pyjs nsc {line}")


def push(player: Player, *accounts: str) -> None:
    """Push all accounts and claim that every server has accepted each of them."""
    names = {member.name for member in MEMBERS}
    for _ in range(PUSHES):
        text = player.stage.run("pyjs nsc push -A")
        taken = {
            account: set(re.findall(rf'pushed "{account}" to nats-server (\S+): jwt updated', text))
            for account in accounts
        }
        if "[WARN]" not in text:
            break
        player.stage.notice("Not all servers answered within a second. Once more.")
    player.stage.claim(
        f"nsc push reaches all nine servers with {', '.join(accounts)}",
        all(servers == names for servers in taken.values())
        and text.count("pushed to a total of 9 nats-server") == len(accounts),
        ", ".join(f"{account} {len(servers)}" for account, servers in taken.items()),
    )


def diagram(player: Player, name: str, *accounts: str) -> None:
    """Draw the accounts' exports and imports and claim that the picture has all accounts."""
    stage = player.stage
    stage.run(f"pyjs nsc generate diagram component --detail --output-file {name}.uml --svg {name}.svg")
    uml, svg = ((stage.directory / f"{name}.{kind}").read_text() for kind in ("uml", "svg"))
    words = set(re.findall(r"\b[A-Z]+\b", svg))
    stage.claim(
        "The diagram shows each account with its exports and imports",
        uml.startswith("@startuml") and set(accounts) <= words,
        f"{name}.svg with {', '.join(account for account in accounts if account in words)}",
    )
