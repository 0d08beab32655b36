"""`pyjs explain stream`: each fault is made and found; once it is repaired, nothing is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess

Explain = Callable[..., Any]
LIMITED = """
listen: "127.0.0.1:<client>"
server_name: limited
jetstream { store_dir: "<store>" }
accounts {
  A { users: [ { user: a, password: a } ], jetstream: { max_mem: 4KB, max_file: 1MB } }
  OTHER { users: [ { user: o, password: o } ] }
}
"""


def test_a_healthy_stream_is_silent(js: JetStream, unique: str, explain: Explain, cli: Cli) -> None:
    js.create(unique, subjects=[unique], max_msgs=100, discard="new")
    js.publish(unique)
    assert (explain("stream", unique).code, explain("stream", unique).found) == (0, {})
    assert cli.ok("explain", "stream", unique) == f"Stream {unique}: nothing keeps messages from arriving\n"


def test_nothing_was_ever_stored(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[f"{unique}.>"])
    said = explain("stream", unique).found["never_stored"]
    assert (said["severity"], f"{unique}.>" in said["text"]) == ("note", True)
    js.publish(f"{unique}.a")
    assert explain("stream", unique).found == {}


@pytest.mark.parametrize(
    ("limit", "enough"), [({"max_msgs": 2}, {"max_msgs": 10}), ({"max_bytes": 127}, {"max_bytes": 4096})]
)
def test_a_limit_refuses_messages(
    js: JetStream, unique: str, explain: Explain, cli: Cli, limit: dict[str, int], enough: dict[str, int]
) -> None:
    # 127 bytes: a prime number, which messages never fill to the last byte, however long the name is.
    js.create(unique, subjects=[unique], discard="new", **limit)
    with pytest.raises(ApiFailureError):
        js.fill(unique, 9)
    found = explain("stream", unique)
    assert found.bad == {"limit_reached"}
    assert found.found["limit_reached"]["evidence"].items() >= (limit | {"discard": "new"}).items()
    refused = "left is refused, and on average" if "max_bytes" in limit else "further messages are refused"
    assert refused in found.found["limit_reached"]["text"]
    assert found.found["limit_reached"]["commands"][1] == f"pyjs stream edit {unique} --discard old"
    js.update(unique, **enough)
    assert explain("stream", unique).found == {}
    js.update(unique, discard="old", **limit)
    assert explain("stream", unique).found["limit_discards_old"]["severity"] == "note"


def test_a_limit_is_near(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique], discard="new", max_msgs=10)
    js.fill(unique, 8)
    assert explain("stream", unique).found == {}
    js.publish(unique)
    assert explain("stream", unique).bad == {"limit_near"}


def test_a_subject_is_full(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(
        unique, subjects=[f"{unique}.*"], discard="new", max_msgs_per_subject=2, discard_new_per_subject=True
    )
    js.fill(f"{unique}.a", 2)
    js.fill(f"{unique}.b", 1)
    found = explain("stream", unique)
    assert found.bad == {"subject_limit_reached"}
    assert f"{unique}.a." in found.found["subject_limit_reached"]["text"]
    js.update(unique, max_msgs_per_subject=3)
    assert explain("stream", unique).found == {}


def test_sealed(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique])
    js.publish(unique)
    js.update(unique, sealed=True)
    assert explain("stream", unique).bad == {"sealed"}


def test_messages_may_be_too_large(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique], max_msg_size=10)
    js.publish(unique)
    assert explain("stream", unique).found["max_msg_size"]["evidence"] == {"max_msg_size": 10}


def test_all_messages_have_expired(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[unique], max_age=150_000_000, duplicate_window=100_000_000)
    js.publish(unique)
    eventually(lambda: "expired" in explain("stream", unique).found, 20)
    js.update(unique, max_age=3600 * 10**9)
    assert "expired" not in explain("stream", unique).found


def test_nobody_is_interested(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[f"{unique}.a", f"{unique}.b"], retention="interest")
    js.publish(f"{unique}.a")
    assert js.state(unique)["messages"] == 0
    assert explain("stream", unique).bad == {"no_interest"}
    js.consumer(unique, "A", filter_subject=f"{unique}.a")
    found = explain("stream", unique)
    assert found.bad == {"partial_interest"}
    assert f"{unique}.b" in found.found["partial_interest"]["text"]
    js.consumer(unique, "B", filter_subject=f"{unique}.*")
    assert explain("stream", unique).bad == set()


def test_the_account_is_full(serve: Callable[[str], ServerProcess], cli: Cli, unique: str) -> None:
    server = serve(LIMITED)
    login = cli.with_flags("--server", server.url, "--user", "a", "--password", "a")
    with JetStream.of(server, user="a", **{"pass": "a"}) as js:
        js.create(unique, subjects=[unique])
        js.publish(unique, b"x" * 1000)
        assert login.run("explain", "stream", unique).code == 0
        with pytest.raises(ApiFailureError):
            for _ in range(9):
                js.publish(unique, b"x" * 1000)
        result = login.run("explain", "stream", unique, "-o", "json")
        (found,) = json.loads(result.out)
        assert (result.code, found["check"]) == (1, "account_limit_reached")
        assert found["evidence"]["max_memory"] == 4096
        assert "The limit is max_memory in the jetstream block of the account A" in found["text"]
        assert "nsc" not in str(found["commands"])


def test_an_account_of_an_operator_is_full(
    launch: Callable[[str], ServerProcess], tmp_path: Path, unique: str
) -> None:
    env = OperatorEnv()
    account = env.account("SHOP", jetstream=True, limits={"mem_storage": 4096, "disk_storage": 4096})
    url = launch(env.memory(account, more='jetstream { store_dir: "<store>" }')).url
    cli = Cli(tmp_path, "--server", url, "--creds", str(account.user("u").write(tmp_path)))
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    assert cli.run("pub", unique, "x" * 1000, "--count=9", "-J", "-q").code != 0
    for line in (("explain", "stream", unique), ("doctor",)):
        found = {each["check"]: each for each in json.loads(cli.run(*line, "-o", "json").out)}
        assert found["account_limit_reached"]["commands"][1:] == [
            "pyjs nsc edit account --name SHOP --js-disk-storage 8192",
            "pyjs nsc push --account SHOP",
        ]


def test_an_account_without_jetstream_is_told(serve: Callable[[str], ServerProcess], cli: Cli) -> None:
    login = cli.with_flags("--server", serve(LIMITED).url, "--user", "o", "--password", "o")
    result = login.run("explain", "stream", "X", "--timeout", "1s")
    assert (result.code, result.out) == (6, "")


def test_a_source_does_not_exist(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(unique, subjects=[f"{unique}-own"], sources=[{"name": f"{unique}-O"}])
    found = explain("stream", unique)
    assert found.bad == {"origin_missing"}
    assert found.found["origin_missing"]["evidence"].items() >= {"source": f"{unique}-O"}.items()
    js.create(f"{unique}-O", subjects=[unique])
    js.publish(unique)
    js.update(unique, sources=[])
    js.update(unique, sources=[{"name": f"{unique}-O"}])
    eventually(lambda: js.state(unique)["messages"] == 1, 20)
    assert explain("stream", unique).bad == set()


def test_a_mirror_is_cut_off(js: JetStream, unique: str, explain: Explain) -> None:
    external = {"api": "$JS.nowhere.API", "deliver": ""}
    js.create(unique, mirror={"name": "O", "external": external})
    found = explain("stream", unique)
    assert found.bad == {"origin_unreachable"}
    assert found.found["origin_unreachable"]["evidence"]["api"] == "$JS.nowhere.API"
    assert found.found["is_mirror"]["severity"] == "note"


def test_a_source_filters_everything(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(f"{unique}-O", subjects=[f"{unique}.*"])
    js.create(unique, sources=[{"name": f"{unique}-O", "filter_subject": f"{unique}.b"}])
    assert explain("stream", unique).found["origin_empty"]["severity"] == "note"
    js.publish(f"{unique}.a")
    found = explain("stream", unique)
    assert found.bad == {"origin_filter"}
    assert found.found["origin_filter"]["evidence"]["filter"] == f"{unique}.b"
    js.publish(f"{unique}.b")
    assert "origin_filter" not in explain("stream", unique).found


def test_a_mirror_starts_later(js: JetStream, unique: str, explain: Explain) -> None:
    js.create(f"{unique}-O", subjects=[unique])
    js.publish(unique)
    js.create(unique, mirror={"name": f"{unique}-O", "opt_start_seq": 3})
    assert explain("stream", unique).bad == {"origin_starts_later"}
    js.fill(unique, 2)
    assert explain("stream", unique).bad == set()
