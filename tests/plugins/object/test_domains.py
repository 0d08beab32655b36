"""Buckets in the JetStream domain of a leaf node, used from the hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess

HUB = """
listen: "127.0.0.1:<client>"
server_name: hub
jetstream { store_dir: "<store>", domain: hub }
leafnodes { listen: "127.0.0.1:<leaf>" }
"""
LEAF = """
listen: "127.0.0.1:<client>"
server_name: leaf
jetstream { store_dir: "<store>", domain: leaf }
leafnodes { remotes: [ { url: "nats://127.0.0.1:PORT" } ] }
"""


def test_buckets_of_another_domain(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    hub = launch(HUB)
    launch(LEAF.replace("PORT", str(hub.ports["leaf"])))
    here = Cli(tmp_path, "--server", hub.url)
    there = Cli(tmp_path, "--server", hub.url, "--js-domain", "leaf")
    eventually(lambda: there.run("kv", "add", "B").code == 0)
    there.ok("kv", "put", "B", "k", "v")
    assert here.run("kv", "get", "B", "k").code == 3
    here.ok("kv", "add", "M", "--mirror", "B", "--mirror-domain", "leaf")
    assert "External API: $JS.leaf.API" in here.ok("kv", "info", "M")
    eventually(lambda: here.run("kv", "get", "M", "k", "--raw").out == "v")
    here.ok("kv", "put", "M", "k", "by the mirror")
    assert there.ok("kv", "get", "B", "k", "--raw") == "by the mirror"

    there.ok("object", "add", "O")
    assert there.run("object", "put", "O", "--name", "n", stdin="data").code == 0
    there.ok("object", "get", "O", "n")
    assert (tmp_path / "n").read_text() == "data"
    # The subjects of objects cross leaf nodes, so a bucket of this name here is one with that there.
    here.ok("object", "add", "O")
    for _ in range(2):
        result = here.run("object", "put", "O", "--name", "both", "--force", stdin="x" * 300_000)
        assert result.code == 0, result.err
    for side in (here, there):
        side.ok("object", "get", "O", "both", "--force")
        assert (tmp_path / "both").read_text() == "x" * 300_000
    assert here.ok("stream", "subjects", "OBJ_O", "--names").count("$O.O.C.") == 1
