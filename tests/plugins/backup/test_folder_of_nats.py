"""A folder that `nats stream backup` wrote is restored on both servers.

`tests/golden/backups/nats_0_4_0` was written by nats v0.4.0-42-gc778a5c from nats-server 2.15.1: the stream
ORDERS of four messages, the second of which was removed, and the consumer NEW, which had acknowledged it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.source_facts import ROOT

FOLDER = str(ROOT / "tests" / "golden" / "backups" / "nats_0_4_0")


def test_it_is_restored_with_its_consumer(cli: Cli) -> None:
    verified = cli.run("backup", "verify", FOLDER, "-o", "json")
    assert verified.code == 0
    assert "there is no manifest" in verified.out
    cli.ok("stream", "restore", FOLDER)
    try:
        info = json.loads(cli.ok("stream", "info", "ORDERS", "--json"))
        state = info["state"]
        assert info["config"]["description"] == "Orders of today"
        assert info["config"]["allow_msg_ttl"] is True
        assert [state[name] for name in ("messages", "bytes", "first_seq", "last_seq")] == [3, 197, 1, 4]
        assert json.loads(cli.ok("stream", "gaps", "ORDERS", "--json")) == [[2, 2]]
        third = json.loads(cli.ok("stream", "get", "ORDERS", "3", "-o", "json"))
        assert (third["subject"], third["seq"]) == ("orders.paid", 3)
        assert third["time"].startswith("2026-11-23T14:41:00")
        consumer = json.loads(cli.ok("consumer", "info", "ORDERS", "NEW", "--json"))
        assert consumer["config"]["filter_subject"] == "orders.new"
        assert consumer["ack_floor"]["stream_seq"] == consumer["delivered"]["stream_seq"] == 2
        assert cli.ok("consumer", "next", "ORDERS", "NEW", "--raw", "--ack") == "fourth\n"
        result = cli.run("backup", "verify", FOLDER, "--live", "-o", "json")
        assert (result.code, json.loads(result.out)[0]["result"]) == (0, "3 messages as in the Stream")
    finally:
        cli.ok("stream", "rm", "ORDERS", "-f")


@pytest.mark.parametrize("place", [40, 300, 600])
def test_damage_is_found_before_anything_is_restored(cli: Cli, tmp_path: Path, place: int) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for each in Path(FOLDER).iterdir():
        data = bytearray(each.read_bytes())
        if each.suffix == ".s2":
            data[place] ^= 0x40
        (damaged / each.name).write_bytes(data)
    result = cli.run("stream", "restore", str(damaged))
    assert result.code != 0
    assert "ORDERS" not in cli.ok("stream", "ls", "--all", "-o", "name")
