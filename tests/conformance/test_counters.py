"""Counters: `allow_msg_counter`, `Nats-Incr`, what is stored, sums over sources, refusals."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream
from lib.process import ServerProcess

HUGE = "9" * 5000  # more digits than Python converts without being asked


@pytest.fixture
def counters(js: JetStream, unique: str) -> str:
    """A stream whose subjects <name>.* are counters."""
    js.create(unique, subjects=[f"{unique}.*"], allow_msg_counter=True, allow_direct=True)
    return unique


def add(js: JetStream, subject: str, number: str, **headers: str) -> Any:
    """Add to a counter; return its new value, or the code of the error."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        return js.publish(subject, b"", {"Nats-Incr": number} | more)["val"]
    except ApiFailureError as error:
        return error.err_code


def value(js: JetStream, stream: str, subject: str) -> str:
    """The value stored last."""
    message = js.get(stream, last_by_subj=subject)
    return str(json.loads(base64.b64decode(message["data"]))["val"])


def headers_of(js: JetStream, stream: str, subject: str) -> dict[str, str]:
    """The headers of the message stored last."""
    block = base64.b64decode(js.get(stream, last_by_subj=subject)["hdrs"]).decode()
    return dict(line.split(": ", 1) for line in block.split("\r\n")[1:] if line)


def test_each_subject_is_a_counter(js: JetStream, counters: str) -> None:
    one, other = f"{counters}.one", f"{counters}.other"
    assert [add(js, one, n) for n in ("5", "+2", "-10", "0", "007")] == ["5", "7", "-3", "-3", "4"]
    assert add(js, other, "1") == "1"
    assert (value(js, counters, one), value(js, counters, other)) == ("4", "1")
    assert headers_of(js, counters, one) == {"Nats-Incr": "007"}
    js.call(f"STREAM.PURGE.{counters}", {"filter": one})
    assert add(js, one, "1") == "1"


def test_the_answer_has_the_value(js: JetStream, counters: str) -> None:
    answer = js.wire.request(f"{counters}.a", b"", {"Nats-Incr": "-0", "Nats-Msg-Id": "m"})
    assert answer.body == b'{"stream":"%b","seq":1,"val":"0"}' % counters.encode()
    again = js.wire.request(f"{counters}.a", b"", {"Nats-Incr": "5", "Nats-Msg-Id": "m"})
    assert again.body == b'{"stream":"%b","seq":1,"duplicate": true}' % counters.encode()
    stored = js.wire.request(f"$JS.API.DIRECT.GET.{counters}.{counters}.a")
    assert stored.body == b'{"val":"0"}'


def test_numbers_have_as_many_digits_as_they_need(js: JetStream, counters: str) -> None:
    subject = f"{counters}.a"
    assert add(js, subject, HUGE) == HUGE
    assert add(js, subject, "1") == "1" + "0" * 5000
    assert add(js, subject, "-1") == HUGE
    assert add(js, subject, f"-{HUGE}") == "0"


REFUSED: list[tuple[dict[str, str], bytes, int]] = [
    ({}, b"", 10169),
    ({"Nats-Incr": ""}, b"", 10169),
    ({"Nats-Incr": "x"}, b"", 10171),
    ({"Nats-Incr": "+"}, b"", 10171),
    ({"Nats-Incr": "1.5"}, b"", 10171),
    ({"Nats-Incr": "1_000"}, b"", 10171),
    ({"Nats-Incr": "--1"}, b"", 10171),
    ({"Nats-Incr": "1"}, b"x", 10170),
    ({"Nats-Incr": "1", "Nats-Rollup": "sub"}, b"", 10171),
    ({"Nats-Incr": "1", "Nats-Expected-Stream": "S"}, b"", 10171),
    ({"Nats-Incr": "1", "Nats-Expected-Last-Msg-Id": "S"}, b"", 10171),
    ({"Nats-Incr": "1", "Nats-Expected-Last-Sequence": "0"}, b"", 10171),
    ({"Nats-Incr": "1", "Nats-Expected-Last-Subject-Sequence": "0"}, b"", 10171),
    ({"Nats-Incr": "1", "Nats-Expected-Last-Subject-Sequence-Subject": "a"}, b"", 10171),
    ({"Nats-Incr": "1", "Nats-Stream-Source": "S 1"}, b"", 10227),
    ({"Nats-Incr": "1", "Nats-TTL": "5s"}, b"", 10166),
    ({"Nats-Expected-Stream": "S"}, b"", 10060),
    ({"Nats-Rollup": "sub"}, b"", 10111),
]


@pytest.mark.parametrize(("headers", "body", "err_code"), REFUSED)
def test_what_cannot_be_added_is_refused(
    js: JetStream, counters: str, headers: dict[str, str], body: bytes, err_code: int
) -> None:
    answer = js.wire.request(f"{counters}.a", body, headers).json()
    assert answer.get("error", {}).get("err_code", 0) == err_code, answer
    assert js.state(counters)["messages"] == (0 if err_code else 1)


def test_a_message_without_headers_is_refused(js: JetStream, counters: str) -> None:
    answer = js.wire.request(f"{counters}.a", b"x").json()
    assert answer["error"]["err_code"] == 10169
    assert (answer["stream"], answer["seq"]) == (counters, 0)


def test_a_total_that_is_too_large_for_the_stream_is_refused(js: JetStream, unique: str) -> None:
    js.create(unique, subjects=[unique], allow_msg_counter=True, max_msg_size=60)
    assert add(js, unique, "9" * 10) == "9" * 10
    assert add(js, unique, "9" * 40) == 10054
    assert value(js, unique, unique) == "9" * 10


@pytest.mark.parametrize(
    ("increment", "err_code"), [("1", 10168), ("x", 10171)], ids=["an integer", "no integer"]
)
def test_a_stream_without_counters_takes_no_increment(
    js: JetStream, unique: str, increment: str, err_code: int
) -> None:
    js.create(unique, subjects=[unique])
    assert add(js, unique, increment) == err_code


def test_counters_are_for_the_life_of_a_stream(js: JetStream, counters: str, unique: str) -> None:
    config = js.info(counters)["config"]
    assert config["metadata"]["_nats.req.level"] == "2"
    answer = js.raw(f"STREAM.UPDATE.{counters}", config | {"allow_msg_counter": False}).json()
    assert answer["error"]["err_code"] == 10052
    assert "can not change message counter setting" in answer["error"]["description"]


def test_totals_of_sources_sum_up(js: JetStream, unique: str) -> None:
    for name in ("A", "B"):
        js.create(unique + name, subjects=[f"{unique}.{name}.*"], allow_msg_counter=True)
        add(js, f"{unique}.{name}.hits", "5")
        add(js, f"{unique}.{name}.hits", "2")
    sources = [
        {
            "name": unique + name,
            "subject_transforms": [
                {"src": f"{unique}.{name}.*", "dest": f"{unique}.all.{{{{wildcard(1)}}}}"}
            ],
        }
        for name in ("A", "B")
    ]
    js.create(unique, subjects=[f"{unique}.all.*"], sources=sources, allow_msg_counter=True)
    total = f"{unique}.all.hits"
    eventually(lambda: js.state(unique)["messages"] == 4)
    assert value(js, unique, total) == "14"
    assert add(js, total, "1") == "15"
    add(js, f"{unique}.A.hits", "-3")
    eventually(lambda: value(js, unique, total) == "12")
    headers = headers_of(js, unique, total)
    assert headers["Nats-Incr"] == "-3"
    of_each = {f"{unique}{name}": {f"{unique}.{name}.hits": n} for name, n in (("A", "4"), ("B", "7"))}
    assert json.loads(headers["Nats-Counter-Sources"]) == of_each
    assert headers["Nats-Counter-Sources"] == json.dumps(of_each, sort_keys=True, separators=(",", ":"))


def test_a_source_that_begins_late_brings_the_whole_total(js: JetStream, counters: str, unique: str) -> None:
    for _ in range(3):
        add(js, f"{counters}.hits", "2")
    late = {"name": counters, "opt_start_seq": 3}
    js.create(f"{unique}T", subjects=[f"{unique}T.*"], sources=[late], allow_msg_counter=True)
    eventually(lambda: js.state(f"{unique}T")["messages"] == 1)
    assert value(js, f"{unique}T", f"{counters}.hits") == "6"
    assert headers_of(js, f"{unique}T", f"{counters}.hits")["Nats-Incr"] == "6"


def test_a_mirror_and_a_plain_stream_copy_totals_as_they_are(
    js: JetStream, counters: str, unique: str
) -> None:
    add(js, f"{counters}.hits", "2")
    add(js, f"{counters}.hits", "3")
    js.create(f"{unique}M", mirror={"name": counters})
    js.create(f"{unique}P", sources=[{"name": counters}])
    for name in (f"{unique}M", f"{unique}P"):
        eventually(lambda name=name: js.state(name)["messages"] == 2)  # type: ignore[misc]
        assert value(js, name, f"{counters}.hits") == "5"
        assert headers_of(js, name, f"{counters}.hits")["Nats-Incr"] == "3"


def test_a_counter_goes_on_after_a_restart(launch: Any, unique: str) -> None:
    server: ServerProcess = launch(
        'listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>", max_file: 100MB }\n'
    )
    with JetStream.of(server) as js:
        js.create(unique, subjects=[unique], allow_msg_counter=True, storage="file")
        assert add(js, unique, "41") == "41"
    server.restart()
    with JetStream.of(server) as js:
        assert add(js, unique, "1") == "42"
