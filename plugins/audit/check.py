"""What a check of `audit analyze` is, and what it may read of an archive.

A check is a row: a code, what it examines, its thresholds, and a function that yields what it finds. The
outcome follows from what was found: FAIL if something is wrong, WARN if something may be, PASS if nothing is,
SKIP if the archive has nothing to examine. Codes, names and thresholds are those of jsm.go's audit package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ...cli.errors import CliError
from ..server.archive import STREAM_INFO, UNCLUSTERED, ServerArchive

Info = dict[str, Any]
Thresholds = dict[str, float]
PASS, WARN, FAIL, SKIP = "PASS", "WARN", "FAIL", "SKIP"
OUTCOMES = (PASS, WARN, FAIL, SKIP)  # nats writes their indexes, too


class Threshold(NamedTuple):
    """A number that a check compares with. unit: `%`, `int`, `uint`, or empty for a factor."""

    key: str
    description: str
    default: float
    unit: str = ""


class AuditFinding(NamedTuple):
    """Something that a check found. failed: it is wrong now; otherwise it may become so."""

    text: str
    failed: bool = False


class NothingToExamineError(CliError):
    """The archive has nothing that this check is about."""


class Check(NamedTuple):
    """A check, as `audit checks` shows it."""

    code: str
    name: str
    description: str
    examine: Callable[[ServerArchive, Thresholds], Iterable[AuditFinding]]
    thresholds: tuple[Threshold, ...] = ()

    @property
    def suite(self) -> str:
        """What the check is about, by its code: `server`."""
        return self.code.partition("_")[0].lower()

    @property
    def document(self) -> Info:
        """The check as nats writes it."""
        settings = {each.key: {"check": self.code, **each._asdict()} for each in self.thresholds}
        return {
            "code": self.code,
            "suite": self.suite,
            "name": self.name,
            "description": self.description,
            "configuration": settings,
        }

    def run(self, archive: ServerArchive) -> tuple[str, list[AuditFinding], str]:
        """Return the outcome, what was found, and the error that ended the check."""
        try:
            found = list(self.examine(archive, {each.key: each.default for each in self.thresholds}))
        except NothingToExamineError:
            return SKIP, [], ""
        except CliError as error:
            return SKIP, [], error.message
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            return SKIP, [], f"an answer is not in the form that servers send: {error}"
        if any(each.failed for each in found):
            return FAIL, found, ""
        return WARN if found else PASS, found, ""


class Of(NamedTuple):
    """Where an answer comes from."""

    cluster: str
    server: str

    def __str__(self) -> str:
        return f"{self.cluster}/{self.server}"


def answers(archive: ServerArchive, endpoint: str) -> Iterator[tuple[Of, Info]]:
    """Yield the data of each server's answer. Raises NotFoundError if there are none."""
    for document in archive.answers(f"$SYS.REQ.SERVER.PING.{endpoint}", {}):
        server = document.get("server") or {}
        where = Of(str(server.get("cluster") or UNCLUSTERED), str(server.get("name", "?")))
        yield where, document.get("data") or {}


def streams(archive: ServerArchive) -> Iterator[tuple[str, str, dict[str, Info]]]:
    """Yield account and name of each stream, with the information of each replica by its server."""
    found: dict[tuple[str, str], dict[str, Info]] = {}
    for artifact in archive.of_type(STREAM_INFO):
        tags = artifact.tags
        replicas = found.setdefault((tags["account"], tags["stream"]), {})
        replicas[tags["server"]] = archive.load(artifact.path)
    for (account, stream), replicas in found.items():
        yield account, stream, replicas
