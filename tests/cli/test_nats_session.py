"""A session of some 580 lines of the real `nats`, recorded in nats_session.txt, and played by pyjs.

pyjs succeeds and fails at the same lines, and its JSON has the same facts: it may have more, not less.
"""

from __future__ import annotations

import json
from pathlib import Path

from lib import nats_lines, recording
from lib.cli import Cli
from lib.eventually import eventually
from lib.pool import START

SESSION = Path(__file__).parent / "nats_session.txt"
# The streams that copy others, and the first line that tells whether they have.
COPIES, AFTER_COPYING = ("MIRROR", "SRC"), "stream find --empty --names"
# Where pyjs differs: the start of the line, and a part of what `differences` says, with the reason.
EXCEPTIONS = {
    ("", "pause_until"): "nats shows the time 0001-01-01 for a consumer that is not paused",
    (
        "",
        "max_ack_pending: 20000",
    ): "the documents that pyjs replays show 20,000 as the default of the question",
    ("context rm", "failed"): "nats says nothing of a context that does not exist",
    ("stream subjects ORDERS --names", "No subjects found"): "a sentence is no name",
    ("stream find --subject", "+| ORDERS"): "nats looks for subjects that the given one contains",
    ("stream find --idle", "-| "): "pyjs counts from the creation of a stream that never had a message",
    ("consumer add ORDERS OVER", "succeeded"): "the flag has no effect in nats",
    ("consumer ls ORDERS --names", "+| OVER"): "the consumer of the line above",
    ("stream info ORDERS", "consumer_count"): "the consumer of the line above",
    ("account info --json", "succeeded"): "nats has no JSON for it",
    ("sys: server report jsz", "succeeded"): "nats has no JSON for it",
    ("sys: server report health", "succeeded"): "nats has no JSON for it",
    ("sys: server report connz", "succeeded"): "nobody being connected is not an error",
    ("sys: server report accounts ACC", "succeeded"): "nobody being connected is not an error",
    ("sys: server report", "subscriptions_list"): "pyjs does not ask all servers for all subscriptions",
    (
        "sys: server request subsz --detail",
        "lacks",
    ): "each client library subscribes to its inbox in its own way",
    ("sys: server stream-check", "succeeded"): "no streams are not an error",
    ("schema validate", "failed"): "a file that does not hold ends with 5",
    ("sys: audit gather", "succeeded"): "nats gives up at a stream whose cluster has no name",
    ("server list --archive", "_clients."): "an archive does not have them, and nats writes 0",
}


def test_pyjs_does_what_nats_does(tmp_path: Path) -> None:
    nats_lines.prepare(tmp_path)
    cli = Cli(tmp_path)
    server = START["reference"](nats_lines.CONFIG)
    compared = recording.Comparison(EXCEPTIONS)
    try:

        def run(words: list[str]) -> tuple[int, str]:
            result = cli.run(*words, env={"NATS_URL": server.url})
            return result.code, result.out

        def has_copied() -> bool:
            states = [json.loads(run(["stream", "info", name, "--json"])[1])["state"] for name in COPIES]
            return all(state["messages"] for state in states)

        def play(line: str) -> str:
            if line == AFTER_COPYING:
                eventually(has_copied)
            return nats_lines.play(line, server.url, run)

        compared.play(SESSION.read_text("utf-8"), play)
    finally:
        server.stop()
    assert compared.found == []
    assert compared.unused() == [], "these do not differ any more"
