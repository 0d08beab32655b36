"""What strangers do to templates and by old subjects holds up nobody else."""

from __future__ import annotations

import json

from lib import pyjs_server
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import JetStream

from .conftest import CONFIG


def test_floods_of_subjects_and_of_old_requests(callbacks: Callbacks) -> None:
    running = pyjs_server.start(CONFIG)
    try:
        with callbacks.bounded(running), JetStream.of(running) as js:
            config = {"subjects": ["t.*"], "storage": "memory"}
            js.call("STREAM.TEMPLATE.CREATE.T", {"name": "T", "config": config, "max_streams": 100})
            js.wire.send("".join(f"PUB t.s{number} 1\r\nx\r\n" for number in range(10_000)))
            js.wire.sync()
            eventually(lambda: js.call("INFO")["streams"] == 100)
            js.wire.sub("answers")
            js.wire.send("PUB $JS.STREAM.LIST answers 0\r\n\r\n" * 500)
            js.wire.sync()
            js.wire.send("PUB $JS.STREAM.t_s1.INFO answers 0\r\n\r\n" * 500)
            js.wire.sync()
            assert js.call("STREAM.TEMPLATE.DELETE.T")["success"]
            assert js.call("INFO")["streams"] == 0
    finally:
        running.stop()


def test_a_template_of_many_subjects(callbacks: Callbacks) -> None:
    running = pyjs_server.start(CONFIG)
    try:
        with callbacks.bounded(running), JetStream.of(running) as js:
            subjects = [f"many.s{number}.*" for number in range(8000)]
            request = {"name": "T", "config": {"subjects": subjects, "storage": "memory"}, "max_streams": 2}
            js.call("STREAM.TEMPLATE.CREATE.T", json.dumps(request).encode())
            assert js.publish("many.s77.a")["stream"] == "many_s77_a"
            js.call("STREAM.TEMPLATE.DELETE.T")
    finally:
        running.stop()
