"""What the chapters use: the stage, the topology, and the reports of the three domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..line import CommandOutput
from ..stage import Stage, wait_until
from .report import Copy, Count, StreamReport, read
from .topology import CLUSTERS, VideoCluster, VideoTopology

WATCH = tuple(f"pyjs --context={cluster.domain} s report" for cluster in CLUSTERS)
COPY_SECONDS = 60.0  # for how long a copy may wait before it looks again for an origin that was away

# What a domain's report should show: None if its servers cannot be reached.
Wanted = Mapping[str, Count] | None


@dataclass
class Player:
    """The stage, the topology, and the progress of the play.

    watched: the commands whose reports are shown.
    """

    stage: Stage
    topology: VideoTopology
    watched: Sequence[str] = WATCH
    copies: set[Copy] = field(default_factory=set)  # the mirrors and sources that there should be

    def watch(self, statement: str, *wanted: Wanted) -> None:
        """Wait until the three reports show what is `wanted`; show them, and claim `statement`."""
        done: list[CommandOutput] = []
        reports: list[StreamReport] = []
        away = None in wanted  # then copies may report that their origin is missing

        def seen() -> bool:
            done[:] = [self.stage.output_of(command) for command in self.watched]
            reports[:] = [read(cluster.domain, one.text) for cluster, one in zip(CLUSTERS, done, strict=True)]
            return all(map(self._shows, reports, CLUSTERS, wanted)) and (away or not _lagging(reports))

        met = wait_until(seen, COPY_SECONDS)
        self.stage.command(f'watch -n 1 "{" ; ".join(self.watched)}"', "until it shows what comes next")
        self.stage.output("".join(one.shown for one in done))
        self.stage.claim(statement, met, "; ".join(map(_summary, CLUSTERS, reports)))

    def report(
        self, statement: str, command: str, cluster: VideoCluster, wanted: Wanted, *copies: Copy
    ) -> None:
        """Wait until one report shows what is `wanted`; show it, and claim `statement`."""

        def shows(text: str) -> bool:
            report = read(cluster.domain, text)
            return _fits(report, cluster, wanted, set(copies)) and not report.lagging

        wait_until(lambda: shows(self.stage.output_of(command).text), COPY_SECONDS)
        text = self.stage.run(command)
        self.stage.claim(statement, shows(text), _summary(cluster, read(cluster.domain, text)))

    def _shows(self, report: StreamReport, cluster: VideoCluster, wanted: Wanted) -> bool:
        return _fits(report, cluster, wanted, {copy for copy in self.copies if copy.domain == cluster.domain})

    def copied(self, *copies: Copy) -> None:
        """Expect these mirrors and sources in the reports from now on."""
        self.copies.update(copies)

    def add(self, command: str, stream: str, cluster: VideoCluster, answers: str = "") -> None:
        """Create a stream with three replicas in `cluster`, and claim that it has them."""
        text = self.stage.run(command, answers=answers)
        leader = re.findall(r"(?m)^ +Leader: (\S+)$", text)
        replicas = re.findall(r"(?m)^ +Replica: (\S+), ", text)
        made = f"Stream {stream} was created" in text and "Replicas: 3" in text
        self.stage.claim(
            f"The stream {stream} of domain {cluster.domain} has three replicas, one of them its leader",
            made and len(leader) == 1 and sorted(leader + replicas) == cluster.servers,
            f"leader {', '.join(leader)}; replicas {', '.join(sorted(replicas))}",
        )

    def publish(self, command: str) -> None:
        """Publish ten messages."""
        text = self.stage.run(command)
        said = text.splitlines()
        self.stage.claim(
            "Ten messages are published",
            text.count(" Published ") == 10,
            said[0].partition(" ")[2] if said else "nothing was printed",
        )

    def until(self, *commands: str) -> bool:
        """Return whether all `commands` succeed in the end."""
        return all(wait_until(self._succeeds(command)) for command in commands)

    def _succeeds(self, command: str) -> Callable[[], bool]:
        return lambda: self.stage.output_of(command).code == 0


def _fits(report: StreamReport, cluster: VideoCluster, wanted: Wanted, copies: set[Copy]) -> bool:
    if wanted is None or not report.found:
        return wanted is None and not report.found
    rows = report.streams.values()
    return (
        report.counts() == wanted
        and all(row.servers == cluster.servers and row.leader and row.clean for row in rows)
        and report.copies == copies
    )


def _lagging(reports: Sequence[StreamReport]) -> bool:
    return any(report.lagging for report in reports)


def _summary(cluster: VideoCluster, report: StreamReport) -> str:
    counts = ", ".join(f"{name} {count.messages}" for name, count in sorted(report.counts().items()))
    return f"{cluster.domain}: {counts or ('no streams' if report.found else 'not reached')}"
