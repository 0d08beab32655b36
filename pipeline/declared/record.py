"""The records of runs: a folder each, readable during the run and after it, however it ended.

    <state>/pyjs/pipelines/<PIPELINE>/
        lock            held as long as a run of the pipeline is alive
        checkpoint/     Spark's, a folder for each sink, if the document names none
        runs/<NUMBER>/  run.json, document.yaml, progress.jsonl, outcome.json, spark.log

`<state>` is $XDG_STATE_HOME or ~/.local/state. Folders have mode 0700. A run is called `<PIPELINE>.<NUMBER>`.
A run without an outcome whose pipeline's lock is not held has crashed; nothing needs to be cleaned up after
it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from . import cross_checks
from .progress import Batch
from .reading import LoadedDocument

RUNNING, FINISHED, STOPPED, INTERRUPTED, FAILED, CRASHED = (
    "running",
    "finished",
    "stopped",
    "interrupted",
    "failed",
    "crashed",
)
KEPT = 100  # runs of a pipeline; a new run removes the oldest


class BusyError(RuntimeError):
    """Another run of the pipeline is alive."""


def base_folder() -> Path:
    """Return the folder of all pipelines."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    return Path(state) / "pyjs" / "pipelines"


def checkpoint(loaded: LoadedDocument) -> str:
    """Return the folder of a document's checkpoints, one in it for each sink."""
    named = loaded.document.checkpoint
    if named:
        return cross_checks.location(named, loaded.folder)
    return str(base_folder() / loaded.document.name / "checkpoint")


@dataclass(frozen=True)
class PipelineRun:
    """A run as its folder describes it."""

    folder: Path
    facts: Mapping[str, Any]  # run.json
    outcome: Mapping[str, Any]  # outcome.json, empty before the end
    state: str

    @property
    def id(self) -> str:
        """The id `<PIPELINE>.<NUMBER>`."""
        return f"{self.pipeline}.{self.number}"

    @property
    def pipeline(self) -> str:
        """The pipeline's name."""
        return self.folder.parent.parent.name

    @property
    def number(self) -> int:
        """The number of the run among those of the pipeline, from 1."""
        return int(self.folder.name)

    @property
    def log(self) -> Path:
        """The log of Spark and its workers."""
        return self.folder / "spark.log"

    def batches(self) -> list[Batch]:
        """Return all batches, without a line that was not written to its end."""
        found = []
        with (
            contextlib.suppress(FileNotFoundError),
            (self.folder / "progress.jsonl").open(encoding="utf-8") as lines,
        ):
            for line in lines:
                with contextlib.suppress(ValueError, TypeError):
                    found.append(Batch.from_json(json.loads(line)))
        return found

    def document(self) -> str:
        """Return the document that was run, without its secrets."""
        return (self.folder / "document.yaml").read_text(encoding="utf-8")


def pipelines() -> list[str]:
    """Return the names of the pipelines that were run here, sorted."""
    return sorted(path.parent.name for path in base_folder().glob("*/runs"))


def runs(pipeline: str) -> list[PipelineRun]:
    """Return a pipeline's runs, the newest first."""
    folders = [each for each in (base_folder() / pipeline / "runs").glob("*") if each.name.isdigit()]
    found = [_read(folder) for folder in sorted(folders, key=lambda each: -int(each.name))]
    return [run for run in found if run is not None]


def find(name: str) -> PipelineRun | None:
    """Return the run with that id, or the newest of a pipeline of that name; without a name the newest."""
    if not name:
        newest = [found[0] for each in pipelines() if (found := runs(each))]
        return max(newest, key=lambda run: str(run.facts.get("started", "")), default=None)
    pipeline, dot, number = name.rpartition(".")
    if dot and number.isdigit():
        folder = base_folder() / pipeline / "runs" / number
        return _read(folder) if "/" not in pipeline else None
    return next(iter(runs(name)), None) if "/" not in name else None


def _read(folder: Path) -> PipelineRun | None:
    try:
        facts = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None  # being made just now
    return PipelineRun(folder, facts, _outcome(folder), _state(folder))


def _outcome(folder: Path) -> Mapping[str, Any]:
    try:
        found = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return found if isinstance(found, dict) else {}


def _state(folder: Path) -> str:
    # The lock is checked before the outcome is read again: a run writes its outcome before it unlocks.
    alive = _is_locked(folder.parent.parent / "lock", folder.name)
    outcome = _outcome(folder)
    if outcome:
        return str(outcome.get("state"))
    return RUNNING if alive else CRASHED


def _is_locked(lock: Path, number: str) -> bool:
    """Return whether the run of this number holds its pipeline's lock."""
    try:
        with lock.open("r+", encoding="utf-8") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read().strip() == number
            return False
    except OSError:
        return False


class Recorder:
    """The folder of a run in progress; made by `record`."""

    def __init__(self, folder: Path, lines: IO[str]) -> None:
        self.folder = folder
        self.id = f"{folder.parent.parent.name}.{folder.name}"
        self.log = folder / "spark.log"
        self._lines = lines

    def batch(self, batch: Batch) -> None:
        """Record a batch; it can be read at once."""
        self._lines.write(json.dumps(batch.to_json()) + "\n")
        self._lines.flush()

    def note(self, text: str) -> None:
        """Append to the log."""
        with self.log.open("a", encoding="utf-8") as log:
            log.write(text if text.endswith("\n") else f"{text}\n")

    @property
    def ended(self) -> bool:
        """Whether an outcome is recorded."""
        return (self.folder / "outcome.json").exists()

    def end(self, outcome: Mapping[str, Any]) -> None:
        """Record how the run ended: `state`, `time`, and `error` if it failed."""
        _write(self.folder / "outcome.json", json.dumps(outcome, indent=2))


@contextlib.contextmanager
def record(pipeline: str, facts: Mapping[str, Any], document: str) -> Iterator[Recorder]:
    """Make a new run's folder, and hold the pipeline's lock as long as the block lasts.

    Raises BusyError if another run holds the lock.
    """
    place = base_folder() / pipeline
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (place / "lock").open("a+", encoding="utf-8") as lock:
        if not _locked(lock):
            lock.seek(0)
            raise BusyError(f"pipeline {pipeline} runs already, as {pipeline}.{lock.read().strip()}")
        folder = _next(place / "runs")
        lock.seek(0)
        lock.truncate()
        lock.write(folder.name)
        lock.flush()
        _write(folder / "document.yaml", document)
        _write(folder / "run.json", json.dumps({**facts, "pid": os.getpid()}, indent=2))
        with (folder / "progress.jsonl").open("a", encoding="utf-8") as lines:
            yield Recorder(folder, lines)


def _locked(lock: IO[str]) -> bool:
    """Take the lock; return whether that worked.

    There are a few attempts, because those who look whether it is held have it for a moment.
    """
    for _ in range(10):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        else:
            return True
    return False


def _next(folder: Path) -> Path:
    """Make a new run's folder, and remove the oldest ones beyond KEPT."""
    folder.mkdir(mode=0o700, exist_ok=True)
    numbers = sorted(int(each.name) for each in folder.glob("*") if each.name.isdigit())
    for number in numbers[: max(0, len(numbers) - KEPT + 1)]:
        shutil.rmtree(folder / str(number), ignore_errors=True)
    made = folder / str(numbers[-1] + 1 if numbers else 1)
    made.mkdir(mode=0o700)
    return made


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
