"""One run of a benchmark: what is about to happen, the clients with their progress, the results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...cli import flags, output, render, words
from ...cli.blocking import connection_options
from ...cli.profile import resolve
from . import report
from .client import ClientPlan, Work
from .connection import Api, open_connection
from .processes import BenchmarkWatch, ProcessSpec, run_clients
from .sample import BenchmarkSample
from .settings import BenchmarkSettings

MOST_BARS = 16  # clients; of more, one bar shows the sum


@dataclass(frozen=True)
class Benchmark:
    """A kind of benchmark.

    label: what each client is, in words.
    doing: what it does, in words; `{}` stands for the number of its messages.
    work: what it does.
    sends: it sends its messages; otherwise it receives them.
    shared: the clients divide the messages; otherwise each one has to do all.
    operation: what a latency is measured of; empty if none is measured.
    """

    label: str
    doing: str
    work: Work
    sends: bool
    shared: bool = True
    operation: str = ""

    @property
    def prefix(self) -> str:
        """The letter in front of the number of a client in CSV files."""
        return "P" if self.sends else "S"

    def plans(self, settings: BenchmarkSettings) -> list[ClientPlan]:
        """Return the part of each client. There are no more clients than messages to divide."""
        if not self.shared:
            return [ClientPlan(number, settings.messages, 0) for number in range(settings.clients)]
        clients = min(settings.clients, settings.messages)
        each, extra = divmod(settings.messages, clients)
        plans: list[ClientPlan] = []
        offset = 0
        for number in range(clients):
            count = each + (number < extra)
            plans.append(ClientPlan(number, count, offset))
            offset += count
        return plans


def run(
    benchmark: Benchmark,
    settings: BenchmarkSettings,
    facts: Mapping[str, object],
    prepare: Callable[[Api], None] | None = None,
    start: Callable[[Api], None] | None = None,
    clean_up: Callable[[Api], None] | None = None,
) -> None:
    """Run a benchmark and show its results.

    facts: the settings that matter to this kind.
    prepare: called first, with the JetStream API. Raises CliError.
    start: called when all clients are ready, before they begin. Raises CliError.
    clean_up: called in the end, also after an error or Ctrl-C.
    """
    profile = resolve(flags.session())
    options = connection_options(profile, " bench")
    render.log(report.banner(benchmark.label, settings, facts))

    def with_api(action: Callable[[Api], None] | None) -> None:
        if action is not None:
            with open_connection(profile, options) as connection:
                action(Api(connection, profile.api_prefix))

    with_api(prepare)
    plans = benchmark.plans(settings)
    try:
        with _watching(benchmark, settings, plans) as watch:
            watch.on_start = lambda: with_api(start)
            samples = run_clients(ProcessSpec(settings, profile, options, benchmark.work), plans, watch)
    finally:
        with_api(clean_up)
    for note in watch.notes:
        render.log(f"WARNING: {note}")
    show(benchmark, settings, samples)


def show(benchmark: Benchmark, settings: BenchmarkSettings, samples: Sequence[BenchmarkSample]) -> None:
    """Show the results, and write the CSV file that was asked for."""
    run = (benchmark.label, benchmark.operation, samples)
    output.show_page(report.document(*run), report.results(*run), name=benchmark.label)
    if settings.csv:
        Path(settings.csv).write_text(report.csv_text(samples, benchmark.prefix))
        render.log(f"Saved metric data in csv file {settings.csv}")


@contextmanager
def _watching(
    benchmark: Benchmark, settings: BenchmarkSettings, plans: Sequence[ClientPlan]
) -> Iterator[BenchmarkWatch]:
    """Yield what logs each client and moves the progress bars, which only a terminal has."""

    def on_ready(number: int) -> None:
        count = words.number(plans[number].messages)
        render.log(f"[{number + 1}] {benchmark.label}: {benchmark.doing.format(count)}")

    if not settings.progress or not sys.stderr.isatty():
        yield BenchmarkWatch(on_ready, lambda _number, _messages: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.theme import Theme

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    readable = Theme({"progress.elapsed": "cyan"})  # yellow by default, which light terminals do not show
    with Progress(*columns, console=Console(stderr=True, theme=readable), expand=True) as bars:
        if len(plans) > MOST_BARS:
            whole = bars.add_task(f"{len(plans)} clients", total=sum(plan.messages for plan in plans))
            tasks = [whole] * len(plans)
        else:
            tasks = [
                bars.add_task(f"[{plan.number + 1}]", total=plan.messages, start=False) for plan in plans
            ]

        def on_progress(number: int, messages: int) -> None:
            bars.start_task(tasks[number])
            bars.advance(tasks[number], messages)

        yield BenchmarkWatch(on_ready, on_progress)
