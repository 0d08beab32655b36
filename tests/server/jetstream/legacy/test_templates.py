"""Stream templates by a socket: streams of messages, limits, restarts, damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from lib import pyjs_server
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.process import ServerProcess
from lib.wire import Msg

from .conftest import CONFIG

Ask = Callable[..., Msg]


def create(js: JetStream, name: str, subjects: list[str], most: int = 10, **config: Any) -> dict[str, Any]:
    stream = {"subjects": subjects, "storage": "memory"} | config
    return js.call(f"STREAM.TEMPLATE.CREATE.{name}", {"name": name, "config": stream, "max_streams": most})


def streams(js: JetStream, template: str) -> list[str]:
    found: list[str] = js.call(f"STREAM.TEMPLATE.INFO.{template}")["streams"]
    return found


def _holds(js: JetStream, name: str, count: int) -> bool:
    return bool(js.state(name)["messages"] == count)


@pytest.fixture
def own() -> Iterator[ServerProcess]:
    """A server for this test alone."""
    running = pyjs_server.start(CONFIG)
    try:
        yield running
    finally:
        running.stop()


def test_the_first_message_makes_its_stream(js: JetStream, unique: str) -> None:
    made = create(js, unique, [f"{unique}.>"], max_msg_size=2048)
    assert made["type"] == "io.nats.jetstream.api.v1.stream_template_create_response"
    assert (made["config"]["name"], made["config"]["max_streams"], made["streams"]) == (unique, 10, [])
    assert made["config"]["config"]["max_msgs"] == -1
    assert js.publish(f"{unique}.acme.a", b"one") == {"stream": f"{unique}_acme_a", "seq": 1}
    assert js.publish(f"{unique}.acme.a", b"two") == {"stream": f"{unique}_acme_a", "seq": 2}
    assert js.publish(f"{unique}.b", b"one")["stream"] == f"{unique}_b"
    config = js.info(f"{unique}_acme_a")["config"]
    assert (config["subjects"], config["max_msg_size"]) == ([f"{unique}.acme.a"], 2048)
    assert config["metadata"]["_nats.template_owner"] == unique
    assert streams(js, unique) == [f"{unique}_acme_a", f"{unique}_b"]


def test_messages_that_come_together_keep_their_order(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"], allow_direct=True)
    frames = [f"PUB {unique}.{number % 3} 4\r\n{number:04}\r\n" for number in range(600)]
    js.wire.send("".join(frames))
    js.wire.sync()
    for each in range(3):
        name = f"{unique}_{each}"
        eventually(partial(_holds, js, name, 200))
        bodies = [int(body) for body in js.stored(name).values()]
        assert bodies == [*range(each, 600, 3)]


def test_deleting_it_deletes_its_streams(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"])
    js.publish(f"{unique}.a")
    js.create(f"{unique}-other", subjects=[f"{unique}.sub.other"])
    assert js.call(f"STREAM.TEMPLATE.DELETE.{unique}")["success"] is True
    assert js.error(f"STREAM.INFO.{unique}_a")[1] == 10059
    assert js.info(f"{unique}-other")["config"]["name"] == f"{unique}-other"
    assert js.error(f"STREAM.TEMPLATE.INFO.{unique}") == (404, 10068, "template not found")
    assert js.error(f"STREAM.TEMPLATE.DELETE.{unique}") == (404, 10068, "template not found")
    assert js.wire.request(f"{unique}.a").status == "503"


def test_names_are_listed_in_pages(js: JetStream, unique: str) -> None:
    for letter in "cab":
        create(js, f"{unique}-{letter}", [f"{unique}.{letter}"])
    listed = js.call("STREAM.TEMPLATE.NAMES")
    assert [each for each in listed["streams"] if unique in each] == [f"{unique}-{each}" for each in "abc"]
    assert listed["limit"] == 1024
    rest = js.call("STREAM.TEMPLATE.NAMES", {"offset": listed["total"]})
    assert (rest["streams"], rest["total"]) == ([], listed["total"])


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"name": "other"}, (400, 10073, "template name in subject does not match request")),
        (
            {"config": {"name": "S", "subjects": ["x.y"]}},
            (500, 10066, "template config name should be empty"),
        ),
        ({"config": {}}, (500, 10066, "a stream template requires subjects")),
        ({"config": {"subjects": ["x..y"]}}, (500, 10052, "invalid subject")),
        ({"config": {"subjects": ["x.y"], "num_replicas": 3}}, (500, 10074, None)),
        ({"config": {"subjects": ["$JS.API.>"]}}, (500, 10052, None)),
        ({"max_streams": -1}, (400, 10025, None)),
        ({"max_streams": 1 << 32}, (400, 10025, None)),
        ({"config": {"subjects": ["x.y"], "unknown": 1}}, (400, 10025, None)),
    ],
)
def test_what_is_refused(
    js: JetStream, unique: str, changed: dict[str, Any], error: tuple[int, int, str | None]
) -> None:
    request = {"name": unique, "config": {"subjects": [f"{unique}.*"]}, "max_streams": 1} | changed
    code, number, text = js.error(f"STREAM.TEMPLATE.CREATE.{unique}", request)
    assert (code, number) == error[:2]
    assert error[2] in (None, text)
    assert js.error(f"STREAM.TEMPLATE.INFO.{unique}")[1] == 10068


def test_a_template_is_one_of_its_name_and_subjects(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"])
    again = {"name": unique, "config": {"subjects": ["z"]}, "max_streams": 1}
    error = js.error(f"STREAM.TEMPLATE.CREATE.{unique}", again)
    assert error == (500, 10066, f'template with name "{unique}" already exists')
    overlapping = {"name": f"{unique}2", "config": {"subjects": [f"{unique}.>"]}, "max_streams": 1}
    assert js.error(f"STREAM.TEMPLATE.CREATE.{unique}2", overlapping) == (
        500,
        10066,
        "subjects overlap with an existing stream template",
    )


def test_its_streams_can_not_be_updated(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"])
    js.publish(f"{unique}.a")
    with pytest.raises(ApiFailureError, match="not allowed on template owned stream"):
        js.update(f"{unique}_a", max_msgs=1)


def test_nobody_passes_a_stream_off_as_a_templates(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"])
    own = {"_nats.template_owner": unique}
    with pytest.raises(ApiFailureError, match="stream not owned by template"):
        js.create(f"{unique}_x", subjects=[f"{unique}.sub.x"], metadata=own)
    js.create(f"{unique}_x", subjects=[f"{unique}.sub.x"])
    with pytest.raises(ApiFailureError, match="can not be owned by a template"):
        js.update(f"{unique}_x", metadata=own)
    assert js.call(f"STREAM.TEMPLATE.DELETE.{unique}")["success"]
    assert js.info(f"{unique}_x")["config"]["name"] == f"{unique}_x"


# --- strangers


def test_there_are_no_more_streams_than_allowed(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"], most=3)
    frames = [f"PUB {unique}.s{number} 1\r\nx\r\n" for number in range(5000)]
    js.wire.send("".join(frames))
    js.wire.sync()
    with pytest.raises(ApiFailureError) as refused:
        js.publish(f"{unique}.more")
    assert refused.value.err_code == 10027
    assert len(streams(js, unique)) == 3
    js.call(f"STREAM.DELETE.{streams(js, unique)[0]}")
    assert js.publish(f"{unique}.more")["seq"] == 1
    assert len(streams(js, unique)) == 3


@pytest.mark.parametrize(
    "token",
    ["..%2f", "a/b", "a\\b", "*", ">", "\x00", "\x7f", "a" * 300, "%2e%2e", "\udcff"],
    ids=lambda token: repr(token)[:10],
)
def test_odd_tokens_make_no_odd_paths(own: ServerProcess, token: str) -> None:
    with JetStream.of(own) as js:
        create(js, "T", ["t.>"], storage="file")
        line = f"PUB t.{token} {js.wire.inbox()} 1\r\nx\r\n".encode("utf-8", "surrogateescape")
        js.wire.send(line)
        js.wire.sync()
        made = streams(js, "T")
        account = own.directory / "store/jetstream/$G"
        folders = [*(account / "streams").iterdir()] if made else []
        assert all("/" not in name and ".." not in name and name.isprintable() for name in made)
        assert len(folders) == len(made)
        assert {path.name for path in account.iterdir()} <= {"streams", "templates"}


def test_a_name_that_another_subject_has(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.>"])
    assert js.publish(f"{unique}.a_b")["stream"] == f"{unique}_a_b"
    with pytest.raises(ApiFailureError) as refused:
        js.publish(f"{unique}.a.b")
    assert refused.value.err_code == 10058
    assert js.state(f"{unique}_a_b")["messages"] == 1


def test_a_subject_that_a_stream_has_already(js: JetStream, unique: str) -> None:
    js.create(f"{unique}-all", subjects=[f"{unique}.taken.*"])
    create(js, unique, [f"{unique}.>"])
    assert js.publish(f"{unique}.taken.a")["stream"] == f"{unique}-all"
    assert js.wire.sync() == []
    assert streams(js, unique) == []


def test_a_message_that_is_only_traced_makes_nothing(js: JetStream, unique: str) -> None:
    create(js, unique, [f"{unique}.*"])
    js.wire.pub(f"{unique}.a", b"", headers={"Nats-Trace-Dest": js.wire.inbox(), "Nats-Trace-Only": "true"})
    js.wire.sync()
    assert streams(js, unique) == []


def test_the_accounts_limit_holds() -> None:
    running = pyjs_server.start(
        CONFIG + "accounts { A { jetstream { max_streams: 2 }, users: [{ user: a, password: a }] } }\n"
    )
    try:
        with JetStream.of(running, user="a", **{"pass": "a"}) as js:
            create(js, "T", ["t.*"], most=100)
            assert [js.publish(f"t.{number}")["seq"] for number in range(2)] == [1, 1]
            with pytest.raises(ApiFailureError) as refused:
                js.publish("t.3")
            assert refused.value.err_code == 10027
            assert streams(js, "T") == ["t_0", "t_1"]
    finally:
        running.stop()


# --- restarts and damage


def test_templates_survive_a_kill(own: ServerProcess) -> None:
    with JetStream.of(own) as js:
        create(js, "T", ["t.*"], most=2, storage="file")
        js.publish("t.a", b"one")
    own.kill()
    own.launch()
    with JetStream.of(own) as js:
        assert js.publish("t.a", b"two") == {"stream": "t_a", "seq": 2}
        assert js.publish("t.b", b"one")["stream"] == "t_b"
        with pytest.raises(ApiFailureError) as refused:
            js.publish("t.c")
        assert refused.value.err_code == 10027
        assert streams(js, "T") == ["t_a", "t_b"]
        js.call("STREAM.TEMPLATE.DELETE.T")
    own.kill()
    own.launch()
    with JetStream.of(own) as js:
        assert js.call("STREAM.TEMPLATE.NAMES")["streams"] == []
        assert js.call("STREAM.NAMES")["streams"] is None


def test_a_damaged_template_is_told_and_kept(own: ServerProcess) -> None:
    with JetStream.of(own) as js:
        create(js, "T", ["t.*"], storage="file")
        create(js, "WHOLE", ["w.*"], storage="file")
        js.publish("t.a", b"one")
    own.kill()
    folder = own.directory / "store/jetstream/$G/templates/streams/T"
    for file in folder.iterdir():
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    whole = own.directory / "store/jetstream/$G/templates/streams/WHOLE/meta.json"
    whole.write_bytes(whole.read_bytes()[:40])
    own.launch()
    with JetStream.of(own) as js:
        assert js.call("STREAM.TEMPLATE.NAMES")["streams"] == ["WHOLE"]
        assert js.publish("t.a", b"two")["seq"] == 2
        assert js.publish("w.a", b"one")["stream"] == "w_a"
        code, number, text = js.error(
            "STREAM.TEMPLATE.CREATE.T", {"name": "T", "config": {"subjects": ["t.*"]}, "max_streams": 1}
        )
        assert (code, number) == (500, 10066)
        assert text.startswith("template is offline: ")
    assert "Stream template '$G > T' is offline" in own.log()
    assert "Stream template '$G > WHOLE'" in own.log()
    assert folder.exists()


def test_without_the_option_they_are_kept(own: ServerProcess) -> None:
    with JetStream.of(own) as js:
        create(js, "T", ["t.*"], storage="file")
        js.publish("t.a", b"one")
    own.kill()
    own.configure(CONFIG.replace(", legacy_api: true", ""))
    own.launch()
    with JetStream.of(own) as js:
        js.update("t_a", max_msgs=5)
        assert js.wire.request("t.b").status == "503"
    own.kill()
    own.configure(CONFIG)
    own.launch()
    with JetStream.of(own) as js:
        assert streams(js, "T") == ["t_a"]


# --- by the names of 2020


def test_the_first_names(js: JetStream, old: Ask, unique: str) -> None:
    config = {"subjects": [f"{unique}.*"], "storage": "memory"}
    body = json.dumps({"name": unique, "config": config, "max_streams": 1})
    assert old(f"TEMPLATE.{unique}.CREATE", body).body == b"+OK"
    js.publish(f"{unique}.a")
    assert unique in old("TEMPLATE.LIST").json()
    assert old(f"TEMPLATE.{unique}.INFO").json()["streams"] == [f"{unique}_a"]
    assert old(f"STREAM.{unique}_a.INFO").json()["config"]["template_owner"] == unique
    assert old(f"TEMPLATE.{unique}.DELETE").body == b"+OK"
    assert old(f"TEMPLATE.{unique}.INFO").body == b"-ERR 'template not found'"
