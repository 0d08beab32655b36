"""Direct gets of one read: each has its own answer, in the order of the requests."""

from __future__ import annotations

import json

import pytest
from lib.jetstream import JetStream

COUNT = 600


def asked(stream: str, number: int) -> tuple[str, str, str]:
    """The subject and body of a request, and what is answered: a body, or a status."""
    subject, key = f"$JS.API.DIRECT.GET.{stream}", f"{stream}.k.{number % 50}"
    value, sequence = f"value {number % 50}", number % 50 + 1
    return (
        (f"{subject}.{key}", "", value),
        (subject, json.dumps({"last_by_subj": key}), value),
        (subject, f'{{"seq":{sequence}}}', value),
        (subject, json.dumps({"seq": sequence, "no_hdr": True}), value),
        (f"{subject}.{stream}.none.{number}", "", "404 Message Not Found"),
        (subject, json.dumps({"next_by_subj": key, "seq": sequence}), value),
        (subject, '{"seq":1000000}', "404 Message Not Found"),
        (subject, "{", "408 Malformed Request"),
    )[number % 8]


@pytest.mark.parametrize("storage", ["file", "memory"])
@pytest.mark.parametrize(
    "hears", ["", "$JS.API.DIRECT.GET.{stream}.{stream}.k.8", "$JS.API.DIRECT.GET.{stream}.>"]
)
def test_gets_of_one_read_are_answered_in_order(js: JetStream, unique: str, storage: str, hears: str) -> None:
    js.create(unique, subjects=[f"{unique}.>"], storage=storage, allow_direct=True)
    for number in range(50):
        js.publish(f"{unique}.k.{number}", f"value {number}")
    js.wire.sub(f"{unique}_in.*", sid="got")
    if hears:
        js.wire.sub(hears.format(stream=unique), sid="heard")
    frames, expected = [], []
    for number in range(COUNT):
        subject, body, answer = asked(unique, number)
        frames.append(f"PUB {subject} {unique}_in.{number} {len(body)}\r\n{body}\r\n")
        expected.append(answer)
    js.wire.send("".join(frames).encode())
    got: list[str] = []
    heard = 0
    while len(got) < COUNT:
        message = js.wire.msg()
        if message.sid == "heard":
            heard += 1
            continue
        assert message.subject == f"{unique}_in.{len(got)}"
        got.append(message.body.decode() or message.status)
    assert got == expected
    while heard < {"": 0, ">": COUNT // 4, "8": sum(n % 50 == 8 for n in range(0, COUNT, 8))}[hears[-1:]]:
        assert js.wire.msg().sid == "heard"
        heard += 1
