"""The video on persistence at the edge runs as shown, on nine servers."""

from __future__ import annotations

import asyncio
import itertools
import random
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import nats
import pytest
from lib import transcript
from lib.cli import Cli
from lib.forked_stage import ForkedStage
from pyjs.cli.errors import ExitCode
from pyjs.plugins.demo.video import ground
from pyjs.plugins.demo.video.player import Player
from pyjs.plugins.demo.video.topology import HUB, SHIFTS, VideoTopology
from rich.console import Console

SCRIPT = Path(__file__).with_name("video.txt")
REMOTE = "keys/creds/OP/EXCACC/exp.creds"
REPLICA = (
    r" +Replica: (srv-\d+), (?:current|outdated), (?:seen 0\.00s ago|not seen)(?:, \d+ operations? behind)?"
)
UNEQUAL = (
    (re.compile(r"\b[AU][A-Z2-7]{55}\b"), "<key>"),
    (re.compile(r"\bLast Seen: (never|0\.00s)"), "Last Seen: 0.00s"),
    # While an origin is away, we say so.
    (re.compile(r"origin is not reachable: nobody answers \S+"), ""),
    # Who leads is not told beforehand, nor how soon a new stream's replicas follow; that they are there, is.
    (
        re.compile(rf" Leader: (srv-\d+)\n{REPLICA}\n{REPLICA}"),
        lambda found: f" Servers: {sorted(found.groups())}",
    ),
    (
        re.compile(r"\bsrv-\d+\*, srv-\d+, srv-\d+|srv-\d+, srv-\d+\*, srv-\d+|srv-\d+, srv-\d+, srv-\d+\*"),
        lambda found: f"one of {sorted(found[0].replace('*', '').split(', '))}",
    ),
)
# What nsc says today and did not say then.
SINCE_2021 = re.compile(r"\[ OK \] changed global max ")
ROW = re.compile(r'│| +\[ OK \] pushed "')
NUMBERS = re.compile(r"[\d.,]+(-beta|[µm]?s| MiB| KiB)?|\d+m\d+s|\d+\.\d+\.\d+\S*")


class Home(Cli):
    """The video's folder: contexts below the home directory, keys below the folder."""

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of a command."""
        home = self.home.parents[1]
        folders = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "NKEYS_PATH": str(self.home / "keys"),
        }
        return super().environment({**folders, **(more or {})})


class Nine:
    """The nine servers, and what happens to them in the video beside the commands."""

    def __init__(self, folder: Path) -> None:
        self.stage = ForkedStage(Console(quiet=True), directory=folder)
        # Not on the ports of the video itself: `pyjs demo video` in another worker tries those first.
        topology = VideoTopology.choose(random.sample(SHIFTS[1:], len(SHIFTS) - 1))
        self.player = Player(self.stage, topology)
        self.cli = Home(folder)
        self.acts: dict[str, Callable[[], None]] = {
            "kill the hub": lambda: self.stage.kill(*HUB.servers),
            "start the hub": self.start_the_hub,
            "pkill nats-server": self.restart,
            f"./main localhost:{4222 + topology.shift} keys/creds/OP/IMPORTER/iuser.creds": self.fetch,
        }

    def steps(self) -> list[transcript.Step]:
        """The script with the ports that are used here."""
        text = re.sub(
            r"\b(127\.0\.0\.1|localhost):(\d+)",
            lambda found: f"{found[1]}:{int(found[2]) + self.player.topology.shift}",
            SCRIPT.read_text("utf-8"),
        )
        return transcript.parse(text)

    def play(self, step: transcript.Step) -> None:
        """Play a step of the script."""
        if step.command in self.acts:
            self.acts[step.command]()
        elif step.expected[:1] and step.expected[0].startswith("pyjs: error: "):
            result = self.cli.run(*step.words)
            assert (result.code, result.err.splitlines()[0]) == (ExitCode.UNAVAILABLE, step.expected[0])
        else:
            transcript.play(self.cli, step, alike)

    def start_the_hub(self) -> None:
        """The three killed servers again, and the leaf connections to them."""
        ground.start(self.player, *HUB.servers)
        assert ground.together(self.player)

    def restart(self) -> None:
        """All nine, with the exchange account among the remotes."""
        topology = self.player.topology
        topology.remotes.append((ground.account_key(self.player, "EXCACC"), REMOTE))
        self.stage.write("leafnode-remotes.cfg", topology.leafnode_remotes())
        self.stage.stop(*self.stage.processes())
        ground.start(self.player)
        assert ground.together(self.player)

    def fetch(self) -> None:
        """The video's program: what is left of 70 messages, through another account."""
        credentials = str(self.cli.home / "keys/creds/OP/IMPORTER/iuser.creds")
        urls = self.player.topology.urls(HUB.members).split(",")
        assert asyncio.run(fetched(urls, credentials, 69)) == [(n, n, 70 - n) for n in range(2, 71)]


async def fetched(urls: list[str], credentials: str, count: int) -> list[tuple[int, int, int]]:
    """Sequence in consumer and stream, and how many are left, of the next messages, each acknowledged."""
    client = await nats.connect(urls, user_credentials=credentials)
    try:
        bound = await client.jetstream(prefix="from.test.API").pull_subscribe_bind("DUR", "aggregate")
        found: list[tuple[int, int, int]] = []
        while len(found) < count:
            for message in await bound.fetch(min(20, count - len(found)), timeout=10):
                assert message.data == b"hello world"
                await message.ack()
                at = message.metadata
                found.append((at.sequence.consumer, at.sequence.stream, at.num_pending))
        return found
    finally:
        await client.close()


def alike(lines: list[str]) -> list[str]:
    """Lines without what may differ; rows of tables and the answers of servers in one order."""
    text = "\n".join(transcript.normal(lines))
    for pattern, stand_in in UNEQUAL:
        text = pattern.sub(stand_in, text)
    if "Server Overview" in text:
        text = "\n".join(map(unnumbered, text.splitlines()))
    kept = [narrow(line) for line in text.splitlines() if not SINCE_2021.match(line)]
    found: list[str] = []
    for in_any_order, run in itertools.groupby(kept, lambda line: bool(ROW.match(line))):
        together = list(run)
        found += sorted(together) if in_any_order else together
    return found


def narrow(line: str) -> str:
    """A line of a table without what its columns' widths bring."""
    return re.sub("─+", "─", re.sub(" +", " ", line)) if line[:1] in tuple("╭│├╰") else line


def unnumbered(line: str) -> str:
    """A row of the server list without its measures; its version, connections and times go, too."""
    cells = line.split("│")
    if len(cells) < 6:
        return line
    kept = {1, 2, 3, 5} if len(cells) > 10 else {1, 2, 3, 4}
    return "│".join(
        cell if n in kept or not NUMBERS.fullmatch(cell.strip()) else "" for n, cell in enumerate(cells)
    )


@pytest.fixture
def nine(tmp_path: Path) -> Iterator[Nine]:
    """Nine pyjs servers, ready."""
    folder = tmp_path / "test" / "jetstream-leaf-nodes-demo"
    folder.mkdir(parents=True)
    found = Nine(folder)
    try:
        ground.setup(found.player)
        yield found
    finally:
        found.stage.close()


@pytest.mark.timeout(300)
def test_every_command_of_the_video_prints_what_the_video_prints(nine: Nine) -> None:
    for step in nine.steps():
        nine.play(step)
    for name in ("cross", "through"):
        assert "IMPORTER" in (nine.cli.home / f"account-component-diagram-{name}.uml").read_text()
