"""Servers of pyjs and of nats-server, both with JetStream, in one cluster: an error says what is wrong."""

from __future__ import annotations

from lib.eventually import eventually
from lib.pool import START
from lib.process import free_port

CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
{jetstream}
cluster {{ name: mesh, listen: 127.0.0.1:{port}, routes: ["nats-route://127.0.0.1:{other}"] }}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}], jetstream: enabled }}
}}
system_account: SYS
"""
WITH, WITHOUT = 'jetstream { store_dir: "<store>" }', ""
TEXT = "has JetStream of nats-server, which servers of pyjs cannot join"


def test_an_error_names_the_nats_server_that_has_jetstream() -> None:
    for jetstream in (WITH, WITHOUT):
        ports = free_port(), free_port()
        config = CONFIG.format(name="ours", jetstream=WITH, port=ports[0], other=ports[1])
        ours = START["pyjs"](config)
        try:
            config = CONFIG.format(name="theirs", jetstream=jetstream, port=ports[1], other=ports[0])
            theirs = START["reference"](config)
            try:
                eventually(lambda: "Registering route to server 'theirs'" in ours.log())  # noqa: B023
                eventually(lambda: ("[ERR] Server 'theirs' " + TEXT in ours.log()) == bool(jetstream))  # noqa: B023
            finally:
                theirs.stop()
        finally:
            ours.stop()
